"""`bench plan --probe`: a few steps of each kind of cell that nothing is known of, timed.

Through the code that computes cells, with their data, in throw-away folders; a toy's cells in
the stack that a run would make. Only what `bench.store.probes` keeps remains. Loads torch.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import torch
from torch import nn

from bench.config.coordinates import EVALUATIONS
from bench.config.environment import data_root
from bench.config.flops import multiply_adds
from bench.config.pretrain import Pretrain
from bench.config.record import Cell
from bench.config.supervised import Supervised
from bench.data.catalogue import streams
from bench.errors import BenchError, CellFailure
from bench.experiments import EXPERIMENTS
from bench.experiments.evaluations import Evaluator
from bench.experiments.pretrain import deterministic
from bench.launch.kinds import kind_of, work_of
from bench.launch.predict import Prediction
from bench.launch.rates import machine_of
from bench.launch.units import Unit, make_units
from bench.launch.worker import peak_memory_gb, settle
from bench.store.folder import CellFolder
from bench.store.probes import Speed, write_speed
from bench.store.store import Store
from bench.train.loop import Training
from bench.train.sources import Source, open_source
from bench.train.supervised import SupervisedTraining

ENOUGH_S = 0.5  # of a toy's cut, or of the steps that are timed
MOST_STEPS = 30
LONGEST_S = 5.0  # of one step or evaluation; where it would take longer, forward passes are timed
FEW = 16  # images of such a pass
FIRST_CUT = 1 / 512
CUTS: dict[str, tuple[str, ...]] = {
    "gaussian-mi": ("steps", "eval_repeats"),
    "vince-gaussian": ("epochs", "eval_repeats"),
    "spirals": ("iterations",),
    "optimal-bound": ("samples",),
    "gradient-norm": ("draws",),
    "identity": ("draws",),
}
"""Settings of which a part is computed; a toy's multiply-adds are proportional to them."""


Clock = Callable[[], float]


class Rates(NamedTuple):
    """Seconds a multiply-add, of a training that cells share and of the rest."""

    shared: float
    own: float


def probe(unit: Unit, gpu: str | None, machine: str) -> Speed:
    """Return how fast cells of one kind are computed here.

    Args:
        unit: cells of one stack; of those that are no toys the first alone is probed.
        gpu: the CUDA device, None for the CPU.
        machine: the name of what computes.

    Raises:
        CellFailure, BenchError: the cell could not be computed either.
    """
    began = time.monotonic()
    with _worker_settings(gpu) as device:
        if device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        cell, clock = unit[0], _clock(unit[0], device)
        with deterministic(device):
            if isinstance(cell, Pretrain):
                rates = _pretrain(cell, device, clock)
            elif isinstance(cell, Supervised):
                rates = _supervised(cell, device, clock)
            else:
                rates = Rates(0.0, _toys(unit, device, clock))
        peak = torch.cuda.max_memory_allocated() / 1e9 if device == "cuda" else None
    return Speed(
        kind_of(cell), device, machine, rates.shared, rates.own,
        peak_memory_gb=peak_memory_gb(), device_peak_gb=None if peak is None else round(peak, 3),
        cell=cell.id, took_s=round(time.monotonic() - began, 3),
    )  # fmt: skip


@contextmanager
def _worker_settings(gpu: str | None) -> Iterator[str]:
    """Compute as a worker does; yield the device."""
    threads, visible = torch.get_num_threads(), os.environ.get("CUDA_VISIBLE_DEVICES")
    try:
        yield settle(gpu)
    finally:
        torch.set_num_threads(threads)
        os.environ.pop("CUDA_VISIBLE_DEVICES")
        if visible is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = visible


def _clock(cell: Cell, device: str) -> Clock:
    """Return what tells seconds: of this process where it alone computes, so that other load of
    the machine does not count; else those on the wall.
    """
    alone = device == "cpu" and not streams(getattr(cell, "dataset", ""))
    return time.process_time if alone else time.perf_counter


def _toys(unit: Unit, device: str, clock: Clock) -> float:
    """Return seconds a multiply-add of one cell, from growing parts of the stack's work."""
    _cut_s(unit, FIRST_CUT, device, clock)  # warm-up
    share, before = FIRST_CUT, (0.0, 0.0)
    while True:
        work, seconds = _cut_s(unit, share, device, clock)
        if seconds >= ENOUGH_S or share >= 1:
            break
        share, before = min(1.0, 4 * share), (work, seconds)
    slope = (seconds - before[1]) / (work - before[0]) if work > before[0] else seconds / work
    left = sum(cell.multiply_adds for cell in unit) - work
    whole = seconds + max(0.0, slope) * left
    return whole / sum(cell.multiply_adds for cell in unit)


def _cut_s(unit: Unit, share: float, device: str, clock: Clock) -> tuple[float, float]:
    """Return the multiply-adds and the seconds of a part of the work of a stack."""
    cells = [_cut(cell, share) for cell in unit]
    with TemporaryDirectory(prefix="bench-probe-") as place:
        folders = [CellFolder(Path(place) / cell.id) for cell in cells]
        for folder in folders:
            folder.path.mkdir()
        run = EXPERIMENTS[cells[0].experiment]
        began = clock()
        outcomes = run(cells, folders, device)
        seconds = clock() - began
    for outcome in outcomes:
        if isinstance(outcome, CellFailure):
            raise outcome
    return sum(cell.multiply_adds for cell in cells), seconds


