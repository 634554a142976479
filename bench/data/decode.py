"""Decode one image file to RGB pixels; the header is checked first."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

from bench.errors import DataTorn

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP")  # Pillow runs a program for some of the others
MOST_PIXELS = 2**26  # of an image, also once it is enlarged: 200 MB

_PNG = b"\x89PNG\r\n\x1a\n"
_DEEP_GREY = bytes((16, 0))  # bits and colours of a PNG, from its byte 24 on


@contextmanager
def opened(path: Path | str) -> Iterator[Image.Image]:
    """Open an image and read its header; errors inside the block are raised as DataTorn.

    Raises:
        DataTorn: the image cannot be read or decoded, or has more than MOST_PIXELS pixels.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(path, formats=FORMATS)
        with image:
            _check_size(path, image.size, "")
            yield image
    except DataTorn:
        raise
    except Image.DecompressionBombError as fault:
        raise DataTorn(
            f"{os.fspath(path)}: the image has too many pixels; at most {MOST_PIXELS} are decoded"
        ) from fault
    except Exception as fault:  # decoders raise a dozen kinds
        raise DataTorn(f"{os.fspath(path)}: the file is not a readable image") from fault


def read_image(path: Path | str, side: int | None = None) -> Image.Image:
    """Return the decoded RGB image; EXIF rotation is not applied.

    For 16-bit images the upper 8 bits are kept, like Pillow does for colour images.

    Args:
        path: the file.
        side: length of the shorter side after resizing, in pixels.

    Raises:
        DataTorn: the image cannot be read or decoded, or has too many pixels before or after
            resizing.
    """
    with opened(path) as image:
        if side is not None:
            short = min(image.size)
            size = (image.width * side // short, image.height * side // short)
            _check_size(path, size, f" once its shorter side has {side}")
        if image.mode.startswith("I"):
            return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8)).convert("RGB")
        return image.convert("RGB")


def is_deep_grey(head: bytes) -> bool:
    """Return whether these first bytes are those of a 16-bit greyscale PNG."""
    return head.startswith(_PNG) and head[24:26] == _DEEP_GREY


def centre_crop(image: Image.Image, resize: int, size: int) -> Image.Image:
    """Resize the shorter side to `resize` pixels and return the central square of `size` pixels.

    Resizing is bilinear with antialiasing. The longer side and the offset are rounded like in
    torchvision.

    Args:
        image: the image.
        resize: shorter side in pixels before the crop.
        size: side of the square in pixels.
    """
    width, height = image.size
    short = min(width, height)
    if short != resize:
        width, height = resize * width // short, resize * height // short
        image = image.resize((width, height), Image.Resampling.BILINEAR)
    left, top = round((width - size) / 2), round((height - size) / 2)
    return image.crop((left, top, left + size, top + size))


def _check_size(path: Path | str, size: tuple[int, int], when: str) -> None:
    width, height = size
    if width * height > MOST_PIXELS:
        raise DataTorn(
            f"{os.fspath(path)}: the image has {width} x {height} pixels, but at "
            f"most {MOST_PIXELS} are decoded{when}"
        )
