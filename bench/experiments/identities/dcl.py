"""Propositions and remarks of DCL (arXiv:2110.06848); equations are `dcl`'s."""

import torch
from torch import Tensor

from bench.experiments.identities.draw import Deviations, Draw, gradient, two_view_similarities
from bench.losses import dcl, dclw, infonce, q_b
from bench.losses.alignment import log_mean_potential
from bench.losses.contrastive import positive_weight

VMF_SIGMA = 0.5  # eq-7-vmf
MILD_TAU = 0.5
STEP = 0.05  # by which a similarity is raised
HARD = 0.5  # by which a pair's similarity is


def q_b_in_every_gradient(draw: Draw) -> Deviations:
    """Return autograd of InfoNCE against eq-3a to eq-3c, and 1 against the weights' sum."""
    return _gradients_of_one_view(draw, coupled=True)


def dcl_has_no_q_b(draw: Draw) -> Deviations:
    """Return autograd of DCL against eq-3a to eq-3c with 1 for q_B; q_B times it is InfoNCE's."""
    pos, neg = draw.similarities()
    q = q_b(pos, neg, tau=draw.tau)
    free = [gradient(dcl(pos, neg, tau=draw.tau), x) for x in (pos, neg)]
    coupled = [gradient(infonce(pos, neg, tau=draw.tau), x) for x in (pos, neg)]
    differences = [q * free[0] - coupled[0], q[:, None] * free[1] - coupled[1]]
    return Deviations([*differences, *_gradients_of_one_view(draw, coupled=False).differences])


def _gradients_of_one_view(draw: Draw, *, coupled: bool) -> Deviations:
    """Return the gradients of the first image's loss in its first view, z as free vectors."""
    a, b, tau, i = draw.units(), draw.units(), draw.tau, 0
    loss = (infonce if coupled else dcl)(*two_view_similarities(a, b), tau=tau)[i]
    of_a, of_b = gradient(loss, a), gradient(loss, b)
    za, zb = a.detach(), b.detach()
    others = torch.cat([za[1:], zb[1:]])
    terms = (others @ za[i] / tau).exp()
    U = terms.sum()
    q = U / ((za[i] @ zb[i] / tau).exp() + U) if coupled else za.new_ones(())
    of_others = torch.cat([of_a[1:], of_b[1:]])
    weights = terms / U
    return Deviations(
        [
            -of_a[i] - q / tau * (zb[i] - weights @ others),  # eq-3a
            -of_b[i] - q / tau * za[i],  # eq-3b
            -of_others + q / tau * weights[:, None] * za[i],  # eq-3c
            of_others @ za[i] * tau / q - weights,
            (of_others @ za[i] * tau / q).sum() - 1,  # eq-4b
        ]
    )


def q_b_easy_cases(draw: Draw) -> Deviations:
    """Return by how much q_B falls with the positive, rises with a negative and with their number.

    And q_B against Eq. 4. The temperature is so mild that no negative is lost in rounding.
    """
    tau = max(draw.tau, MILD_TAU)
    pos, neg = (x.detach() for x in draw.similarities())
    harder = neg.clone()
    harder[:, 0] += STEP
    q = q_b(pos, neg, tau=tau)
    closer, fewer = q_b(pos + STEP, neg, tau=tau), q_b(pos, neg[:, 1:], tau=tau)
    U = (neg / tau).exp().sum(dim=1)
    eq_4 = 1 - (pos / tau).exp() / ((pos / tau).exp() + U)
    return Deviations([q - eq_4], [q - closer, q - fewer, q_b(pos, harder, tau=tau) - q])


def mean_of_dclw_weight(draw: Draw) -> Deviations:
    """Return eq-7-vmf's weight against its formula, its mean against 1; E[s] less E[w s]."""
    pos, _ = draw.similarities()
    s = pos.detach()
    w = positive_weight(s, "vmf", VMF_SIGMA, None)
    terms = (s / VMF_SIGMA).exp()
    return Deviations([w - (2 - terms / terms.mean()), w.mean() - 1], [s.mean() - (w * s).mean()])


