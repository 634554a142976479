"""The published facts, counted and read as printed."""

import hashlib

import pytest

from bench.errors import PublishedError
from bench.papers.file import Printed
from bench.papers.reader import PAPERS, load_paper


def test_everything_is_there() -> None:
    papers = [load_paper(name) for name in PAPERS]
    assert [paper.id for paper in papers] == list(PAPERS)
    assert sum(len(paper.values) for paper in papers) == 892
    assert sum(len(paper.claims) for paper in papers) == 141
    assert sum(len(paper.protocols) for paper in papers) == 73
    assert sum(len(paper.equations) for paper in papers) == 163
    assert sum(len(paper.figures) for paper in papers) == 29


def test_values_are_read_with_their_unit() -> None:
    assert sum(v.value is not None for name in PAPERS for v in load_paper(name).values) == 869
    table_9 = load_paper("eqco").artifact("table-9").values
    assert sum(v.value or 0.0 for v in table_9) == pytest.approx(166.0)
    assert {v.unit for v in table_9} == {"nats"}


DIGESTS = {
    "dcl": "11005f789ad832b7",
    "dual-temperature": "7e5acfcf913c8d03",
    "eqco": "6d91b8f738ce8bbd",
    "mutual-information": "feb36e053176f9d1",
    "unigrad": "1d7e541b0d6df16f",
}


def test_no_printed_value_changes_unseen() -> None:
    """A digit, a column or a unit that changes is seen here, and changed here on purpose."""
    found = {}
    for name in PAPERS:
        values = [
            (v.artifact, v.row, v.row_settings, v.value, v.std, v.decimals, v.unit)
            for v in load_paper(name).values
        ]
        found[name] = hashlib.sha256(repr(values).encode()).hexdigest()[:16]
    assert found == DIGESTS


def test_a_row_knows_its_own_and_the_artifacts_settings() -> None:
    value = load_paper("eqco").artifact("table-9").values[7]
    assert value.row_settings == {"mi_true": 2.0, "loss": "eqco", "alpha": 512, "K": 512}
    assert value.settings["d"] == 20
    assert (value.value, value.decimals, value.half_unit) == (1.9, 1, 0.05)


def test_decimals_are_those_printed() -> None:
    values = load_paper("mutual-information").artifact("table-3").values
    assert [(v.value, v.decimals) for v in values[:3]] == [(0.02041, 5), (0.01345, 5), (0.01241, 5)]
    assert values[-1].decimals == 8
    assert isinstance(values[1].std, Printed)


def test_a_figure_without_printed_points_is_an_artifact() -> None:
    figure = load_paper("mutual-information").artifact("figure-6")
    assert (figure.kind, figure.values) == ("figure", [])


def test_an_unknown_name_is_told_with_the_near_one() -> None:
    with pytest.raises(PublishedError) as error:
        load_paper("eqco").claim("theorem-1-analytc")
    assert str(error.value).startswith(
        "paper 'eqco' has no claim 'theorem-1-analytc'. Did you mean 'theorem-1-analytic'? "
    )


def test_an_unknown_paper_is_told() -> None:
    with pytest.raises(PublishedError, match=r"^there is no paper 'dlc'\. Did you mean 'dcl'\? "):
        load_paper("dlc")
