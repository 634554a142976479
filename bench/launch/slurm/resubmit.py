"""The last job of a submission: it submits again what was lost."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from submitit.helpers import DelayedSubmission

from bench.cells.cell import Cell
from bench.launch.slurm.request import LIVES, Request
from bench.launch.worker import give_up
from bench.results.owner import LEASE_S
from bench.results.slurm.submissions import Submission
from bench.results.store import OVER, State, Store

POLL_S = 5.0


Submit = Callable[[Request, Store], Submission | None]


class Resubmit:
    """The last job of a submission: submits again what was lost.

    A cell is lost if it is not over though its task began, and nobody ended the task.
    """

    def __init__(
        self,
        request: Request,
        results: Path,
        submission: Submission,
        jobs: dict[str, str],
        submit: Submit,
    ) -> None:
        """Describe what was submitted.

        Args:
            request: what the user asked for.
            results: the results folder, absolute.
            submission: the arrays.
            jobs: Slurm's number of each array that is looked after, by its name.
            submit: what gives cells to Slurm.
        """
        self.submit = submit
        self.request, self.results, self.jobs = request, results, jobs
        self.submission = replace(submission, path=submission.path.resolve())

    def __call__(self) -> None:
        """Look once; wait for cells that seem to live, since their machine is not this one."""
        for name in [n for n in os.environ if n.startswith("SLURM_") and n != "SLURM_CONF"]:
            del os.environ[name]  # else the next job takes itself for a part of this one
        store, ids = Store(self.results, asks_slurm=False), self._in_lost_tasks()
        cells = [cell for cell in self.request.cells if cell.id in ids]
        deadline = time.monotonic() + 2 * LEASE_S
        while self._running(cells, store) and time.monotonic() < deadline:
            time.sleep(POLL_S)
        states = store.states(cells)
        lost = [cell for cell, s in zip(cells, states, strict=True) if s.state not in OVER]
        print(f"{len(lost)} of {len(self.submission.cells)} cells were lost", flush=True)
        if self.request.lives == 1:
            why = f"its job was killed {LIVES} times in a row (memory?)"
            for cell in lost:
                give_up(cell, store, why, self._last_words(cell.id))
        elif lost:
            lives = self.request.lives - 1
            again = replace(self.request, cells=lost, retry_before=0.0, alone=True, lives=lives)
            self.submit(again, Store(self.results))

    def checkpoint(self) -> DelayedSubmission:
        """Look again from the beginning."""
        return DelayedSubmission(self)

    def _in_lost_tasks(self) -> set[str]:
        """Return the ids of the cells of tasks that began and that nobody ended."""
        return {
            cell
            for array, index, cells in self.submission.given()
            if array in self.jobs
            and self.submission.log(self._job(array, index)).exists()
            and not self.submission.stopped_file(array, index).exists()
            for cell in cells
        }

    def _job(self, array: str, index: int) -> str:
        several = len(self.submission.arrays[array]) > 1
        return f"{self.jobs[array]}_{index}" if several else self.jobs[array]

    def _running(self, cells: Sequence[Cell], store: Store) -> bool:
        """Whether a cell seems to run in a job of this submission, of which none is left."""
        states = [s for s in store.states(cells) if s.state == State.RUNNING]
        return any((s.job or "").split("_")[0] in self.jobs.values() for s in states)

    def _last_words(self, cell: str) -> str:
        for array, index, cells in self.submission.given():
            if cell not in cells or array not in self.jobs:
                continue
            path = self.submission.log(self._job(array, index), "err")
            if path.exists():
                lines = path.read_text(errors="replace").strip().splitlines()
                return f"{lines[-1]} (log: {path})" if lines else ""
        return ""
