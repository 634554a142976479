"""Lemmas of `mutual-information` on objectives over a memory bank; equations are its own."""

import math

import torch
from torch import Tensor

from bench.experiments.identities.draw import Deviations, Draw, two_view_similarities
from bench.losses import infonce, la, mi_lower_bound, neighbour_gain


def permuted_bank(draw: Draw) -> Deviations:
    """Return the sum of Eq. 1 over the data set before and after a joint permutation (Thm. 2.1)."""
    g, bank = draw.units().detach(), draw.units().detach()
    order = torch.from_numpy(draw.random.permutation(draw.N))
    losses = [_instance_loss(x, m, draw.tau) for x, m in ((g, bank), (g[order], bank[order]))]
    softmax = (g @ bank.mT / draw.tau).log_softmax(dim=1).diagonal().sum()
    return Deviations([losses[1] - losses[0], losses[0] + softmax])


def _instance_loss(g: Tensor, bank: Tensor, tau: float) -> Tensor:
    sim = g @ bank.mT
    others = ~torch.eye(len(g), dtype=torch.bool)
    return infonce(sim.diagonal(), sim[others].reshape(len(g), -1), tau=tau).sum()


def simclr_is_infonce(draw: Draw) -> Deviations:
    """Return log K less SimCLR's loss against Eq. 5 of the same logits (Lemma B.1)."""
    pos, neg = two_view_similarities(draw.units().detach(), draw.units().detach())
    K = 1 + neg.shape[1]
    ours = mi_lower_bound(infonce(pos, neg, tau=draw.tau), candidates=K)
    logits = torch.cat([pos[:, None], neg], dim=1) / draw.tau
    return Deviations([ours - (logits[:, 0] - logits.exp().mean(dim=1).log())])


def la0_is_ball(draw: Draw) -> Deviations:
    """Return LA with C = {i} against BALL over the same B, and both against Lemma 4.3."""
    s, nearest = _nearest_first(draw)
    nearest_entry, others = s[:, 0], s[:, 1:nearest]
    la0 = la(nearest_entry, others, tau=draw.tau, normaliser="constant", own_entry="always")
    ball = infonce(nearest_entry, others, tau=draw.tau)
    lemma = nearest_entry / draw.tau - (s[:, :nearest] / draw.tau).logsumexp(dim=1)
    return Deviations([la0 - ball, la0 + lemma])


def la_below_la0(draw: Draw) -> Deviations:
    """Return by how much L^LA0 exceeds L^LA - log |C|, the own entry the nearest (Lemma 4.4)."""
    s, nearest = _nearest_first(draw)
    la0 = la(s[:, 0], s[:, 1:nearest], tau=draw.tau, normaliser="constant", own_entry="always")
    close = _close(draw, nearest)
    gain = neighbour_gain(s[:, 0], s[:, 1:close], tau=draw.tau, where="inside")
    return Deviations(margins=[-la0 - (gain - la0 - math.log(close))])


def la_is_a_difference(draw: Draw) -> Deviations:
    """Return LA by two logsumexp terms against Eq. 2 with the softmax over all (Lemma B.3)."""
    s, nearest = _nearest_first(draw)
    close = _close(draw, nearest)
    la0 = la(s[:, 0], s[:, 1:nearest], tau=draw.tau, normaliser="constant", own_entry="always")
    ours = neighbour_gain(s[:, 0], s[:, 1:close], tau=draw.tau, where="inside") - la0
    p = (s / draw.tau).softmax(dim=1)
    eq_2 = (p[:, :close].sum(dim=1) / p[:, :nearest].sum(dim=1)).log()
    return Deviations([ours - eq_2])


def _nearest_first(draw: Draw) -> tuple[Tensor, int]:
    """Return similarities of each view with all entries, nearest first, and how many B has.

    The own entry is the nearest: what Lemma 4.4 assumes.
    """
    sim = draw.units().detach() @ draw.units().detach().mT
    return sim.sort(dim=1, descending=True).values, max(3, draw.N // 2)


def _close(draw: Draw, nearest: int) -> int:
    """Return how many C has, a part of B: at least two."""
    return int(draw.random.integers(2, nearest))
