"""The reference of suite files, from the records that read them."""

from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from comments import comments_of

from bench.papers.file import Case, ClaimEntry
from bench.suites.checks import At, Check, CheckRecord
from bench.suites.comparison_blocks import ComparisonBlock
from bench.suites.figure import Figure, Quantity, Series
from bench.suites.load import ScaleEntry, SuiteFile, TableEntry
from bench.suites.shared import AssumedEntry
from bench.suites.suite import Assumption, Block, Layout, StandIn
from bench.text import value_text

HEAD = """# Suite files

*Generated* from the program. [Write a suite](../how-to/own-suite.md) has an example;
`bench schema` prints the same as a JSON schema for editors.
"""
RECORDS: dict[str, type[Any]] = {
    "A suite": SuiteFile,
    "An entry of `scales`": ScaleEntry,
    "`assumed`": AssumedEntry,
    "Any other key of `assumed`": Assumption,
    "An entry of `grids`": Block,
    "An entry of `compare`": ComparisonBlock,
    "An entry of `cases`": Case,
    "`layout`": Layout,
    "An entry of `tables`": TableEntry,
    "An entry of `figures`": Figure,
    "An entry of `series`": Series,
    "An entry of `beside`, or `twin`": Quantity,
    "`stand_in`": StandIn,
    "A claim with notes": ClaimEntry,
    "Keys of every check": CheckRecord,
    "`at`": At,
}
WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false"}
NAMES = {record: title[0].lower() + title[1:] for title, record in RECORDS.items()}


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
        if name not in left_out:
            default = "needed" if field.is_required() else value_text(field.default)
            told = field.description or comments.get(name, "")
            extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
            values = ", ".join(map(str, extra.get("enum", ()))) or _kind(field.annotation)
            rows.append(_row(f"`{name}`", values, default, told))
    doc = "\n\n".join(" ".join(p.split()) for p in (record.__doc__ or "").split("\n\n"))
    table = ["| key | values | default | meaning |", "|---|---|---|---|", *rows, ""] if rows else []
    return [doc.replace("<", "&lt;") + "\n", "\n".join(table)]


def _kind(annotation: Any) -> str:
    """Return which values an annotation allows, in words."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(inner[0])
    if origin is Literal:
        return ", ".join(map(str, inner))
    if origin is list:
        return f"list of {_kind(inner[0])}"
    if origin is dict:
        return f"mapping to {_kind(inner[1])}"
    if origin in (Union, UnionType):
        choices = [part for part in inner if part is not NoneType]
        if {bool, int, float, str} <= set(inner):
            return " or ".join(["a value", *(_kind(p) for p in choices if get_origin(p))])
        told = dict.fromkeys(map(_kind, choices))
        return " or ".join(told)
    if annotation in WORDS:
        return WORDS[annotation]
    return NAMES.get(annotation, "a check" if issubclass(annotation, CheckRecord) else "a mapping")


def _row(*cells: str) -> str:
    return "| " + " | ".join(c.replace("|", "\\|").replace("<", "&lt;") for c in cells) + " |"
