"""Original objectives over a memory bank, and terms for close neighbours.

Equations are those of the paper `mutual-information`. Shapes: N queries, K sampled entries, L close
neighbours; one value per query, in nats.
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
    """Return instance discrimination with the original normaliser (Eq. 1), shape (..., N).

    "constant" is the objective of the code named in App. C.3: noise-contrastive estimation with one
    normaliser Z = kappa n for all queries (arXiv:1805.01978, Eqs. 4 to 7): with P = e^{s/tau} / Z
    and uniform noise 1/n, -log h(pos) - sum_k log(1 - h(neg_k)), h = P / (P + K/n), where n
    cancels. "sampled" is a literal reading of `eq-1-kappa`: -log of e^{pos/tau} / (kappa sum_k
    e^{neg_k/tau}), with the sum over K uniform entries. Then kappa only adds log kappa to the loss,
    so the gradient equals DCL's gradient on the bank.

    Args:
        pos_N: similarity of each query with its own entry, shape (..., N).
        neg_NK: similarities with K entries drawn uniformly, shape (..., N, K).
        tau: temperature > 0.
        kappa: > 0; 2876934.2 / 1281167 in the paper, for 128 dimensions and tau = 0.07.
        normaliser: "constant" or "sampled".

    Raises:
        ValueError: tau or kappa is not above 0, the shapes do not match, or the normaliser is
            unknown.
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
    """Return local aggregation, Eq. 2: -log p(C and B) + log p(B), shape (N,).

    B are the nearest entries. C are the entries in a cluster with the query's own entry. Both p are
    normalised by the global sum of Eq. 1. With "constant", this sum cancels. "sampled" (a literal
    reading of `la-original`) estimates it from separate samples for numerator and denominator, so
    the sampling noise does not cancel.

    own_entry "if-near" follows the code named in App. C.3: B are the K entries nearest to the view,
    and the own entry counts if it is among them. If no entry of B is close, the loss is -log(1e-7)
    without a gradient. "always": B are the own entry and the K nearest others (Lemma B.3). Close
    neighbours are handled by `neighbour_gain`.

    Args:
        pos_N, neg_NK, tau: as for `infonce`; neg_NK are similarities with the K nearest other
            entries.
        normaliser: "constant" or "sampled".
        own_entry: whether C contains the own entry always, or only if B does.
        globals_2NK: similarities with two uniform samples, (2, N, M), for "sampled". None, used
            before neighbours are searched: "always" is then InfoNCE.
        close_NK: whether each other entry is in C, bool; required for "if-near".
        kappa: given before neighbours are searched; the loss is then `ir` with this kappa.

    Raises:
        ValueError: as for `infonce` or `ir`, the normaliser is unknown, or close_NK is missing.
    """
    check_normaliser(normaliser)
    if kappa is not None:
        return ir(pos_N, neg_NK, tau=tau, kappa=kappa, normaliser="constant")
    if own_entry == "if-near":
        if close_NK is None:
            raise ValueError("own_entry 'if-near' needs the argument close_NK")
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
    """Return the reduction of the loss by close neighbours, shape (N,), in nats.

    The loss must contain -pos/tau. "inside" (`neighbour-objective`) replaces s_1, the own entry's
    score, by log sum_l e^{s_l}, which is never smaller. "outside" (right-hand side of `la-jensen`)
    uses the mean of the logarithms, which may be smaller.

    Args:
        pos_N: similarity with the own entry.
        near_NL: similarities with the neighbours; L may be 0.
        tau: temperature > 0.
        where: "inside" or "outside": position of the sum relative to the logarithm.
        allowed_NL: whether each neighbour counts, bool; None means all.

    Raises:
        ValueError: tau is not above 0, or `where` is unknown.
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
        raise ValueError(f"`where` must be 'inside' or 'outside', found '{where}'")
    total_N: Tensor = pos_N + (near_NL * allowed_NL).sum(dim=1)
    return total_N / (1 + allowed_NL.sum(dim=1)) - pos_N


def check_normaliser(normaliser: str) -> None:
    """Raise ValueError unless the normaliser is "constant" or "sampled"."""
    if normaliser not in ("sampled", "constant"):
        raise ValueError(f"normaliser must be 'sampled' or 'constant', found '{normaliser}'")
