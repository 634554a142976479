"""What is measured of a similarity objective while it trains, without a gradient."""

import math

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, pad

from bench.losses.bounds import mi_lower_bound
from bench.losses.contrastive import at_least_float32, check_similarities, excess, infonce


@torch.no_grad()
def q_b(pos_N: Tensor, neg_NM: Tensor, *, tau: float | Tensor) -> Tensor:
    """Return the coupling multiplier of each query, the factor of all of InfoNCE's gradients.

    DCL, arXiv:2110.06848, Eq. 4: q_B = U / (e^{pos/tau} + U), U = sum_i e^{neg_i/tau}.

    Args:
        pos_N, neg_NM, tau: as for `infonce`.

    Returns:
        Values in [0, 1], shape (..., N), computed in float32 or wider.

    Raises:
        ValueError: tau is not above 0, or the shapes do not agree.
    """
    check_similarities(pos_N, neg_NM, tau=tau)
    # The exponential of logsigmoid, for sigmoid rounds differently at the end of a tensor.
    return logsigmoid(excess(at_least_float32(pos_N), at_least_float32(neg_NM), tau)).exp()


@torch.no_grad()
def mi_bound(
    pos_N: Tensor,
    neg_NM: Tensor,
    *,
    tau: float | Tensor,
    margin: float | Tensor = 0.0,
    count: int | Tensor | None = None,
) -> Tensor:
    """Return each query's term of the empirical lower bound on mutual information, in nats.

    EqCo, Sec. 2.1: log(1 + K e^{m/tau}) - L_NCE, at most log(1 + K e^{m/tau}).

    Args:
        pos_N, neg_NM, tau, margin: as for `infonce`.
        count: K, negatives of each query, a number or a tensor that broadcasts against (..., N);
            None counts those of `neg_NM` that are not -inf.

    Returns:
        Nats, shape (..., N), computed in float32 or wider.

    Raises:
        ValueError: tau is not above 0, or the shapes do not agree.
    """
    loss_N = infonce(at_least_float32(pos_N), at_least_float32(neg_NM), tau=tau, margin=margin)
    K = neg_NM.isfinite().sum(dim=-1).to(loss_N.dtype) if count is None else count
    prior = margin / tau
    odds = prior.exp() if isinstance(prior, Tensor) else math.exp(prior)
    return mi_lower_bound(loss_N, candidates=1 + K * odds)


@torch.no_grad()
def histogram(values_N: Tensor, *, bins: int = 20) -> Tensor:
    """Return how many values fall in each of `bins` equal bins of [0, 1], shape (..., bins).

    A bin holds its lower edge, the last one 1 as well; a value outside [0, 1] or nan is in none.
    """
    edges = torch.linspace(0, 1, bins + 1, dtype=values_N.dtype, device=values_N.device)
    at_least = (values_N.unsqueeze(-1) >= edges[:-1]).logical_and(values_N.unsqueeze(-1) <= 1)
    return -pad(at_least.sum(dim=-2), (0, 1)).diff(dim=-1)


def coefficient_of_variation(mean: Tensor, std: Tensor) -> Tensor:
    """Return C_v = std/mean (DCL, Fig. 1 and 5), unit-free; a larger one means more dispersion."""
    return std / mean


class Running:
    """Mean and standard deviation of all values added, kept on their device in float64.

    `sums` holds the number of values, their sum and that of their squares: it is the whole state,
    changed in place, and no method waits for the device.
    """

    def __init__(self, device: torch.device | str = "cpu") -> None:
        """Start with no value; then mean and standard deviation are nan."""
        self.sums = torch.zeros(3, dtype=torch.float64, device=device)

    def add(self, values: Tensor) -> None:
        """Count all entries of a tensor of any shape and type."""
        values = values.detach().double()
        self.sums[0] += values.numel()
        self.sums[1] += values.sum()
        self.sums[2] += values.square().sum()

    def mean(self) -> Tensor:
        """Return the mean, a float64 scalar."""
        return self.sums[1] / self.sums[0]

    def std(self) -> Tensor:
        """Return the standard deviation with ddof 0: the values are all there are, no sample."""
        return (self.sums[2] / self.sums[0] - self.mean().square()).clamp(min=0).sqrt()

    def reset(self) -> None:
        """Forget all values."""
        self.sums.zero_()
