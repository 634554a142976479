"""Deviations of the cells of a scale from the paper.

Each setting is compared with the nearest cell of the scale `paper`. Values come from the paper or
from a preset. Settings that the paper states and no cell of `paper` has are added.
"""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from bench.analysis.compare import pairings
from bench.cells.baseline import without_baselines
from bench.cells.cell import Cell
from bench.papers.reader import Paper, Statement
from bench.suites.facts import agrees, facts
from bench.suites.protocol import Departure, departures, stated_of, stated_settings
from bench.suites.suite import Suite
from bench.text import value_text

ALIKE = ("method", "loss", "dataset")  # settings that the nearest cell shares first
MATTER_MOST = (
    "dataset", "train_images", "held_out", "method", "loss", "epochs", "arch", "width",
    "image_size", "views", "view_strength", "tau", "tau_beta", "alpha", "batch_size", "N", "K",
    "lr", "base_lr", "lr_scaling", "optimizer", "weight_decay", "lr_schedule", "warmup_epochs",
    "momentum",
)  # fmt: skip
"""Settings that may matter most, in this order; the others follow in the order of the cell."""
MOST_METHODS = 3  # that are named beside a deviation

Texts = dict[str, str]  # the settings of a cell


class Deviation(NamedTuple):
    """A setting in which cells differ from the nearest cells of the `paper` scale."""

    name: str
    mine: list[str]
    papers: tuple[str, ...]
    methods: str  # that have it, where others have not

    @property
    def text(self) -> str:
        """The deviation as text."""
        of = f" (for {self.methods})" if self.methods else ""
        return f"{self.name} = {', '.join(self.mine)} instead of {' or '.join(self.papers)}{of}"


def deviations_of_scale(
    suite: Suite, cells: Sequence[Cell], paper_cells: Sequence[Cell], paper: Paper
) -> list[str]:
    """Return each deviation from the paper as text, the most important ones first.

    Args:
        suite: the suite.
        cells: all or some cells of a scale.
        paper_cells: the cells of the scale `paper`; empty if the suite has no such scale.
        paper: the suite's paper.
    """
    found = [(d.name, d.text) for d in deviations(cells, paper_cells)]
    compared = set(chain.from_iterable(cell.settings for cell in cells if paper_cells))
    own = {name for name, _ in stated_departures(suite, without_baselines(paper_cells), paper)}
    left_out = (compared - own) | {name for name, _ in found}
    stated = stated_departures(suite, without_baselines(cells), paper)
    found += [(name, text) for name, text in stated if name not in left_out]
    ranks = _ranks(cells)
    return [text for _, text in sorted(found, key=lambda one: _rank(one[0], ranks))]


def deviations(cells: Sequence[Cell], paper_cells: Sequence[Cell]) -> list[Deviation]:
    """Return each setting in which a cell differs from the nearest cell of the `paper` scale.

    The nearest cell has the fewest differing settings. Cells with the same method, loss and data
    set are preferred. If several cells are equally near, all their values count.
    """
    theirs = _points(paper_cells)
    mine, ranks = _points(cells) if theirs else [], _ranks(paper_cells)
    found: dict[tuple[str, tuple[str, ...]], list[Texts]] = {}
    for point in mine:
        candidates = [t for t in theirs if t["experiment"] == point["experiment"]] or theirs
        names, nearest = _nearest(point, candidates, ranks)
        for name in names:
            key = name, tuple(dict.fromkeys(other[name] for other in nearest))
            found.setdefault(key, []).append(point)
    everyone = {point.get("method") for point in mine}
    listed = [_deviation(*key, points, everyone) for key, points in found.items()]
    return sorted(listed, key=lambda one: _rank(one.name, ranks))


def _deviation(
    name: str, papers: tuple[str, ...], points: Sequence[Texts], everyone: set[str | None]
) -> Deviation:
    methods = [*dict.fromkeys(point["method"] for point in points if "method" in point)]
    told = "" if set(methods) == everyone or len(methods) > MOST_METHODS else ", ".join(methods)
    return Deviation(name, [*dict.fromkeys(point[name] for point in points)], papers, told)


