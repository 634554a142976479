"""Objectives over a memory bank as they were first written, and close neighbours.

Equations are those of the paper `mutual-information`.
Shapes: N queries, K sampled entries, L close neighbours; one value per query, in nats.
"""

import math
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from bench.losses.contrastive import at_least_float32, check_similarities, infonce

Normaliser = Literal["sampled", "constant"]
OwnEntry = Literal["always", "if-near"]
LEAST = 1e-7  # share of the close neighbours below which LA's logarithm stops to fall


def ir(
    pos_N: Tensor, neg_NK: Tensor, *, tau: float, kappa: float, normaliser: Normaliser
) -> Tensor:
    """Return instance discrimination with its original normaliser (Eq. 1).

    "constant" is the objective of the code that the paper names (App. C.3), noise-contrastive
    estimation with one normaliser Z = kappa n for all queries (arXiv:1805.01978, Eqs. 4 to 7): with
    P = e^{s/tau} / Z and uniform noise 1/n, -log h(pos) - sum_k log(1 - h(neg_k)),
    h = P / (P + K/n), in which n cancels. "sampled" is `eq-1-kappa` by the word: -log of
    e^{pos/tau} / (kappa sum_k e^{neg_k/tau}), the sum over K uniform entries. kappa is then a
    constant, log kappa in the loss, and changes no gradient: what is left is DCL's on the bank.

    Args:
        pos_N: similarity of each query with its own entry, shape (..., N).
        neg_NK: similarities with K entries drawn uniformly, shape (..., N, K).
        tau: temperature > 0.
        kappa: > 0; 2876934.2 / 1281167 in the paper, for 128 dimensions and tau = 0.07.
        normaliser: which of the two interpretations.

    Raises:
        ValueError: tau or kappa is not above 0, the shapes do not agree, or no such normaliser.
    """
    check_similarities(pos_N, neg_NK, tau=tau, kappa=kappa)
    pos_N, neg_NK = at_least_float32(pos_N) / tau, at_least_float32(neg_NK) / tau
    if normaliser == "sampled":
        return neg_NK.logsumexp(dim=-1) - pos_N + math.log(kappa)
    check_normaliser(normaliser)
    odds = math.log(kappa * neg_NK.shape[-1])
    return -logsigmoid(pos_N - odds) - logsigmoid(odds - neg_NK).sum(dim=-1)


def la(  # noqa: PLR0913  # two readings, each with what it sees
    pos_N: Tensor,
    neg_NK: Tensor,
    *,
    tau: float,
    normaliser: Normaliser,
    own_entry: OwnEntry,
    globals_2NK: Tensor | None = None,
    close_NK: Tensor | None = None,
    kappa: float | None = None,
) -> Tensor:
    """Return local aggregation, Eq. 2: -log p(C and B) + log p(B).

    B are the nearest entries, C those in a cluster with the own entry. Both p stand over the global
    sum of Eq. 1: with normaliser "constant" over one Z, which cancels; "sampled" (`la-original` by
    the word) estimates the sum twice, from samples of its own for numerator and denominator, and
    the noise of the two does not cancel.

    own_entry "if-near" is the code that App. C.3 names: B are the K entries nearest to the view,
    and the own entry counts where it is one of them. Where none of B is close the loss is
    -log(1e-7) and has no gradient. "always": B is the own entry and the K nearest others (Lemma
    B.3); close neighbours are left out here, see `neighbour_gain`.

    Args:
        pos_N, neg_NK, tau: as for `infonce`; neg_NK are the K nearest others.
        normaliser: which of the two interpretations.
        own_entry: whether the own entry is in C always, or where it is in B.
        globals_2NK: similarities with two uniform samples, (2, N, M), of which "sampled" is made;
            None, as before neighbours are looked for: "always" is InfoNCE then.
        close_NK: bool, which of the others are in C; "if-near" needs it.
        kappa: given while neighbours are not looked for yet: the loss is `ir` with it.

    Raises:
        ValueError: as for `infonce` or `ir`, no such normaliser, or close_NK is missing.
    """
    check_normaliser(normaliser)
    if kappa is not None:
        return ir(pos_N, neg_NK, tau=tau, kappa=kappa, normaliser="constant")
    if own_entry == "if-near":
        if close_NK is None:
            raise ValueError("own_entry 'if-near' needs close_NK")
        return _la_if_near(pos_N, neg_NK, close_NK, tau)
    loss_N: Tensor = infonce(at_least_float32(pos_N), at_least_float32(neg_NK), tau=tau)
    if normaliser == "constant" or globals_2NK is None:
        return loss_N
    sums_2N: Tensor = (at_least_float32(globals_2NK) / tau).logsumexp(dim=-1)
    return loss_N + sums_2N[0] - sums_2N[1]


