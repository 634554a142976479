"""Links of the manual to files of the repository that are no pages of it.

On a code host `[CHANGELOG.md](../../CHANGELOG.md)` leads to the file. In the built manual it leads
to the copy of that page, a link to the cells of an experiment to the reference of settings, one to
a page of reference results to the results site, and any other one is the file's path. A file that
does not exist is a warning, and with that an error.
"""

import os
import re
from pathlib import Path
from typing import Any

from sphinx.util import logging

ROOT = Path(__file__).resolve().parents[2]
DOCS, REFERENCE = ROOT / "docs", ROOT / "reports" / "reference"
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
LOGGER = logging.getLogger(__name__)


def moved(text: str, path: Path, folder: Path) -> str:
    """Return the text of a page whose relative links lead to the same files from another folder."""

    def replaced(link: "re.Match[str]") -> str:
        image, words, target = link.groups()
        if _is_elsewhere(target):
            return link.group(0)
        return f"{image}[{words}]({os.path.relpath(path.parent / target, folder)})"

    return LINK.sub(replaced, text)


def _is_elsewhere(target: str) -> bool:
    return target.startswith(("#", "/")) or "://" in target


def lead_somewhere(_app: Any, docname: str, content: list[str]) -> None:
    """Change the links of a page that lead out of the manual."""
    folder = (DOCS / docname).parent
    content[0] = LINK.sub(lambda link: _changed(link, folder, docname), content[0])


def _changed(link: "re.Match[str]", folder: Path, docname: str) -> str:
    from generated_pages import COPIES

    image, words, target = link.groups()
    if image or _is_elsewhere(target):
        return link.group(0)
    name, _, anchor = target.partition("#")
    path = Path(os.path.normpath(folder / name))
    if path.is_relative_to(DOCS):
        return link.group(0)
    if not path.exists():
        LOGGER.warning("link to %s, which does not exist", target, location=docname)
    copies = {ROOT / source: page for page, source in COPIES.items()}
    copies |= {ROOT / "bench/cells" / f"{kind}.py": "settings" for kind in ("detection", "speech")}
    if path in copies:
        page = os.path.relpath(DOCS / "generated" / copies[path], folder)
        return f"[{words}]({page}.md{'#' + anchor if anchor else ''})"
    if path.is_relative_to(REFERENCE):
        inside = path.relative_to(REFERENCE).with_suffix(".html")
        page = os.path.relpath(DOCS / "results" / inside, folder)
        return f'<a href="{page}">{words}</a>'
    told = str(path.relative_to(ROOT))
    return words if told in words else f"{words} (`{told}`)"


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", lead_somewhere)
    return {"parallel_read_safe": True}
