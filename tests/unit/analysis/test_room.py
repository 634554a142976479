"""Trivial baselines, supervised accuracy and headroom from finished baselines."""

from pathlib import Path
from typing import Any

import pytest

from bench.analysis.evidence import gather
from bench.analysis.room import Rooms, room_lines
from bench.cells.baseline import baselines_among, without_baselines
from bench.cells.cell import Cell
from bench.papers.reader import NO_PAPER
from bench.results.reader import Results
from bench.suites.load import load_suite
from tests.fakes.results import cells_of, finish
from tests.fakes.rooms import LABELS
from tests.fakes.suites import DIGITS, REMOVED, changed
from tests.fakes.workspace import Workspace

WIDER = 2.0  # points of the wide network
ACCURACY = {"raw": 60.0, "untrained": 40.0, "labels": 90.0}


@pytest.fixture
def path(workspace: Workspace) -> Path:
    """Return a suite of two network widths and two seeds, with baselines."""
    scale = {"what": "seconds", "protocol": "reduced", "baselines": LABELS}
    changes = {"scales": {"tiny": scale}, "fixed.width": REMOVED, "seeds": [0, 1]}
    return workspace.suite(changed(DIGITS, changes | {"grid": {"width": [4, 8]}}), "digits")


def accuracy(cell: Any) -> dict[str, float]:
    """Return what is planted: seeds 1 apart, the wide network 2 better."""
    wide = WIDER * (cell.width == 8)
    return {"knn_top1": ACCURACY[cell.baseline] + cell.seed + wide}


def rooms(path: Path, done: list[Cell]) -> Rooms:
    """Return the rooms where these baselines are done."""
    root = path.parent.parent / "results"
    root.mkdir()
    finish(root, done, accuracy)
    finished = Results(root).finished(baselines_of(path))
    return Rooms(load_suite(path).scales["tiny"].baselines, finished)


def baselines_of(path: Path) -> list[Cell]:
    return [*baselines_among(cells_of(path, "tiny"))]


def judged_of(path: Path, **settings: int) -> list[Cell]:
    """Return the cells that are no baselines, those with some settings."""
    cells = without_baselines(cells_of(path, "tiny"))
    return [c for c in cells if all(c.settings[k] == v for k, v in settings.items())]


def test_room_is_from_the_larger_of_raw_and_untrained_to_labels(path: Path) -> None:
    (found,) = rooms(path, baselines_of(path)).of("knn_top1", judged_of(path, width=8))
    assert (found.raw.mean, found.untrained.mean, found.labels.mean) == (60.0, 42.5, 92.5)
    assert (found.floor, found.floor_is, found.ceiling, found.room) == (
        60.0, "raw pixels", 92.5, 32.5,
    )  # fmt: skip
    assert (found.raw.n, found.untrained.n, found.labels.n) == (1, 2, 2)
    assert (
        found.in_words == "raw pixels 60.0, untrained network 42.5, with labels 92.5: headroom 32.5"
    )
    assert found.record() == {
        "metric": "knn_top1", "raw": 60.0, "untrained": 42.5, "labels": 92.5, "floor": 60.0,
        "ceiling": 92.5, "room": 32.5,
    }  # fmt: skip


def test_baselines_of_two_versions_of_the_data_are_no_floor(path: Path) -> None:
    root, baselines = path.parent.parent / "results", baselines_of(path)
    root.mkdir()
    for seed, data in enumerate("ab"):
        finish(root, [c for c in baselines if c.seed == seed], accuracy, {"dataset": data})
    found = Rooms(load_suite(path).scales["tiny"].baselines, Results(root).finished(baselines))
    assert found.of("knn_top1", judged_of(path)) == []
    assert found.are_missing("knn_top1", judged_of(path))


def test_an_untrained_network_may_be_the_floor(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ACCURACY, "untrained", 70.0)
    (found,) = rooms(path, baselines_of(path)).of("knn_top1", judged_of(path, width=4))
    assert (found.floor, found.floor_is) == (70.5, "untrained network")


def test_baselines_of_all_seeds_count_whichever_cells_are_asked_of(path: Path) -> None:
    found = rooms(path, baselines_of(path))
    one, *_ = found.of("knn_top1", judged_of(path, width=8, seed=1))
    assert [one] == found.of("knn_top1", judged_of(path, width=8))


def test_each_network_has_its_own_room(path: Path) -> None:
    found = rooms(path, baselines_of(path)).of("knn_top1", judged_of(path))
    assert room_lines(found) == [
        "width = 4: raw pixels 60.0, untrained network 40.5, with labels 90.5: headroom 30.5",
        "width = 8: raw pixels 60.0, untrained network 42.5, with labels 92.5: headroom 32.5",
    ]
    assert room_lines(found[:1]) == [found[0].in_words]


def test_what_moves_no_number_is_not_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.WIDER", 0.0)
    found = rooms(path, baselines_of(path)).of("knn_top1", judged_of(path))
    assert len(found) == 2
    assert room_lines(found) == [found[0].in_words]


@pytest.mark.parametrize("kind", ["raw", "untrained", "labels"])
def test_there_is_none_without_each_kind(path: Path, kind: str) -> None:
    done = [c for c in baselines_of(path) if c.settings["baseline"] != kind]
    found = rooms(path, done)
    assert found.of("knn_top1", judged_of(path)) == []
    assert found.are_missing("knn_top1", judged_of(path))


def test_there_is_none_of_what_baselines_do_not_measure(path: Path) -> None:
    found = rooms(path, baselines_of(path))
    for metric in ("linear_top1", "q_b"):
        assert found.of(metric, judged_of(path)) == []
        assert not found.are_missing(metric, judged_of(path))
    none_done = Rooms(load_suite(path).scales["tiny"].baselines)
    assert [none_done.are_missing(m, judged_of(path)) for m in ("knn_top1", "q_b")] == [True, False]


def test_a_scale_without_baselines_misses_none(path: Path) -> None:
    assert Rooms().of("knn_top1", judged_of(path)) == []
    assert not Rooms().are_missing("knn_top1", judged_of(path))


def test_baselines_are_kept_apart_from_what_is_judged(path: Path) -> None:
    cells = cells_of(path, "tiny")
    root = path.parent.parent / "results"
    root.mkdir()
    finish(root, baselines_of(path)[1:], accuracy)
    evidence = gather(load_suite(path), "tiny", cells, NO_PAPER, Results(root))
    assert (evidence.cells, evidence.done) == (without_baselines(cells), [])
    assert (evidence.baselines, evidence.baselines_done) == (baselines_of(path), 8)
