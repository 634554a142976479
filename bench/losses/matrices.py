"""Shape checks and matrix products of the Siamese losses, in float32 or wider.

Shapes: N images, D feature dimensions.
"""

import torch
from torch import Tensor

from bench.losses.contrastive import at_least_float32


def product(a: Tensor, b: Tensor) -> Tensor:
    """Return a @ b in full precision, also under autocast."""
    with torch.autocast(a.device.type, enabled=False):
        return a @ b


def off_diagonal_squares(W_DD: Tensor) -> Tensor:
    """Return sum_{i != j} W_ij^2, a scalar."""
    return (W_DD - W_DD.diagonal().diag()).square().sum()


def outputs(online_ND: Tensor, target_ND: Tensor, *, least: int = 1) -> tuple[Tensor, Tensor]:
    """Check the outputs of both views and return them in float32 or wider.

    Args:
        online_ND: outputs of view 1, shape (N, D).
        target_ND: outputs of view 2, shape (N, D).
        least: the smallest N for which the loss is defined.

    Raises:
        ValueError: the outputs do not both have shape (N >= least, D), or only one is float64.
    """
    if online_ND.shape != target_ND.shape or online_ND.ndim != 2 or len(online_ND) < least:
        raise ValueError(
            f"needs two equal shapes (N >= {least}, D), found {tuple(online_ND.shape)} and "
            f"{tuple(target_ND.shape)}"
        )
    online_ND = at_least_float32(online_ND)
    return online_ND, of_one_type("targets", target_ND, online_ND)


def matching(correlation_DD: Tensor, x_ND: Tensor) -> Tensor:
    """Check F against features and return it in float32 or wider.

    Raises:
        ValueError: F does not have shape (D, D) for features (N, D), or only one of F and x is
            float64.
    """
    d = x_ND.shape[1]
    if correlation_DD.shape != (d, d):
        raise ValueError(f"needs F of shape {(d, d)}, found {tuple(correlation_DD.shape)}")
    return of_one_type("F", correlation_DD, x_ND)


def of_one_type(name: str, y: Tensor, x: Tensor) -> Tensor:
    """Check that `y` and `x` have compatible dtypes; return `y` in float32 or wider.

    Args:
        name: name of `y` in the message.
        y: matrix to multiply with `x`.
        x: outputs.

    Raises:
        ValueError: only one of `x` and `y` is float64.
    """
    wide = at_least_float32(y)
    if wide.dtype != at_least_float32(x).dtype:
        raise ValueError(f"{name} must be {x.dtype} as the outputs, found {y.dtype}")
    return wide
