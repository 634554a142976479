"""The distance of two views from their mean, and the Epps-Pulley statistic of projections."""

import torch
from torch import Generator, Tensor

KNOTS, FARTHEST = 17, 3.0  # released code: the integral over [-3, 3], twice its half


def lejepa(
    query_ND: Tensor, key_ND: Tensor, sigreg: float, slices: int, generator: Generator
) -> Tensor:
    """Return the loss of each query, shape (N,); the statistic is of the batch, in all alike."""
    drawn_DS = torch.randn(query_ND.shape[1], slices, generator=generator).to(query_ND)
    statistic = _epps_pulley(query_ND @ (drawn_DS / drawn_DS.norm(dim=0)))
    distance_N = ((query_ND - key_ND) / 2).square().mean(dim=1)
    return sigreg * statistic + (1 - sigreg) * distance_N


def _epps_pulley(projected_NS: Tensor) -> Tensor:
    """Return N times the squared distance from a Gaussian's characteristic function, weighted."""
    t_T = torch.linspace(0, FARTHEST, KNOTS).to(projected_NS)
    gaussian_T = (-t_T.square() / 2).exp()
    angle_NST = projected_NS[..., None] * t_T
    far_ST = (angle_NST.cos().mean(dim=0) - gaussian_T).square() + angle_NST.sin().mean(0).square()
    return len(projected_NS) * 2 * torch.trapezoid(far_ST * gaussian_T, t_T, dim=1).mean()
