"""A paper's file held against what cells have: its stated facts are compared by these names."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from bench.cells import CELLS
from bench.errors import PublishedError, choices
from bench.papers.file import Case, Fault, PaperFile, PrintedRow, read_file
from bench.papers.others import source_named
from bench.papers.reader import QUOTED
from bench.papers.vocabulary import remark_keys, vocabulary
from bench.suites.agreement import BOUNDS, NOT_USED, USED
from bench.suites.facts import fact_names

UNITS = (
    "percent", "nats", "points", "percentage_points", "millions", "hours", "count", "input_units",
)  # fmt: skip
SOURCES = ("measured", QUOTED, "released code")
ALIKE = 0.86
"""How much of a word that is free and of a known one is the same where it is a mistake."""
Keys = tuple[int | str, ...]


def faults_of(path: Path) -> tuple[PaperFile | None, list[Fault]]:
    """Return what a paper's file says, None where it cannot be read; and all its faults.

    Raises:
        PublishedError: it is missing or no YAML.
    """
    file, faults = read_file(path)
    return file, faults + (list(key_faults(file)) if file else [])


def key_faults(file: PaperFile) -> Iterator[Fault]:
    """Yield stated keys and quoted sources that name nothing, and stated values in sentences."""
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
        for key in case.when:
            if key not in fact_names():
                rule = choices(key, sorted(fact_names()))
                yield Fault((*place, i, "when", key), f"no cell has this setting. {rule}")


def _in_rows(place: Keys, rows: Sequence[PrintedRow], source: str | None) -> Iterator[Fault]:
    for i, row in enumerate(rows):
        yield from _misspelt((*place, i), row.model_dump(include=row.model_fields_set))
        whose = row.source if "source" in row.model_fields_set else source
        if row.quoted_from is not None:
            try:
                source_named(row.quoted_from.source)
            except PublishedError as error:
                yield Fault((*place, i, "quoted_from", "source"), str(error))
            if whose != QUOTED:
                text = f"is of a number whose source is '{whose}', expected '{QUOTED}'."
                yield Fault((*place, i, "quoted_from"), text)


def _in_stated(place: Keys, stated: dict[str, Any]) -> Iterator[Fault]:
    known = fact_names() | remark_keys() | vocabulary().no_cell_has.keys()
    for key, value in stated.items():
        if key not in known:
            text = "no cell has this setting; what is none belongs into `note`."
            yield Fault((*place, key), f"{text} {choices(key, sorted(known))}")
        elif key not in remark_keys() and _is_prose(value):
            text = f"found '{value}', expected a value to compare; sentences belong into `note`."
            yield Fault((*place, key), text)
        elif isinstance(value, Mapping) and not value.keys() <= BOUNDS.keys():
            text = f"found {value}, expected a value, a list, or bounds: {', '.join(BOUNDS)}."
            yield Fault((*place, key), text)


def _misspelt(place: Keys, settings: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield words, which are free, that are nearly those that others have."""
    words = {"unit": UNITS, "source": SOURCES, "metric": sorted(_metrics())}
    for key, value in settings.items():
        known = words.get(key, [])
        for near in [] if value in known else get_close_matches(str(value), known, 1, ALIKE):
            yield Fault((*place, key), f"found '{value}'. Did you mean '{near}'?")


@cache
def _metrics() -> frozenset[str]:
    return frozenset(metric for kind in CELLS.values() for metric in kind.metrics)


def _is_prose(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_is_prose, value))
    return isinstance(value, str) and " " in value and value not in (NOT_USED, USED)
