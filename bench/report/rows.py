"""Rows of a table as HTML: in Python, for a page may have ten thousand of them."""

from collections.abc import Sequence

from markupsafe import Markup, escape

from bench.report.tables import MARKS, Entry, slug


def rows_html(rows: Sequence[Sequence[Entry]], *, ids: bool) -> Markup:
    """Return the rows, the first entry of each as its head.

    Args:
        rows: of a table.
        ids: whether each row has an anchor, named after its first entry.
    """
    return Markup("".join(_row(row, ids=ids) for row in rows))  # all is escaped


def _row(row: Sequence[Entry], *, ids: bool) -> str:
    anchor = f' id="cell-{escape(row[0].value)}"' if ids else ""
    head, *entries = row
    number = "" if head.number is None else ' class="num"'
    first = f'<th scope="row"{number}>{escape(head.value)}</th>\n'
    return f"<tr{anchor}>\n{first}{''.join(map(_entry, entries))}</tr>\n"


def _entry(entry: Entry) -> str:
    """Return a place of the table, with the cells and the published row behind its numbers."""
    number = "" if entry.number is None else f' class="num" data-sort="{entry.number}"'
    if not (entry.cells or entry.row or entry.printed is not None or entry.verdict):
        return f"<td{number}>{escape(entry.value)}</td>\n"
    names, row = " ".join(entry.cells), escape(entry.row or "")
    several = "s" if len(entry.cells) > 1 else ""
    titles = [f"published: {row}"] if entry.row else []
    titles += [f"measured: {len(entry.cells)} cell{several} {names}"] if entry.cells else []
    attributes = f' data-cells="{names}"' if entry.cells else ""
    attributes += f' data-published="{row}"' if entry.row else ""
    attributes += f' title="{"; ".join(titles)}"' if titles else ""
    text = str(escape(entry.value))
    if entry.printed is not None:
        text += f' <span class="printed">[{escape(entry.printed)}]</span>'
    if entry.verdict:
        mark = f'<span aria-hidden="true">{escape(MARKS[entry.verdict])}</span>'
        mark += f'<span class="unseen">{entry.verdict}</span>'
        text += f' <span class="mark {slug(entry.verdict)}">{mark}</span>'
    return f"<td{number}{attributes}>{text}</td>\n"
