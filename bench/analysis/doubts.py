"""Detection of unreliable numbers, which are marked where shown and excluded from verdicts.

A lower bound on mutual information is at most log(1 + K e^{m/tau}), which equals log(1 + alpha)
with EqCo's margin (EqCo, Sec. 2.1). The mutual information of two views of one of n images is at
most log n. A value above either limit is an artefact of a randomly initialised queue or of repeated
negatives. Values are also unreliable if float32 cannot resolve them: with a huge temperature, with
updates that change no weight, if a correlation rounds to 1, or if the critic gives the same number
for all pairs.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from weakref import WeakKeyDictionary

from bench.cells.axes import TEMPERATURES, training_images
from bench.cells.cell import Cell
from bench.cells.pretrain import Pretrain
from bench.cells.toys import GaussianMI, MarginCell, OptimalBound, VinceGaussian
from bench.results.reader import Done, Finished
from bench.results.tables import TrainingHistory
from bench.text import counted

MARK = "†"  # beside a number
ROUNDOFF = 2.0**-24  # of float32
LEAST_WEIGHT = 2.0**-7  # that an update has to change: most weights are larger
SLACK = 1e-3  # nats by which rounding may lift a bound

BOUNDS = ("mi_lower_bound", "mi_lower_bound_approximate")
VINCE_BOUNDS = tuple(name for name in VinceGaussian.metrics if "bound" in name)
SAME_FOR_ALL = "the critic gives the same number for all pairs"
KEYS = ("step", "epoch")  # of a line of history, which are no metrics

Doubts = dict[str, str]  # metric -> why it means nothing
_KNOWN: WeakKeyDictionary[Finished, dict[str, Doubts]] = WeakKeyDictionary()


def doubts_of(cell: Cell, finished: Finished) -> Doubts:
    """Return the unreliable metrics of a finished cell, each with the reason."""
    known = _KNOWN.setdefault(finished, {})
    if cell.id not in known:
        whole = dict.fromkeys(finished.metrics, finished.unfit) if finished.unfit else None
        known[cell.id] = whole or _doubts(cell, finished.metrics)
    return known[cell.id]


def _doubts(cell: Cell, measured: dict[str, float]) -> Doubts:
    why = next(_nothing_learned(cell, measured), None)
    if why is not None:
        return {name: why for name in measured if name not in cell.exact}
    above = {
        name: f"{name} exceeds {reason}"
        for names, ceiling, reason in _ceilings(cell)
        for name in names
        if measured.get(name, -math.inf) > ceiling + SLACK
    }
    return _of_random_keys(cell, measured) | above


def believed(done: Done) -> Done:
    """Return the finished cells without unreliable metrics, including their histories."""
    doubted = [(cell, finished, doubts_of(cell, finished)) for cell, finished in done]
    return [(cell, _without(kept, doubts) if doubts else kept) for cell, kept, doubts in doubted]


def doubt_lines(done: Done) -> list[str]:
    """Return the reasons why metrics are unreliable, with the number of cells for each."""
    reasons = (set(doubts_of(cell, finished).values()) for cell, finished in done)
    counts = Counter(why for texts in reasons for why in texts)
    return [f"{why} ({counted(n, 'cell')})" for why, n in sorted(counts.items())]


def _without(finished: Finished, doubts: Doubts) -> Finished:
    kept = {name: value for name, value in finished.metrics.items() if name not in doubts}

    def history() -> TrainingHistory:
        return [
            {k: v for k, v in line.items() if k in KEYS or (kept and k not in doubts)}
            for line in finished.history
        ]

    return replace(finished, metrics=kept, read_history=history)


def _nothing_learned(cell: Cell, measured: dict[str, float]) -> Iterator[str]:
    """Yield why nothing can have been learned."""
    if isinstance(cell, MarginCell) and not isinstance(cell, GaussianMI):
        return  # nothing is trained
    for name in TEMPERATURES:
        tau = cell.known.get(name)
        if tau is not None and not ROUNDOFF < tau < 1 / ROUNDOFF:
            yield (
                f"{name} is {tau:g}: in float32, the loss depends on rounding errors "
                "instead of the cosine similarities"
            )
    lr = cell.known.get("lr")
    if lr is not None and lr < ROUNDOFF * LEAST_WEIGHT:
        yield f"lr is {lr:g}, so small that no update changes a weight in float32"
    if isinstance(cell, GaussianMI):
        if math.expm1(-2 * cell.mi_true / cell.d) == -1:
            yield (
                f"mi_true is {cell.mi_true:g}: in {cell.d} dimensions the correlation of "
                "each pair rounds to 1"
            )
        if cell.eval_repeats > 1 and measured.get("mi_lower_bound_std") == 0:
            yield SAME_FOR_ALL
    if isinstance(cell, VinceGaussian):
        rounding = 2 * ROUNDOFF * math.log1p(cell.K)  # of log(1 + K) - log(1 + K)
        if all(abs(measured.get(name, math.inf)) <= rounding for name in VINCE_BOUNDS):
            yield SAME_FOR_ALL


def _of_random_keys(cell: Cell, measured: dict[str, float]) -> Doubts:
    """Return what compares with the random vectors that a queue begins with, to the end."""
    if not isinstance(cell, Pretrain) or cell.queue_start != "random":
        return {}
    images = training_images(cell)
    kept = cell.queue_size or cell.count
    if images is None or images.taken * cell.epochs * (1 + cell.symmetric) >= kept:
        return {}
    epochs = counted(cell.epochs, "epoch")
    why = (
        f"the queue of {kept} keys still holds random start vectors after the {epochs} of training"
    )
    return {name: why for name in measured if name in BOUNDS or name.startswith("q_b")}


def _ceilings(cell: Cell) -> Iterator[tuple[tuple[str, ...], float, str]]:
    """Yield metrics, the nats that they cannot exceed, and what these are."""
    if isinstance(cell, GaussianMI | OptimalBound):
        K = cell.K if isinstance(cell, OptimalBound) else cell.K - 1  # K counts pairs
        yield _bound_ceiling(BOUNDS, K, cell.alpha)
    elif isinstance(cell, VinceGaussian):
        yield _bound_ceiling(VINCE_BOUNDS, cell.K, None)
        yield VINCE_BOUNDS, *_log(cell.dataset_size, "samples")
    elif isinstance(cell, Pretrain):
        of_batch = 2 * (cell.batch_size - 1)  # what others are probed with
        compares = cell.negatives in ("batch", "queue", "bank")
        yield _bound_ceiling(BOUNDS, cell.count if compares else of_batch, cell.alpha)
        images = training_images(cell)
        if images is not None:
            yield BOUNDS, *_log(images.taken, "training images")


def _bound_ceiling(
    names: tuple[str, ...], K: int, alpha: float | None
) -> tuple[tuple[str, ...], float, str]:
    """Return what a bound of K negatives cannot exceed; with EqCo's margin as if of alpha."""
    name, value, text = ("K", K, f"{K}") if alpha is None else ("alpha", alpha, f"{alpha:g}")
    nats = math.log1p(value)
    return names, nats, f"its ceiling log(1 + {name}) = {nats:.3g} nats at {name} = {text}"


def _log(count: int, of: str) -> tuple[float, str]:
    nats = math.log(count)
    return nats, f"log {count} = {nats:.3g} nats, the logarithm of the number of {of}"
