"""Positives are drawn together, and squared similarities with other images made small."""

from torch import Tensor


def spectral(query_ND: Tensor, key_ND: Tensor, mu: float) -> Tensor:
    """Return the loss of each query, shape (N,)."""
    inner_NN = _within(query_ND, mu) @ _within(key_ND, mu).T
    own_N = inner_NN.diagonal()
    others_N = (inner_NN.square().sum(dim=1) - own_N.square()) / (len(query_ND) - 1)
    return (others_N - 2 * own_N) / mu


def _within(outputs_ND: Tensor, mu: float) -> Tensor:
    """Return the outputs, those beyond the ball moved onto it."""
    length_N1 = outputs_ND.norm(dim=1, keepdim=True)
    factor_N1: Tensor = mu**0.5 / length_N1.clamp(min=mu**0.5)
    return outputs_ND * factor_N1
