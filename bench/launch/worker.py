"""Workers: claim stacks of cells, compute them and write the results."""

import os
import resource
import signal
import sys
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from threadpoolctl import threadpool_limits

from bench.cells.cell import Cell
from bench.cells.groups import Stack
from bench.errors import NO_MEMORY, CellFailure, DiskFailure, Diverged
from bench.experiments import EXPERIMENTS, Outcome
from bench.files.atomic import raise_if_disk_failed
from bench.record import Json
from bench.results.attempts import all_attempts
from bench.results.folder import CellFolder, Folders
from bench.results.lease import HeldFolder, Lease, every
from bench.results.names import is_metric
from bench.results.owner import Owner
from bench.results.provenance import describe, keep_edits
from bench.results.store import Launch, Store
from bench.signals import end_if_stopped, stoppable

THREADS = 1  # in a worker: a result does not depend on how many workers or cores there are
FOLLOW_EVERY_S = 1.0
KILLS_ALLOWED = 3  # of the workers of one cell
KILLED = "the worker of this cell was killed {} times, possibly because memory was exhausted"

ComputeCells = Callable[[Sequence[Cell], Folders], tuple[Sequence[Outcome], Json]]
"""Function that computes a stack and returns an outcome for each cell, and their common
provenance."""
Held = tuple[Cell, HeldFolder]


_computed = count()  # stacks of this process: the first one waits for libraries to load


@dataclass(frozen=True)
class Assignment:
    """The work of a launcher's workers."""

    stacks: Sequence[Stack]  # cells, in the order in which to try them
    store: Store  # where results go
    data: Path  # the folder of data sets
    launch: Launch  # who asks
    submitted: str | None = None  # the code that was submitted, in words, if another runs now


def run_worker(assignment: Assignment, gpu: str | None = None, sharing: int = 1) -> None:
    """Compute every cell that no other process computes; stop if the launcher has ended.

    Args:
        gpu: the CUDA device, as named in CUDA_VISIBLE_DEVICES.
        sharing: number of workers on this device, including this one.

    Raises:
        Interrupted: the process was asked to stop. Claims are released and checkpoints kept.
        DiskFailure: a file cannot be written. Claims are released, and no cell counts as failed.
    """
    with stoppable():
        compute = partial(_compute, device=configure_process(gpu), sharing=sharing)
        with _following(assignment.launch):
            compute_stacks(assignment, compute)


def work(assignment: Assignment, gpu: str | None, sharing: int) -> str | None:
    """Call `run_worker`; return the message of a disk failure, or None."""
    try:
        run_worker(assignment, gpu, sharing)
    except DiskFailure as failure:
        with suppress(OSError):  # the log stands on the same disk
            print(f"bench: {failure}", file=sys.stderr, flush=True)
        return str(failure)
    return None


def configure_process(gpu: str | None) -> str:
    """Restrict this process to one GPU or one core; return the torch device."""
    os.environ["CUDA_VISIBLE_DEVICES"] = gpu or ""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # deterministic matrix products
    import torch  # here alone: launchers do without it

    torch.set_num_threads(THREADS)
    limit_libraries(THREADS)
    return "cuda" if gpu and torch.cuda.is_available() else "cpu"


