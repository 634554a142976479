"""Each comparison has a tolerance with a unit and a reason; none is zero."""

from pathlib import Path

import pytest

from bench.errors import PublishedError, SuiteError
from bench.papers.reader import load_paper
from bench.papers.tolerances import TOLERANCES, Tolerance, read_tolerances, tolerance_of
from bench.suites.load import load_suite, suite_paths
from bench.suites.printed_effects import is_spoken_of
from bench.suites.validate import check_suite
from tests.fakes.paths import SUITES

UNITS = {"percent": "points", "percentage": "points", "percentage_points": "points"}
"""Of printed values -> of tolerances."""


def test_an_artifact_goes_before_its_metric() -> None:
    assert tolerance_of("dual-temperature", "table-2", "test_top1").tolerance == 2.0
    assert tolerance_of("dcl", "table-2", "test_top1").tolerance == 1.0


def test_printed_spreads_are_added() -> None:
    wide = Tolerance(tolerance=0.5, spreads=2, unit="nats", why="w")
    assert (wide.of(0.1), wide.of(None)) == (0.7, 0.5)
    assert wide.in_words == "2 published standard deviations: w"


def test_a_metric_without_an_entry_names_the_file() -> None:
    path = SUITES / "dcl-table-1.yaml"
    suite = load_suite(path)
    odd = suite.compare[0].model_copy(update={"metric": "q_b", "artifact": "figure-3a"})
    with pytest.raises(SuiteError) as error:
        check_suite(suite.model_copy(update={"compare": [odd]}), path)
    assert str(error.value) == (
        f"{path}: compare.0.metrics.0: {TOLERANCES}: there is no tolerance for q_b "
        "or dcl/figure-3a; add one with a reason, in this file or under "
        "`tolerances` in the file of the paper"
    )


def test_what_is_made_of_a_metric_over_an_axis_needs_an_entry_of_its_own() -> None:
    with pytest.raises(PublishedError) as error:
        tolerance_of("dcl", "table-1", "knn_top1", over="tau")
    assert str(error.value).startswith(f"{TOLERANCES}: there is no tolerance for dcl/table-1; add")


def test_a_tolerance_of_zero_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("metrics: {m: {tolerance: 0, unit: nats, why: w}}\nartifacts: {}\n")
    with pytest.raises(PublishedError) as error:
        read_tolerances(path)
    assert str(error.value) == (
        f"{path}: metrics.m: the tolerance may not be 0, because every "
        "measured mean would then differ from the published value."
    )


def test_units_are_those_of_the_printed_values() -> None:
    """A tolerance in points for values printed in percent, not for a share of one."""
    for path in suite_paths(SUITES).values():
        suite = load_suite(path)
        for comparison in suite.compare:
            paper = load_paper(suite.paper or "")
            unit = tolerance_of(
                paper.id, comparison.artifact, comparison.metric, comparison.over
            ).unit
            values = paper.artifact(comparison.artifact).values
            units = {v.unit for v in values if v.unit and is_spoken_of(v, comparison, set())}
            if not comparison.argmax:
                assert {UNITS.get(u, u) for u in units} <= {unit}, (path, comparison.artifact)
