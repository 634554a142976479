"""Tables and text on a terminal."""

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from bench.analysis.doubts import MARK, doubt_lines
from bench.analysis.verdicts import Verdict
from bench.report.tables import Entry, Table, numeric_columns
from bench.results.reader import Done
from bench.text import plain_text

_STYLES = {
    Verdict.SAME: "green",
    Verdict.SMALLER: "bold red",
    Verdict.LARGER: "bold red",
    Verdict.CANNOT_TELL: "yellow",
    Verdict.ONE_SEED: "yellow",
    Verdict.NOT_COMPARABLE: "dim",
    Verdict.NOT_MEASURED: "dim",
}
_CLAIM_STYLES = {
    "holds": "green",
    "partly holds": "cyan",
    "fails": "bold red",
    "not seen at this scale": "red",
    "cannot tell": "yellow",
}
MOST_VALUES = 12
LINE = 80  # characters of a line of text
GLUE = "\x00"  # in place of a space at which no line is broken
PLAIN_WIDTH = 200  # where standard output is no terminal


class _Output(Console):
    """Standard output; the library's own would exit with 1, a negative answer, if a pipe breaks."""

    def on_broken_pipe(self) -> None:
        """Leave it to the command line."""
        raise BrokenPipeError


def console() -> Console:
    """Return standard output with the terminal's width, or unlimited width elsewhere."""
    out = _Output(highlight=False)
    return out if out.is_terminal else _Output(highlight=False, width=PLAIN_WIDTH)


def print_line(text: str, indent: str = "") -> None:
    """Print a sentence, wrapped at LINE or the width of a narrower terminal.

    A command in backticks stays on one line for copying.
    """
    plain = plain_text(" ".join(text.splitlines()))
    whole = re.sub("`[^`]*`", lambda match: match.group().replace(" ", GLUE), plain)
    width = min(LINE, console().width)
    lines = textwrap.fill(
        whole,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    print(lines.replace(GLUE, " "))


def listed(values: Iterable[str]) -> str:
    """Return the first MOST_VALUES values of an axis as text, and the number of others."""
    words = list(values)
    more = len(words) - MOST_VALUES
    return ", ".join(words[:MOST_VALUES]) + (f" and {more} more" if more > 0 else "")


def print_verdict(verdict: str, text: str) -> None:
    """Print a line that starts with a claim's verdict, in the verdict's colour."""
    line = Text(verdict, _CLAIM_STYLES.get(verdict, ""))
    console().print(line.append(f"  {plain_text(text)}", "bold"))


def print_doubts(done: Done) -> None:
    """Print why marked numbers are unreliable."""
    for line in doubt_lines(done):
        print_line(f"{MARK} unreliable, so left out of verdicts: {line}")


def print_table(table: Table) -> None:
    """Print a table of compared values, coloured by verdict, and the lines below it."""
    print_rows(table.title, table.heads, table.rows)
    for note in table.notes:
        print_line(note)


def print_rows(title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table.

    Args:
        title: a line above the table.
        heads: column headings.
        rows: one value per column: an entry, text, a number, or None for an empty entry.
    """
    if title:
        print_line(title)
    entries = [[_entry(value) for value in row] for row in rows]
    shown = RichTable(box=None, pad_edge=False)
    numeric = numeric_columns(entries) or [False] * len(heads)
    for head, is_number in zip(heads, numeric, strict=True):
        shown.add_column(Text(plain_text(head)), justify="right" if is_number else "left")
    for row in entries:
        styles = (_STYLES[e.verdict] if e.verdict else "" for e in row)
        shown.add_row(*map(Text, (plain_text(e.text) for e in row), styles))
    console().print(shown)


def _entry(value: Any) -> Entry:
    if isinstance(value, Entry):
        return value
    number = value if isinstance(value, int | float) else None
    return Entry("" if value is None else str(value), number=number)
