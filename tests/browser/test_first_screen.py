"""The first screen in a real browser: answers, marks of claims, axe."""

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
OPEN_ALL = "() => document.querySelectorAll('details').forEach((one) => { one.open = true; })"
QUESTIONS = {
    "Does DCL help at small batch?": (
        "Yes, on CIFAR-10 at 24x24, small network, 5 epochs",
        "Published effect: +4.8 points",
    ),
    "Does EqCo make SimCLR insensitive to K, the number of negatives?": (
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
    for question, (verdict, words) in QUESTIONS.items():
        answer = page.locator(".answers li", has_text=question)
        box = answer.bounding_box()
        assert box["y"] + box["height"] <= 900
        assert answer.locator("a").first.inner_text() == verdict
        assert re.search(r"[+-][\d.]+ \[", answer.inner_text())
        assert words in answer.inner_text()
    picture = page.locator(".first figure img")
    assert picture.evaluate("i => i.decode().then(() => i.naturalWidth)") > 0
    page.context.close()


@pytest.mark.parametrize(("width", "most"), [("desktop", 6000), ("phone", 12_000)])
def test_the_first_page_is_short(browser: Any, image_site: Path, width: str, most: int) -> None:
    """Tables of papers open at a click."""
    page = opened(browser, image_site, viewport=WIDTHS[width])
    assert page.evaluate("document.documentElement.scrollHeight") < most
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[width]["width"]
    page.context.close()


def test_a_mark_leads_to_its_claim_by_the_keyboard(browser: Any, image_site: Path) -> None:
    page = opened(browser, image_site, java_script_enabled=True)
    mark = page.locator(".mark-of-claim[href='#dcl-small-batch-cifar-stl10']")
    claim = "DCL gains much over SimCLR at batch size 32 on small data sets"
    assert claim in mark.get_attribute("title")
    assert mark.get_attribute("aria-label") == mark.get_attribute("title")
    mark.focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineWidth") == "3px"
    page.keyboard.press("Enter")
    row = page.locator("tr:has(#dcl-small-batch-cifar-stl10)")
    assert row.evaluate("e => e.getBoundingClientRect().top < innerHeight")
    assert "CIFAR-10 at 24x24" in row.inner_text()
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
    applied = page.locator(".first figure img").evaluate("e => getComputedStyle(e).filter")
    assert ("invert" in applied) == turned
    page.context.close()


def test_red_is_for_claims_that_fail_at_the_published_protocol(
    browser: Any, image_site: Path
) -> None:
    page = opened(browser, image_site)
    red = page.evaluate("""() => ["fails", "not-seen-at-this-scale"].map((verdict) => {
      const mark = document.createElement("strong");
      mark.className = `verdict ${verdict}`;
      document.querySelector("main").append(mark);
      const [r, g, b] = getComputedStyle(mark).color.match(/[\\d.]+/g).map(Number);
      return r > 1.6 * g && r > 1.6 * b;
    })""")
    assert red == [True, False]
    page.context.close()


@pytest.mark.parametrize("width", list(WIDTHS))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Any, image_site: Path, width: str, scheme: str) -> None:
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    axe = importlib.resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()
    page = opened(browser, image_site, viewport=WIDTHS[width], color_scheme=scheme)
    for name in PAGES:
        page.goto((image_site / name).as_uri())
        page.evaluate(OPEN_ALL)
        page.evaluate(axe)
        found = page.evaluate("axe.run().then((found) => found.violations)")
        serious = {
            v["id"]: [node["html"] for node in v["nodes"]][:3]
            for v in found
            if v["impact"] in ("serious", "critical")
        }
        assert serious == {}, name
    page.context.close()