def _cut(cell: Cell, share: float) -> Cell:
    """Return the cell with a part of its steps."""
    less = {k: max(2, round(share * getattr(cell, k))) for k in CUTS[cell.experiment]}
    kept = {k: min(v, getattr(cell, k)) for k, v in less.items()}
    return type(cell).model_validate(cell.model_dump() | kept)


def _pretrain(cell: Pretrain, device: str, clock: Clock) -> Rates:
    """Time steps, what is watched each epoch, and the evaluations of the untrained encoder."""
    source = open_source(cell, data_root(), device)
    training, evaluator = Training(cell, source, device), Evaluator([cell], source)
    fault = evaluator.fault(cell)
    if fault is not None:
        raise fault
    pass_s = _forward_s(training.online.backbone, source, cell, clock)
    work = work_of(cell)
    shared_s, own_s = pass_s * work.shared, pass_s * work.own
    if shared_s / training.steps <= LONGEST_S:
        shared_s = training.steps * _step_s(training.step, training.steps, training.online, clock)
        if cell.clusters is not None:
            shared_s += cell.epochs * _seconds(
                lambda: training.method.begin_epoch(cell.epochs - 1), clock
            )
    online = training.online
    if own_s <= LONGEST_S:
        own_s = _seconds(
            lambda: [evaluator.evaluate(name, cell, online) for name in EVALUATIONS], clock
        )
    if cell.knn_every_epochs:
        looks = -(-cell.epochs // cell.knn_every_epochs)
        slow = pass_s * work.own > LONGEST_S
        look_s = (
            pass_s * work.own if slow else _seconds(lambda: evaluator.watch(cell, online), clock)
        )
        shared_s += looks * look_s
    return Rates(shared_s / work.shared, own_s / work.own)


def _supervised(cell: Supervised, device: str, clock: Clock) -> Rates:
    """Time steps, and the test after each epoch."""
    source = open_source(cell, data_root(), device)
    training = SupervisedTraining(cell, source, device)
    pass_s = _forward_s(training.online, source, cell, clock)
    seconds, work = pass_s * cell.multiply_adds, cell.multiply_adds
    if seconds / training.steps <= LONGEST_S:
        seconds = training.steps * _step_s(training.step, training.steps, training.online, clock)
    tested = len(source.labels["test"]) / len(source.labels["train"])
    test_s = pass_s * work / (3 * cell.epochs) * tested  # forward alone
    if test_s <= LONGEST_S:
        test_s = _seconds(training.test_top1, clock)
    return Rates(0.0, (seconds + cell.epochs * test_s) / work)


def _forward_s(
    network: nn.Module, source: Source, cell: Pretrain | Supervised, clock: Clock
) -> float:
    """Return the seconds of a forward multiply-add, from a few images."""
    (images,) = (batch[:FEW] for batch in islice(source.plain("train"), 1))
    network.eval()
    with torch.no_grad():
        network(images)  # warm-up
        seconds = _seconds(lambda: network(images), clock)
    one = multiply_adds(cell.arch, cell.stem, cell.width, cell.image_size)
    return seconds / (one * len(images))


def _step_s(step: Callable[[int], None], steps: int, network: nn.Module, clock: Clock) -> float:
    """Return the seconds of an optimiser step: the mean of some, after two to warm up."""
    network.train()
    warm = min(2, steps - 1)
    for i in range(warm):
        step(i)
    began, last = clock(), warm
    while last < min(steps, warm + MOST_STEPS):
        step(last)  # reads its loss, so it has ended
        last += 1
        if clock() - began >= ENOUGH_S:
            break
    return (clock() - began) / (last - warm)


def _seconds(work: Callable[[], Any], clock: Clock) -> float:
    began = clock()
    work()
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return clock() - began


def probe_unknown(prediction: Prediction, store: Store, slots: Sequence[str | None]) -> list[str]:
    """Probe each kind that is to be computed and of which nothing is known on this machine.

    What is found is kept in the results folder. Returns, for each kind that could not be probed,
    why, in one line.
    """
    store.check_writable()
    machine = machine_of(slots)[1]
    lacking = {e.kind for e in prediction.estimates if e.is_left and not e.is_near}
    units = make_units([e.cell for e in prediction.estimates if e.is_left], len(slots))
    faults = []
    for unit in _cheapest(units, lacking):
        kind = kind_of(unit[0])
        print(f"bench: probing {kind}", file=sys.stderr)
        try:
            write_speed(store.root, probe(unit, slots[0], machine))
        except (BenchError, CellFailure, RuntimeError, ValueError, MemoryError) as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            faults.append(f"{kind}: no probe: {lines[0]}")
    return faults


def _cheapest(units: Sequence[Unit], kinds: set[str]) -> list[Unit]:
    """Return for each kind the unit of its cheapest cell, the cheapest kind first."""
    found: dict[str, Unit] = {}
    for unit in sorted(units, key=lambda unit: unit[0].multiply_adds):
        if kind_of(unit[0]) in kinds:
            found.setdefault(kind_of(unit[0]), unit)
    return list(found.values())
