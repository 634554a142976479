"""Pages of the manual that are written from the program when it is built, into docs/generated."""

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from commands import commands_page
from gallery import gallery_page
from repository_links import moved
from settings import settings_page
from suite_files import suite_files_page

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "generated"
COPIES = {
    "contributing": "CONTRIBUTING.md",
    "changelog": "CHANGELOG.md",
    "methods": "reports/reference/methods.md",
    "presets": "reports/reference/presets.md",
}
API = (  # documented by autodoc, where a version has them
    ("api", "Functions of `import bench`", ("bench.api", "bench.plot")),
    (
        "internals",
        "Modules for authors",
        (
            "bench.cells.cell",
            "bench.cells.toys",
            "bench.data.streams",
            "bench.experiments.outcome",
            "bench.results.folder",
            "bench.train.stack",
        ),
    ),
    (
        "losses",
        "Losses",
        (
            "bench.losses.contrastive",
            "bench.losses.alignment",
            "bench.losses.siamese",
            "bench.losses.gradient_form",
            "bench.losses.instance",
            "bench.losses.classification",
            "bench.losses.bounds",
        ),
    ),
)


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every generated page."""
    yield "commands", commands_page()
    yield "questions", gallery_page()
    yield "suite-files", suite_files_page()
    yield "settings", settings_page()
    for name, path in COPIES.items():
        yield name, moved((ROOT / path).read_text(), ROOT / path, FOLDER)
    for name, title, modules in API:
        known = [module for module in modules if importlib.util.find_spec(module)]
        if known:
            yield name, _autodoc(title, known)


def _autodoc(title: str, modules: list[str]) -> str:
    parts = [f"# {title}\n\n*Generated* from docstrings.\n"]
    for module in modules:
        directive = f"```{{eval-rst}}\n.. automodule:: {module}\n   :members:\n```\n"
        parts.append(f"## `{module}`\n\n{directive}")
    return "\n".join(parts)


def write_pages(*_: Any) -> None:
    """Write every page whose text has changed, and remove what is no page any more."""
    FOLDER.mkdir(exist_ok=True)
    texts = dict(pages())
    for path in FOLDER.glob("*.md"):
        if path.stem not in texts:
            path.unlink()
    for name, text in texts.items():
        path = FOLDER / f"{name}.md"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def as_plain_text(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: Any) -> None:
    """Escape what reStructuredText would read as markup: docstrings are plain text with `code`."""
    for i, line in enumerate(lines):
        escaped = re.sub(r"([\\*|])", r"\\\1", line)
        escaped = re.sub(r"(\w)_(?!\w)", r"\1\\_", escaped)
        lines[i] = re.sub(r"(?<!`)`([^`]+)`(?!`)", _literal, escaped)


def _literal(code: "re.Match[str]") -> str:
    return "``" + re.sub(r"\\(.)", r"\1", code.group(1)) + "``"


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", as_plain_text, priority=400)  # before napoleon
    return {"parallel_read_safe": True}
