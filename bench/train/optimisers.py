"""Optimisers by name, and schedules of learning rate and target momentum.

SGD, Adam, AdamW and Muon come from torch. LARS is implemented here.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, overload

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from bench.cells.image_text import ImageText
from bench.cells.pretrain import Pretrain
from bench.cells.speech import Speech
from bench.cells.supervised import Supervised

Trained = Pretrain | Supervised | Speech | ImageText
OptimiserName = Literal["sgd", "lars", "adam", "adamw", "muon"]
VECTOR_SHARE = 0.5  # with Muon, the rate of biases and norms over that of matrices


def make_optimiser(  # noqa: PLR0913  # an optimiser's numbers, by name
    parameters: Iterable[tuple[str, nn.Parameter]],
    *,
    optimizer: OptimiserName,
    lr: float,
    momentum: float,
    weight_decay: float,
    exempt: bool,
    nesterov: bool = False,
    lars_trust: float = 0.001,
    bias_share: float | None = None,
    of_loss: Sequence[nn.Parameter] = (),
) -> Optimizer:
    """Return an optimiser whose state consists of plain tensors and numbers.

    Args:
        parameters: named parameters, already on their device.
        optimizer: `sgd` (v <- momentum v + g + weight_decay w; w <- w - lr v), `lars` (see LARS),
            `adam` (beta_1 = momentum, beta_2 = 0.999, decay added to the gradient), `adamw` (the
            same with decoupled weight decay, w <- (1 - lr weight_decay) w; arXiv:1711.05101,
            Algorithm 2) or `muon` (see Muon).
        lr: learning rate of the first step; the loop sets later ones.
        momentum: momentum coefficient, in [0, 1).
        weight_decay: weight-decay coefficient.
        exempt: whether to exclude biases and batch norm (parameters with one axis) from weight
            decay and LARS adaptation.
        nesterov: for `sgd`: w <- w - lr (g + weight_decay w + momentum v).
        lars_trust: trust coefficient of LARS.
        bias_share: learning rate of parameters with one axis relative to the others (None: 1, or
            VECTOR_SHARE for `muon`). Without `muon`, it applies only to exempt parameters.
        of_loss: learned parameters of an objective: learning rate `lr`, no decay or adaptation.

    Raises:
        ValueError: there are no parameters, or a number is invalid.
    """
    apart = exempt or optimizer == "muon"
    share = bias_share or (VECTOR_SHARE if optimizer == "muon" else 1.0)
    everything = [parameter for _, parameter in parameters]
    vectors: dict[str, Any] = {"params": [p for p in everything if apart and p.ndim <= 1]}
    vectors |= {"weight_decay": 0.0} if exempt else {}
    unadapted: dict[str, Any] = {"trust": None} if optimizer == "lars" else {}
    vectors |= unadapted
    vectors |= {"lr": lr * share, "lr_share": share} if share != 1.0 else {}
    others = {"params": [p for p in everything if not (apart and p.ndim <= 1)]}
    learned: list[dict[str, Any]] = [
        {"params": [p for p in of_loss if (p.ndim <= 1) is flat], "weight_decay": 0.0} | unadapted
        for flat in (True, False)
    ]
    groups = [group for group in (others, vectors, *learned) if group["params"]]
    if optimizer == "lars":
        return LARS(groups, lr=lr, momentum=momentum, weight_decay=weight_decay, trust=lars_trust)
    if optimizer == "muon":
        return Muon(groups, lr=lr, momentum=momentum, weight_decay=weight_decay)
    # Fused is the fastest on CPU too: 0.12 ms for SGD on 60 small tensors, foreach 0.4, loop 0.7.
    # It takes for granted that a moment has its parameter's memory format.
    plain: dict[str, Any] = {"lr": lr, "weight_decay": weight_decay, "fused": True}
    if optimizer == "sgd":
        return torch.optim.SGD(groups, momentum=momentum, nesterov=nesterov, **plain)
    adam = torch.optim.Adam if optimizer == "adam" else torch.optim.AdamW
    return adam(groups, betas=(momentum, 0.999), **plain)


def optimiser_of(
    cell: Trained,
    network: nn.Module,
    of_loss: Sequence[nn.Parameter] = (),
    of_method: Sequence[tuple[str, nn.Parameter]] = (),
) -> Optimizer:
    """Return the optimiser of a cell's network, objective and method."""
    lr_bias = getattr(cell, "lr_bias", None)
    optimiser = make_optimiser(
        [*network.named_parameters(), *of_method],
        optimizer=cell.optimizer,
        lr=cell.lr,
        momentum=cell.sgd_momentum,
        weight_decay=cell.weight_decay,
        exempt=cell.exempt,
        nesterov=cell.nesterov,
        bias_share=lr_bias / cell.lr if lr_bias else None,
        of_loss=of_loss,
    )
    if of_method and cell.optimizer == "sgd" and cell.sgd_momentum:
        # Fused SGD fails where only some weights have moved, and a method may freeze some at first.
        for weight in (p for group in optimiser.param_groups for p in group["params"]):
            optimiser.state[weight]["momentum_buffer"] = torch.zeros_like(weight)
    return optimiser


