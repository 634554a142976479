"""Numbers made up for any cell, and what a canvas draws as numbers."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Canvas

from bench.analysis.room import Rooms
from bench.cells.baseline import Baseline, without_baselines
from bench.cells.cell import Cell
from bench.figures.panels import draw_figure
from bench.papers.reader import NO_PAPER, load_paper
from bench.results.reader import Done, Finished
from bench.suites.expand import expand
from bench.suites.load import load_suite
from bench.suites.suite import with_stand_ins

BINS = 20
SHOWN = 60  # points of a scatter
RECORDS = 4  # of a history


def number(*parts: Any) -> float:
    """Return a number from 0 to 1 that depends on the parts alone."""
    return int(hashlib.sha256(repr(parts).encode()).hexdigest()[:8], 16) / 2**32


def made_up(cell: Cell) -> Finished:
    """Return every metric of a cell, a history, and the arrays that any experiment keeps."""

    def value(metric: str, at: int) -> float:
        size = 30.0 if "top1" in metric or "top5" in metric else 1.0
        return size * (1 + number(metric, cell.id, at))

    def history() -> list[dict[str, float]]:
        last = getattr(cell, "epochs", None) or 100
        whole = sorted({1, *(round(last * k / RECORDS) for k in range(1, RECORDS + 1))} - {0})
        names = (*cell.metrics, "loss")
        return [
            {"step": float(10 * e), "epoch": float(e)} | {m: value(m, e) for m in names}
            for e in whole
        ]

    def arrays() -> dict[str, Any]:
        rng = np.random.default_rng(int(cell.id[:6], 16))
        points = rng.normal(size=(SHOWN, 2))
        shares = rng.random(BINS)
        return {
            "label": np.arange(SHOWN) % 10, "points": points, "representation": points,
            "tsne": points, "q_b_histogram": shares / shares.sum(),
        }  # fmt: skip

    return Finished({m: value(m, 0) for m in cell.metrics}, {}, history, arrays)


def results_of(path: Path, scale: str, **options: Any) -> tuple[list[Cell], Done]:
    """Return a suite's cells at a scale, and all of them done with made-up numbers."""
    cells = without_baselines(expand(load_suite(path), scale, path, **options))
    return cells, [(cell, made_up(cell)) for cell in cells]


def rooms_of(path: Path, scale: str) -> Rooms:
    """Return the room of a suite's accuracies at a scale, from baselines with made-up numbers."""
    suite = load_suite(path)
    cells = [c for c in expand(suite, scale, path) if isinstance(c, Baseline)]
    return Rooms(suite.scales[scale].baselines, [(cell, made_up(cell)) for cell in cells])


def canvas_of(
    path: Path, scale: str, name: str, cells: Sequence[Cell], done: Done, **options: Any
) -> Canvas | None:
    """Return a figure of a suite at a scale, as its page shows it."""
    suite = with_stand_ins(load_suite(path), scale)
    (figure,) = (figure for figure in suite.figures if figure.name == name)
    paper = load_paper(suite.paper) if suite.paper else NO_PAPER
    published = suite.scales[scale].protocol == "published"
    return draw_figure(figure, suite, cells, done, paper, **({"published": published} | options))


def drawn(line: Any, axis: str) -> list[float]:
    """Return the numbers that a line draws along an axis."""
    return [float(v) for v in (line.get_xdata() if axis == "x" else line.get_ydata())]
