"""In what cells depart from what a paper states, as texts."""

from collections.abc import Sequence

from bench.analysis.deviations import stated_departures
from bench.cells.cell import Cell
from bench.papers.reader import Paper
from bench.suites.suite import Suite


def departures_of_scale(suite: Suite, cells: Sequence[Cell], paper: Paper) -> list[str]:
    return sorted(text for _, text in stated_departures(suite, cells, paper))