class LARS(Optimizer):
    """Layer-wise adaptive rates (arXiv:1708.03888, Alg. 1).

    r = trust |w| / (|g| + weight_decay |w|), or 1 if this is 0 or undefined; v <- momentum v + lr r
    (g + weight_decay w); w <- w - v.

    Momentum is applied after scaling, so v contains the learning rates of its steps. This is the
    paper's form. SimCLR's released code divides by |g + weight_decay w| instead. A group whose
    trust is None is not adapted (r = 1).
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter] | Iterable[dict[str, Any]],
        *,
        lr: float,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
        trust: float | None = 0.001,
    ) -> None:
        """Take parameters or groups of them, which may have their own weight_decay and trust.

        Raises:
            ValueError: lr or weight_decay below 0, momentum outside [0, 1), trust not above 0.
        """
        if not (lr >= 0 and 0 <= momentum < 1 and weight_decay >= 0):
            raise ValueError(
                "the optimizer needs lr >= 0, 0 <= momentum < 1 and weight_decay >= 0, "
                f"found {lr}, {momentum} and {weight_decay}"
            )
        if trust is not None and not trust > 0:
            raise ValueError(f"trust must be above 0, found {trust}")
        defaults = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "trust": trust}
        super().__init__(params, defaults)

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], float]) -> float: ...
    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Update every parameter that has a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            weights = [p for p in group["params"] if p.grad is not None]
            if weights:
                self._move(weights, group)
        return loss

    def _move(self, weights: list[Tensor], group: dict[str, Any]) -> None:
        grads = [p.grad for p in weights if p.grad is not None]
        moves = torch._foreach_add(grads, weights, alpha=group["weight_decay"])
        if group["trust"] is not None:
            ratios = _trust_ratios(weights, grads, group["weight_decay"], group["trust"])
            torch._foreach_mul_(moves, ratios)
        for p in weights:
            if not self.state[p]:
                self.state[p]["momentum_buffer"] = torch.zeros_like(p)
        buffers = [self.state[p]["momentum_buffer"] for p in weights]
        torch._foreach_mul_(buffers, group["momentum"])
        torch._foreach_add_(buffers, moves, alpha=group["lr"])
        torch._foreach_sub_(weights, buffers)


class Muon(Optimizer):
    """Muon for weights with two axes or more, SGD with Nesterov momentum for biases and norms.

    Muon (K. Jordan, 2024, kellerjordan.github.io/posts/muon): v <- momentum v + (1 - momentum) g; w
    <- (1 - lr weight_decay) w - lr max(1, rows / columns)^(1/2) O, where O approximates the nearest
    matrix with orthonormal rows or columns to (1 - momentum) g + momentum v, by five Newton-Schulz
    steps in bfloat16. The update has the same size in all directions, independent of the size of
    the gradient. torch's version accepts only matrices, so convolutions are reshaped to one row per
    output channel.
    """

    def __init__(
        self,
        params: Iterable[dict[str, Any]],
        *,
        lr: float,
        momentum: float,
        weight_decay: float,
    ) -> None:
        """Take a group of weights and one of parameters with one axis, either or both.

        Raises:
            ValueError: a number that torch refuses, or no momentum.
        """
        defaults = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay}
        super().__init__(params, defaults)
        self._parts: list[tuple[Optimizer, list[Tensor], list[Tensor]]] = []
        for group in self.param_groups:
            own = group["params"]
            moved = [p if p.ndim <= 1 else nn.Parameter(_matrix(p)) for p in own]
            numbers = {"momentum": momentum, "weight_decay": group["weight_decay"]}
            kind = torch.optim.SGD if own[0].ndim <= 1 else torch.optim.Muon
            self._parts.append((kind(moved, lr=lr, nesterov=True, **numbers), own, moved))

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group, (part, own, moved) in zip(self.param_groups, self._parts, strict=True):
            for weight, matrix in zip(own, moved, strict=True):
                if matrix is not weight:
                    matrix.grad = None if weight.grad is None else _matrix(weight.grad)
            part.param_groups[0] |= {name: group[name] for name in ("lr", "weight_decay")}
            part.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """Return the states of both optimisers."""
        return {"parts": [part.state_dict() for part, _, _ in self._parts]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the result of `state_dict`."""
        for (part, _, _), state in zip(self._parts, state_dict["parts"], strict=True):
            part.load_state_dict(state)


