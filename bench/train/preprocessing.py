"""Preparation of single images for an encoder, as in its evaluations.

Shapes: B images, H x W pixels before and S x S pixels after resizing.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from bench.cells.datasets import IMAGE_SETS, Triple
from bench.cells.pretrain import Pretrain
from bench.data.catalogue import PREFIX
from bench.data.decode import centre_crop
from bench.data.load import load_images
from bench.train.sources import SHORTER_SIDE, at_size, normalised

PICTURE, PICTURES = 3, 4  # dimensions


@dataclass(frozen=True)
class Preprocessing:
    """Function from a PIL image, or uint8 pixels (3, H, W) or (B, 3, H, W), to encoder input.

    The input is float32 (3, S, S) or (B, 3, S, S), normalised like in training.
    """

    size: int  # S
    mean: Triple  # of each channel, of pixels in [0, 1]; without a meaning for colour "lab"
    std: Triple
    colour: str = "rgb"
    crop: tuple[int, int] | None = None
    """First step: pixels to which the shorter side is resized, and side of the centre crop. None:
    the images are square and used unchanged."""

    def __call__(self, image: Image.Image | Tensor) -> Tensor:
        """Return the encoder's input.

        Raises:
            ValueError: neither an image nor uint8 pixels of three channels.
        """
        if isinstance(image, Image.Image):
            return self._batch(_pixels(self._cropped(image))[None])[0]
        if not isinstance(image, Tensor) or image.dtype != torch.uint8:
            kind = image.dtype if isinstance(image, Tensor) else type(image).__name__
            raise ValueError(f"expected a PIL image or a uint8 tensor, found {kind}")
        if image.ndim not in (PICTURE, PICTURES) or image.shape[-3] != 3:
            shape = tuple(image.shape)
            raise ValueError(f"expected pixels (3, H, W) or (B, 3, H, W), found {shape}")
        batch = image if image.ndim == PICTURES else image[None]
        if self.crop is not None or batch.shape[-1] != batch.shape[-2]:
            pictures = (Image.fromarray(p.permute(1, 2, 0).cpu().numpy()) for p in batch)
            cropped = [_pixels(self._cropped(picture)) for picture in pictures]
            batch = torch.stack(cropped).to(image.device)
        prepared = self._batch(batch)
        return prepared if image.ndim == PICTURES else prepared[0]

    def _batch(self, pixels: Tensor) -> Tensor:
        return normalised(self.colour, self.mean, self.std, pixels.device)(
            at_size(pixels.float() / 255, self.size)
        )

    def _cropped(self, image: Image.Image) -> Image.Image:
        """Return the square that is kept of an image."""
        image = image.convert("RGB")
        side = min(image.size)
        return centre_crop(image, *(self.crop or (side, side)))


def preprocessing_of(cell: Pretrain, root: Path) -> Preprocessing:
    """Return the preprocessing of a cell's evaluations; `root` is the folder of data sets.

    Raises:
        DataError: a `folder:` data set, needed for its mean and standard deviation, is missing.
    """
    crop = None
    info = IMAGE_SETS.get(cell.dataset)
    if info is not None and info.loader != "digits":
        mean, std = info.mean, info.std
        if info.loader == "imagenet":
            crop = (round(cell.image_size * SHORTER_SIDE), cell.image_size)
    else:
        images = load_images(cell.dataset, root)
        mean, std = images.mean, images.std
        if cell.dataset.startswith(PREFIX):
            crop = (images.image_size, images.image_size)
    return Preprocessing(cell.image_size, mean, std, cell.colour, crop)


def _pixels(image: Image.Image) -> Tensor:
    """Return uint8 (3, H, W)."""
    return torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous()