def _la_if_near(pos_N: Tensor, neg_NK: Tensor, close_NK: Tensor, tau: float) -> Tensor:
    """Return LA over the K entries nearest to the view, the own one among them or not."""
    check_similarities(pos_N, neg_NK, tau=tau)
    pos_N, neg_NK = at_least_float32(pos_N), at_least_float32(neg_NK)
    farthest = neg_NK.argmin(dim=-1, keepdim=True)
    ranks_N1 = pos_N[:, None] >= neg_NK.gather(-1, farthest)
    out_NK = torch.zeros_like(close_NK).scatter(-1, farthest, ranks_N1)  # makes room for the own
    nearest = torch.cat([pos_N[:, None], neg_NK], dim=-1) / tau
    out = torch.cat([~ranks_N1, out_NK], dim=-1)
    share = nearest.masked_fill(out, -torch.inf).softmax(dim=-1)
    close = torch.cat([torch.ones_like(ranks_N1), close_NK], dim=-1)
    return -(share * close).sum(dim=-1).add(LEAST).log()


def neighbour_gain(
    pos_N: Tensor,
    near_NL: Tensor,
    *,
    tau: float,
    where: Literal["inside", "outside"],
    allowed_NL: Tensor | None = None,
) -> Tensor:
    """Return what close neighbours take off a loss that has -pos/tau in it, shape (N,), in nats.

    With the own entry first among them, `neighbour-objective` has log sum_l e^{s_l} in the place of
    s_1 ("inside"), which is at least as much; "outside" is `la-jensen`'s right side, the mean of
    the logarithms, which is not.

    Args:
        pos_N: similarity with the own entry.
        near_NL: similarities with the neighbours; L may be 0.
        tau: temperature > 0.
        where: whether the sum over neighbours stands inside the logarithm.
        allowed_NL: which of them count, bool; all for None.

    Raises:
        ValueError: tau is not above 0, or no such place.
    """
    if not tau > 0:
        raise ValueError(f"tau must be above 0, found {tau}")
    pos_N, near_NL = at_least_float32(pos_N) / tau, at_least_float32(near_NL) / tau
    if allowed_NL is None:
        allowed_NL = torch.ones_like(near_NL, dtype=torch.bool)
    if where == "inside":
        masked_NL = near_NL.masked_fill(~allowed_NL, -torch.inf)
        together_N: Tensor = torch.cat([pos_N[:, None], masked_NL], dim=1).logsumexp(dim=1)
        return together_N - pos_N
    if where != "outside":
        raise ValueError(f"where must be inside or outside, found {where}")
    total_N: Tensor = pos_N + (near_NL * allowed_NL).sum(dim=1)
    return total_N / (1 + allowed_NL.sum(dim=1)) - pos_N


def check_normaliser(normaliser: str) -> None:
    """Raise ValueError unless it is one of the two interpretations."""
    if normaliser not in ("sampled", "constant"):
        raise ValueError(f"normaliser must be sampled or constant, found {normaliser}")
