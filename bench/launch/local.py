"""One machine: a queue of slots, each held by a worker that submitit started.

submitit's local executor starts what it is given at once and has no queue; here each slot is one
long-lived job, and the store's claims deal the cells out, so that any number of launchers and
workers share one grid. A worker that dies is replaced; a cell that keeps killing its worker is
given up. A Slurm job holds such a queue too: cells are packed side by side by its slots.
"""

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import submitit

from bench.config.record import Cell
from bench.errors import Interrupted, LaunchError
from bench.launch.units import Unit
from bench.launch.worker import drain
from bench.signals import deaf
from bench.store.attempts import all_attempts
from bench.store.owner import HEARTBEAT_S, Owner
from bench.store.slurm import this_job
from bench.store.store import CellState, Launch, State, Store

POLL_S = 0.25
REST = 9  # times as long as a look took: the launcher takes a tenth of a core at most
STOP_S = 60.0  # for a worker to write its checkpoint, when it is told to stop
KILLS_ALLOWED = 3  # of one cell
DEATHS_ALLOWED = 5  # of the workers of a slot, in a row, that finish nothing
NO_LIMIT_MIN = 60 * 24 * 365

Worker = submitit.LocalJob[None]
Report = Callable[[list[CellState]], bool]


class LocalQueue:
    """Workers, one a slot, that are kept busy until no cell is left to do."""

    def __init__(
        self, units: Sequence[Unit], store: Store, launch: Launch, slots: Sequence[str | None]
    ) -> None:
        """Take the work on; nothing is started yet.

        Args:
            units: the cells in stacks, in the order to begin them.
            store: the results.
            launch: this launch's announcement.
            slots: one entry a worker: its CUDA device, or None for the CPU.
        """
        self.workers: list[Worker | None] = [None] * len(slots)
        self.store, self.launch, self.slots = store, launch, slots
        self.work = _Work(units, store, launch, DEATHS_ALLOWED * len(slots))

    def run(self, report: Report, *, patient: bool = True) -> None:
        """Keep every slot busy.

        Args:
            report: called with the states of the cells at every look; tells whether all are over.
            patient: wait for cells that other processes compute; else only for those that a former
                life of this Slurm job held on another machine, until they count as dead.

        Raises:
            LaunchError: workers die before they can do anything.
        """
        try:
            began = time.monotonic()
            while not self._look(report, patient=patient):
                time.sleep(max(POLL_S, REST * (time.monotonic() - began)))
                began = time.monotonic()
            shutil.rmtree(self.launch.logs, ignore_errors=True)
        except (KeyboardInterrupt, Interrupted):
            self.stop()
            raise

    def _look(self, report: Report, *, patient: bool) -> bool:
        """Fill free slots; return whether nothing is left to do."""
        for i, worker in enumerate(self.workers):
            if worker is not None and worker.done():
                self.work.note_end(worker)
                self.workers[i] = None
        over = report(self.work.look())
        orders = [] if over else self.work.orders()
        free = [i for i, worker in enumerate(self.workers) if worker is None]
        for i, units in zip(free, orders, strict=False):
            self.workers[i] = self._start(units, self.slots[i])
        if any(self.workers):
            return False
        return over or not (patient or orders or self.work.held_by_this_job())

    def _start(self, units: list[Unit], gpu: str | None) -> Worker:
        executor = submitit.LocalExecutor(folder=self.launch.logs)
        executor.update_parameters(timeout_min=NO_LIMIT_MIN)
        with deaf():  # to signals that reach the whole group or job: the launcher stops its workers
            sharing = list(self.slots).count(gpu)
            job = executor.submit(drain, units, self.store, self.launch, gpu, sharing)
        return cast("Worker", job)

    def stop(self) -> None:
        """Tell workers to stop (SIGTERM reaches them through submitit's controller) and wait."""
        processes = [w._process for w in self.workers if w is not None and w._process is not None]
        for process in processes:
            process.terminate()
        deadline = time.monotonic() + STOP_S
        for process in processes:
            try:
                process.wait(timeout=max(0.1, deadline - time.monotonic()))
            except Exception:
                process.kill()


class _Work:
    """What is still to be done, and how often it went wrong."""

    def __init__(
        self, units: Sequence[Unit], store: Store, launch: Launch, deaths_allowed: int
    ) -> None:
        self.deaths_allowed = deaths_allowed
        self.units, self.store, self.launch = list(units), store, launch
        self.cells = [cell for unit in units for cell in unit]
        self.states: list[CellState] = [CellState(State.MISSING)] * len(self.cells)
        self.deaths = 0
        self.over = 0
        self.touched = time.monotonic()
        self.job = this_job()

    def look(self) -> list[CellState]:
        """Ask the store for the cells that were not finished at the last look."""
        if time.monotonic() - self.touched > HEARTBEAT_S:
            self.touched = time.monotonic()
            self.launch.path.touch()
        over = (State.DONE, State.FAILED)
        open_places = [i for i, state in enumerate(self.states) if state.state not in over]
        found = self.store.states([self.cells[i] for i in open_places])
        for i, state in zip(open_places, found, strict=True):
            self.states[i] = state
        count = sum(state.state in over for state in self.states)
        if count > self.over:
            self.over, self.deaths = count, 0
        return self.states

    def orders(self) -> list[list[Unit]]:
        """Return one order of units for each worker worth starting: none if all cells are held."""
        free = {
            cell.id
            for cell, state in zip(self.cells, self.states, strict=True)
            if state.state in (State.QUEUED, State.MISSING, State.STALE)
        }
        waiting = [unit for unit in self.units if any(cell.id in free for cell in unit)]
        return [waiting[i:] + waiting[:i] for i in range(len(waiting))]

    def held_by_this_job(self) -> bool:
        """Whether a cell seems to run in this Slurm job, of which no worker is left here."""
        states = (s for s in self.states if s.state == State.RUNNING)
        return bool(self.job) and any(state.job == self.job for state in states)

    def note_end(self, worker: Worker) -> None:
        """Count a worker's death, and give up cells that killed too many workers.

        Cells that died together are tried one by one.
        """
        if worker.paths.result_pickle.exists() and worker.exception() is None:
            return
        self.deaths += 1
        told = _last_line(worker)
        killed = {
            cell.id
            for cell in self.cells
            if _give_up_if_deadly(cell, self.store, since=self.launch.since, told=told)
        }
        self.units = [
            part
            for unit in self.units
            for part in ([[cell] for cell in unit] if any(c.id in killed for c in unit) else [unit])
        ]
        if self.deaths > self.deaths_allowed:
            raise LaunchError(
                "workers die one after the other: "
                f"{told or 'killed without a word'} (log: {worker.paths.stderr})"
            )


def _give_up_if_deadly(cell: Cell, store: Store, *, since: float, told: str) -> bool:
    """Record a cell as failed that was killed too often; return whether it was killed at all.

    Attempts count that began after `since`, when the queue began.
    """
    folder = store.folder(cell)
    killed = [
        attempt
        for attempt in all_attempts(folder.attempts)
        if attempt.record["began"] >= since and attempt.state == "killed"
    ]
    if len(killed) >= KILLS_ALLOWED and not folder.is_done:
        attempt = folder.claim(cell, Owner.me(), "")
        if attempt is not None:
            why = f"its worker was killed {len(killed)} times (memory?)"
            attempt.end("failed", "oom", f"{why}; last words: {told}" if told else why)
    return bool(killed)


def _last_line(worker: Worker) -> str:
    path = Path(worker.paths.stderr)
    lines = path.read_text(errors="replace").strip().splitlines() if path.exists() else []
    return lines[-1] if lines else ""
