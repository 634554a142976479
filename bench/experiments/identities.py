"""Equations of the papers on random features: our functions against the published formulas.

This module implements the formulas of `bench/papers/data` independently. `RandomFeatures` comes
first, then one function per identity, by paper: DCL, EqCo, mutual information, UniGrad and dual
temperature. Each function returns `Deviations`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm, normalize, one_hot

from bench.losses import (
    barlow_twins,
    correlation,
    dcl,
    dclw,
    directpred,
    eqco_margin,
    gradient_form,
    infonce,
    la,
    mi_lower_bound,
    neighbour_gain,
    q_b,
    unigrad,
    vicreg,
)
from bench.losses.alignment import log_mean_potential
from bench.losses.classification import cross_entropy
from bench.losses.contrastive import positive_weight
from bench.methods.cached import encode_all, pass_on
from bench.methods.method import Encoded
from bench.methods.online_network import Projected

LEAST_TAU, MOST_TAU = 0.05, 1.0


class Deviations(NamedTuple):
    """Differences between the sides of an equation, and margins of inequalities."""

    differences: Sequence[Tensor] = ()  # of sides that should be equal
    margins: Sequence[Tensor] = ()  # of sides of which one should be larger: by how much it is


@dataclass(frozen=True)
class RandomFeatures:
    """Random float64 features from one stream: N samples of d dimensions, and a temperature."""

    random: np.random.Generator
    N: int
    d: int
    tau: float = field(init=False)  # uniform in its logarithm

    def __post_init__(self) -> None:
        """Draw the temperature."""
        low, high = np.log([LEAST_TAU, MOST_TAU])
        object.__setattr__(self, "tau", float(np.exp(self.random.uniform(low, high))))

    def normal(self, *shape: int) -> Tensor:
        """Return independent standard normal numbers."""
        return torch.from_numpy(self.random.standard_normal(shape))

    def units(self, count: int | None = None) -> Tensor:
        """Return random unit vectors, N by default, as leaf tensors."""
        return leaf(normalize(self.normal(count or self.N, self.d), dim=-1))

    def similarities(self, negatives: int | None = None) -> tuple[Tensor, Tensor]:
        """Return N positives and N rows of negatives, uniform in (-1, 1), as leaf tensors."""
        shapes: tuple[tuple[int, ...], ...] = ((self.N,), (self.N, negatives or 2 * self.N - 2))
        pos, neg = (torch.from_numpy(self.random.uniform(-1, 1, shape)) for shape in shapes)
        return leaf(pos), leaf(neg)


def leaf(x: Tensor) -> Tensor:
    """Return `x` as a leaf tensor that requires a gradient."""
    return x.detach().clone().requires_grad_()


def gradient(value: Tensor, of: Tensor) -> Tensor:
    """Return the gradient of the sum of `value`."""
    (slope,) = torch.autograd.grad(value.sum(), of, retain_graph=True)
    return slope


def two_view_similarities(a_ND: Tensor, b_ND: Tensor) -> tuple[Tensor, Tensor]:
    """Return SimCLR's positives, (2N,), and negatives, (2N, 2N - 2), of two views (DCL, Eq. 1)."""
    n = len(a_ND)
    z_ND = torch.cat([a_ND, b_ND])
    sim_NN = z_ND @ z_ND.mT
    image_N = torch.arange(2 * n) % n
    others_NN = image_N[:, None] != image_N[None]
    pos_N = (a_ND * b_ND).sum(dim=-1).repeat(2)
    return pos_N, sim_NN[others_NN].reshape(2 * n, 2 * n - 2)


VMF_SIGMA = 0.5  # eq-7-vmf
MILD_TAU = 0.5
STEP = 0.05  # by which a similarity is raised
HARD = 0.5  # by which a pair's similarity is


def q_b_in_every_gradient(draw: RandomFeatures) -> Deviations:
    """Compare InfoNCE's autograd gradient with eq-3a to eq-3c, and the weights' sum with 1."""
    return _gradients_of_one_view(draw, coupled=True)


