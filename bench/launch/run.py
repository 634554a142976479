"""`bench run` on this machine: compute missing cells in workers or in this process."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.cells.cell import Cell
from bench.cells.groups import make_stacks
from bench.environment import place, seconds_between_checkpoints, slots
from bench.errors import Interrupted, LaunchError
from bench.estimate.predict import predict
from bench.files.messages import tell
from bench.launch.local import LocalQueue
from bench.launch.progress import Followed, Progress, expected_of
from bench.launch.worker import Assignment, run_worker
from bench.results.store import OVER, CellState, State, Store
from bench.signals import stoppable
from bench.text import counted

POLL_S = 0.1


def run_cells(
    cells: Sequence[Cell],
    store: Store,
    data: Path,
    *,
    title: str,
    jobs: int | None = None,
    retry_failed: bool = False,
) -> list[CellState]:
    """Compute every unfinished cell, in workers or in this process; return the states.

    Failed cells are skipped unless `retry_failed`. The run waits for cells of other processes and
    takes them over if their process dies. Under torchrun all ranks compute each cell together; only
    the first rank writes and reports.

    Args:
        data: the folder of data sets.
        title: names of the suites, for progress lines.
        jobs: number of workers. None means one per GPU, or one per core without GPUs. 0 means only
            this process.
        retry_failed: whether failed cells run again.

    Raises:
        LaunchError: torchrun without `--executor inline`.
    """
    seconds_between_checkpoints()  # a mistake in it is reported before anything starts
    grid, rank = _Grid(cells, store, data, title, retry_failed), place()
    if rank.world_size == 1 or (jobs != 0 and not rank.meets):
        return grid.run(jobs, run_worker)
    if jobs != 0:
        raise LaunchError(
            "under torchrun, all ranks compute each cell together, which needs --executor inline"
        )
    from bench.launch.distributed import leading  # loads torch

    with stoppable(), leading(cells, store, data) as lead:
        return store.states(cells) if lead is None else grid.run(0, lead)


@dataclass(frozen=True)
class _Grid:
    """The cells of one `bench run`."""

    cells: Sequence[Cell]
    store: Store
    data: Path
    title: str
    retry_failed: bool

    def run(self, jobs: int | None, compute_here: Callable[[Assignment], None]) -> list[CellState]:
        """Compute unfinished cells; return the last known state of each cell.

        Args:
            jobs: as for `run_cells`.
            compute_here: computes in this process if `jobs` is 0.
        """
        self.store.check_writable()
        self.store.discard_damaged(self.cells)
        states = self.store.states(self.cells)
        tell_of_evaluations(states)
        for cell, state in zip(self.cells, states, strict=True):
            if state.state == State.DONE:  # its process may have been killed before it did so
                self.store.folder(cell).remove_checkpoint()
        leave = (State.DONE,) if self.retry_failed else OVER
        pairs = zip(self.cells, states, strict=True)
        todo = [cell for cell, state in pairs if state.state not in leave]
        if not todo:
            self.store.sweep()
            return states
        places = [None] if jobs == 0 else slots(jobs)
        over = Counter(state.state for state in states if state.state in leave)
        prediction = predict(self.cells, states, self.store, places, leave=leave)
        expected = expected_of(prediction)
        stacks = make_stacks(todo, len(places))
        cells = [cell for stack in stacks for cell in stack]
        places_of = {cell.id: i for i, cell in enumerate(cells)}
        together = [[places_of[cell.id] for cell in stack] for stack in stacks]
        followed = Followed(cells, self.store, [expected[cell.id] for cell in cells], together)
        retry_before = self.store.retry_from_now(todo) if self.retry_failed else 0.0
        with (
            stoppable(),
            self.store.announce(todo, retry_before=retry_before) as launch,
            Progress(self.title, over, len(places), followed) as report,
        ):
            assignment = Assignment(stacks, self.store, self.data, launch)
            try:
                if jobs == 0:
                    ends = _compute_here(assignment, compute_here, report)
                else:
                    ends = LocalQueue(assignment, places).run(report)
            except KeyboardInterrupt:
                raise Interrupted from None
        by_id = dict(zip((cell.id for cell in cells), ends, strict=True))
        return [by_id.get(cell.id, state) for cell, state in zip(self.cells, states, strict=True)]


def tell_of_evaluations(states: Sequence[CellState]) -> None:
    """Report metrics added later, for which stored encoders are evaluated."""
    for lacks, n in Counter(state.lacks for state in states if state.lacks).items():
        cells, metrics = counted(n, "finished cell"), ", ".join(lacks)
        tell(f"{cells}: evaluating the stored encoder again to measure {metrics}")


def _compute_here(
    assignment: Assignment, compute: Callable[[Assignment], None], report: Progress
) -> list[CellState]:
    """Compute in this process until all cells are done or failed, here or elsewhere."""
    cells = [cell for stack in assignment.stacks for cell in stack]
    while not report(states := assignment.store.states(cells)):
        compute(assignment)
        time.sleep(POLL_S)
    return states
