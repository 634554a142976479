"""UniGrad's unified gradients and remarks on them (arXiv:2112.05141); equations are its own.

Gradients are of the normalised outputs as free vectors, u1 the online ones; a query's own gradient
of a mean over N carries 1/N.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import batch_norm, normalize

from bench.experiments.identities.draw import (
    Deviations,
    Draw,
    gradient,
    leaf,
    two_view_similarities,
)
from bench.losses import (
    barlow_twins,
    correlation,
    directpred,
    gradient_form,
    infonce,
    unigrad,
    vicreg,
)

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


def gradient_of_moco(draw: Draw) -> Deviations:
    """Return autograd of Eq. 1 over a bank, and the gradient form, against Eq. 18."""
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


def gradient_of_simclr(draw: Draw) -> Deviations:
    """Return autograd of Eq. 19's mean over all views against Eq. 20, both brackets."""
    z, tau, n = draw.units(2 * draw.N), draw.tau, 2 * draw.N
    pos, neg = two_view_similarities(z[: draw.N], z[draw.N :])
    v = z.detach()
    partners = v.roll(draw.N, dims=0)
    e = (v @ v.mT / tau).exp().fill_diagonal_(0)
    s = e / e.sum(dim=1, keepdim=True)  # s[u, v]; t_v of anchor u is s[v, u]
    eq_20 = (-partners + s @ v) / (tau * n) + (-partners + s.mT @ v) / (tau * n)
    return Deviations([gradient(infonce(pos, neg, tau=tau).mean(), z) - eq_20])


def gradient_of_directpred(draw: Draw) -> Deviations:
    """Return autograd of Eq. 22, and the gradient form, against Eq. 26."""
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


def gradient_of_barlow_twins(draw: Draw) -> Deviations:
    """Return autograd of Eq. 29 against Eq. 32, its sum over the batch written out."""
    u1, u2 = leaf(_whitened(draw)), _whitened(draw)
    W = u1.detach().mT @ u2 / draw.N
    A = torch.eye(draw.d, dtype=torch.float64) - (1 - LAMBDA) * W.diagonal().diag()
    batch = (u2 @ u2.mT / draw.N) @ u1.detach()
    eq_32 = 2 / draw.N * (-u2 @ A + LAMBDA * batch)
    return Deviations([gradient(barlow_twins(u1, u2, balance=LAMBDA).mean(), u1) - eq_32])


def gradient_of_vicreg(draw: Draw) -> Deviations:
    """Return autograd of Eq. 10 against Eq. 39, both of its lines."""
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


def gradient_of_unigrad(draw: Draw) -> Deviations:
    """Return autograd of Eq. 15, a sum over samples there, against Eq. 14."""
    u1, u2 = draw.units(), draw.units().detach()
    samples = draw.units(3 * draw.d).detach()
    F = correlation(samples)
    loss = unigrad(u1, u2, correlation_DD=F, balance=LAMBDA)
    cosines = u1 @ samples.mT
    eq_15 = -(u1 * u2).sum(dim=1) + LAMBDA / 2 * cosines.square().mean(dim=1)
    eq_14 = -u2 + LAMBDA * cosines.detach() @ samples / len(samples)
    return Deviations([loss - eq_15, gradient(loss, u1) - eq_14])


def directpred_parallel_term(draw: Draw) -> Deviations:
    """Return Eq. 27's gradient through the normalisation against that of Eq. 28.

    The margin: how large the term is before the normalisation.
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


def shared_target(draw: Draw) -> Deviations:
    """Return the update by gradient forms of both views with shared targets and detached ones."""
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


def memory_of_f(draw: Draw) -> Deviations:
    """Return by how many bytes F is smaller than a bank of K > d outputs, or larger for K < d."""
    F = correlation(draw.units())
    banks = {K: draw.normal(K, draw.d).nbytes for K in (draw.d - 1, draw.d, draw.d + 1)}
    margins = [F.nbytes - banks[draw.d - 1], banks[draw.d + 1] - F.nbytes]
    return Deviations(
        [torch.tensor(float(banks[draw.d] - F.nbytes))], [torch.tensor(margins).double()]
    )


def _correlation(draw: Draw) -> Tensor:
    """Return an F of full rank."""
    return correlation(draw.units(3 * draw.d))


def _whitened(draw: Draw) -> Tensor:
    """Return batch-normalised outputs."""
    return batch_norm(draw.normal(draw.N, draw.d), None, None, training=True)
