"""How far classes lie apart in features, without a classifier."""

import torch
from torch import Tensor

IMAGES_A_BLOCK = 4096  # whose distances to all classes are held at once


@torch.no_grad()
def class_separation(x_mD: Tensor, labels_m: Tensor) -> float:
    """Return the simplified silhouette of the classes: the mean of (b - a) / max(a, b).

    a is an image's distance to the mean of its own class, b that to the nearest other mean; 0 where
    both are 0. From -1 to 1, the larger the better told apart.

    Args:
        x_mD: features, shape (m, D).
        labels_m: int64 classes from 0, shape (m,).

    Raises:
        ValueError: the shapes do not agree, or there are fewer than two classes.
    """
    if x_mD.ndim != 2 or labels_m.shape != x_mD.shape[:1]:
        raise ValueError(
            f"needs shapes (m, D) and (m,), found {tuple(x_mD.shape)} and {tuple(labels_m.shape)}"
        )
    _, own_m = labels_m.unique(return_inverse=True)
    count_C = own_m.bincount()
    if len(count_C) < 2:
        raise ValueError(f"needs two classes or more, found {len(count_C)}")
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