def _nearest(
    mine: Texts, others: Sequence[Texts], ranks: dict[str, int]
) -> tuple[tuple[str, ...], list[Texts]]:
    """Return the settings in which the nearest others differ from a cell, and these others."""
    apart = [
        tuple(sorted(_differing(mine, other), key=lambda name: _rank(name, ranks)))
        for other in others
    ]

    def distance(names: tuple[str, ...]) -> tuple[list[bool], int, list[int]]:
        return [n in names for n in ALIKE], len(names), [-_rank(name, ranks) for name in names]

    least = min(apart, key=distance)
    return least, [other for other, names in zip(others, apart, strict=True) if names == least]


def _differing(mine: Texts, other: Texts) -> list[str]:
    """Return the settings that both cells have, with different values."""
    names = [name for name, value in mine.items() if other.get(name, value) != value]
    follows = all(cell.get("N") == cell.get("batch_size") for cell in (mine, other))
    return [name for name in names if not (name == "N" and follows)]


def _points(cells: Sequence[Cell]) -> list[Texts]:
    """Return what distinct cells are compared by: their settings, and their precision."""
    points = []
    for cell in {cell.but_seed: cell for cell in without_baselines(cells)}.values():
        known = {name: value for name, value in cell.known.items() if name != "seed"}
        points.append({k: value_text(v) for k, v in {**known, "precision": cell.precision}.items()})
    return points


def _ranks(cells: Sequence[Cell]) -> dict[str, int]:
    of_cells = dict.fromkeys(tuple(cell.settings) for cell in cells)
    names = dict.fromkeys([*MATTER_MOST, *chain.from_iterable(of_cells)])
    return {name: rank for rank, name in enumerate(names)}


def _rank(name: str, ranks: dict[str, int]) -> int:
    """Return the rank of a setting; a part such as `views.jitter` has the rank of `views`."""
    return ranks.get(name.split(".")[0], len(ranks))


def stated_departures(suite: Suite, cells: Sequence[Cell], paper: Paper) -> list[tuple[str, str]]:
    """Return the setting and text of each deviation from the paper's own text, once.

    The deviations are those of the cells that are compared with published values. For an artifact
    without such cells, for instance a figure, the cells with the fewest deviations count. An
    artifact on a data set without cells is omitted if another artifact's data set has cells.
    """
    found, with_cells = set[tuple[str, str]](), set[str]()
    for pair in pairings(suite, cells, paper):
        of = ", ".join(f"{k} {v}" for k, v in pair.reading.items() if v is not None)
        found |= {(d.name, f"{of}: {d.text}" if of else d.text) for d in pair.departures}
        with_cells |= {pair.comparison.artifact} if pair.cells else set()
    stated = {
        name: stated_settings(suite, paper, paper.artifact(name)) for name in suite.reproduces
    }
    has_data = {name: _has_data(cells, statements) for name, statements in stated.items()}
    left_out = {
        name for name, has in has_data.items() if has is False and True in has_data.values()
    }
    for name in stated.keys() - with_cells - left_out if cells else ():
        found |= {(d.name, d.text) for d in _fewest(cells, stated[name])}
    return sorted(found)


def _fewest(cells: Sequence[Cell], statements: Sequence[Statement]) -> list[Departure]:
    """Return the deviations of the cells with the fewest, a setting's values together."""
    of_cells = [departures(cell, statements) for cell in cells]
    least = min(map(len, of_cells))
    values: dict[tuple[str, str, bool], list[str]] = {}
    for one in (d for found in of_cells if len(found) == least for d in found):
        mine = values.setdefault((one.name, one.stated, one.impossible), [])
        mine += [value for value in one.mine if value not in mine]
    return [Departure(name, mine, stated, no) for (name, stated, no), mine in values.items()]


def _has_data(cells: Sequence[Cell], statements: Sequence[Statement]) -> bool | None:
    """Return whether any cell has the data set that is stated of it; None: none is stated."""
    pairs = []
    for cell in cells:
        known = facts(cell)
        if name := stated_of(known, statements).get("dataset"):
            pairs.append((known.get("dataset"), name))
    return any(agrees(mine, name) for mine, name in pairs) if pairs else None
