"""`bench plan --probe`: time a few steps of each kind of cell without known times.

Probes run the code and data of the cells in temporary folders. They use the experiment's own probe,
or else shortened cells of a stack. Only the timings of `bench.estimate.history` are kept. This
module imports torch.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from bench.cells.groups import Stack, make_stacks
from bench.errors import BenchError, CellFailure
from bench.estimate.history import Timing, write_probe
from bench.estimate.predict import Prediction
from bench.experiments import EXPERIMENTS, probe_of
from bench.experiments.outcome import Clock, Spent
from bench.experiments.timing import clock_for, deterministic
from bench.launch.worker import configure_process, peak_memory_gb
from bench.results.store import Store

ENOUGH_S = 0.5  # of a cut cell
FIRST_CUT = 1 / 512


def probe(stack: Stack, data: Path, gpu: str | None, machine: str) -> Timing:
    """Return the predicted time of one kind of cell on this machine.

    Args:
        stack: cells of one stack. An experiment's own probe uses only the first.
        data: the folder of data sets.
        gpu: the CUDA device; None for the CPU.
        machine: name of the machine.

    Raises:
        CellFailure, BenchError: the cell cannot be computed.
    """
    with _worker_settings(gpu) as device:
        if device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        cell, clock = stack[0], clock_for(stack[0], device)
        own_probe = probe_of(cell.experiment)
        with deterministic(device):
            if own_probe is not None:
                spent = own_probe(cell, data, device, clock)
            else:
                spent = Spent(0.0, _cut_s_of_one(stack, data, device, clock))
        peak = torch.cuda.max_memory_allocated() / 1e9 if device == "cuda" else None
    device_peak_gb = None if peak is None else round(peak, 3)
    return Timing(
        cell, spent.shared or None, spent.own, peak_memory_gb(), device_peak_gb, device, machine,
        is_probe=True,
    )  # fmt: skip


@contextmanager
def _worker_settings(gpu: str | None) -> Iterator[str]:
    """Compute as a worker does; yield the device."""
    threads, visible = torch.get_num_threads(), os.environ.get("CUDA_VISIBLE_DEVICES")
    try:
        yield configure_process(gpu)
    finally:
        torch.set_num_threads(threads)
        os.environ.pop("CUDA_VISIBLE_DEVICES")
        if visible is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = visible


def _cut_s_of_one(stack: Stack, data: Path, device: str, clock: Clock) -> float:
    """Return the seconds of the first cell of a stack, from growing parts of the stack's work.

    Cells that cannot be cut are computed once as a whole.
    """
    if not stack[0].cuttable:
        work, seconds = _cut_s(stack, 1, data, device, clock)
        return seconds / work * stack[0].work
    _cut_s(stack, FIRST_CUT, data, device, clock)  # warm-up
    share, before = FIRST_CUT, (0.0, 0.0)
    while True:
        work, seconds = _cut_s(stack, share, data, device, clock)
        if seconds >= ENOUGH_S or share >= 1:
            break
        share, before = min(1.0, 4 * share), (work, seconds)
    slope = (seconds - before[1]) / (work - before[0]) if work > before[0] else seconds / work
    whole = sum(cell.work for cell in stack)
    whole_s = seconds + max(0.0, slope) * (whole - work)
    return whole_s / whole * stack[0].work


def _cut_s(
    stack: Stack, share: float, data: Path, device: str, clock: Clock
) -> tuple[float, float]:
    """Return the work and the seconds of a part of the work of a stack."""
    cells = [cell.shortened(share) for cell in stack]
    with TemporaryDirectory(prefix="bench-probe-") as root:
        folders = Store(Path(root)).folders(cells, data)
        for folder in folders:
            folder.path.mkdir(parents=True)
        run = EXPERIMENTS[cells[0].experiment]
        began = clock()
        outcomes = run(cells, folders, device)
        seconds = clock() - began
    for outcome in outcomes:
        if isinstance(outcome, CellFailure):
            raise outcome
    return sum(cell.work for cell in cells), seconds


def probe_unknown(prediction: Prediction, store: Store, data: Path) -> list[str]:
    """Probe each kind of missing cell without known times on this machine.

    The results folder stores the timings. Returns one message per kind that could not be probed.

    Args:
        prediction: predictions for the cells.
        store: the results folder, which keeps the timings.
        data: the folder of data sets.
    """
    store.check_writable()
    unknown = {e.cell.kind for e in prediction.left if not e.is_near}
    stacks = make_stacks([e.cell for e in prediction.left], len(prediction.places))
    cheapest: dict[str, Stack] = {}
    for stack in sorted(stacks, key=lambda stack: stack[0].work):
        cheapest.setdefault(stack[0].kind, stack)
    gpu, machine, faults = prediction.places[0], prediction.machine.name, []
    for kind, stack in cheapest.items():
        if kind not in unknown:
            continue
        print(f"bench: timing a few steps of {kind}", file=sys.stderr)
        try:
            write_probe(store.root, probe(stack, data, gpu, machine))
        except (BenchError, CellFailure, RuntimeError, ValueError, MemoryError) as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            faults.append(f"{kind}: the steps could not be timed: {lines[0]}")
    return faults
