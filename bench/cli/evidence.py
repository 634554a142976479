"""What the results say of a selection."""

from bench.analysis.evidence import Evidence, gather
from bench.analysis.room import Rooms
from bench.cells.baseline import baselines_among
from bench.cli.selection import Selection
from bench.errors import NothingMeasured
from bench.results.reader import Results


def evidence_of(selection: Selection) -> Evidence:
    """Return what was measured of a selection, beside what was published, and the verdicts."""
    return gather(
        selection.suite,
        selection.scale,
        selection.cells,
        selection.paper,
        results_of(selection),
    )


def results_of(selection: Selection) -> Results:
    """Return the results that a selection is looked up in.

    Raises:
        NothingMeasured: the folder does not exist.
    """
    if not selection.results.exists():
        raise NothingMeasured(
            f"{selection.results}: no such results folder; `bench run {selection.words}` makes one"
        )
    return Results(selection.results)


def rooms_of(selection: Selection) -> Rooms:
    """Return the rooms of the scale's accuracies, from what is finished of its baselines."""
    finished = results_of(selection).finished(baselines_among(selection.cells))
    return Rooms(selection.suite.scales[selection.scale].baselines, finished)
