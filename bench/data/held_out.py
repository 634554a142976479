"""Training images held out in place of the test images: what a search is scored on."""

from dataclasses import replace

import numpy as np
import torch

from bench.data.folders import Files
from bench.data.images import Images, share_of_each_class
from bench.data.streaming import ImageFiles
from bench.data.streams import Purpose, stream

HELD_OUT_SEED = 1010  # the same images for every cell


def with_held_out(images: Images, share: float) -> Images:
    """Return the data set with a share of each class of its training images as its test part.

    They are no training images then, and the test images are not there at all. Which ones they
    are follows from the labels alone; images without a label stay.
    """
    out = torch.from_numpy(_held_out(images.train.labels, share))
    return replace(images, train=images.train.of(~out), test=images.train.of(out))


def with_files_held_out(files: ImageFiles, share: float) -> ImageFiles:
    """Return the same of a data set on disk."""
    out = _held_out(files.train.labels, share)
    return replace(files, train=_chosen(files.train, ~out), test=_chosen(files.train, out))


def _held_out(labels: torch.Tensor, share: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    array = labels.cpu().numpy()
    return share_of_each_class(array, share, stream(HELD_OUT_SEED, Purpose.DATA))


def _chosen(files: Files, rows: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Files:
    paths = [path for path, taken in zip(files.paths, rows, strict=True) if taken]
    return Files(paths, files.labels[torch.from_numpy(rows)])
