"""The first screen in a real browser: answers, the matrix by keyboard and by touch, axe."""

import importlib.resources
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: `make chromium` gets it"),
    pytest.mark.slow,
]

WIDTHS = {"desktop": {"width": 1400, "height": 900}, "phone": {"width": 390, "height": 844}}
PAGES = (
    "index.html", "dcl/table-1-cifar10.html", "eqco/figure-2.html",
    "unigrad/table-2.html", "dcl-table-1/cpu/index.html",
)  # fmt: skip
QUESTIONS = {
    "Does DCL help at small batch?": (
        "Yes, on CIFAR-10 at 24x24, small network, 5 epochs",
        "paper +4.8",
    ),
    "Does EqCo make SimCLR insensitive to K?": (
        "Less sensitive, on CIFAR-10 at 24x24, small network, 5 epochs",
        "EqCo",
    ),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def opened(browser: Any, site: Path, name: str = "index.html", **options: Any) -> Any:
    page = browser.new_context(**({"viewport": WIDTHS["desktop"]} | options)).new_page()
    page.set_default_timeout(60_000)
    page.goto((site / name).as_uri())
    return page


def test_both_questions_are_answered_on_the_first_screen(browser: Any, image_site: Path) -> None:
    page = opened(browser, image_site)
    for question, (verdict, _) in QUESTIONS.items():
        answer = page.locator(".answer", has_text=question)
        box = answer.bounding_box()
        assert box["y"] + box["height"] <= 900
        assert answer.locator(".verdict").inner_text() == verdict
        assert re.search(r"[+-][\d.]+ \[", answer.locator(".effect").inner_text())
    assert "paper +4.8" in page.locator(".answer").first.inner_text()
    matrix = page.locator("table.matrix").bounding_box()
    assert matrix["y"] + matrix["height"] <= 900
    picture = page.locator(".headline img")
    assert picture.evaluate("i => i.decode().then(() => i.naturalWidth)") > 0
    page.context.close()


def test_a_mark_opens_by_the_keyboard(browser: Any, image_site: Path) -> None:
    page = opened(browser, image_site)
    mark = page.locator("button[popovertarget='about-dcl-small-batch-cifar-stl10']")
    about = page.locator("#about-dcl-small-batch-cifar-stl10")
    assert not about.is_visible()
    mark.focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineWidth") == "3px"
    page.keyboard.press("Enter")
    assert about.is_visible()
    told = about.inner_text()
    assert "large gains at batch 32 on small data sets" in told
    assert "paper +4.8" in told
    assert "CIFAR-10 at 24x24" in told
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')").startswith("#dcl-small")
    page.keyboard.press("Escape")
    assert not about.is_visible()
    page.context.close()


def test_a_mark_opens_by_touch_and_without_scripts(browser: Any, image_site: Path) -> None:
    page = opened(
        browser, image_site, viewport=WIDTHS["phone"], has_touch=True, java_script_enabled=False
    )
    about = page.locator("#about-eqco-k-invariance-accuracy")
    page.locator("button[popovertarget='about-eqco-k-invariance-accuracy']").tap()
    assert about.is_visible()
    box = about.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    page.context.close()


@pytest.mark.parametrize(
    ("scheme", "media", "turned"),
    [("light", "screen", False), ("dark", "screen", True), ("dark", "print", False)],
)
def test_figures_are_dark_on_a_dark_screen_alone(
    browser: Any, image_site: Path, scheme: str, media: str, turned: bool
) -> None:
    page = opened(browser, image_site, color_scheme=scheme)
    page.emulate_media(media=media)
    told = page.locator(".headline img").evaluate("e => getComputedStyle(e).filter")
    assert ("invert" in told) == turned
    page.context.close()


def test_a_long_answer_fits_a_phone(browser: Any, image_site: Path) -> None:
    page = opened(browser, image_site, viewport=WIDTHS["phone"])
    answer = "By less than the paper says, on CIFAR-10 at 24x24, small network, 5 epochs"
    badge = page.locator(".answer .verdict").first
    badge.evaluate("(e, text) => e.textContent = text", answer)
    assert badge.evaluate("e => e.getClientRects().length") == 1  # one box, not one for each line
    assert page.evaluate("document.documentElement.scrollWidth") == WIDTHS["phone"]["width"]
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_red_is_for_the_published_protocol_alone(
    browser: Any, image_site: Path, scheme: str
) -> None:
    page = opened(browser, image_site, color_scheme=scheme)
    colours = page.evaluate("""() => {
      const red = (e, what) => {
        const [r, g, b] = getComputedStyle(e)[what].match(/[\\d.]+/g).map(Number);
        return r > 1.6 * g && r > 1.6 * b;
      };
      return ["reduced", "published"].map((protocol) => {
        const mark = document.createElement("span");
        mark.className = `mark-of-claim ${protocol} fails`;
        const badge = document.createElement("span");
        badge.className = `verdict ${protocol} fails`;
        document.querySelector("main").append(mark, badge);
        return [mark, badge].map((e) =>
          ["color", "backgroundColor", "borderTopColor"].some((what) => red(e, what)));
      });
    }""")
    assert colours[0] == [False, False]
    assert scheme == "dark" or colours[1] == [True, True]
    page.context.close()


@pytest.mark.parametrize("width", list(WIDTHS))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Any, image_site: Path, width: str, scheme: str) -> None:
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    axe = importlib.resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()
    page = opened(browser, image_site, viewport=WIDTHS[width], color_scheme=scheme)
    for name in PAGES:
        page.goto((image_site / name).as_uri())
        page.evaluate(axe)
        found = page.evaluate("axe.run().then((found) => found.violations)")
        serious = {
            v["id"]: [node["html"] for node in v["nodes"]][:3]
            for v in found
            if v["impact"] in ("serious", "critical")
        }
        assert serious == {}, name
    page.context.close()
