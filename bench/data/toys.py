"""Toy data: Gaussians with known mutual information, and two spirals.

The spirals follow mutual-information, App. G, which does not specify the curve.
"""

import math
from typing import Literal

import numpy as np

Float32s = np.ndarray[tuple[int, ...], np.dtype[np.float32]]

# Covariances of z and of the noise in mutual-information, App. E; X and Y are z + noise.
VINCE_COVARIANCE = np.array([[1.0, -0.5], [-0.5, 1.0]]) + np.array([[1.0, 0.9], [0.9, 1.0]])


def correlation_for(mi: float, d: int) -> float:
    """Return the correlation rho at which d independent pairs have `mi` nats (EqCo, Eq. 15)."""
    return math.sqrt(-math.expm1(-2 * mi / d))


def normal_pairs(generator: np.random.Generator, count: int, d: int) -> tuple[Float32s, Float32s]:
    """Return X and eps of EqCo's Eq. 14: standard normal, shape (count, d) each.

    Args:
        generator: source of randomness.
        count: number of pairs.
        d: dimensions.
    """
    x, eps = generator.standard_normal((2, count, d), dtype=np.float32)
    return x, eps


def correlate(x: Float32s, eps: Float32s, rho: float) -> Float32s:
    """Return Y = rho X + sqrt(1 - rho^2) eps (EqCo, Eq. 14).

    Args:
        x: X, any shape.
        eps: noise of the same shape.
        rho: correlation, -1 to 1.
    """
    return np.float32(rho) * x + np.float32(math.sqrt(1 - rho**2)) * eps


def log_density_ratio(
    x: Float32s, y: Float32s, rho: float
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return log p(y|x)/p(y) for pairs from Eq. 14, summed over the last axis, in float64.

    Args:
        x: X, shape (..., d).
        y: Y, shape (..., d).
        rho: correlation, between -1 and 1.
    """
    x64, y64 = x.astype(np.float64), y.astype(np.float64)
    variance = 1 - rho**2
    inner = y64**2 / 2 - (y64 - rho * x64) ** 2 / (2 * variance)
    return np.asarray(inner.sum(-1) - y64.shape[-1] / 2 * math.log(variance))


def vince_pairs(generator: np.random.Generator, count: int) -> tuple[Float32s, Float32s]:
    """Return X and Y of mutual-information, App. E, shape (count, 1) each."""
    factor = np.linalg.cholesky(VINCE_COVARIANCE)
    pairs = (generator.standard_normal((count, 2)) @ factor.T).astype(np.float32)
    return pairs[:, :1], pairs[:, 1:]


def vince_mi() -> float:
    """Return the true mutual information of `vince_pairs` in nats (App. E)."""
    c = VINCE_COVARIANCE
    return float(-0.5 * np.log(1 - c[0, 1] * c[1, 0] / (c[0, 0] * c[1, 1])))


RADIUS = 2.0  # the spirals lie inside [-2, 2]^2


def two_spirals(
    generator: np.random.Generator,
    points: int,
    *,
    turns: float,
    arms: Literal["rotated", "mirrored"],
) -> tuple[Float32s, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Return points on two Archimedean spirals and the spiral of each point.

    The first spiral runs counter-clockwise from the origin to radius 2. The second is the first
    rotated by 180 degrees (the arms meet only at the origin) or mirrored at the vertical axis (the
    arms cross). The paper's text describes the mirrored version: one spiral clockwise, one
    counter-clockwise.

    Args:
        generator: source of randomness.
        points: number of points.
        turns: full turns of each spiral.
        arms: whether the second spiral is rotated or mirrored.

    Returns:
        (points, 2) float32 and (points,) labels 0 and 1, alternating.
    """
    along = generator.random(points)
    angle, radius = 2 * math.pi * turns * along, RADIUS * along
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    label = np.arange(points) % 2
    sign = np.where(label == 1, -1.0, 1.0)
    second_y = y * sign if arms == "rotated" else y
    return np.stack([x * sign, second_y], axis=1).astype(np.float32), label
