"""Evidence for the cells that a command selects."""

from collections import Counter
from collections.abc import Sequence

from bench.analysis.evidence import Evidence, gather
from bench.analysis.room import Rooms
from bench.cells.cell import Cell
from bench.cli.selection import Selection
from bench.cli.terminal import print_line
from bench.cli.workspace import USUAL_RESULTS, Workspace
from bench.errors import NothingMeasured
from bench.results.fitness import Failed, failed_text
from bench.results.reader import Done, Results
from bench.suites import shipped


def evidence_of(selection: Selection) -> Evidence:
    """Return measured and published values of a selection, with verdicts."""
    return gather(
        selection.suite,
        selection.scale,
        selection.cells,
        selection.paper,
        results_of(selection),
        selection.paper_cells,
    )


def results_of(selection: Selection) -> Results:
    """Return the results that contain a selection.

    Raises:
        NothingMeasured: the folder does not exist.
    """
    if selection.results.exists() or selection.results == USUAL_RESULTS:
        return results_in(selection.workspace)
    raise NothingMeasured(
        f"{selection.results}: this results folder does not exist; "
        f"`{selection.command('run')}` creates it"
    )


def results_in(workspace: Workspace) -> Results:
    """Return the results of a workspace.

    In the default folder, the reference results are used for suites of which no cell was started.

    Raises:
        StoreError: a folder other than the default does not exist.
    """
    usual = workspace.results == USUAL_RESULTS
    return Results(workspace.results, shipped.reference_results() if usual else None)


def print_added_later(selection: Selection, done: Done) -> None:
    """Print the metrics that finished cells lack because they were added later."""
    if done:
        for line in results_of(selection).added_later(done):
            print_line(line)


def done_of(selection: Selection, cells: Sequence[Cell]) -> Done:
    """Return the finished cells among these cells of a selection.

    Args:
        selection: selection with the results to read.
        cells: cells of the selection.

    Raises:
        NothingMeasured: no cell is finished.
    """
    results = results_of(selection)
    done = results.finished(cells)
    if not done:
        raise none_finished(selection, cells, results.failed(cells, done))
    return done


def none_finished(selection: Selection, cells: Sequence[Cell], failed: Failed) -> NothingMeasured:
    """Return the error that none of these cells is finished."""
    reasons = Counter(reason for _, reason in failed)
    retry = " --retry-failed" if reasons.total() == len(cells) else ""
    return NothingMeasured(
        f"{selection.title}: none of the {len(cells)} cells is finished in {selection.results}"
        + (f" (failed: {failed_text(reasons)})" if failed else "")
        + f"; `{selection.command('run')}{retry}` computes them"
    )


def done_text(done: Done, of: int, failed: Failed) -> str:
    """Return the numbers of finished and failed cells as text, with reasons."""
    failures = failed_text(Counter(reason for _, reason in failed))
    return f"{len(done)} of {of} cells done" + (f"; failed: {failures}" if failures else "")


def rooms_of(selection: Selection, done: Done) -> Rooms:
    """Return the headroom of the scale's accuracies, from its finished baselines.

    Args:
        selection: selection with the results to read.
        done: its finished cells that are no baselines.
    """
    finished = results_of(selection).finished_baselines(selection.cells, done)
    return Rooms(selection.suite.scales[selection.scale].baselines, finished)
