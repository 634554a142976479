"""Learning rate and target momentum as functions of the step."""

import math
from collections.abc import Sequence
from typing import Literal

from bench.cells.pretrain import Pretrain
from bench.cells.supervised import Supervised


def learning_rate(
    step: int,
    *,
    lr: float,
    steps: int,
    warmup_steps: int,
    schedule: Literal["constant", "cosine", "step"],
    drops: Sequence[float] = (),
    factor: float = 0.1,
) -> float:
    """Return the learning rate of a step, counted from 0.

    Warm-up: lr step / warmup_steps, so step 0 stands still and step `warmup_steps` is the first at
    full lr. Then `constant`: lr; `cosine` (arXiv:1608.03983, Eq. 5, no restart):
    lr (1 + cos(pi t)) / 2 with t = (step - warmup_steps) / (steps - warmup_steps), which is 0 at
    `steps`, one past the last step; `step`: lr factor^(number of drops at or before this step).

    Args:
        step: 0 to steps; the last one taken is steps - 1.
        lr: peak rate.
        steps: of the whole training, warm-up included.
        warmup_steps: 0 begins at full lr.
        schedule: what follows the warm-up.
        drops: steps of the drops, counted from the beginning of training.
        factor: what each drop multiplies the rate by.

    Raises:
        ValueError: step outside 0..steps, warmup_steps outside 0..steps, or no such schedule.
    """
    if not (0 <= step <= steps and 0 <= warmup_steps <= steps):
        raise ValueError(f"step {step} and warmup_steps {warmup_steps} must be in 0..{steps}")
    if schedule not in ("constant", "cosine", "step"):
        raise ValueError(f"schedule must be one of constant, cosine, step, found {schedule!r}")
    if step < warmup_steps:
        return lr * step / warmup_steps
    if schedule == "cosine":
        progress = (step - warmup_steps) / max(1, steps - warmup_steps)
        return lr * (1 + math.cos(math.pi * progress)) / 2
    passed = sum(step >= drop for drop in drops) if schedule == "step" else 0
    return lr * factor**passed


def rate_of(
    cell: Pretrain | Supervised, step: int, *, steps: int, steps_an_epoch: int, dropped: int = 0
) -> float:
    """Return the learning rate of a step of a cell, after so many drops on a plateau.

    Args:
        cell: sets peak, schedule, warm-up and drops.
        step: 0 to steps.
        steps: of the whole training, warm-up included.
        steps_an_epoch: batches of an epoch.
        dropped: how often the rate has dropped because the accuracy stood still.
    """
    drops = [int(epoch) for epoch in (cell.lr_drop_epochs or "").split(",") if epoch]
    return learning_rate(
        step,
        lr=cell.lr * cell.lr_drop_factor**dropped,
        steps=steps,
        warmup_steps=cell.warmup_epochs * steps_an_epoch,
        schedule=cell.lr_schedule if cell.lr_schedule != "plateau" else "constant",
        drops=[epoch * steps_an_epoch for epoch in drops],
        factor=cell.lr_drop_factor,
    )


def momentum_at(
    step: int, *, momentum: float, steps: int, schedule: Literal["fixed", "cosine"]
) -> float:
    """Return the target network's momentum at a step, counted from 0.

    BYOL, arXiv:2006.07733, Sec. 3.3: 1 - (1 - momentum) (cos(pi step / steps) + 1) / 2, which
    rises from `momentum` at step 0 to 1 at `steps`, one past the last step.

    Args:
        step: 0 to steps; the last one taken is steps - 1.
        momentum: at step 0, 0 to 1.
        steps: of the whole training.
        schedule: fixed keeps `momentum`.

    Raises:
        ValueError: step outside 0..steps, or no such schedule.
    """
    if not 0 <= step <= steps:
        raise ValueError(f"step must be in 0..{steps}, found {step}")
    if schedule not in ("fixed", "cosine"):
        raise ValueError(f"schedule must be one of fixed, cosine, found {schedule!r}")
    if schedule == "fixed":
        return momentum
    return 1 - (1 - momentum) * (math.cos(math.pi * step / max(1, steps)) + 1) / 2
