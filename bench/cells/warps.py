"""How test images are warped, by name: accuracies have room where those of plain images have none.

Digits as they are scanned stand upright, at one size and in the middle, so the nearest pixels tell
them apart; an encoder that was trained on views that move is asked what raw pixels cannot answer.
"""

from typing import Annotated, Any

from pydantic import Field, NonNegativeFloat, PositiveInt

from bench.record import Record


class Warp(Record):
    """Random warps of test images, the same ones for every cell; each number is drawn uniformly."""

    rotation: NonNegativeFloat  # degrees: from minus this to this
    scale: Annotated[float, Field(ge=1)]  # from 1 / scale to scale, in its logarithm
    shift: NonNegativeFloat  # half widths, across and down: from minus this to this
    draws: PositiveInt  # warps per test image, each of which counts as a test image


WARPS: dict[str, Warp] = {
    "digits-25": Warp(rotation=25.0, scale=1.3, shift=0.2, draws=5),
}


def warp_record(name: str) -> dict[str, Any]:
    """Return a warp written out under `warp`, as it enters an id; nothing for `none`."""
    return {"warp": WARPS[name].model_dump(mode="json")} if name in WARPS else {}
