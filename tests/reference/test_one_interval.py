"""Any two places that show the difference of the same cells show the same interval."""

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest

from bench.analysis.evidence import Evidence, gather
from bench.cli.selection import select_scales
from bench.cli.versus import compare_methods
from bench.cli.workspace import workspace_of
from bench.report.claim_words import effect_lines, effect_words, short_words
from bench.report.measured import measured_records
from bench.results.reader import Results
from bench.suites.load import suite_paths
from tests.fakes.paths import REFERENCE, SUITES

WORKSPACE = workspace_of(suites=SUITES, results=REFERENCE)
SUITE_SCALES = ("dcl-table-1", "dcl-table-2", "eqco-table-9", "dcl-figure-3b", "dcl-table-11")


class Shown(NamedTuple):
    """A difference as some place shows it."""

    place: str
    metric: str
    cells: frozenset[str]
    mean: float
    half: float | None  # of the interval


def shown(place: str, metric: str, record: dict[str, Any], mean: str = "effect") -> Shown:
    low, high = record["low"], record["high"]
    half = None if low is None else (high - low) / 2
    return Shown(place, metric, frozenset(record["cells"]), abs(record[mean]), half)


@cache
def evidence(name: str) -> list[Evidence]:
    results = Results(REFERENCE)
    return [
        gather(chosen.suite, chosen.scale, chosen.cells, chosen.paper, results)
        for chosen in select_scales(suite_paths(SUITES)[name], WORKSPACE)
        if results.finished(chosen.cells)
    ]


def differences(of: Evidence) -> Iterator[Shown]:
    """Yield every difference of a suite at a scale that `--json` shows."""
    for row in of.compared:
        record = row.record()
        if row.measured and row.bases:
            yield shown("compare", row.metric, record, "measured")
    records = [e.record() for e in of.effects] + [e.record() for e in of.other_data]
    for record in records:
        if record["measured"] is not None:
            yield shown("compare --effects", record["metric"], record, "measured")
    for judged in of.judged:
        record = judged.record()
        if record["effect"] is not None and not judged.check.at and len(judged.check.sides) == 2:
            yield shown("claims", judged.check.metric, record)
    for table in of.suite.tables:
        records = measured_records(table, of.done, of.rooms)
        for record in records:
            if record["gain"] is not None:
                yield shown("show", table.metric, record["gain"])


def disagreeing(differences: list[Shown]) -> tuple[list[tuple[Shown, Shown]], set[str]]:
    """Return pairs of the same difference with other intervals, and which places share any."""
    wrong, places = [], set[str]()
    for i, one in enumerate(differences):
        for other in differences[:i]:
            same = (one.metric, one.cells) == (other.metric, other.cells)
            if same and one.mean == pytest.approx(other.mean, rel=1e-9):
                places |= {one.place, other.place} if one.place != other.place else set()
                if one.half != pytest.approx(other.half, rel=1e-9):
                    wrong.append((one, other))
    return wrong, places


def test_the_same_cells_have_one_interval_everywhere() -> None:
    shared = set[str]()
    for name in SUITE_SCALES:
        for of in evidence(name):
            wrong, places = disagreeing(list(differences(of)))
            assert wrong == []
            shared |= places
    assert shared == {"compare", "compare --effects", "claims", "show"}


def test_two_losses_have_the_interval_that_other_verbs_show() -> None:
    rows = compare_methods(WORKSPACE, "dcl", "infonce", scale="cifar", paper="dcl")
    shared = set[str]()
    for name in {row["suite"] for row in rows}:
        (of,) = (one for one in evidence(name) if one.scale == "cifar")
        own = [row for row in rows if row["suite"] == name]
        leads = [shown("versus", row["metric"], row, "difference") for row in own]
        wrong, places = disagreeing([*differences(of), *leads])
        assert wrong == []
        shared |= places
    assert {"versus", "claims"} <= shared


@pytest.mark.parametrize("name", ["dcl-table-1", "mutual-information-figure-5"])
def test_the_table_and_the_sentences_of_a_page_write_an_effect_alike(name: str) -> None:
    judged = [one for of in evidence(name) for one in of.judged if one.effect is not None]
    assert judged
    for one in judged:
        effect = effect_lines(one)[0].partition(", worst")[0]
        assert f": {effect}" in short_words(one), one.check
        assert f": {effect}" in effect_words(one.record()), one.check
