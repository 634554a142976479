"""Find broken internal links of a built site: `python docs/_ext/check_links.py build/docs`."""

import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """What a page links to, and what can be linked to on it."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect addresses and ids."""
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            if name == "id" or (tag == "a" and name == "name"):
                self.ids.add(value or "")


@cache
def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def broken_links(root: Path) -> Iterator[str]:
    """Yield a line for each link to a file or an anchor of the site that does not exist."""
    for path in sorted(root.rglob("*.html")):
        for link in _read(path).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path if not parts.path else path.parent / unquote(parts.path)
            if not target.exists():
                yield f"{path.relative_to(root)}: {link}: no such file"
            elif parts.fragment and target.suffix == ".html" and not _has(target, parts.fragment):
                yield f"{path.relative_to(root)}: {link}: no such anchor"


def _has(page: Path, fragment: str) -> bool:
    return unquote(fragment) in _read(page.resolve()).ids


if __name__ == "__main__":
    found = list(broken_links(Path(sys.argv[1])))
    print("\n".join(found) or "no broken link")
    sys.exit(bool(found))
