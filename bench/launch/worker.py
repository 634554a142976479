"""A worker: takes units of work that nobody holds, computes them, writes what came of them."""

import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bench.config.record import Cell
from bench.errors import CellFailure, Interrupted, Preempted
from bench.launch.units import Unit
from bench.signals import end_if_told, stoppable
from bench.store.attempts import Attempt
from bench.store.folder import CellFolder
from bench.store.owner import HEARTBEAT_S, Owner
from bench.store.provenance import describe
from bench.store.store import Launch, Store

if TYPE_CHECKING:
    from bench.experiments import Result

THREADS = 1  # of torch in a worker: a result does not depend on how many workers there are
WATCH_EVERY_S = 1.0

Claim = tuple[Cell, CellFolder, Attempt]
Claims = dict[str, Claim]  # by cell id; a claim leaves when its attempt ends


def drain(
    units: Sequence[Unit], store: Store, launch: Launch, gpu: str | None = None, sharing: int = 1
) -> None:
    """Compute every cell of the units that is neither done nor held by a living process.

    Args:
        units: stacks of cells, in the order in which to try them.
        store: where results go.
        launch: who asked; when it is gone, the worker stops.
        gpu: the CUDA device to use, as CUDA_VISIBLE_DEVICES names it.
        sharing: workers that use it at once, this one included.

    Raises:
        Interrupted: the process was told to stop; claims are given up, checkpoints stay.
    """
    with stoppable():
        device, owner = settle(gpu), Owner.me()
        for unit in units:
            end_if_told()
            claims: Claims = {}
            with watched(claims, launch, owner):
                try:
                    claim_unit(unit, store, launch, owner, claims)
                    for stack in _by_checkpoint(claims):
                        _compute(stack, claims, device, sharing)
                except Exception as error:  # a fault of ours: tell it, poison no worker
                    for _, folder, attempt in claims.values():
                        fail(folder, attempt, error)
                except (Interrupted, KeyboardInterrupt) as told:
                    give_up_claims(claims, told)
                    raise


def settle(gpu: str | None) -> str:
    """Make this process one that computes on a GPU, or on one core; return the device for torch."""
    os.environ["CUDA_VISIBLE_DEVICES"] = gpu or ""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # deterministic matrix products
    import torch

    torch.set_num_threads(THREADS)
    return "cuda" if gpu and torch.cuda.is_available() else "cpu"


def claim_unit(unit: Unit, store: Store, launch: Launch, owner: Owner, claims: Claims) -> None:
    """Claim those cells of a unit that are neither done nor held."""
    for cell in unit:
        folder = store.folder(cell)
        attempt = folder.claim(cell, owner, launch.name, retry_before=launch.retry_before)
        if attempt is not None:
            claims[cell.id] = (cell, folder, attempt)


def give_up_claims(claims: Claims, told: BaseException) -> None:
    """End the attempts that were interrupted, and say by what."""
    reason = "preempted" if isinstance(told, Preempted) else None
    for _, folder, attempt in claims.values():
        attempt.end("done" if folder.is_done else "interrupted", reason)


def _by_checkpoint(claims: Claims) -> list[list[Claim]]:
    """Return stacks of cells that have come equally far."""
    from bench.train.stack import checkpoint_step

    groups: dict[int, list[Claim]] = defaultdict(list)
    for claim in claims.values():
        groups[checkpoint_step(claim[1])].append(claim)
    return list(groups.values())


def _compute(stack: list[Claim], claims: Claims, device: str, sharing: int) -> None:
    """Compute a stack and write its outcomes; if it fails as a whole, each cell by itself."""
    from bench.experiments import EXPERIMENTS
    from bench.launch.meter import Meter

    cells, folders = [cell for cell, _, _ in stack], [folder for _, folder, _ in stack]
    run = EXPERIMENTS[cells[0].experiment]
    began, meter = time.time(), Meter(os.environ["CUDA_VISIBLE_DEVICES"], sharing)
    outcomes: Sequence[Result | Exception]
    try:
        with meter:
            outcomes = run(cells, folders, device)
    except Exception as error:
        if len(stack) > 1:
            for claim in stack:
                _compute([claim], claims, device, sharing)
            return
        outcomes = [error]
    origin = origin_of(device, began, len(stack)) | meter.record()
    for claim, outcome in zip(stack, outcomes, strict=True):
        write(claim, outcome, origin)
        del claims[claim[0].id]


def origin_of(device: str, began: float, stack: int) -> dict[str, Any]:
    """Return the provenance of each cell of a stack that ends now."""
    return describe(device, THREADS) | {
        "began": began,
        "wall_s": (time.time() - began) / stack,
        "stack": stack,
        "peak_memory_gb": peak_memory_gb(),
    }


def write(claim: Claim, outcome: "Result | Exception", origin: dict[str, Any]) -> None:
    """Write what came of a cell, unless somebody took its claim over."""
    _, folder, attempt = claim
    if not attempt.is_mine():
        return
    if isinstance(outcome, Exception):
        fail(folder, attempt, outcome)
    else:
        origin = origin | outcome.origin | {"attempt": attempt.number}
        folder.finish(outcome.metrics, outcome.arrays, origin)
        attempt.end("done")


def fail(folder: CellFolder, attempt: Attempt, error: Exception) -> None:
    """End an attempt by its error: the reason, one line, and the traceback in its log."""
    reason = error.reason if isinstance(error, CellFailure) else "code"
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        reason = "oom"
    lines = str(error).strip().splitlines()
    message = lines[0] if lines else ""
    if not isinstance(error, CellFailure):
        message = f"{type(error).__name__}: {message}"
    folder.write_traceback(attempt, traceback.format_exception(error))
    attempt.end("failed", reason, message)


def peak_memory_gb() -> float:
    """Peak resident memory of this process so far, in GB (10^9 bytes)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak * (1 if sys.platform == "darwin" else 1024) / 1e9, 3)


@contextmanager
def watched(claims: Claims, launch: Launch, owner: Owner) -> Iterator[None]:
    """Give signs of life for the claims held, and stop the worker when its launcher is gone."""
    over = threading.Event()

    def watch() -> None:
        touched = time.monotonic()
        while not over.wait(WATCH_EVERY_S):
            if launch.owner != owner and not launch.is_alive():
                os.kill(owner.pid, signal.SIGTERM)
                return
            if time.monotonic() - touched > HEARTBEAT_S:
                touched = time.monotonic()
                for _, _, attempt in list(claims.values()):
                    attempt.touch()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
