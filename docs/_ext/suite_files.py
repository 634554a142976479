"""The reference of suite files, from the records that read them."""

from typing import Any, get_args

from comments import comments_of

from bench.suites.checks import At, Check, CheckRecord
from bench.suites.comparison_blocks import Case, ComparisonBlock
from bench.suites.figure import Figure, Quantity, Series
from bench.suites.settings_reference import field_values
from bench.suites.suite import Assumption, Block, Layout, MeasuredTable, StandIn
from bench.suites.suite_file import ScaleEntry, SuiteFile
from bench.text import value_text

HEAD = """# Suite files

*Generated* from the program. [Write a suite](../how-to/own-suite.md) has an example;
`bench schema` prints the same as a JSON schema for editors.
"""
RECORDS: dict[str, type[Any]] = {
    "A suite": SuiteFile,
    "An entry of `scales`": ScaleEntry,
    "An entry of `assumed`": Assumption,
    "An entry of `grids`": Block,
    "An entry of `compare`": ComparisonBlock,
    "An entry of `cases`": Case,
    "`layout`": Layout,
    "An entry of `tables`": MeasuredTable,
    "An entry of `figures`": Figure,
    "An entry of `series`": Series,
    "An entry of `beside`, or `twin`": Quantity,
    "`stand_in`": StandIn,
    "Keys of every check": CheckRecord,
    "`at`": At,
}


def suite_files_page() -> str:
    """Return every record of a suite file with its keys."""
    parts = [HEAD]
    for title, record in RECORDS.items():
        parts += [f"## {title}\n", *_described(record, ())]
    parts.append("## Kinds of check\n")
    union, *_ = get_args(Check)
    for kind in get_args(union):
        (name,) = get_args(kind.model_fields["check"].annotation)
        parts += [f"### {name}\n", *_described(kind, (*CheckRecord.model_fields, "check"))]
    return "\n".join(parts)


def _described(record: type[Any], left_out: tuple[str, ...]) -> list[str]:
    comments = comments_of(record)
    rows = []
    for name, field in record.model_fields.items():
        if name in left_out:
            continue
        default = "needed" if field.is_required() else value_text(field.default)
        told = field.description or comments.get(name, "")
        rows.append(_row(f"`{name}`", _kind(field_values(field)), default, told))
    doc = "\n\n".join(" ".join(p.split()) for p in (record.__doc__ or "").split("\n\n"))
    table = ["| key | values | default | meaning |", "|---|---|---|---|", *rows, ""] if rows else []
    return [doc.replace("<", "&lt;") + "\n", "\n".join(table)]


def _kind(values: str) -> str:
    return values.replace("bench.suites.", "")


def _row(*cells: str) -> str:
    return "| " + " | ".join(c.replace("|", "\\|").replace("<", "&lt;") for c in cells) + " |"
