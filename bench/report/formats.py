"""Tables as Markdown, LaTeX and CSV."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from bench.papers.vocabulary import names, setting_name, value_name
from bench.report.tables import Table
from bench.suites.metric_words import metric_title
from bench.text import csv_text

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # else an option of the line's end before it
    "]": "{]}",
    "±": r"$\pm$",
    "†": r"$\dagger$",
    "\N{GREEK SMALL LETTER ALPHA}": r"$\alpha$",
    "\N{GREEK SMALL LETTER ETA}": r"$\eta$",
    "\N{GREEK SMALL LETTER SIGMA}": r"$\sigma$",
    "\N{GREEK SMALL LETTER TAU}": r"$\tau$",
    "\N{SCRIPT SMALL L}": r"$\ell$",
}
SYMBOLS = ("K", "N")


def to_markdown(table: Table) -> str:
    """Return the table as GitHub Markdown, with columns of numbers aligned right."""
    rules = ["---:" if is_number else "---" for is_number in table.numeric]
    lines = [_line(table.heads), _line(rules)]
    lines += [_line([entry.text for entry in row]) for row in table.rows]
    return "\n".join(lines) + "".join(f"\n\n{markdown_text(note)}" for note in table.notes)


def markdown_text(text: str) -> str:
    """Return text escaped for Markdown, inside or outside a table, in one line.

    Escaping prevents tags, column breaks and links. Text between single backticks stays code.
    """
    line = " ".join(text.splitlines())
    # Where code ends would depend on the reader.
    if line.count("`") % 2 or "``" in line or "\\|" in line:
        return _prose(line).replace("`", "\\`")
    parts = enumerate(re.split("(`[^`]*`)", line))
    return "".join(part.replace("|", "\\|") if i % 2 else _prose(part) for i, part in parts)


def _prose(text: str) -> str:
    """Return text outside of code, what Markdown would read as its own made harmless."""
    plain = text.replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;")
    plain = re.sub(r"\](?=[(\[:])", r"\]", plain.replace("|", "\\|"))
    return re.sub(r"\*|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", plain)


def to_latex(table: Table) -> str:
    """Return the table as a LaTeX float for the package booktabs.

    Headings and labels are spelled as in papers: kNN top-1, batch size, InfoNCE.
    """
    columns = "".join("r" if is_number else "l" for is_number in table.numeric)
    labels = sum(not entry.cells and entry.row is None for entry in table.rows[0])
    firsts = [row[0].text for row in table.rows]
    changes = sum(a != b for a, b in pairwise(firsts))
    lines = []
    for before, row in zip([None, *table.rows], table.rows, strict=False):
        if before and before[0] != row[0] and labels > 1 and 2 * (changes + 1) <= len(firsts):
            lines.append(r"\addlinespace")
        texts = (e.text if e.number is not None else _written(e.text) for e in row)
        lines.append(_latex_line(texts))
    body = "\n".join(lines)
    notes = "".join(f"\\par\\footnotesize {latex_text(note)}\n" for note in table.notes)
    return (
        "% needs \\usepackage{booktabs}\n"
        "\\begin{table}\n\\centering\n"
        f"\\caption{{{latex_text(_written(table.title))}}}\n"
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n"
        f"{_latex_line(map(_written, table.heads))}\n\\midrule\n{body}\n\\bottomrule\n"
        f"\\end{{tabular}}\n{notes}\\end{{table}}\n"
    )


def latex_text(text: str) -> str:
    """Return text with LaTeX's special characters escaped."""
    escaped = "".join(_LATEX.get(character, character) for character in text)
    symbols = re.sub(r"q\\_B", "$q_B$", escaped)
    return (
        re.sub(rf"\b({'|'.join(SYMBOLS)})\b", r"$\1$", symbols).encode("ascii", "replace").decode()
    )


def _written(text: str) -> str:
    """Return text with names of settings, metrics, methods and artifacts as papers write them."""
    return re.sub(r"[\w./-]*\w", lambda word: _name(word.group()), text)


def _name(word: str) -> str:
    """Return one name as papers write it: `eqco/table-9` is EqCo, Table 9."""
    paper, slash, artifact = word.partition("/")
    if slash:
        kind, *parts = artifact.split("-")
        return f"{value_name(paper)}, {' '.join([kind.capitalize(), *map(value_name, parts)])}"
    if names().settings.get(word):
        return setting_name(word)
    return metric_title(word) if "_" in word and word.islower() else value_name(word)


def to_csv(table: Table) -> str:
    """Return the table as CSV, with separate columns for published values and verdicts."""
    columns = list(zip(*table.rows, strict=True))
    heads: list[str] = []
    texts: list[list[str]] = []
    for head, column in zip(table.heads, columns, strict=True):
        heads.append(head)
        texts.append([entry.value for entry in column])
        if any(entry.printed is not None for entry in column):
            heads += [f"{head}: published", f"{head}: verdict"]
            texts += [[e.printed or "" for e in column], [str(e.verdict or "") for e in column]]
    return csv_text([heads, *zip(*texts, strict=True)])


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(map(markdown_text, texts)) + " |"


def _latex_line(texts: Iterable[str]) -> str:
    return " & ".join(map(latex_text, texts)) + r" \\"
