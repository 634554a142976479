"""Learning-rate rules that depend on the number of queries per step."""

import math
from typing import Any, Literal, get_args

ScalingRule = Literal["none", "linear", "sqrt"]


SCALED = {"lr": "base_lr", "lr_bias": "base_lr_bias"}
"""Learning rates, each with the base rate that it is computed from by the number of queries per
step."""


def scaled_lr(base_lr: float, N: int, rule: ScalingRule) -> float:
    """Return the learning rate at N queries per step, given the rate at 256.

    `none` keeps base_lr; `linear` is base_lr N / 256 (arXiv:1706.02677); `sqrt` is base_lr sqrt(N /
    256), and SimCLR's 0.075 sqrt(N) (arXiv:2002.05709, App. B.1) is base_lr = 1.2.
    """
    if rule == "none":
        return base_lr
    return base_lr * (N / 256 if rule == "linear" else math.sqrt(N / 256))


def ruled(settings: dict[str, Any], N: Any) -> dict[str, Any]:
    """Return the learning rates and the rule that follow from base_lr, if it is set.

    lr follows from base_lr, and lr_bias from base_lr_bias by the same rule.
    """
    base, rule = settings.get("base_lr"), settings.get("lr_scaling", "none")
    if "lr" in settings or not isinstance(base, int | float) or not isinstance(N, int):
        return {}
    if rule not in get_args(ScalingRule):
        return {}
    bias, N = settings.get("base_lr_bias"), max(N, 1)  # a smaller N is refused as such
    of_biases = {"lr_bias": scaled_lr(bias, N, rule)} if isinstance(bias, int | float) else {}
    return {"lr_scaling": rule, "lr": scaled_lr(base, N, rule)} | of_biases


def check_rate(*, lr: float, base_lr: float | None, lr_scaling: ScalingRule | None, N: int) -> None:
    """Check that a learning rate agrees with its rule, if there is one.

    Args:
        lr: the learning rate of the cell.
        base_lr: the learning rate before scaling; None without a rule.
        lr_scaling: the rule; None without a rule.
        N: queries per step.

    Raises:
        ValueError: the rate disagrees with the rule, or only one of base_lr and lr_scaling is set.
    """
    if (base_lr is None) != (lr_scaling is None):
        raise ValueError("base_lr and lr_scaling must be set together; without them, set lr")
    if base_lr is not None and lr_scaling is not None and lr != scaled_lr(base_lr, N, lr_scaling):
        raise ValueError(
            "lr is not the value that base_lr and lr_scaling give; change base_lr, and leave lr out"
        )
