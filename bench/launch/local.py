"""Local workers: one long-lived process per slot, started by submitit.

Workers claim cells in the store, so any number of launchers and workers can share one grid. A
worker that dies is replaced. A cell that repeatedly kills its worker is recorded as failed. Slurm
jobs also run such a queue.
"""

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import submitit

from bench.cells.groups import Stack
from bench.environment import this_job
from bench.errors import DiskFailure, Interrupted, LaunchError
from bench.files.atomic import disk_failures
from bench.launch.worker import KILLED, KILLS_ALLOWED, Assignment, give_up, kills, work
from bench.results.standing import standing_of
from bench.results.store import OVER, CellState, State
from bench.signals import deaf, listening
from bench.text import counted

POLL_S = 0.25
REST = 9  # times as long as a look took: the launcher takes a tenth of a core at most
STOP_S = 60.0  # for a worker to write its checkpoint, when it is told to stop
DEATHS_ALLOWED = 5  # of the workers of a slot, in a row, that finish nothing
STOPPING = "bench: stopping; waiting for the workers (press Ctrl-C again to stop without waiting)"
NO_LIMIT_MIN = 60 * 24 * 365

Worker = submitit.LocalJob[str | None]
Report = Callable[[list[CellState]], bool]


class LocalQueue:
    """Queue that keeps one worker per slot busy until no cell is left."""

    def __init__(self, assignment: Assignment, slots: Sequence[str | None]) -> None:
        """Prepare the queue; no worker is started yet.

        Args:
            slots: one entry per worker: its CUDA device, or None for the CPU.
        """
        self.workers: list[Worker | None] = [None] * len(slots)
        self.assignment, self.slots = assignment, slots
        self.remainder = _Remainder(assignment, DEATHS_ALLOWED * len(slots))

    def run(self, report: Report, *, patient: bool = True) -> list[CellState]:
        """Keep every slot busy; return the last known states of the stacks' cells, in order.

        Args:
            report: called with the current states; returns whether all cells are done or failed.
            patient: whether to wait for cells of other processes. If false, wait only for cells
                that this Slurm job held before it was requeued.

        Raises:
            LaunchError: workers die at start.
            DiskFailure: a file cannot be written. The other workers are stopped.
        """
        try:
            with listening() as must_stop:
                while not must_stop():
                    began = time.monotonic()
                    if self._look(report, patient=patient):
                        break
                    look_s = time.monotonic() - began
                    _sleep(max(POLL_S, REST * look_s), must_stop)
            shutil.rmtree(self.assignment.launch.logs, ignore_errors=True)
            return self.remainder.states
        except (KeyboardInterrupt, Interrupted):
            if any(self.workers):
                print(STOPPING, file=sys.stderr)
            self.stop()
            if text := self.remainder.stopped_text():
                print(text, file=sys.stderr)
            raise

    def _look(self, report: Report, *, patient: bool) -> bool:
        """Fill free slots; return whether nothing is left to do."""
        for i, worker in enumerate(self.workers):
            if worker is not None and worker.done():
                self.remainder.note_end(worker)
                self.workers[i] = None
        over = report(self.remainder.look())
        rotations = [] if over else self.remainder.rotations()
        free = [i for i, worker in enumerate(self.workers) if worker is None]
        for i, stacks in zip(free, rotations, strict=False):
            self.workers[i] = self._start(stacks, self.slots[i])
        if any(self.workers):
            return False
        return over or not (patient or rotations or self.remainder.held_by_this_job())

    def _start(self, stacks: list[Stack], gpu: str | None) -> Worker:
        executor = submitit.LocalExecutor(folder=self.assignment.launch.logs)
        executor.update_parameters(timeout_min=NO_LIMIT_MIN)
        with deaf():  # to signals that reach the whole group or job: the launcher stops its workers
            sharing = list(self.slots).count(gpu)
            with disk_failures(self.assignment.launch.logs):
                job = executor.submit(work, replace(self.assignment, stacks=stacks), gpu, sharing)
        return cast("Worker", job)

    def stop(self) -> None:
        """Stop the workers with SIGTERM, through submitit's controller, and wait."""
        processes = [w._process for w in self.workers if w is not None and w._process is not None]
        for process in processes:
            process.terminate()
        deadline = time.monotonic() + STOP_S
        for process in processes:
            try:
                process.wait(timeout=max(0.1, deadline - time.monotonic()))
            except Exception:
                process.kill()