def dclw_tends_to_dcl(draw: Draw) -> Deviations:
    """Return DCLW at sigma = 1e12 against DCL, and by how much their distance falls before."""
    pos, neg = (x.detach() for x in draw.similarities())
    free = dcl(pos, neg, tau=draw.tau)

    def excess(sigma: float) -> Tensor:
        weighted = dclw(
            pos, neg, tau=draw.tau, weight="vmf", sigma=sigma, through_weight=False
        )  # fmt: skip
        return weighted - free

    far = torch.stack([excess(sigma).abs().max() for sigma in (1.0, 10.0, 100.0, 1000.0)])
    return Deviations([excess(1e12)], [-far.diff()])


def hard_pair_among_negatives(draw: Draw) -> Deviations:
    """Return what one harder pair does to the third sample's negatives, tau = 1 (App. 5).

    Gradients of eq-a5-uniform-n3 and eq-a5-dclneg-n3 against the shares of their exponentials; the
    former's, for the third sample, should shrink, the latter's stay.
    """
    easy = 0.2 * torch.tanh(draw.normal(3))  # similarities of the pairs (1, 2), (1, 3), (2, 3)
    hard = easy + torch.tensor([HARD, 0, 0], dtype=torch.float64)
    differences, shares = [], []
    for pairs in (easy, hard):
        sim = torch.eye(3, dtype=torch.float64)
        sim[[0, 0, 1], [1, 2, 2]] = sim[[1, 2, 2], [0, 0, 1]] = pairs
        off = ~torch.eye(3, dtype=torch.bool)
        neg = sim[off].reshape(3, 2).requires_grad_()
        of_dcl = gradient(dcl(neg.new_zeros(3), neg, tau=1.0), neg)
        terms = neg.detach().exp()
        x = torch.linalg.cholesky(sim).requires_grad_()
        of_x = gradient(log_mean_potential(x, 0.5), x)[2]
        # In the third sample's gradient each other sample has twice its share as a coefficient.
        of_uniform = torch.linalg.solve(x.detach().mT, of_x)[:2] / 2
        share = terms[2] / terms.sum()
        differences += [of_dcl - terms / terms.sum(dim=1, keepdim=True), of_uniform - share]
        shares.append((of_dcl[2], of_uniform))
    (dcl_easy, uniform_easy), (dcl_hard, uniform_hard) = shares
    return Deviations([*differences, dcl_hard - dcl_easy], [uniform_easy - uniform_hard])


def potential_of_distance(draw: Draw) -> Deviations:
    """Return exp(-||x - y||^2/tau) against e^{-2/tau} e^{2 x.y/tau} (eq-a5-distance).

    The margin: how far from constant its ratio with e^{x.y/tau} is, in nats.
    """
    x, tau = draw.units(4).detach(), draw.tau
    off = ~torch.eye(4, dtype=torch.bool)
    sim = (x @ x.mT)[off]
    distances = (x[:, None] - x[None]).square().sum(dim=-1)[off]
    ours = log_mean_potential(x, 1 / tau)
    paper = (2 * sim / tau - 2 / tau).exp().mean().log()
    ratio = -distances / tau - sim / tau
    return Deviations([ours - paper, -distances / tau - (2 * sim - 2) / tau], [ratio.std()])


def infonce_tends_to_dcl(draw: Draw) -> Deviations:
    """Return by how much InfoNCE's loss comes nearer to DCL's as negatives double.

    The gap is log(1 + e^{-L_DC}) = -log q_B, and q_B is the ratio of the gradients.
    """
    pos, neg = (x.detach() for x in draw.similarities(16 * draw.N))
    differences, gaps = [], []
    for share in (1, 2, 4, 8, 16):
        some = neg[:, : share * draw.N]
        coupled, free = (loss(pos, some, tau=draw.tau) for loss in (infonce, dcl))
        gap = (-free).exp().log1p()
        differences += [coupled - free - gap, q_b(pos, some, tau=draw.tau) - (-gap).exp()]
        gaps.append(gap)
    return Deviations(differences, [-torch.stack(gaps).diff(dim=0)])
