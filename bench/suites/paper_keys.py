"""Checks of a paper's file against the settings of cells."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ValidationError, create_model
from pydantic.fields import FieldInfo

from bench.cells import CELLS
from bench.cells.datasets import BOXED_SETS, IMAGE_SETS
from bench.cells.linear_protocols import LINEAR_PROTOCOLS, LinearProtocol
from bench.cells.losses import LOSSES
from bench.cells.view_recipes import Recipe
from bench.errors import PublishedError, choices
from bench.files.validation_errors import complaints
from bench.papers.file import Case, Fault, PaperFile, PrintedRow, read_file
from bench.papers.others import source_named
from bench.papers.reader import QUOTED
from bench.papers.vocabulary import remark_keys, vocabulary
from bench.record import Record
from bench.suites.facts import BOUNDS, NOT_USED, USED, fact_names
from bench.suites.own_files import shipped

UNITS = (
    "percent", "nats", "points", "percentage_points", "millions", "hours", "count", "input_units",
)  # fmt: skip
SOURCES = ("measured", QUOTED, "released code")
ALIKE = 0.86
"""Similarity of an unknown word to a known one above which it counts as a misspelling."""
Keys = tuple[int | str, ...]


def faults_of(path: Path) -> tuple[PaperFile | None, list[Fault]]:
    """Return the content of a paper's file (None if unreadable) and all its errors.

    Raises:
        PublishedError: the file is missing or not YAML.
    """
    file, faults = read_file(path)
    return file, faults + (list(key_faults(file)) if file else [])


def key_faults(file: PaperFile) -> Iterator[Fault]:
    """Yield unknown keys, unknown quoted sources, and stated values that no cell can have.

    Rows may use the paper's own terms, because comparisons assign them to cells.
    """
    for i, artifact in enumerate(file.artifacts):
        yield from _in_stated(("artifacts", i, "setting"), artifact.setting)
        yield from _in_cases(("artifacts", i, "cases"), artifact.cases)
        yield from _misspelt(("artifacts", i, "setting"), artifact.setting)
        yield from _in_rows(("artifacts", i, "rows"), artifact.rows, artifact.source)
    for i, protocol in enumerate(file.protocols):
        yield from _in_stated(("protocols", i, "stated"), protocol.stated)
        yield from _in_cases(("protocols", i, "cases"), protocol.cases)


def _in_cases(place: Keys, cases: Sequence[Case]) -> Iterator[Fault]:
    for i, case in enumerate(cases):
        yield from _in_stated((*place, i, "stated"), case.stated)
        for key, value in case.when.items():
            if key not in fact_names():
                rule = choices(key, sorted(fact_names()))
                yield Fault((*place, i, "when", key), f"no cell has this setting. {rule}")
            elif text := _impossible(key, value):
                yield Fault((*place, i, "when", key), text)


def _in_rows(place: Keys, rows: Sequence[PrintedRow], source: str | None) -> Iterator[Fault]:
    for i, row in enumerate(rows):
        yield from _misspelt((*place, i), row.model_dump(include=row.model_fields_set))
        for key, value in row.__pydantic_extra__.items():
            if not isinstance(value, str) and (text := _impossible(key, value)):
                yield Fault((*place, i, key), text)
        whose = row.source if "source" in row.model_fields_set else source
        if row.quoted_from is not None:
            try:
                source_named(row.quoted_from.source)
            except PublishedError as error:
                yield Fault((*place, i, "quoted_from", "source"), str(error))
            if whose != QUOTED:
                text = (
                    f"this key needs a number whose source is '{QUOTED}', but the source is "
                    f"'{whose}'."
                )
                yield Fault((*place, i, "quoted_from"), text)


def _in_stated(place: Keys, stated: dict[str, Any]) -> Iterator[Fault]:
    known = fact_names() | remark_keys() | vocabulary().no_cell_has.keys()
    for key, value in stated.items():
        if key not in known:
            text = "no cell has this setting; put other information into `note`."
            yield Fault((*place, key), f"{text} {choices(key, sorted(known))}")
        elif key not in remark_keys() and _is_prose(value):
            text = f"found '{value}', expected a value to compare; put sentences into `note`."
            yield Fault((*place, key), text)
        elif isinstance(value, Mapping) and not value.keys() <= BOUNDS.keys():
            text = f"found {value}, expected a value, a list, or bounds: {', '.join(BOUNDS)}."
            yield Fault((*place, key), text)
        elif key not in remark_keys() and (why := _impossible(key, value)):
            yield Fault((*place, key), why)


def _impossible(key: str, value: Any) -> str | None:
    """Return why no cell can have a stated value, or one of a list; None: cells can."""
    kinds = _records_with(key)
    if value is None or not kinds:
        return None
    if isinstance(value, Mapping):
        return next((text for text in map(_no_number, value.values()) if text), None)
    if isinstance(value, list) and not _is_possible(key, tuple(value)):
        return next((text for one in value if (text := _impossible(key, one))), None)
    if isinstance(value, list) or _is_possible(key, value):
        return next(_near(_names(key), value), None)
    if words := sorted({w for kind in kinds for w in _words(kind.model_fields[key])}):
        return f"found {value!r}, which no cell can have. {choices(str(value), words)}"
    return next(text for kind in kinds for text in _complaints(kind, key, value))


def _no_number(bound: Any) -> str | None:
    is_number = isinstance(bound, int | float) and not isinstance(bound, bool)
    return None if is_number else f"found {bound!r}, expected a number."


def _is_possible(key: str, value: Any) -> bool:
    known = [NOT_USED, USED, *vocabulary().values_no_cell_has.get(key, [])]
    if isinstance(value, str) and (value in known or key == "loss"):
        return True
    return any(not _complaints(kind, key, value) for kind in _records_with(key))


def _complaints(kind: type[BaseModel], key: str, value: Any) -> list[str]:
    try:
        kind.model_validate({key: value})
    except ValidationError as error:
        return [text for _, text in complaints(error, kind)]
    return []


@cache
def _records_with(key: str) -> list[type[BaseModel]]:
    """Return a record of this setting alone for each kind of cell that has it."""
    part, _, name = key.rpartition(".")
    kinds: list[type[BaseModel]] = [LinearProtocol] if part == "linear" else list(CELLS.values())
    fields: list[Any] = [kind.model_fields[name] for kind in kinds if name in kind.model_fields]
    if part == "views":
        hints = get_type_hints(Recipe, include_extras=True)
        fields = [FieldInfo.from_annotation(hints[name])] if name in hints else []
    settings: list[dict[str, Any]] = [{key: (field.annotation, field)} for field in fields]
    return [create_model("Stated", __base__=Record, **setting) for setting in settings]


def _words(field: Any) -> list[str]:
    """Return the names that a setting may have; none if it is a number or free."""

    def named(annotation: Any) -> list[str]:
        if get_origin(annotation) is Literal:
            return [word for word in get_args(annotation) if isinstance(word, str)]
        return [word for part in get_args(annotation) for word in named(part)]

    return named(field.annotation)


@cache
def _names(key: str) -> list[str]:
    """Return known values of a setting with free ones: files of the user add to them."""
    known = {
        "loss": [*LOSSES, *shipped()],
        "dataset": [*IMAGE_SETS, *BOXED_SETS],
        "linear": LINEAR_PROTOCOLS,
    }
    return sorted(known.get(key, []))


def _near(known: Sequence[str], value: Any) -> Iterator[str]:
    """Yield a line where a free word is nearly a known one."""
    for near in [] if value in known else get_close_matches(str(value), known, 1, ALIKE):
        yield f"found '{value}'. Did you mean '{near}'?"


def _misspelt(place: Keys, settings: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield words, which are free, that are nearly those that others have."""
    words = {"unit": UNITS, "source": SOURCES, "metric": sorted(_metrics())}
    for key, value in settings.items():
        yield from (Fault((*place, key), text) for text in _near(words.get(key, []), value))


@cache
def _metrics() -> frozenset[str]:
    return frozenset(metric for kind in CELLS.values() for metric in kind.metrics)


def _is_prose(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_is_prose, value))
    return isinstance(value, str) and " " in value and value not in (NOT_USED, USED)
