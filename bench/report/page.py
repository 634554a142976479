"""Pages: templates produce Markdown, and Markdown is converted to HTML."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from bench import __version__
from bench.analysis.doubts import MARK
from bench.analysis.grounds import LEFT
from bench.analysis.verdicts import ClaimVerdict, Verdict
from bench.files.atomic import write_whole
from bench.report.claim_words import (
    effect_lines,
    notes_elsewhere,
    remark_text,
    seeds_text,
    seen_text,
    short_words,
)
from bench.report.effects import EFFECTS_LEGEND
from bench.report.formats import markdown_text, to_markdown
from bench.report.tables import LEGEND, Entry, Table, slug

ROOM_MEANING = (
    "The trivial baseline is the larger of the accuracies of raw pixels and of the untrained "
    "network. The supervised accuracy is the accuracy of the same network after training with "
    "labels for as many epochs as a cell. The headroom is the supervised accuracy minus the "
    "trivial baseline. The trivial baseline and the supervised accuracy are evaluated by the same "
    "protocol as the cells of this page. A claim about an accuracy is judged only if the headroom "
    "exceeds the minimum detectable effect of the claim's check by at least "
    f"{LEFT:g} points. A check of a claim compares two groups of cells. For the claim to be "
    "judged, the mean of each compared group of cells must also exceed the trivial baseline by "
    "more than the smallest lead that the seeds of the group can detect. "
    "If a claim itself says that some cells do not learn, no lead over the trivial baseline is "
    "required. Accuracies during training have no trivial baseline and no supervised accuracy if "
    "their kNN settings differ from the settings of the evaluation."
)
CLAIM_MARKS = {
    ClaimVerdict.HOLDS: "✓",
    ClaimVerdict.PARTLY_HOLDS: "◐",
    ClaimVerdict.FAILS: "✗",
    ClaimVerdict.NOT_SEEN: "∅",
    ClaimVerdict.CANNOT_TELL: "?",
    ClaimVerdict.NOT_TESTED: "·",
}
LABELS = {str(label) for labels in (Verdict, ClaimVerdict) for label in labels}
"""Words that are shown as verdicts if they are in bold."""
PIXELS = 1.25 * 96 / 72  # per point: the text of a figure is as large as the text around it
SIZE = re.compile(r'\b(height|width)="([\d.]+)pt"')
SVG_HEAD = 1000  # characters of a figure's file that hold its size
LINKS = {"Documentation": "Manual", "Source": "Source", "Issues": "Report a problem"}
"""Words of links on every page, by the names of project URLs in `pyproject.toml`."""
Crumbs = Sequence[tuple[str, str | None]]
"""Texts and addresses of the pages above this one; the last is this page, without address."""


@dataclass(frozen=True)
class Page:
    """A page before it is written."""

    template: str
    title: str
    root: str  # the way to the site's folder
    crumbs: Crumbs
    values: dict[str, Any]
    cite: str = ""  # BibTeX

    def write(self, path: Path) -> list[Path]:
        """Write the Markdown to `path` and the HTML next to it; return both files.

        Figures and tables must be written first, because the HTML links existing files.
        """
        text, tables = page_text(self.template, **self.values)
        html = _environment(html=True).get_template("base.html.j2")
        content = Markup(to_html(text, tables, path.parent))  # the template escaped all data
        files = {
            path: text,
            path.with_suffix(".html"): html.render(
                content=content,
                title=self.title,
                root=self.root,
                crumbs=self.crumbs,
                has_methods=(path.parent / self.root / "methods.html").is_file(),
                cite=self.cite,
                version=__version__,
                project_links=project_links(),
            ),
        }
        for file, written in files.items():
            write_whole(file, written.encode())
        return list(files)


@cache
def project_links() -> dict[str, str]:
    """Return the URLs of the manual, source and issues that the package states.

    If the package states no manual, the build of the manual adds a relative link to it.
    """
    with suppress(PackageNotFoundError):
        stated = metadata("contrastive-bench").get_all("Project-URL") or []
        urls = dict(line.split(", ", 1) for line in stated)
        return {words: urls[name] for name, words in LINKS.items() if name in urls}
    return {}


@dataclass
class ShownTables:
    """Tables of a page in order, each with the path to the folder of its files."""

    shown: list[tuple[Table, str]] = field(default_factory=list)

    def __call__(self, table: Table, folder: str = "") -> str:
        """Return the table as Markdown below its title, and remember it."""
        self.shown.append((table, folder))
        return f"**{markdown_text(table.title)}**\n\n{to_markdown(table)}"

    def take(self, caption: str) -> tuple[Table, str] | None:
        """Return the next table with a caption; each table is returned once."""
        for pair in self.shown:
            if markdown_text(pair[0].title) == caption:
                self.shown.remove(pair)
                return pair
        return None


def page_text(template: str, **values: Any) -> tuple[str, ShownTables]:
    """Return a page in Markdown and its tables."""
    tables = ShownTables()
    text = _environment(html=False).get_template(template).render(values, table=tables)
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+\n", "\n", text)).strip() + "\n", tables


@cache
def _environment(*, html: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("bench.report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=html,
    )
    environment.filters |= {"md": markdown_text, "slug": slug}
    environment.globals |= {
        "claim_marks": CLAIM_MARKS,
        "doubt_mark": MARK,
        "effect_lines": effect_lines,
        "effects_legend": EFFECTS_LEGEND,
        "legend": LEGEND,
        "notes_elsewhere": notes_elsewhere,
        "remark": remark_text,
        "room_meaning": ROOM_MEANING,
        "seeds": seeds_text,
        "seen": seen_text,
        "short": short_words,
    }
    return environment


def to_html(text: str, tables: ShownTables | None = None, folder: Path | None = None) -> str:
    """Convert Markdown to HTML: headings with anchors, and sortable tables with captions.

    Args:
        text: the page; data in it must be escaped (`markdown_text`).
        tables: the tables of the page; their entries name the sources of numbers.
        folder: folder of the page; files next to figures and tables are linked.
    """
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = parser.parse(text)
    dresser = _Dresser(tables or ShownTables(), folder or Path())
    return str(parser.renderer.render(list(dresser.dressed(tokens)), parser.options, {}))


@dataclass
class _Dresser:
    """Gives the elements of a page what Markdown has no words for."""

    tables: ShownTables
    folder: Path
    caption: str = ""  # the paragraph in bold above a table, in Markdown
    heading: str = ""
    ids: set[str] = field(default_factory=set)

    def dressed(self, tokens: Sequence[Token]) -> Iterator[Token]:
        """Yield the tokens of the page in HTML."""
        at = 0
        while at < len(tokens):
            token, size = tokens[at], 1
            if token.type == "table_open":
                size = next(i for i, t in enumerate(tokens[at:], 1) if t.type == "table_close")
                yield from self._table(tokens[at : at + size])
            elif _is_caption(tokens[at : at + 4]):
                self.caption, size = tokens[at + 1].content[2:-2], 3
            else:
                self._dress(token, tokens[at : at + 3])
                yield token
            at += size

    def _dress(self, token: Token, ahead: Sequence[Token]) -> None:
        if token.type == "heading_open":
            self.heading = ahead[1].content
            token.attrSet("id", self._free_id(_anchor(ahead[1])))
        elif token.type == "paragraph_open" and [c.type for c in _children(ahead[1])] == ["image"]:
            (image,) = _children(ahead[1])
            token.tag = ahead[2].tag = "figure"
            links = self._files(Path(str(image.attrs["src"])), (".png", ".pdf"))
            caption = f"<figcaption>{escape(image.content)}. {links}</figcaption>"
            _children(ahead[1]).append(_raw(caption, block=False))
        elif token.type == "inline":
            self._dress_text(_children(token))

    def _free_id(self, name: str) -> str:
        names = (f"{name}-{i}" if i else name for i in range(len(self.ids) + 1))
        free = next(n for n in names if n not in self.ids)
        self.ids.add(free)
        return free

    def _dress_text(self, children: Sequence[Token]) -> None:
        texts = [child.content for child in children[1:]] + [""]
        for child, text in zip(children, texts, strict=False):
            if child.type == "link_open":
                address = str(child.attrs["href"])
                if not address.startswith("http"):
                    child.attrSet("href", re.sub(r"\.md(?=#|$)", ".html", address))
                if text in CLAIM_MARKS.values() and "title" in child.attrs:
                    verdict = next(v for v, mark in CLAIM_MARKS.items() if mark == text)
                    child.attrSet("class", f"mark-of-claim {slug(verdict)}")
                    child.attrSet("aria-label", str(child.attrs["title"]))
            elif child.type == "strong_open" and text in LABELS:
                child.attrSet("class", f"verdict {slug(text)}")
            elif child.type == "image":
                child.attrs |= {"loading": "lazy"} | self._size_of(str(child.attrs["src"]))

    def _size_of(self, address: str) -> dict[str, str | int | float]:
        """Return the width and height of a figure; empty where its file is missing."""
        try:
            with (self.folder / address).open(encoding="utf-8") as file:
                head = file.read(SVG_HEAD)
        except (OSError, UnicodeDecodeError):
            return {}
        return {side: str(round(float(points) * PIXELS)) for side, points in SIZE.findall(head)[:2]}

    def _files(self, path: Path, suffixes: Sequence[str]) -> str:
        """Return links to files with the same name and other suffixes that exist."""
        paths = [path.with_name(f"{path.stem}{suffix}") for suffix in suffixes]
        links = [
            f'<a href="{escape(p.as_posix())}">{p.suffix[1:].upper()}</a>'
            for p in paths
            if (self.folder / p).is_file()
        ]
        return f'<span class="files">{" ".join(links)}</span>' if links else ""

    def _table(self, tokens: Sequence[Token]) -> Iterator[Token]:
        """Yield a table in a box that scrolls, its caption inside, its files below."""
        caption, self.caption = self.caption or self.heading, ""
        pair = self.tables.take(caption)
        title = pair[0].title if pair else _plain(caption)
        tokens[0].attrSet("class", "sortable" if pair else "sortable prose")
        yield _raw(
            '<div class="scroll" tabindex="0" role="region" aria-label="{}">\n', escape(title)
        )
        yield tokens[0]
        yield _raw("<caption>{}</caption>\n", escape(title))
        yield from self._rows(tokens[1:], pair[0].rows if pair else [])
        yield _raw("</div>\n")
        if pair and (links := self._files(Path(pair[1]) / f"{pair[0].name}.md", (".csv", ".tex"))):
            yield _raw(f"<p>{links}</p>\n")

    def _rows(self, tokens: Sequence[Token], entries: Sequence[Sequence[Entry]]) -> Iterator[Token]:
        row, column = -2, 0  # the first row holds the heads
        heads: list[str] = []
        for token in tokens:
            if token.type == "tr_open":
                row, column = row + 1, 0
            elif token.type in ("th_open", "td_open"):
                entry = entries[row][column] if entries and row >= 0 else None
                _dress_place(token, entry, is_head=column == 0)
                if row >= 0 and not entries and column > 0:  # names it where columns are stacked
                    token.attrSet("data-head", heads[column])
            elif token.type in ("th_close", "td_close"):
                token.tag = "th" if column == 0 else token.tag
                column += 1
            elif token.type == "inline":
                heads += [_plain(token.content)] if row < 0 else []
                self._dress_text(_children(token))
            yield token


def _dress_place(token: Token, entry: Entry | None, *, is_head: bool) -> None:
    """Give a place of a table its role, and what its entry knows of it."""
    right = "right" in str(token.attrs.pop("style", ""))
    classes = ["num"] if right or (entry and entry.number is not None) else []
    if token.type == "th_open":
        token.attrSet("scope", "col")
    elif is_head:
        token.tag = "th"
        token.attrSet("scope", "row")
    if entry is not None:
        classes += [slug(entry.verdict)] if entry.verdict else []
        known = {
            "data-sort": entry.number,
            "data-cells": " ".join(entry.cells),
            "data-published": entry.row,
            "title": entry.about,
        }
        token.attrs |= {name: value for name, value in known.items() if value not in (None, "")}
    if classes:
        token.attrSet("class", " ".join(classes))


def _is_caption(tokens: Sequence[Token]) -> bool:
    """Return whether a paragraph is one text in bold, and a table follows."""
    types = [token.type for token in tokens]
    if types != ["paragraph_open", "inline", "paragraph_close", "table_open"]:
        return False
    children = [child for child in _children(tokens[1]) if child.type != "text" or child.content]
    return bool(children) and (
        children[0].type == "strong_open" and children[-1].type == "strong_close"
    )


def _children(token: Token) -> list[Token]:
    return token.children if token.children is not None else []


def _raw(text: str, *values: Markup, block: bool = True) -> Token:
    content = str(Markup(text).format(*values)) if values else text
    return Token("html_block" if block else "html_inline", "", 0, content=content)


def _plain(text: str) -> str:
    """Return one line of Markdown as text."""
    (inline,) = MarkdownIt("commonmark").parseInline(text)
    return "".join(child.content for child in _children(inline))


def _anchor(heading: Token) -> str:
    """Return the anchor that code hosts give a heading: small letters, hyphens for spaces."""
    text = "".join(child.content for child in _children(heading) if child.type != "html_inline")
    return re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
