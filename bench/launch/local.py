"""One machine: a queue of slots, each held by a worker that submitit started.

submitit's local executor starts what it is given at once and has no queue; here each slot is one
long-lived job, and the store's claims deal the cells out, so that any number of launchers and
workers share one grid. A worker that dies is replaced; a cell that keeps killing its worker is
given up.
"""

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import submitit

from bench.config.record import Cell
from bench.errors import Interrupted, LaunchError
from bench.launch.signals import deaf_to_ctrl_c
from bench.launch.units import Unit
from bench.launch.worker import drain
from bench.store.attempts import all_attempts
from bench.store.owner import HEARTBEAT_S, Owner
from bench.store.store import CellState, Launch, State, Store

POLL_S = 0.25
KILLS_ALLOWED = 3  # of one cell within one launch
DEATHS_ALLOWED = 5  # of workers in a row that finish nothing
NO_LIMIT_MIN = 60 * 24 * 365

Worker = submitit.LocalJob[None]
Report = Callable[[list[CellState]], bool]


def run_local(
    cells: Sequence[Cell],
    units: Sequence[Unit],
    store: Store,
    launch: Launch,
    *,
    slots: Sequence[str | None],
    report: Report,
) -> None:
    """Keep every slot busy until no cell is left to do.

    Args:
        cells: all cells to wait for, those that other processes hold included.
        units: the same cells in stacks.
        store: the results.
        launch: this launch's announcement.
        slots: one entry a worker: its CUDA device, or None for the CPU.
        report: called with the states of `cells` at every look; tells whether all are over.

    Raises:
        LaunchError: workers die before they can do anything.
    """
    workers: list[Worker | None] = [None] * len(slots)
    queue = _Queue(cells, store, launch)
    try:
        while True:
            over = report(queue.look())
            for i, worker in enumerate(workers):
                if worker is not None and worker.done():
                    queue.note_end(worker)
                    workers[i] = None
            if over and not any(workers):
                shutil.rmtree(launch.logs, ignore_errors=True)
                return
            free = [i for i, worker in enumerate(workers) if worker is None]
            for i, unit_order in zip(free, queue.orders(units), strict=False):
                workers[i] = _start(unit_order, store, launch, slots[i])
            time.sleep(POLL_S)
    except (KeyboardInterrupt, Interrupted):
        _stop([worker for worker in workers if worker is not None])
        raise


class _Queue:
    """What is still to be done, and how often it went wrong."""

    def __init__(self, cells: Sequence[Cell], store: Store, launch: Launch) -> None:
        self.cells, self.store, self.launch = cells, store, launch
        self.states: list[CellState] = [CellState(State.MISSING)] * len(cells)
        self.deaths = 0
        self.done = 0
        self.touched = time.monotonic()

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
        done = sum(state.state == State.DONE for state in self.states)
        if done > self.done:
            self.done, self.deaths = done, 0
        return self.states

    def orders(self, units: Sequence[Unit]) -> list[list[Unit]]:
        """Return one order of units for each worker worth starting: none if all cells are held."""
        free = {
            cell.id
            for cell, state in zip(self.cells, self.states, strict=True)
            if state.state in (State.QUEUED, State.MISSING, State.STALE)
        }
        waiting = [unit for unit in units if any(cell.id in free for cell in unit)]
        return [waiting[i:] + waiting[:i] for i in range(len(waiting))]

    def note_end(self, worker: Worker) -> None:
        """Count a worker's death and give up cells that killed too many workers."""
        if worker.paths.result_pickle.exists() and worker.exception() is None:
            return
        self.deaths += 1
        for cell in self.cells:
            self._give_up(cell)
        if self.deaths > DEATHS_ALLOWED:
            told = _last_line(worker) or "killed without a word"
            raise LaunchError(
                f"workers die one after the other: {told} (log: {worker.paths.stderr})"
            )

    def _give_up(self, cell: Cell) -> None:
        folder = self.store.folder(cell)
        killed = [
            attempt
            for attempt in all_attempts(folder.attempts)
            if attempt.record["launch"] == self.launch.name and attempt.state == "killed"
        ]
        if len(killed) < KILLS_ALLOWED or folder.is_done:
            return
        attempt = folder.claim(cell, Owner.me(), self.launch.name)
        if attempt is not None:
            attempt.end("failed", "oom", f"its worker was killed {len(killed)} times (memory?)")


def _start(units: list[Unit], store: Store, launch: Launch, gpu: str | None) -> Worker:
    executor = submitit.LocalExecutor(folder=launch.logs)
    executor.update_parameters(timeout_min=NO_LIMIT_MIN)
    with deaf_to_ctrl_c():  # which reaches the whole process group: the launcher stops its workers
        return cast("Worker", executor.submit(drain, units, store, launch, gpu))


def _stop(workers: Sequence[Worker]) -> None:
    """Tell workers to stop (SIGTERM reaches them through submitit's controller) and wait."""
    processes = [worker._process for worker in workers if worker._process is not None]
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + 10
    for process in processes:
        try:
            process.wait(timeout=max(0.1, deadline - time.monotonic()))
        except Exception:
            process.kill()


def _last_line(worker: Worker) -> str:
    path = Path(worker.paths.stderr)
    lines = path.read_text(errors="replace").strip().splitlines() if path.exists() else []
    return lines[-1] if lines else ""