def dcl_has_no_q_b(draw: RandomFeatures) -> Deviations:
    """Compare DCL's gradient with eq-3a to eq-3c at q_B = 1, and q_B times it with InfoNCE's."""
    pos, neg = draw.similarities()
    q = q_b(pos, neg, tau=draw.tau)
    free = [gradient(dcl(pos, neg, tau=draw.tau), x) for x in (pos, neg)]
    coupled = [gradient(infonce(pos, neg, tau=draw.tau), x) for x in (pos, neg)]
    differences = [q * free[0] - coupled[0], q[:, None] * free[1] - coupled[1]]
    return Deviations([*differences, *_gradients_of_one_view(draw, coupled=False).differences])


def _gradients_of_one_view(draw: RandomFeatures, *, coupled: bool) -> Deviations:
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


def q_b_easy_cases(draw: RandomFeatures) -> Deviations:
    """Check that q_B falls with the positive and rises with negatives and their number.

    It also compares q_B with Eq. 4. The temperature is high enough that rounding loses no negative.
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


def mean_of_dclw_weight(draw: RandomFeatures) -> Deviations:
    """Compare eq-7-vmf's weight with its formula and its mean with 1; return E[s] - E[w s]."""
    pos, _ = draw.similarities()
    s = pos.detach()
    w = positive_weight(s, "vmf", VMF_SIGMA, None)
    terms = (s / VMF_SIGMA).exp()
    return Deviations([w - (2 - terms / terms.mean()), w.mean() - 1], [s.mean() - (w * s).mean()])


def dclw_tends_to_dcl(draw: RandomFeatures) -> Deviations:
    """Compare DCLW at sigma = 1e12 with DCL; return how their distance falls before."""
    pos, neg = (x.detach() for x in draw.similarities())
    free = dcl(pos, neg, tau=draw.tau)

    def excess(sigma: float) -> Tensor:
        weighted = dclw(
            pos, neg, tau=draw.tau, weight="vmf", sigma=sigma, through_weight=False
        )  # fmt: skip
        return weighted - free

    far = torch.stack([excess(sigma).abs().max() for sigma in (1.0, 10.0, 100.0, 1000.0)])
    return Deviations([excess(1e12)], [-far.diff()])


def hard_pair_among_negatives(draw: RandomFeatures) -> Deviations:
    """Return the effect of a harder pair on the third sample's negatives, tau = 1 (App. 5).

    Gradients of eq-a5-uniform-n3 and eq-a5-dclneg-n3 are compared with the shares of their
    exponentials. For the third sample, the first gradient should shrink and the second should not
    change.
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


def potential_of_distance(draw: RandomFeatures) -> Deviations:
    """Compare exp(-||x - y||^2/tau) with e^{-2/tau} e^{2 x.y/tau} (eq-a5-distance).

    The margin is the variation of its ratio to e^{x.y/tau}, in nats.
    """
    x, tau = draw.units(4).detach(), draw.tau
    off = ~torch.eye(4, dtype=torch.bool)
    sim = (x @ x.mT)[off]
    distances = (x[:, None] - x[None]).square().sum(dim=-1)[off]
    ours = log_mean_potential(x, 1 / tau)
    paper = (2 * sim / tau - 2 / tau).exp().mean().log()
    ratio = -distances / tau - sim / tau
    return Deviations([ours - paper, -distances / tau - (2 * sim - 2) / tau], [ratio.std()])


def infonce_tends_to_dcl(draw: RandomFeatures) -> Deviations:
    """Return how much closer InfoNCE's loss comes to DCL's as the negatives double.

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


ALPHA = 256.0
COUNTS = (1, 4, 16, 64, 256, 1024)  # K


def prior_under_eqco(draw: RandomFeatures) -> Deviations:
    """Compare the posterior for uninformative similarities with P+ = 1/(1 + alpha), any K."""
    margins = [eqco_margin(ALPHA, K, draw.tau) for K in COUNTS]
    return Deviations([_posteriors(draw, margins) - 1 / (1 + ALPHA)])


def prior_without_margin(draw: RandomFeatures) -> Deviations:
    """Compare the posterior without a margin with P+ = 1/(K + 1)."""
    priors = torch.tensor([1 / (K + 1) for K in COUNTS], dtype=torch.float64)
    return Deviations([_posteriors(draw, [0.0] * len(COUNTS)) - priors])


def _posteriors(draw: RandomFeatures, margins: list[float]) -> Tensor:
    alike = torch.tanh(draw.normal(1))
    return torch.cat(
        [
            (-infonce(alike, alike.expand(1, K), tau=draw.tau, margin=margin)).exp()
            for K, margin in zip(COUNTS, margins, strict=True)
        ]
    )


