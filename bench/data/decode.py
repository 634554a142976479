"""One image file as RGB pixels; its header is looked at before anything is decoded."""

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
    """Yield an image of which the header alone is read; what fails within is the image's fault.

    Raises:
        DataTorn: it cannot be read or decoded, or has more than MOST_PIXELS.
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
        raise DataTorn(f"{os.fspath(path)}: {_allowed('more pixels')}") from fault
    except Exception as fault:  # decoders raise a dozen kinds
        raise DataTorn(f"{os.fspath(path)}: not a readable image") from fault


def read_image(path: Path | str, side: int | None = None) -> Image.Image:
    """Return the decoded image in RGB; a rotation noted in EXIF is not applied.

    Of 16 bits the upper 8 are kept, as Pillow does with those of colour images.

    Args:
        path: the file.
        side: pixels that its shorter side is going to be resized to.

    Raises:
        DataTorn: it cannot be read or decoded, or has too many pixels, now or once resized.
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
    """Return whether a file that begins so is a PNG of 16 bits of grey."""
    return head.startswith(_PNG) and head[24:26] == _DEEP_GREY


def centre_crop(image: Image.Image, resize: int, size: int) -> Image.Image:
    """Return the central square of `size` pixels after the shorter side has become `resize`.

    Bilinear with antialiasing; the longer side and the offset are rounded as torchvision does.

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
        raise DataTorn(f"{os.fspath(path)}: {_allowed(f'{width} x {height} pixels')}{when}")


def _allowed(pixels: str) -> str:
    return f"{pixels}; at most {MOST_PIXELS} in all are decoded"
