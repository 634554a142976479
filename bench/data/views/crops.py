"""Random crops as torchvision's RandomResizedCrop draws them, many at once."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TRIES = 10
NUMBERS = 2 * TRIES + 2  # area and aspect ratio of each try, then where the box lies
WHOLE = (2.0, 2.0)  # shares with which no try fits, so that the box is the image's middle or all
_RATIO = (3 / 4, 4 / 3)  # width / height


def draw_crop_numbers(
    rng: np.random.Generator, shares: list[tuple[float, float]], batch: int
) -> Floats:
    """Return (V, batch, NUMBERS), one view for each (least, most) kept share of the area.

    Of each sample: the area's shares of 10 tries, uniform; their aspect ratios, log-uniform in 3/4
    to 4/3; two uniform numbers for the position. They hold for an image of any size.

    Args:
        rng: where the numbers come from.
        shares: least and most kept share of the area, per view.
        batch: number of images.
    """
    numbers = rng.random((len(shares), batch, NUMBERS))
    low, high = np.array(shares)[:, :, None, None].swapaxes(0, 1)
    numbers[..., :TRIES] = low + (high - low) * numbers[..., :TRIES]
    log_low, log_high = np.log(_RATIO)
    ratio = numbers[..., TRIES:-2]
    numbers[..., TRIES:-2] = np.exp(log_low + (log_high - log_low) * ratio)
    return numbers


def crop_box(numbers: Floats, height: int, width: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return (top, left, height, width) of the crops in images of height x width, in pixels.

    The first of the tries that fits, else the largest box in the middle whose aspect ratio is
    allowed (torchvision, RandomResizedCrop). `numbers` has shape (..., NUMBERS), the results (...).

    Args:
        numbers: what `draw_crop_numbers` returns.
        height: of the images, in pixels.
        width: of the images, in pixels.
    """
    area, ratio = height * width * numbers[..., :TRIES], numbers[..., TRIES:-2]
    w, h = np.rint(np.sqrt(area * ratio)), np.rint(np.sqrt(area / ratio))
    fits = (w > 0) & (w <= width) & (h > 0) & (h <= height)
    first = fits.argmax(-1)[..., None]
    any_fits = fits.any(-1)
    last_h = min(height, round(width / _RATIO[0]))
    last_w = min(width, round(height * _RATIO[1]))
    h = np.where(any_fits, np.take_along_axis(h, first, -1)[..., 0], last_h)
    w = np.where(any_fits, np.take_along_axis(w, first, -1)[..., 0], last_w)
    top = np.where(any_fits, np.floor(numbers[..., -2] * (height - h + 1)), (height - h) // 2)
    left = np.where(any_fits, np.floor(numbers[..., -1] * (width - w + 1)), (width - w) // 2)
    return top.astype(np.int64), left.astype(np.int64), h.astype(np.int64), w.astype(np.int64)