def permuted_bank(draw: RandomFeatures) -> Deviations:
    """Compare the sum of Eq. 1 over the data set before and after a permutation (Thm. 2.1)."""
    g, bank = draw.units().detach(), draw.units().detach()
    order = torch.from_numpy(draw.random.permutation(draw.N))
    losses = [_instance_loss(x, m, draw.tau) for x, m in ((g, bank), (g[order], bank[order]))]
    softmax = (g @ bank.mT / draw.tau).log_softmax(dim=1).diagonal().sum()
    return Deviations([losses[1] - losses[0], losses[0] + softmax])


def _instance_loss(g: Tensor, bank: Tensor, tau: float) -> Tensor:
    sim = g @ bank.mT
    others = ~torch.eye(len(g), dtype=torch.bool)
    return infonce(sim.diagonal(), sim[others].reshape(len(g), -1), tau=tau).sum()


def simclr_is_infonce(draw: RandomFeatures) -> Deviations:
    """Compare log K minus SimCLR's loss with Eq. 5 for the same logits (Lemma B.1)."""
    pos, neg = two_view_similarities(draw.units().detach(), draw.units().detach())
    K = 1 + neg.shape[1]
    ours = mi_lower_bound(infonce(pos, neg, tau=draw.tau), candidates=K)
    logits = torch.cat([pos[:, None], neg], dim=1) / draw.tau
    return Deviations([ours - (logits[:, 0] - logits.exp().mean(dim=1).log())])


def la0_is_ball(draw: RandomFeatures) -> Deviations:
    """Compare LA with C = {i} with BALL over the same B, and both with Lemma 4.3."""
    s, nearest = _nearest_first(draw)
    nearest_entry, others = s[:, 0], s[:, 1:nearest]
    la0 = la(nearest_entry, others, tau=draw.tau, normaliser="constant", own_entry="always")
    ball = infonce(nearest_entry, others, tau=draw.tau)
    lemma = nearest_entry / draw.tau - (s[:, :nearest] / draw.tau).logsumexp(dim=1)
    return Deviations([la0 - ball, la0 + lemma])


def la_below_la0(draw: RandomFeatures) -> Deviations:
    """Return L^LA0 - (L^LA - log |C|) if the own entry is the nearest (Lemma 4.4)."""
    s, nearest = _nearest_first(draw)
    la0 = la(s[:, 0], s[:, 1:nearest], tau=draw.tau, normaliser="constant", own_entry="always")
    close = _close(draw, nearest)
    gain = neighbour_gain(s[:, 0], s[:, 1:close], tau=draw.tau, where="inside")
    return Deviations(margins=[-la0 - (gain - la0 - math.log(close))])


def la_is_a_difference(draw: RandomFeatures) -> Deviations:
    """Compare LA as two logsumexp terms with Eq. 2 with a softmax over all (Lemma B.3)."""
    s, nearest = _nearest_first(draw)
    close = _close(draw, nearest)
    la0 = la(s[:, 0], s[:, 1:nearest], tau=draw.tau, normaliser="constant", own_entry="always")
    ours = neighbour_gain(s[:, 0], s[:, 1:close], tau=draw.tau, where="inside") - la0
    p = (s / draw.tau).softmax(dim=1)
    eq_2 = (p[:, :close].sum(dim=1) / p[:, :nearest].sum(dim=1)).log()
    return Deviations([ours - eq_2])


