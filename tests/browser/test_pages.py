"""The site in a real browser: Debian's Chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: `make chromium` gets it")

TABLE = "eqco/table-9.html"
PARTIAL = "mutual-information-figure-6/paper/index.html"
OPEN_ALL = "() => document.querySelectorAll('details').forEach((one) => { one.open = true; })"

# Text whose contrast with the ground behind it is below 4.5 to 1 (WCAG 2.2, 1.4.3).
FAINT = """() => {
  const parse = (c) => c.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const faint = new Set();
  while (walker.nextNode()) {
    const text = walker.currentNode, e = text.parentElement;
    if (!text.data.trim() || !e.checkVisibility()) continue;
    const both = [light(parse(getComputedStyle(e).color)), light(ground(e))];
    const [b, a] = both.sort((x, y) => x - y);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) faint.add(`${e.tagName}.${e.className}: ${ratio.toFixed(2)}`);
  }
  return [...faint];
}"""


# Images that cannot be drawn; all are loaded once the promise is kept, so that leaving the page
# aborts no request.
BROKEN_IMAGES = """async () => {
  const broken = async (image) => {
    image.loading = "eager";
    await image.decode().catch(() => null);
    return image.complete && image.naturalWidth > 0 ? [] : [image.src];
  };
  return (await Promise.all([...document.images].map(broken))).flat();
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    yield context.new_page()
    context.close()


def rows(table: Any, column: int) -> list[str]:
    """Return the texts of a column of a table, of the rows that are shown."""
    script = """(rows, column) => rows.filter((r) => !r.hidden)
      .map((r) => r.cells[column].textContent.trim())"""
    found: list[str] = table.locator("tbody tr").evaluate_all(script, column)
    return found


def test_no_page_complains_and_no_link_or_image_is_broken(page: Any, site: Path) -> None:
    """All pages that can be reached from the index."""
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("requestfailed", lambda request: told.append(request.url))
    page.on(
        "request", lambda r: None if r.url.startswith(("file:", "data:")) else told.append(r.url)
    )
    left, seen = [(site / "index.html").as_uri()], set()
    links = """() => ({
      links: [...document.querySelectorAll("a[href]")].map((a) => a.href),
      ids: [...document.querySelectorAll("[id]")].map((e) => e.id),
      wide: document.documentElement.scrollWidth > innerWidth,
    })"""
    anchors: dict[str, set[str]] = {}
    wanted: set[tuple[str, str]] = set()
    page.set_viewport_size({"width": 390, "height": 800})
    while left:
        address = left.pop()
        if address in seen:
            continue
        seen.add(address)
        page.goto(address)
        assert page.evaluate(BROKEN_IMAGES) == [], address
        found = page.evaluate(links)
        anchors[address] = set(found["ids"])
        assert not found["wide"], f"{address} scrolls sideways"
        for link in found["links"]:
            if link.startswith("https://"):  # of another project's numbers
                continue
            target, _, anchor = link.partition("#")
            assert Path(target.removeprefix("file://")).is_file(), f"{address}: {link}"
            if target.endswith(".html"):
                left.append(target)
                wanted |= {(target, anchor)} if anchor else set()
    assert told == []
    assert len(seen) == len(list(site.rglob("*.html")))
    assert all(anchor in anchors[target] for target, anchor in wanted)


def test_images_are_drawn(page: Any, site: Path) -> None:
    page.goto((site / PARTIAL).as_uri())
    pictures = page.locator("figure img").all()
    for picture in pictures:  # each is loaded when it comes into view
        picture.scroll_into_view_if_needed()
    page.wait_for_function("[...document.images].every((i) => i.complete && i.naturalWidth > 0)")
    for picture in pictures:
        colour = picture.evaluate("i => getComputedStyle(i).backgroundColor")
        assert colour == "rgb(255, 255, 255)"


def test_sorting_by_the_keyboard(page: Any, site: Path) -> None:
    page.goto((site / TABLE).as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "K":
            break
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
    assert outline == "3px"
    table = page.locator("table.sortable").first
    assert rows(table, 1) == ["64", "128", "256", "512"] * 2
    page.keyboard.press("Enter")
    assert rows(table, 1) == sorted(["64", "128", "256", "512"] * 2, key=int)
    head = table.locator("thead th").nth(1)
    assert head.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Enter")
    assert rows(table, 1) == sorted(["64", "128", "256", "512"] * 2, key=int, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"


def test_entries_of_the_papers_table_sort_as_numbers(page: Any, site: Path) -> None:
    page.goto((site / TABLE).as_uri())
    table = page.locator("table.sortable").first
    table.locator("thead button").nth(6).click()
    shown = [float(text.split()[0]) for text in rows(table, 6)]
    assert shown == sorted(shown)
    assert shown[0] < 5 < shown[-1]


def test_filtering(page: Any, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    page.locator("summary", has_text="claims of eqco").click()
    field = page.get_by_label("Filter Claims of eqco")
    assert page.locator("output").count() >= 5
    field.fill("toy-mi-STEADY")
    table = page.locator("table:has(caption:text-is('Claims of eqco'))")
    assert [text.split()[0] for text in rows(table, 0)] == ["toy-mi-steady"]
    count = page.locator(".filter:has(label:text-is('Filter Claims of eqco')) output")
    assert count.inner_text() == f"1 of {table.locator('tbody tr').count()} rows"
    assert count.get_attribute("aria-live") == "polite"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(browser: Any, site: Path, scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme)
    page, grounds = context.new_page(), set()
    for name in ("index.html", TABLE, PARTIAL):
        page.goto((site / name).as_uri())
        page.evaluate(OPEN_ALL)
        assert page.evaluate(FAINT) == []
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(grounds) == 1
    (ground,) = grounds
    assert (int(ground[4:].partition(",")[0]) < 128) == (scheme == "dark")
    context.close()


def test_structure(page: Any, site: Path) -> None:
    """Headings in order, one main, tables with captions and scopes, boxes that can be scrolled."""
    for name in ("index.html", TABLE, PARTIAL):
        page.goto((site / name).as_uri())
        levels = page.locator("h1, h2, h3, h4, h5").evaluate_all(
            "all => all.map((h) => +h.tagName[1])"
        )
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(b <= a + 1 for a, b in pairwise(levels))
        assert page.locator("main").count() == 1
        assert page.locator("table:not(:has(caption))").count() == 0
        assert page.locator("th:not([scope])").count() == 0
        assert page.locator(".scroll:not([tabindex='0'][role=region][aria-label])").count() == 0
        assert page.locator("img:not([alt])").count() == 0
