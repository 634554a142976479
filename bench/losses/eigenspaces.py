"""How far a learned linear predictor has the eigenvectors of the correlation matrix F."""

import torch
from torch import Tensor


@torch.no_grad()
def eigenspace_alignment(predictor_DD: Tensor, correlation_DD: Tensor) -> Tensor:
    """Return the mean of |cos(u, W u)| over the eigenvectors u of F, weighed by their eigenvalues.

    1 where W turns no eigenvector of F (UniGrad, Sec. 3.2; arXiv:2102.06810 has the cosine of each
    eigenvector). The weight leaves out directions in which no output varies, for which any
    vector is an eigenvector. NaN where a number is not finite; 0 of a vector that W makes 0.

    Args:
        predictor_DD: the weights W of a linear layer, shape (D, D).
        correlation_DD: F, symmetric and positive semi-definite, shape (D, D).

    Returns:
        A scalar, computed in float64, from 0 to 1.

    Raises:
        ValueError: the shapes are not both (D, D).
    """
    shapes = tuple(predictor_DD.shape), tuple(correlation_DD.shape)
    if shapes[0] != shapes[1] or len(shapes[0]) != 2 or shapes[0][0] != shapes[0][1]:
        raise ValueError(f"needs two equal shapes (D, D), found {shapes[0]} and {shapes[1]}")
    W_DD, F_DD = predictor_DD.double(), correlation_DD.double()
    if not bool(W_DD.isfinite().all() and F_DD.isfinite().all()):
        return W_DD.new_tensor(torch.nan)
    values_D, U_DD = torch.linalg.eigh(F_DD)
    weights_D = values_D.clamp(min=0)
    turned_DD = W_DD @ U_DD
    lengths_D = turned_DD.norm(dim=0).clamp(min=torch.finfo(torch.float64).tiny)
    cosines_D = (U_DD * turned_DD).sum(dim=0).abs() / lengths_D
    mean: Tensor = (weights_D * cosines_D).sum() / weights_D.sum()
    return mean
