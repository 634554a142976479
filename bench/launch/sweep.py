"""What is asked of Slurm, and the job that comes last: it submits again what was lost."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from submitit.helpers import DelayedSubmission

from bench.config.profile import Profile
from bench.config.record import Cell
from bench.store.owner import LEASE_S, Owner
from bench.store.store import State, Store
from bench.store.submissions import Submission

POLL_S = 5.0
LIVES = 3  # submissions of a cell whose jobs are killed


@dataclass(frozen=True)
class Request:
    """What a user asked Slurm to do."""

    cells: Sequence[Cell]
    profile: Profile
    jobs: int | None  # at most so many at once
    retry_before: float = 0.0  # failures that ended before this time are tried again
    alone: bool = False  # each cell in a job of its own: it was lost before, maybe by a neighbour
    lives: int = LIVES


class Sweep:
    """The last job of a submission: submits again what was lost.

    A cell is lost if it is not over though its task began, and nobody ended the task.
    """

    def __init__(
        self, request: Request, results: Path, submission: Submission, jobs: dict[str, str]
    ) -> None:
        """Describe what was submitted.

        Args:
            request: what the user asked for.
            results: the results folder, absolute.
            submission: the arrays.
            jobs: Slurm's number of each array that is looked after, by its name.
        """
        self.request, self.results, self.jobs = request, results, jobs
        self.submission = replace(submission, path=submission.path.resolve())

    def __call__(self) -> None:
        """Look once; wait for cells that seem to live, since their machine is not this one."""
        from bench.launch.slurm import submit

        for name in [n for n in os.environ if n.startswith("SLURM_") and n != "SLURM_CONF"]:
            del os.environ[name]  # else the next job takes itself for a part of this one
        store, ids = Store(self.results, asks_slurm=False), self._in_lost_tasks()
        cells = [cell for cell in self.request.cells if cell.id in ids]
        deadline = time.monotonic() + 2 * LEASE_S
        while self._running(cells, store) and time.monotonic() < deadline:
            time.sleep(POLL_S)
        over = (State.DONE, State.FAILED)
        states = store.states(cells)
        lost = [cell for cell, s in zip(cells, states, strict=True) if s.state not in over]
        print(f"{len(lost)} of {len(self.submission.cells)} cells were lost", flush=True)
        if self.request.lives == 1:
            for cell in lost:
                self._give_up(cell, store)
        elif lost:
            lives = self.request.lives - 1
            again = replace(self.request, cells=lost, retry_before=0.0, alone=True, lives=lives)
            submit(again, Store(self.results))

    def checkpoint(self) -> DelayedSubmission:
        """Look again from the beginning."""
        return DelayedSubmission(self)

    def _in_lost_tasks(self) -> set[str]:
        """Return the ids of the cells of tasks that began and that nobody ended."""
        return {
            cell
            for array, place, cells in self.submission.given()
            if array in self.jobs
            and self.submission.log(self._job(array, place)).exists()
            and not self.submission.stopped_file(array, place).exists()
            for cell in cells
        }

    def _job(self, array: str, place: int) -> str:
        several = len(self.submission.arrays[array]) > 1
        return f"{self.jobs[array]}_{place}" if several else self.jobs[array]

    def _running(self, cells: Sequence[Cell], store: Store) -> bool:
        """Whether a cell seems to run in a job of this submission, of which none is left."""
        states = [s for s in store.states(cells) if s.state == State.RUNNING]
        return any((s.job or "").split("_")[0] in self.jobs.values() for s in states)

    def _give_up(self, cell: Cell, store: Store) -> None:
        """Record a cell as failed whose last life was lost too."""
        attempt = store.folder(cell).claim(cell, Owner.me(), "")
        if attempt is not None:
            told = self._last_words(cell.id)
            why = f"its job was killed {LIVES} times in a row (memory?)"
            attempt.end("failed", "oom", f"{why}; last words: {told}" if told else why)

    def _last_words(self, cell: str) -> str:
        for array, place, cells in self.submission.given():
            if cell not in cells or array not in self.jobs:
                continue
            path = self.submission.log(self._job(array, place), "err")
            if path.exists():
                lines = path.read_text(errors="replace").strip().splitlines()
                return f"{lines[-1]} (log: {path})" if lines else ""
        return ""
