"""The results site beside the manual, each of its pages with a link to the manual."""

import os
import shutil
from pathlib import Path
from typing import Any

REFERENCE = Path(__file__).resolve().parents[2] / "reports" / "reference"
BEFORE = "</ul>\n</nav>"  # the end of the links in a page's head
MANUAL = ">Manual</a>"  # stands there if the package states the manual's address


def copy_site(app: Any, error: Exception | None) -> None:
    """Copy the site into the built manual.

    Raises:
        FileNotFoundError: `make site` has not built it.
        ValueError: a page has no place for the link.
    """
    if error is not None or app.builder.name != "html":
        return
    if not (REFERENCE / "index.html").exists():
        raise FileNotFoundError(f"{REFERENCE}/index.html: `make site` writes it")
    to = Path(app.outdir) / "results"
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(REFERENCE, to, ignore=shutil.ignore_patterns("*.md"))
    for page in to.rglob("*.html"):
        text = page.read_text()
        if BEFORE not in text:
            raise ValueError(f"{page}: no {BEFORE!r}")
        if MANUAL not in text:
            manual = os.path.relpath(to.parent / "index.html", page.parent)
            link = f'<li><a href="{manual}">Manual</a></li>\n{BEFORE}'
            page.write_text(text.replace(BEFORE, link, 1))


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("build-finished", copy_site)
    return {"parallel_read_safe": True}
