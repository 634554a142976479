"""A paper's table: its layout, its names, and what was measured under each number."""

import csv
import io
from dataclasses import replace

import pytest

from bench.analysis.compare import Compared
from bench.analysis.statistics import t_interval
from bench.analysis.verdicts import Verdict
from bench.papers.reader import load_paper
from bench.papers.tolerances import tolerance_of
from bench.papers.vocabulary import value_name
from bench.report.paper_table import (
    MeasuredNumber,
    metric_head,
    paper_csv,
    paper_table,
    row_words,
)
from bench.report.tables import Table
from bench.suites.suite import Layout

BATCHES = Layout(rows=["loss"], columns="batch_size")


def table(
    artifact: str, layout: Layout | None = None, measured: tuple[MeasuredNumber, ...] = ()
) -> Table:
    paper, _, name = artifact.partition("/")
    found = paper_table(load_paper(paper).artifact(name), layout, measured)
    assert found is not None
    return found


def measured(
    row: int, values: list[float], scale: str = "paper", **changes: object
) -> MeasuredNumber:
    value = load_paper("dcl").artifact("table-1-cifar10").values[row]
    compared = Compared(
        artifact="table-1-cifar10", row=value.row_settings, metric=str(value.metric), reading=None,
        reading_settings={}, published=value, measured=t_interval(values),
        allowed=tolerance_of("dcl", "table-1-cifar10", str(value.metric)),
        verdict=Verdict.SAME, cells=("a", "b"),
    )  # fmt: skip
    return MeasuredNumber(scale, "published protocol", replace(compared, **changes))  # type: ignore[arg-type]


def test_rows_and_columns_are_the_papers() -> None:
    found = table("dcl/table-1-cifar10", BATCHES)
    assert found.heads == ["metric", "loss", *(f"batch size {n}" for n in (32, 64, 128, 256, 512))]
    texts = [[place.text for place in row] for row in found.rows]
    assert [row[:3] for row in texts] == [
        ["kNN top-1 (%)", "InfoNCE", "78.9"],
        ["kNN top-1 (%)", "DCL", "83.7"],
        ["linear top-1 (%)", "InfoNCE", "79.8"],
        ["linear top-1 (%)", "DCL", "85.1"],
    ]


def test_a_column_of_another_metric_alone_has_its_name() -> None:
    """The drops over all batch sizes that the text states beside points of Fig. 3(a)."""
    found = table("dcl/figure-3a", BATCHES)
    assert found.heads == ["loss", "batch size 256", "batch size 1024", "drop in linear accuracy"]


def test_notes_name_rows_as_their_table_does() -> None:
    def words(paper: str, artifact: str, row: int) -> str:
        return row_words(load_paper(paper).artifact(artifact).values[row - 1])

    assert words("unigrad", "table-2", 3) == "row (c)"
    assert words("unigrad", "table-5", 1) == "row 9"
    assert words("mutual-information", "table-2a", 12) == (
        "row 12 (CAVE (annealed), linear top-5 (%))"
    )
    assert words("mutual-information", "text-5", 3) == "row 3 (gain in linear accuracy)"


def test_every_printed_number_has_its_place() -> None:
    for name in ("dcl", "dual-temperature", "eqco", "mutual-information", "unigrad"):
        for artifact in load_paper(name).artifacts.values():
            found = paper_table(artifact, None, [])
            rows = [place.row for row in found.rows for place in row if place.row] if found else []
            assert len(rows) == len(set(rows)) == len(artifact.values), artifact.id


def test_methods_are_named_as_the_paper_prints_them() -> None:
    rows = table("unigrad/table-2").rows
    assert [row[0].text for row in rows] == [f"({letter})" for letter in "abcdefghij"]
    assert [row[2].text for row in rows][:5] == [
        "MoCo [16]", "SimCLR* [5]", "BYOL [20]", "BYOL(DirectPred [27])", "-"
    ]  # fmt: skip
    assert rows[0][4].text == "\N{MINUS SIGN}u\N{SUBSCRIPT TWO}\N{MODIFIER LETTER SMALL M}"
    labels = [place.text for row in table("dcl/table-10").rows for place in row]
    assert "SimCLR+DCL" in labels
    assert value_name("moco-v2", "dcl") == "MoCo-v2"
    assert value_name("moco-v2", "eqco") == "MoCo v2"
    assert value_name("ball-lab-s-neigh-anneal") == "BALL (Lab, S-neigh, annealed)"
    assert value_name("ir-nce") == "IR-nce"
    assert value_name("of-no-paper") == "of-no-paper"
    assert metric_head("linear_top5") == "linear top-5 (%)"


def test_measured_numbers_stand_next_to_their_published_one() -> None:
    own = (measured(0, [78.8, 79.0, 78.9]), measured(0, [70.0], "cifar", differences=["epochs"]))
    found = table("dcl/table-1-cifar10", BATCHES, own)
    place = found.rows[0][2]
    assert place.text == "78.90 ± 0.25 [78.9] ="
    assert place.number == pytest.approx(78.9)
    assert place.cells == ("a", "b")
    assert "measured: 2 cells a b" in place.about
    assert found.notes == ["paper: published protocol"]
    assert all(not p.cells for row in found.rows for p in row if p is not place)
    only = table("dcl/table-1-cifar10", BATCHES, own[1:]).rows[0][2]
    assert only.text.startswith("70.00 [78.9]")


def test_the_csv_has_each_printed_and_each_measured_number() -> None:
    artifact = load_paper("dcl").artifact("table-1-cifar10")
    rows = list(csv.DictReader(io.StringIO(paper_csv(artifact, [measured(3, [80.0, 81.0, 82.0])]))))
    assert len(rows) == len(artifact.values)
    assert rows[3]["measured"] == "81.0"
    assert (rows[3]["published"], rows[3]["verdict"]) == ("81.3", "same")
    assert rows[0]["measured"] == ""
