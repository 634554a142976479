"""Reporting ten thousand cells: each file is read once, and the work grows as the cells do."""

import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import yaml

from bench.cli.report import write_reports
from bench.files import regular
from bench.results.store import Store
from bench.suites.expand import expand
from bench.suites.load import load_suite
from benchmarks.growth import SUITE, finish
from tests.fakes.paths import SUITES
from tests.fakes.site import workspace_of

CELLS_PER_K = 20  # five values of the MI, two seeds, two losses
MOST_RATIO = 2.5  # of the work of 320 more cells to that of 160 more; as squares: 4


def wide(folder: Path, ks: int) -> Path:
    """Write a suite with so many values of K, and made-up results of its cells."""
    document = yaml.safe_load((SUITES / f"{SUITE}.yaml").read_text())
    protocol = {"what": "made-up numbers", "protocol": "published"}
    grid = {"grid": {"K": [64, 512, *range(600, 598 + ks)]}, "seeds": [0, 1]}
    document |= {"scales": {"wide": protocol | grid}, "scale": "wide"}
    path = folder / "suites" / f"{SUITE}.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(yaml.safe_dump(document))
    store, draw = Store(folder / "results"), random.Random(0)
    cells = expand(load_suite(path), "wide", path)
    assert len(cells) == ks * CELLS_PER_K
    for cell in cells:
        finish(store, cell, draw)
    return folder


def report(folder: Path, **options: Any) -> dict[str, Any]:
    workspace = workspace_of(folder / "suites", folder / "results")
    return write_reports(
        workspace, [SUITE], scale="wide", to=folder / "to", formats=["csv"], **options
    )


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw nothing: what drawing costs goes by what a figure shows."""
    monkeypatch.setattr("bench.report.section._draw", lambda *_: None)
    monkeypatch.setattr("bench.report.artifact._effects", lambda *_: None)


@pytest.mark.usefixtures("undrawn")
def test_each_file_of_a_cell_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, read, pieces = wide(tmp_path, 4), Counter[str](), regular._pieces

    def counted(path: Path | str) -> Iterator[bytes]:
        read[str(path)] += 1
        return pieces(path)

    monkeypatch.setattr(regular, "_pieces", counted)
    report(folder)
    own = {path: n for path, n in read.items() if f"{folder}/results/" in path}
    assert len({Path(path).parent for path in own}) == 4 * CELLS_PER_K
    twice = {path: n for path, n in own.items() if n > 1}
    assert {Path(path).name for path in twice} <= {"digests.json", "history.jsonl"}


@pytest.mark.usefixtures("undrawn")
def test_the_work_grows_as_the_cells_do(tmp_path: Path) -> None:
    report(wide(tmp_path / "first", 2))  # loads modules, fills caches
    small, middle, large = (calls_of(wide(tmp_path / str(ks), ks)) for ks in (8, 16, 32))
    assert (large - middle) / (middle - small) < MOST_RATIO


def calls_of(folder: Path) -> int:
    """Return how many functions a report calls: a measure of work that no other load moves."""
    calls = 0

    def count(_: FrameType, event: str, __: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        report(folder)
    finally:
        sys.setprofile(None)
    return calls
