"""Norm of InfoNCE's gradient at the query over random negatives (EqCo, Theorem 2)."""

from collections.abc import Sequence

import numpy as np
import torch

from bench.cells.toys import GradientNorm
from bench.data.streams import Purpose, stream
from bench.experiments.outcome import Outcome, Result
from bench.losses import eqco_margin, gradient_norm_bound, infonce
from bench.losses.bounds import log_mean_exp_on_sphere
from bench.results.folder import CellFolder


def run(cells: Sequence[GradientNorm], folders: Sequence[CellFolder], device: str) -> list[Outcome]:
    """Draw unit keys, compute the gradient in float64, and compare it with the bound."""
    return [Result(_norms(cell)) for cell in cells]


def _norms(cell: GradientNorm) -> dict[str, float]:
    """Return mean and spread of || dL/dq || over draws, and the bound of Eq. 7."""
    query = np.zeros(cell.d)
    query[0] = 1.0
    positive = np.zeros(cell.d)
    positive[:2] = cell.positive_cosine, np.sqrt(1 - cell.positive_cosine**2)
    margin = 0.0 if cell.alpha is None else eqco_margin(cell.alpha, cell.K, cell.tau)
    norms = []
    for draw in range(cell.draws):
        keys = stream(cell.seed, Purpose.NEGATIVES, draw).standard_normal((cell.K, cell.d))
        keys /= np.linalg.norm(keys, axis=1, keepdims=True)
        q = torch.tensor(query, requires_grad=True)
        pos, neg = q @ torch.from_numpy(positive), torch.from_numpy(keys) @ q
        loss = infonce(pos[None], neg[None], tau=cell.tau, margin=margin).sum()
        (gradient,) = torch.autograd.grad(loss, q)
        norms.append(float(gradient.norm()))
    bound = gradient_norm_bound(
        positive=cell.positive_cosine,
        expected_negative_log=log_mean_exp_on_sphere(1 / cell.tau, cell.d),
        alpha=float(cell.K if cell.alpha is None else cell.alpha),
        tau=cell.tau,
    )
    return {
        "gradient_norm": float(np.mean(norms)),
        "gradient_norm_std": float(np.std(norms, ddof=1)),
        "gradient_norm_bound": bound,
    }
