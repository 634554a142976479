"""Effective dimension of features: exponentials of the entropies of spectra."""

import torch
from torch import Tensor

EPSILON = 1e-7  # RankMe and LiDAR add it to each share
WITHIN = 1e-4  # LiDAR adds it to the variance within in every direction


def rankme(x_ND: Tensor) -> float:
    """Return RankMe (arXiv:2210.02885, Eq. 1), from the singular values of uncentred features.

    Args:
        x_ND: features, shape (N >= 1, D).

    Returns:
        1 to min(N, D), or slightly more because of epsilon; 0 if all features are 0.

    Raises:
        ValueError: x_ND has a different shape.
    """
    check_features(x_ND, 2)
    x_ND = x_ND.double()
    return _entropy_rank(_spectrum(x_ND.T @ x_ND).sqrt(), EPSILON)


def effective_rank(x_ND: Tensor) -> float:
    """Return the effective rank (Roy and Vetterli, 2007) of the features' covariance matrix.

    Args:
        x_ND: features, shape (N >= 1, D).

    Returns:
        1 to min(N - 1, D); 0 if all features are equal.

    Raises:
        ValueError: x_ND has a different shape.
    """
    check_features(x_ND, 2)
    return _entropy_rank(_spectrum(_covariance(x_ND.double())), 0.0)


def lidar(x_NQD: Tensor) -> float:
    """Return LiDAR (arXiv:2312.04000): the effective rank of a linear discriminant analysis.

    Each image is a class and its views are the members. The rank uses the eigenvalues of the
    covariance between images relative to the covariance within images.

    Args:
        x_NQD: features of Q views of each image, shape (N >= 2, Q >= 2, D).

    Returns:
        1 to min(N - 1, D), or slightly more because of epsilon; 0 if all images have the same mean.

    Raises:
        ValueError: x_NQD has a different shape.
    """
    check_features(x_NQD, 3)
    if min(x_NQD.shape[:2]) < 2:
        raise ValueError(
            f"at least two images and two views are needed, found shape {tuple(x_NQD.shape)}"
        )
    x_NQD = x_NQD.double()
    mean_ND = x_NQD.mean(dim=1)
    aside_MD = (x_NQD - mean_ND[:, None]).flatten(0, 1)
    within_DD = aside_MD.T @ aside_MD / len(aside_MD)
    values, vectors = torch.linalg.eigh(within_DD)
    scaled_DD = vectors / (values.clamp(min=0) + WITHIN).sqrt()
    between_DD = scaled_DD.T @ _covariance(mean_ND) @ scaled_DD
    return _entropy_rank(_spectrum(between_DD), EPSILON)


def check_features(x: Tensor, axes: int) -> None:
    """Raise ValueError unless the features are non-empty and have this number of axes."""
    if x.ndim != axes or not x.numel():
        raise ValueError(f"the features must have {axes} axes, found shape {tuple(x.shape)}")


def _covariance(x_ND: Tensor) -> Tensor:
    centred_ND = x_ND - x_ND.mean(dim=0)
    return centred_ND.T @ centred_ND / len(x_ND)


def _spectrum(x_DD: Tensor) -> Tensor:
    values_D: Tensor = torch.linalg.eigvalsh(x_DD)
    return values_D.clamp(min=0)


def _entropy_rank(spectrum_D: Tensor, epsilon: float) -> float:
    total = spectrum_D.sum()
    if total == 0:
        return 0.0
    share_D = spectrum_D / total + epsilon
    return float((-torch.special.xlogy(share_D, share_D)).sum().exp())
