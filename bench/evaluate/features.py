"""Features of a frozen encoder, their normalisation, and accuracies.

Shapes: n training images, m test images, B a batch, D dimensions, C classes.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from bench.errors import Diverged


class Accuracy(NamedTuple):
    """Percentage of correctly classified test images, 0 to 100."""

    top1: float
    top5: float
    """Percentage of images whose label is among the five classes with the highest scores; with five
    classes or fewer, always 100."""


@dataclass(frozen=True)
class Features:
    """Features of labelled images, all on one device."""

    train: Tensor  # float32 (n, D)
    train_labels: Tensor  # int64 (n,)
    test: Tensor  # float32 (m, D)
    test_labels: Tensor  # int64 (m,)

    def __post_init__(self) -> None:
        """Raise ValueError if the shapes do not agree, or a part is empty."""
        shapes = [tuple(t.shape) for t in vars(self).values()]
        (n, d), (m, _) = (*shapes[0], 0)[:2], (*shapes[2], 0)[:2]
        if shapes != [(n, d), (n,), (m, d), (m,)] or n * m * d == 0:
            raise ValueError(
                "the features and labels must have shapes (n, D), (n,), (m, D) and (m,), "
                f"with all sizes above 0, found {shapes}"
            )


def extract(
    encoder: nn.Module,
    images: Iterable[Tensor],
) -> Tensor:
    """Return the encoder's outputs in evaluation mode, float32 (n, D), on the encoder's device.

    Afterwards, every module returns to its previous mode. No gradient is computed.

    Args:
        encoder: module from float (B, 3, H, W) to (B, D).
        images: the encoder's input in batches, on its device.

    Raises:
        Diverged: a feature is infinite or NaN.
    """
    modes = [(module, module.training) for module in encoder.modules()]
    encoder.eval()
    try:
        with torch.no_grad():
            batches = [encoder(batch).float() for batch in images]
    finally:
        for module, training in modes:
            module.training = training
    features = torch.cat(batches)
    if not bool(torch.isfinite(features).all()):
        raise Diverged("a feature of the frozen encoder is infinite or not a number")
    return features


def accuracy(scores_mC: Tensor, labels: Tensor) -> Accuracy:
    """Return top-1 and top-5 accuracy of scores (m, C), in percent.

    Ties are resolved in favour of the lower class. NaN ranks below every number.
    """
    own_m1 = scores_mC.gather(1, labels[:, None])
    higher_mC = torch.arange(scores_mC.shape[1], device=labels.device) >= labels[:, None]
    behind_mC = (scores_mC < own_m1) | ((scores_mC == own_m1) & higher_mC)
    return of_positions((~behind_mC).sum(dim=1))


def of_positions(position_m: Tensor) -> Accuracy:
    """Return the accuracies from the 0-based ranks of the labels' scores, shape (m,)."""
    top1, top5 = (100 * (position_m < best).double().mean().item() for best in (1, 5))
    return Accuracy(top1, top5)


def check_labels(features: Features, classes: int) -> None:
    """Raise ValueError unless every label is a class, 0 to classes - 1."""
    both = torch.cat([features.train_labels, features.test_labels])
    low, high = int(both.min()), int(both.max())
    if low < 0 or high >= classes:
        raise ValueError(f"labels must be 0 to {classes - 1}, found {low} to {high}")


def normalise(features: Features, how: str) -> Features:
    """Return the features unchanged (none), with unit length (l2), or standardised.

    Standardising subtracts each dimension's mean over the training part and divides by its standard
    deviation there (ddof 0), or by 1 if it is constant.

    Raises:
        ValueError: the method is unknown.
    """
    ready = normaliser(features.train, how)
    train, test = ready(features.train), ready(features.test)
    return Features(train, features.train_labels, test, features.test_labels)


def normaliser(train_nD: Tensor, how: str) -> Callable[[Tensor], Tensor]:
    """Return a function that normalises features like `normalise`, given the training part.

    Raises:
        ValueError: the method is unknown.
    """
    if how == "l2":
        return partial(nn.functional.normalize, dim=1)
    if how == "standardise":
        mean, std = train_nD.mean(dim=0), train_nD.std(dim=0, correction=0)
        std = torch.where(std > 1e-6 * mean.abs(), std, 1.0)
        return lambda x_BD: (x_BD - mean) / std
    if how == "none":
        return lambda x_BD: x_BD
    raise ValueError(
        f"the normalisation of features must be none, l2 or standardise, found {how!r}"
    )


IMAGES_A_BLOCK = 4096  # whose distances to all classes are held at once


@torch.no_grad()
def class_separation(x_mD: Tensor, labels_m: Tensor) -> float:
    """Return the simplified silhouette of the classes: mean of (b - a) / max(a, b).

    a is an image's distance to the mean of its own class, b the distance to the nearest other mean.
    The ratio is 0 if both are 0. Values range from -1 to 1; larger means better separated.

    Args:
        x_mD: features, shape (m, D).
        labels_m: int64 classes from 0, shape (m,).

    Raises:
        ValueError: shapes do not match, or there are fewer than two classes.
    """
    if x_mD.ndim != 2 or labels_m.shape != x_mD.shape[:1]:
        raise ValueError(
            "the features and labels must have shapes (m, D) and (m,), found "
            f"{tuple(x_mD.shape)} and {tuple(labels_m.shape)}"
        )
    _, own_m = labels_m.unique(return_inverse=True)
    count_C = own_m.bincount()
    if len(count_C) < 2:
        raise ValueError(f"the labels must have two classes or more, found {len(count_C)}")
    sum_CD = torch.zeros(len(count_C), x_mD.shape[1], dtype=x_mD.dtype, device=x_mD.device)
    mean_CD = sum_CD.index_add(0, own_m, x_mD) / count_C[:, None]
    shares = [
        _shares(torch.cdist(x_bD, mean_CD, compute_mode="donot_use_mm_for_euclid_dist"), own_b)
        for x_bD, own_b in zip(x_mD.split(IMAGES_A_BLOCK), own_m.split(IMAGES_A_BLOCK), strict=True)
    ]
    return float(torch.cat(shares).double().mean())


def _shares(distance_bC: Tensor, own_b: Tensor) -> Tensor:
    own_b1 = own_b[:, None]
    a_b = distance_bC.gather(1, own_b1).squeeze(1)
    b_b = distance_bC.scatter(1, own_b1, torch.inf).amin(dim=1)
    largest_b = torch.maximum(a_b, b_b)
    return torch.where(largest_b > 0, (b_b - a_b) / largest_b, 0.0)