class _Remainder:
    """The cells that are not done, and how many workers died at them."""

    def __init__(self, assignment: Assignment, deaths_allowed: int) -> None:
        self.deaths_allowed = deaths_allowed
        self.stacks, self.store = list(assignment.stacks), assignment.store
        self.since = assignment.launch.since
        self.cells = [cell for stack in self.stacks for cell in stack]
        self.states: list[CellState] = [CellState(State.MISSING)] * len(self.cells)
        self.deaths = 0
        self.over = 0
        self.job = this_job()

    def look(self) -> list[CellState]:
        """Update and return the states of the cells; those that were over are not read again."""
        left = [i for i, state in enumerate(self.states) if state.state not in OVER]
        answers = self.store.states([self.cells[i] for i in left])
        for i, state in zip(left, answers, strict=True):
            self.states[i] = state
        over = sum(state.state in OVER for state in self.states)
        if over > self.over:
            self.over, self.deaths = over, 0
        return self.states

    def stopped_text(self) -> str:
        """Say how many interrupted cells can resume from a checkpoint, and how many cannot."""
        ran = [
            cell
            for cell, state in zip(self.cells, self.states, strict=True)
            if state.state == State.RUNNING
        ]
        states = self.store.states(ran)
        stopped = [
            standing_of(self.store, cell)
            for cell, state in zip(ran, states, strict=True)
            if state.state not in (*OVER, State.RUNNING)
        ]
        kept = sum(s.is_trained or s.resumes_at is not None for s in stopped)
        if not stopped:
            return ""
        return (
            f"bench: stopped: {counted(kept, 'running cell')} will continue from a checkpoint,"
            f" {len(stopped) - kept} from the beginning"
        )

    def rotations(self) -> list[list[Stack]]:
        """Return the stacks left, rotated differently for each worker that can be started.

        The list is empty if other processes hold all cells.
        """
        free = {
            cell.id
            for cell, state in zip(self.cells, self.states, strict=True)
            if state.state in (State.QUEUED, State.MISSING, State.STALE)
        }
        waiting = [stack for stack in self.stacks if any(cell.id in free for cell in stack)]
        return [waiting[i:] + waiting[:i] for i in range(len(waiting))]

    def held_by_this_job(self) -> bool:
        """Whether a cell is still claimed by this Slurm job from before it was requeued."""
        states = (s for s in self.states if s.state == State.RUNNING)
        return bool(self.job) and any(state.job == self.job for state in states)

    def note_end(self, worker: Worker) -> None:
        """Count a worker's death, and give up cells that killed too many workers.

        Raises:
            DiskFailure: the worker stopped since a file cannot be written, or died and none can.
            LaunchError: workers die before they can do anything.
        """
        if worker.paths.result_pickle.exists() and worker.exception() is None:
            if (failure := worker.result()) is not None:
                raise DiskFailure(failure)
            return
        self.store.check_writable()
        self.deaths += 1
        last_line = _last_line(worker)
        for cell in self.cells:
            folder = self.store.folder(cell)
            if not folder.is_done and (n := kills(folder, self.since)) >= KILLS_ALLOWED:
                give_up(cell, self.store, KILLED.format(n), last_line)
        if self.deaths > self.deaths_allowed:
            cause = f"last line of stderr: {last_line}" if last_line else "killed by a signal"
            raise LaunchError(f"workers crash repeatedly; {cause} (log: {worker.paths.stderr})")


def _sleep(seconds: float, must_stop: Callable[[], bool]) -> None:
    """Sleep so long, or until a signal says to stop."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0 and not must_stop():
        time.sleep(min(POLL_S, left))


def _last_line(worker: Worker) -> str:
    path = Path(worker.paths.stderr)
    lines = path.read_text(errors="replace").strip().splitlines() if path.exists() else []
    return lines[-1] if lines else ""
