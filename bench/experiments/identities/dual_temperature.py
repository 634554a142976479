"""Dual temperature's remark on cross-entropy (supplement, Sec. E)."""

import torch
from torch.nn.functional import one_hot

from bench.experiments.identities.draw import Deviations, Draw
from bench.losses import infonce
from bench.losses.classification import cross_entropy


def cross_entropy_is_infonce(draw: Draw) -> Deviations:
    """Return cross-entropy of o/tau, InfoNCE with one-hot keys, and Eq. 1 against each other."""
    logits = draw.normal(draw.N, draw.d)
    labels = torch.from_numpy(draw.random.integers(draw.d, size=draw.N))
    truth = one_hot(labels, draw.d).double()  # y_gt
    keys = torch.eye(draw.d, dtype=torch.float64)
    others = torch.stack([keys[keys @ y == 0] for y in truth])  # y_c, c not the class
    pos = (logits * truth).sum(dim=1)
    neg = torch.einsum("nd,ncd->nc", logits, others)
    by_keys = infonce(pos, neg, tau=draw.tau)
    eq_1 = (logits / draw.tau).exp()
    closed = -((eq_1 * truth).sum(dim=1) / eq_1.sum(dim=1)).log()
    return Deviations([cross_entropy(logits, labels, tau=draw.tau) - by_keys, by_keys - closed])
