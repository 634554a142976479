"""Two interleaved spirals (mutual-information, App. G); the paper leaves the curve open."""

import math
from typing import Literal

import numpy as np

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
RADIUS = 2.0  # the spirals lie inside [-2, 2]^2


def two_spirals(
    generator: np.random.Generator,
    points: int,
    *,
    turns: float,
    arms: Literal["rotated", "mirrored"],
) -> tuple[Array, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Return points on two Archimedean spirals and which one each is on.

    The first runs counter-clockwise from the origin to radius 2. The second is the first turned by
    180 degrees (the arms never meet but in the origin) or mirrored in the vertical axis (one
    clockwise, one counter-clockwise, as the text says; the arms cross).

    Args:
        generator: where the numbers come from.
        points: number of points.
        turns: full turns of each spiral.
        arms: how the second spiral follows from the first.

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