def _matrix(weight: Tensor) -> Tensor:
    """Return a weight as a matrix with a row an output, in the same memory.

    The order of its columns is the memory's: Muon's step does not depend on it.
    """
    flat = weight.detach()
    if flat.ndim > 2 and not flat.is_contiguous():  # channels last
        flat = flat.permute(0, *range(2, flat.ndim), 1)
    return flat.view(len(flat), -1)


def _trust_ratios(
    weights: list[Tensor], grads: list[Tensor], weight_decay: float, trust: float
) -> list[Tensor]:
    """Return one number a tensor, on its device, without waiting for it."""
    w = torch.stack(torch._foreach_norm(weights))
    g = torch.stack(torch._foreach_norm(grads))
    ratio = trust * w / (g + weight_decay * w)
    return list(torch.where((ratio > 0) & ratio.isfinite(), ratio, 1.0).unbind())


def learning_rate(
    step: int,
    *,
    lr: float,
    steps: int,
    warmup_steps: int,
    schedule: Literal["constant", "cosine", "step", "triangular"],
    drops: Sequence[float] = (),
    factor: float = 0.1,
) -> float:
    """Return the learning rate of a step, counted from 0.

    Warm-up is lr step / warmup_steps: 0 at step 0, and lr from step `warmup_steps`. Then
    `constant`: lr; `cosine` (arXiv:1608.03983, Eq. 5, no restart): lr (1 + cos(pi t)) / 2 with t =
    (step - warmup_steps) / (steps - warmup_steps), which is 0 at `steps`, one past the last step;
    `triangular` (arXiv:1506.01186, Sec. 3.1, one cycle): lr (1 - t); `step`: lr factor^(number of
    drops at or before this step).

    Args:
        step: step from 0 to `steps`; the last training step is steps - 1.
        lr: peak learning rate.
        steps: number of training steps, including warm-up.
        warmup_steps: number of warm-up steps.
        schedule: schedule after the warm-up.
        drops: steps of the drops, counted from the start of training.
        factor: factor of each drop.

    Raises:
        ValueError: step or warmup_steps is not in 0..steps.
    """
    if not (0 <= step <= steps and 0 <= warmup_steps <= steps):
        raise ValueError(f"step {step} and warmup_steps {warmup_steps} must be in 0..{steps}")
    if step < warmup_steps:
        return lr * step / warmup_steps
    progress = (step - warmup_steps) / max(1, steps - warmup_steps)
    if schedule == "triangular":
        return lr * (1 - progress)
    if schedule == "cosine":
        return lr * (1 + math.cos(math.pi * progress)) / 2
    passed = sum(step >= drop for drop in drops) if schedule == "step" else 0
    return lr * factor**passed


def rate_of(
    cell: Trained, step: int, *, steps: int, steps_an_epoch: int, dropped: int = 0
) -> float:
    """Return the learning rate of a step of a cell, after this many plateau drops.

    Args:
        cell: the cell, which sets peak, schedule, warm-up and drops.
        step: step from 0 to `steps`.
        steps: number of training steps, including warm-up.
        steps_an_epoch: number of batches per epoch.
        dropped: number of drops because the accuracy did not rise.
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

    Source: BYOL, arXiv:2006.07733, Sec. 3.3: 1 - (1 - momentum) (cos(pi step / steps) + 1) / 2,
    which rises from `momentum` at step 0 to 1 at `steps`, one past the last step.

    Args:
        step: step from 0 to `steps`; the last training step is steps - 1.
        momentum: momentum at step 0, 0 to 1.
        steps: number of training steps.
        schedule: schedule; `fixed` keeps `momentum`.

    Raises:
        ValueError: step is not in 0..steps.
    """
    if not 0 <= step <= steps:
        raise ValueError(f"step must be in 0..{steps}, found {step}")
    return momentum if schedule == "fixed" else by_cosine(step, momentum, 1.0, steps=steps)


def by_cosine(step: int, start: float, end: float, *, steps: int) -> float:
    """Return end + (start - end) (cos(pi step / steps) + 1) / 2.

    This schedule is used for weight decay in DINO (arXiv:2104.14294, implementation details) and
    for momentum in BYOL.
    """
    return end + (start - end) * (math.cos(math.pi * step / max(1, steps)) + 1) / 2


@torch.no_grad()
def clip(optimiser: Optimizer, norm: float, *, each: bool) -> None:
    """Scale gradients g with norm above `norm`: g <- g min(1, norm / (|g| + 1e-6)).

    Args:
        optimiser: optimiser of the weights.
        norm: maximum norm, above 0.
        each: whether to clip each weight's gradient separately instead of the global norm.
    """
    weights = [p for group in optimiser.param_groups for p in group["params"]]
    grads = [p.grad for p in weights if p.grad is not None]
    norms = torch.stack(torch._foreach_norm(grads))
    sizes = norms if each else norms.norm().expand_as(norms)
    torch._foreach_mul_(grads, list((norm / (sizes + 1e-6)).clamp(max=1.0).unbind()))