def _nearest_first(draw: RandomFeatures) -> tuple[Tensor, int]:
    """Return similarities of each view with all entries, nearest first, and how many B has.

    The own entry is the nearest: what Lemma 4.4 assumes.
    """
    sim = draw.units().detach() @ draw.units().detach().mT
    return sim.sort(dim=1, descending=True).values, max(3, draw.N // 2)


def _close(draw: RandomFeatures, nearest: int) -> int:
    """Return how many C has, a part of B: at least two."""
    return int(draw.random.integers(2, nearest))


LAMBDA = 0.4
EPS = 0.3  # directpred-code
VICREG = {"cov_weight": 0.3, "var_weight": 0.7, "gamma": 1.1}
DYNAMIC: dict[str, Any] = {
    "positive_gradient": "predictor",
    "negative_gradient": "online",
    "balance": None,
    "eps": EPS,
    "form": "printed",
}


def gradient_of_moco(draw: RandomFeatures) -> Deviations:
    """Compare autograd of Eq. 1 over a bank, and the gradient form, with Eq. 18."""
    u1, tau = draw.units(), draw.tau
    bank = draw.units(3 * draw.N).detach()  # the positives first
    u2 = bank[: draw.N]
    sim = u1 @ bank.mT
    diagonal = torch.eye(*sim.shape, dtype=torch.bool)
    loss = infonce(sim.diagonal(), sim[~diagonal].reshape(draw.N, -1), tau=tau).mean()
    s = (u1.detach() @ bank.mT / tau).exp()
    eq_18 = (-u2 + s / s.sum(dim=1, keepdim=True) @ bank) / (tau * draw.N)
    form = gradient_form(
        u1, u2, positive_gradient="target", negative_gradient="softmax", balance=1.0, tau=tau,
        samples_MD=bank,
    )  # fmt: skip
    return Deviations([gradient(loss, u1) - eq_18, gradient(form.mean(), u1) - eq_18])


def gradient_of_simclr(draw: RandomFeatures) -> Deviations:
    """Compare autograd of Eq. 19's mean over all views with Eq. 20, both brackets."""
    z, tau, n = draw.units(2 * draw.N), draw.tau, 2 * draw.N
    pos, neg = two_view_similarities(z[: draw.N], z[draw.N :])
    v = z.detach()
    partners = v.roll(draw.N, dims=0)
    e = (v @ v.mT / tau).exp().fill_diagonal_(0)
    s = e / e.sum(dim=1, keepdim=True)  # s[u, v]; t_v of anchor u is s[v, u]
    eq_20 = (-partners + s @ v) / (tau * n) + (-partners + s.mT @ v) / (tau * n)
    return Deviations([gradient(infonce(pos, neg, tau=tau).mean(), z) - eq_20])


def gradient_of_directpred(draw: RandomFeatures) -> Deviations:
    """Compare autograd of Eq. 22, and the gradient form, with Eq. 26."""
    u1, u2, F = draw.units(), draw.units().detach(), _correlation(draw)
    values, U = torch.linalg.eigh(F)
    shift = EPS * values[-1]
    root = U @ values.sqrt().diag() @ U.mT
    W = root + shift * torch.eye(draw.d, dtype=torch.float64)
    G = F + 2 * shift * root + shift**2 * torch.eye(draw.d, dtype=torch.float64)
    eq_26 = _directpred_form(u1.detach(), u2, W, G, G)
    loss = directpred(u1, u2, correlation_DD=F, eps=EPS, form="printed").mean()
    form = gradient_form(u1, u2, **DYNAMIC, correlation_DD=F, half_power=True)
    return Deviations([gradient(loss, u1) - eq_26, gradient(form.mean(), u1) - eq_26])


def _directpred_form(u1: Tensor, u2: Tensor, W: Tensor, G: Tensor, negative: Tensor) -> Tensor:
    """Return Eqs. 26 to 28: lambda has G in its denominator, and stands before `negative` u1."""
    factor = ((u1 @ W.mT) * u2).sum(dim=1) / ((u1 @ G) * u1).sum(dim=1)
    length = (u1 @ W.mT).norm(dim=1, keepdim=True)
    form: Tensor = (-u2 @ W + factor[:, None] * (u1 @ negative)) / (length * len(u1))
    return form


def gradient_of_barlow_twins(draw: RandomFeatures) -> Deviations:
    """Compare autograd of Eq. 29 with Eq. 32, with an explicit sum over the batch."""
    u1, u2 = leaf(_whitened(draw)), _whitened(draw)
    W = u1.detach().mT @ u2 / draw.N
    A = torch.eye(draw.d, dtype=torch.float64) - (1 - LAMBDA) * W.diagonal().diag()
    batch = (u2 @ u2.mT / draw.N) @ u1.detach()
    eq_32 = 2 / draw.N * (-u2 @ A + LAMBDA * batch)
    return Deviations([gradient(barlow_twins(u1, u2, balance=LAMBDA).mean(), u1) - eq_32])


def gradient_of_vicreg(draw: RandomFeatures) -> Deviations:
    """Compare autograd of Eq. 10 with Eq. 39, both lines."""
    u1, u2, n, d = leaf(draw.normal(draw.N, draw.d)), draw.normal(draw.N, draw.d), draw.N, draw.d
    u = u1.detach()
    centred = u - u.mean(dim=0)
    std = centred.square().sum(dim=0).div(n - 1).sqrt()
    variance = std.square()  # the diagonal of W'
    low = (std < VICREG["gamma"]) / std
    balance = 2 * VICREG["cov_weight"] * n**2 / (d * (n - 1) ** 2)
    batch = (centred @ centred.mT / n) @ centred
    first = (
        2 / n * (u - u2)
        - 2 * balance / n * ((n - 1) / n * variance * centred - batch)
        - VICREG["var_weight"] / (d * (n - 1)) * low * centred
    )
    B = (
        n
        / (balance * d * (n - 1))
        * (2 * VICREG["cov_weight"] * variance + VICREG["var_weight"] / 2 * low)
    )
    second = 2 / n * (-u2 + balance * batch) + 2 * balance / n * (u / balance - B * centred)
    slope = gradient(vicreg(u1, u2, **VICREG).mean(), u1)
    return Deviations([slope - first, slope - second])


def gradient_of_unigrad(draw: RandomFeatures) -> Deviations:
    """Compare autograd of Eq. 15, summed over samples, with Eq. 14."""
    u1, u2 = draw.units(), draw.units().detach()
    samples = draw.units(3 * draw.d).detach()
    F = correlation(samples)
    loss = unigrad(u1, u2, correlation_DD=F, balance=LAMBDA)
    cosines = u1 @ samples.mT
    eq_15 = -(u1 * u2).sum(dim=1) + LAMBDA / 2 * cosines.square().mean(dim=1)
    eq_14 = -u2 + LAMBDA * cosines.detach() @ samples / len(samples)
    return Deviations([loss - eq_15, gradient(loss, u1) - eq_14])


def directpred_parallel_term(draw: RandomFeatures) -> Deviations:
    """Compare Eq. 27's gradient through the normalisation with Eq. 28's.

    The margin is the size of the term before the normalisation.
    """
    x = leaf(draw.normal(draw.N, draw.d))
    u1, u2, F = normalize(x, dim=1), draw.units().detach(), _correlation(draw)
    values, U = torch.linalg.eigh(F)
    shift = EPS * values[-1]
    W = U @ (values.sqrt() + shift).diag() @ U.mT
    G = F + shift**2 * torch.eye(draw.d, dtype=torch.float64)
    u = u1.detach()
    eq_27, eq_28 = _directpred_form(u, u2, W, G, G), _directpred_form(u, u2, W, G, F)
    form = gradient_form(u1, u2, **DYNAMIC, correlation_DD=F, half_power=False)
    parameters = [
        gradient(value, x) for value in (form / draw.N, (u1 * eq_27).sum(), (u1 * eq_28).sum())
    ]
    differences = [parameters[1] - parameters[2], parameters[0] - parameters[2]]
    return Deviations(differences, [(eq_27 - eq_28).norm(dim=1)])


def shared_target(draw: RandomFeatures) -> Deviations:
    """Compare the update with shared targets with the update with detached targets."""
    x1, x2 = draw.normal(draw.N, draw.d), draw.normal(draw.N, draw.d)
    weight = leaf(draw.normal(draw.d, draw.d))
    F = _correlation(draw)
    rows: list[dict[str, Any]] = [
        {"positive_gradient": "target", "negative_gradient": "softmax", "balance": 1.0,
         "tau": draw.tau},
        DYNAMIC | {"correlation_DD": F, "half_power": True},
        {"positive_gradient": "target", "negative_gradient": "online", "balance": LAMBDA,
         "correlation_DD": F},
        {"positive_gradient": "whitened", "negative_gradient": "target", "balance": LAMBDA},
        {"positive_gradient": "target", "negative_gradient": "variance", "balance": LAMBDA,
         "var_weight": 0.7, "gamma": 1.1},
    ]  # fmt: skip
    differences = []
    for row in rows:
        updates = []
        for sharing in (True, False):
            z1, z2 = (normalize(x @ weight, dim=1) for x in (x1, x2))
            t1, t2 = (z1, z2) if sharing else (z1.detach(), z2.detach())
            both = _form(z1, t2, row) + _form(z2, t1, row)
            updates.append(gradient(both.mean(), weight))
        differences.append(updates[0] - updates[1])
    return Deviations(differences)


def _form(online: Tensor, target: Tensor, row: dict[str, Any]) -> Tensor:
    samples = target if row["negative_gradient"] == "softmax" else None
    return gradient_form(online, target, **row, samples_MD=samples)


def memory_of_f(draw: RandomFeatures) -> Deviations:
    """Return how many bytes F needs less than a bank of K > d outputs, or more if K < d."""
    F = correlation(draw.units())
    banks = {K: draw.normal(K, draw.d).nbytes for K in (draw.d - 1, draw.d, draw.d + 1)}
    margins = [F.nbytes - banks[draw.d - 1], banks[draw.d + 1] - F.nbytes]
    return Deviations(
        [torch.tensor(float(banks[draw.d] - F.nbytes))], [torch.tensor(margins).double()]
    )


def _correlation(draw: RandomFeatures) -> Tensor:
    """Return an F of full rank."""
    return correlation(draw.units(3 * draw.d))


def _whitened(draw: RandomFeatures) -> Tensor:
    """Return batch-normalised outputs."""
    return batch_norm(draw.normal(draw.N, draw.d), None, None, training=True)


def cross_entropy_is_infonce(draw: RandomFeatures) -> Deviations:
    """Compare cross-entropy of o/tau, InfoNCE with one-hot keys, and Eq. 1."""
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


def drift_of_all_keys(draw: RandomFeatures) -> Deviations:
    """Return the effect of a drift of all keys on InfoNCE and its gradient, for any temperature.

    It also returns how the effect of a drift of the negatives only, such as old keys in a queue,
    grows with the temperature. Its factor in the query's gradient is 1 - p, with p the positive's
    weight.
    """
    query, key = draw.units(), draw.units()
    keys, drift = draw.units(2 * draw.N), draw.normal(draw.d)
    losses, slopes = [], []
    for moved in (torch.zeros_like(drift), drift):
        loss = infonce((query * (key + moved)).sum(dim=1), query @ (keys + moved).mT, tau=draw.tau)
        losses.append(loss)
        slopes.append(gradient(loss, query))
    pos = torch.ones(draw.N, dtype=torch.float64)  # a positive that is nearer than any negative
    shares = [q_b(pos, query @ keys.mT, tau=tau) for tau in (draw.tau, 2 * draw.tau, 4 * draw.tau)]
    return Deviations(
        [losses[1] - losses[0], slopes[1] - slopes[0]], [torch.stack(shares).diff(dim=0)]
    )


def cached_is_large_batch(draw: RandomFeatures) -> Deviations:
    """Compare the gradient of a step with gradient caching with the gradient of one large batch.

    The gradient is with respect to a network's weights, for InfoNCE and DCL over both views
    (arXiv:2101.06983).
    """
    network: Any = nn.Sequential(nn.Linear(draw.d, draw.d), nn.Tanh(), nn.Linear(draw.d, draw.d))
    network.double()
    for weight in network.parameters():
        weight.data = draw.normal(*weight.shape)
    views = draw.normal(2, draw.N, draw.d)

    def project(online: Any, seen: Any) -> list[Projected]:
        outputs = [normalize(online(view), dim=1) for view in seen.views]
        return [Projected(output, output, output, output) for output in outputs]

    def encode(online: Any, seen: Any) -> Encoded:
        return Encoded(project(online, seen), {})

    method: Any = SimpleNamespace(project=project, encode=encode)
    batches: Any = [SimpleNamespace(views=part) for part in views.split(draw.N // 3, dim=1)]
    differences = []
    for loss in (infonce, dcl):
        a, b = (normalize(network(view), dim=1) for view in views)
        whole = loss(*two_view_similarities(a, b), tau=draw.tau).mean()
        expected = torch.autograd.grad(whole, list(network.parameters()))
        network.zero_grad()
        encoded = encode_all(method, network, batches)
        a, b = (projected.projection_ND for projected in encoded.projected)
        loss(*two_view_similarities(a, b), tau=draw.tau).mean().backward()
        pass_on(method, network, batches, encoded)
        found = [weight.grad for weight in network.parameters()]
        differences += [one - other for one, other in zip(expected, found, strict=True)]
    return Deviations(differences)