def limit_libraries(threads: int) -> None:
    """Limit the threads of numpy, SciPy, scikit-learn and faiss.

    Each has its own OpenBLAS or OpenMP, which `torch.set_num_threads` does not limit. Loaded
    libraries are limited directly. Libraries loaded later read environment variables.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    threadpool_limits(threads)


def _following(launch: Launch) -> AbstractContextManager[None]:
    """Stop this process when its launcher, if that is another process, is gone."""
    me = Owner.me()

    def look() -> None:
        if not launch.is_alive():
            os.kill(me.pid, signal.SIGTERM)

    return nullcontext() if launch.owner == me else every(FOLLOW_EVERY_S, look)


def compute_stacks(assignment: Assignment, compute: ComputeCells, *, recovers: bool = True) -> None:
    """Claim and compute every unfinished cell that no living process holds.

    Args:
        compute: function that computes a stack.
        recovers: whether to continue with other cells after an error instead of raising it.
    """
    launch, store = assignment.launch, assignment.store
    keep_edits(store.root)
    for stack in _apart(assignment):
        end_if_stopped()
        with Lease(launch.name, retry_before=launch.retry_before) as lease:
            claims = [(cell, lease.claim(store.folder(cell), cell)) for cell in stack]
            held = [
                (cell, claim)
                for cell, claim in claims
                if claim is not None and not _is_given_up(lease, claim, launch.since)
            ]
            try:
                for equal in _by_step(held):
                    _compute_and_settle(equal, lease, assignment, compute, recovers)
            except Exception as error:  # reported in the store; it harms no other stack
                raise_if_disk_failed(error)
                for claim in list(lease.claims):
                    fail(lease, claim, error)
                if not recovers:
                    raise


def _apart(assignment: Assignment) -> Iterator[Stack]:
    """Yield the stacks; cells whose worker was killed are tried one by one."""
    since = assignment.launch.since
    for stack in assignment.stacks:
        folders = map(assignment.store.folder, stack)
        if len(stack) > 1 and any(kills(folder, since) for folder in folders):
            yield from ([cell] for cell in stack)
        else:
            yield stack


def kills(folder: CellFolder, since: float) -> int:
    """Return the number of attempts since then that ended with the death of their process."""
    return sum(
        attempt.record["began"] >= since and attempt.state == "killed"
        for attempt in all_attempts(folder.attempts)
    )


def _is_given_up(lease: Lease, claim: HeldFolder, since: float) -> bool:
    """Give a cell up that killed too many workers, maybe with their whole Slurm jobs.

    A launcher that survives its workers gives cells up by itself, with their last words.
    """
    if claim.attempt.number <= KILLS_ALLOWED or (n := kills(claim.folder, since)) < KILLS_ALLOWED:
        return False
    lease.end(claim, "failed", "oom", KILLED.format(n))
    return True


def _by_step(held: Sequence[Held]) -> list[list[Held]]:
    """Split a stack into cells whose checkpoints are at the same step."""
    stacks: dict[int | None, list[Held]] = defaultdict(list)
    for cell, claim in held:
        stacks[claim.folder.checkpoint_step()].append((cell, claim))
    return list(stacks.values())


def _compute_and_settle(
    held: Sequence[Held],
    lease: Lease,
    assignment: Assignment,
    compute: ComputeCells,
    recovers: bool,
) -> None:
    """Compute a stack and write its outcomes; if it fails as a whole, each cell by itself."""
    cells = [cell for cell, _ in held]
    try:
        outcomes, provenance = compute(cells, assignment.store.folders(cells, assignment.data))
    except Exception as error:
        raise_if_disk_failed(error)
        if not recovers:
            raise
        if len(held) > 1:
            for one in held:
                _compute_and_settle([one], lease, assignment, compute, recovers)
            return
        fail(lease, held[0][1], error)
        return
    if assignment.submitted is not None:
        provenance = {**provenance, "submitted": assignment.submitted}
    for (_, claim), outcome in zip(held, outcomes, strict=True):
        settle(lease, claim, outcome, provenance)


def _compute(
    cells: Sequence[Cell], folders: Folders, *, device: str, sharing: int
) -> tuple[Sequence[Outcome], Json]:
    """Compute a stack in this process alone."""
    from bench.experimental.gpu_usage import Meter
    from bench.experiments.timing import Stopwatch  # loads torch

    watch, meter = Stopwatch(cells[0], device), Meter(os.environ["CUDA_VISIBLE_DEVICES"], sharing)
    with meter:
        outcomes = EXPERIMENTS[cells[0].experiment](cells, folders, device)
    spent = watch.record(len(cells)) | {"earlier": next(_computed)}
    return outcomes, provenance_of(device, spent, cells) | meter.record()


def provenance_of(device: str, spent: Json, cells: Sequence[Cell]) -> Json:
    """Return the common provenance of the cells of a finished stack.

    Args:
        device: torch device.
        spent: start time of the stack, and each cell's share of the seconds.
    """
    return describe(device, THREADS) | {
        **spent,
        "stack": len(cells),
        "peak_memory_gb": peak_memory_gb(),
    }


def settle(lease: Lease, claim: HeldFolder, outcome: Outcome, provenance: Json) -> None:
    """Write the outcome of a cell and release its claim.

    If another process has taken over the claim, nothing is written.
    """
    if isinstance(outcome, Exception):
        fail(lease, claim, outcome)
        return
    odd = next(((k, v) for k, v in outcome.metrics.items() if not is_metric(v)), None)
    if odd is not None:
        fail(lease, claim, Diverged(f"{odd[0]} is {odd[1]}"))
        return
    folder, attempt = claim
    if attempt.is_mine():
        provenance = provenance | outcome.provenance | {"attempt": attempt.number}
        folder.finish(outcome.metrics, outcome.arrays, provenance)
    lease.end(claim, "done")


def fail(lease: Lease, claim: HeldFolder, error: Exception) -> None:
    """Mark an attempt as failed: write reason and message to its record, traceback to its log."""
    reason = error.reason if isinstance(error, CellFailure) else "code"
    if _is_out_of_memory(error):
        reason = "oom"
    message = str(error).strip().partition("\n")[0]  # the whole of a CellFailure
    if not isinstance(error, CellFailure):
        message = f"{type(error).__name__}: {message}"
    if claim.attempt.is_mine():
        claim.folder.write_traceback(claim.attempt, traceback.format_exception(error))
    lease.end(claim, "failed", reason, message)


def _is_out_of_memory(error: Exception) -> bool:
    """Whether an error says that the memory of the host or of the GPU is exhausted."""
    known = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return known or (isinstance(error, RuntimeError) and any(w in str(error) for w in NO_MEMORY))


def give_up(cell: Cell, store: Store, why: str, last_words: str) -> None:
    """Record a cell as failed (`oom`) unless it is finished or another process computes it.

    Args:
        why: reason of the failure.
        last_words: the last line that the worker printed, or "".
    """
    with Lease() as lease:
        claim = lease.claim(store.folder(cell), cell)
        if claim is not None:
            message = f"{why}; last output: {last_words}" if last_words else why
            lease.end(claim, "failed", "oom", message)


def peak_memory_gb() -> float:
    """Return the peak resident memory of this process so far, in GB (10^9 bytes)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak * (1 if sys.platform == "darwin" else 1024) / 1e9, 3)
