"""Losses of the Siamese family and their matrices (UniGrad, arXiv:2112.05141).

Shapes: N images, D feature dimensions (the paper's C). Each loss compares the online outputs of
view 1 with the target outputs of view 2, in float32 or wider. The caller adds the other direction.
The caller also normalises the outputs and detaches the target, as the method requires.
"""

from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor
from torch.nn.functional import relu

from bench.losses.contrastive import at_least_float32

Form = Literal["printed", "released"]
FLOOR = 1e-4  # smallest eigenvalue of the released predictor (unigrad, directpred-code)


def cosine_distance(online_ND: Tensor, target_ND: Tensor) -> Tensor:
    """Return -cos(h(u1), u2) of unit vectors (Eq. 5): BYOL's and SimSiam's loss.

    Args:
        online_ND: the predictor's unit outputs h(u1), shape (N, D).
        target_ND: unit targets u2, shape (N, D).

    Returns:
        Loss of each query, from -1 to 1, shape (N,).

    Raises:
        ValueError: the shapes do not match.
    """
    online_ND, target_ND = outputs(online_ND, target_ND)
    return -(online_ND * target_ND).sum(dim=-1)


@torch.no_grad()
def correlation(*features_ND: Tensor) -> Tensor:
    """Return the mean of v v^T over all rows of all arguments, shape (D, D), detached.

    With both views this is the update of F-update-code; F is its `moving_average`.

    Args:
        features_ND: one or more tensors of shape (N, D); N may differ between them.

    Raises:
        ValueError: there are no arguments, or their shapes are not (N, D) with the same D.
    """
    shapes = [tuple(x.shape) for x in features_ND]
    if not shapes or any(len(s) != 2 or s[1] != shapes[0][1] for s in shapes):
        raise ValueError(f"all features must have shapes (N, D) with the same D, found {shapes}")
    rows_ND = torch.cat([at_least_float32(x) for x in features_ND])
    return product(rows_ND.mT, rows_ND) / len(rows_ND)


@torch.no_grad()
def moving_average(previous_DD: Tensor | None, current_DD: Tensor, rho: float) -> Tensor:
    """Return rho previous + (1 - rho) current as a new tensor; the first batch unchanged.

    F-update-code: rho_v = (1 - rho) rho^(T - t) over the samples of batch t > 0 at step T.

    Args:
        previous_DD: the average so far, shape (D, D), or None at step 0.
        current_DD: `correlation` of this step's batch, shape (D, D).
        rho: decay, 0 <= rho < 1.

    Raises:
        ValueError: rho is out of its range, or the shapes do not match.
    """
    if not 0 <= rho < 1:
        raise ValueError(f"rho must be at least 0 and below 1, found {rho}")
    if previous_DD is None:
        return current_DD.clone()
    if previous_DD.shape != current_DD.shape:
        shapes = f"{tuple(previous_DD.shape)} and {tuple(current_DD.shape)}"
        raise ValueError(f"previous_DD and current_DD must have the same shape, found {shapes}")
    return rho * previous_DD + (1 - rho) * current_DD


class Predictor(NamedTuple):
    """DirectPred's predictor and the quantities for its gradient (Eqs. 25 and 26)."""

    W_DD: Tensor
    F_DD: Tensor
    shift: Tensor  # c, a scalar


@torch.no_grad()
def predictor(correlation_DD: Tensor, *, eps: float, form: Form) -> Predictor:
    """Return W_h = U (Lambda_F^(1/2) + c I) U^T of F = U Lambda_F U^T, F and c.

    See `predictor_matrix`. "released" uses F / lambda_max instead of F, so c = eps. If F is not
    finite, all results are NaN instead of an error, so the caller can detect divergence.

    Args:
        correlation_DD: F, symmetric, shape (D, D).
        eps: as for `predictor_matrix`.
        form: as for `predictor_matrix`.

    Raises:
        ValueError: as for `predictor_matrix`.
    """
    if form not in get_args(Form):
        raise ValueError(f"form must be 'printed' or 'released', found '{form}'")
    if not eps >= 0:
        raise ValueError(f"eps must be at least 0, found {eps}")
    if correlation_DD.ndim != 2 or correlation_DD.shape[0] != correlation_DD.shape[1]:
        raise ValueError(
            f"the matrix must have a shape (D, D), found {tuple(correlation_DD.shape)}"
        )
    F_DD = at_least_float32(correlation_DD)
    if not bool(F_DD.isfinite().all()):
        return Predictor(F_DD * torch.nan, F_DD, F_DD.sum() * torch.nan)
    values_D, U_DD = torch.linalg.eigh(F_DD)
    largest = values_D[-1]
    if not bool(largest > 0):
        raise ValueError(
            "the correlation matrix F must have an eigenvalue above 0, "
            f"but the largest is {largest.item()}"
        )
    if form == "released":
        F_DD, values_D, largest = F_DD / largest, values_D / largest, torch.ones_like(largest)
    shift = eps * largest
    roots_D = values_D.clamp(min=0).sqrt() + shift
    if form == "released":
        roots_D = roots_D.clamp(min=FLOOR)
    return Predictor(product(U_DD * roots_D, U_DD.mT), F_DD, shift)


def predictor_matrix(correlation_DD: Tensor, *, eps: float, form: Form) -> Tensor:
    """Return DirectPred's W_h, shape (D, D), symmetric and detached.

    Args:
        correlation_DD: F, symmetric, shape (D, D).
        eps: regularisation of small eigenvalues, >= 0, in units of lambda_max.
        form: "printed" is Lambda_F^(1/2) + eps lambda_max I (Eq. 6). "released" applies it to F /
            lambda_max with eigenvalues of at least `FLOOR` (directpred-code). Both agree if
            lambda_max = 1.

    Raises:
        ValueError: form or eps is invalid, or F is not square or has no positive eigenvalue.
    """
    return predictor(correlation_DD, eps=eps, form=form).W_DD


def directpred(
    online_ND: Tensor, target_ND: Tensor, *, correlation_DD: Tensor, eps: float, form: Form
) -> Tensor:
    """Return -cos(W_h u1, u2) (Eq. 22); its gradient at a constant W_h is Eq. 24.

    If W_h u1 is 0, which requires eps = 0, the loss and its gradient are 0.

    Args:
        online_ND: unit outputs u1, shape (N, D).
        target_ND: unit targets u2, shape (N, D).
        correlation_DD, eps, form: as for `predictor_matrix`.

    Returns:
        Loss of each query, from -1 to 1, shape (N,).

    Raises:
        ValueError: as for `predictor_matrix`, or the shapes do not match.
    """
    online_ND, target_ND = outputs(online_ND, target_ND)
    W_DD = predictor_matrix(matching(correlation_DD, online_ND), eps=eps, form=form)
    mapped_ND = product(online_ND, W_DD.mT)
    return cosine_distance(mapped_ND / lengths(mapped_ND), target_ND)


def lengths(x_ND: Tensor) -> Tensor:
    """Return the length of each row, shape (N, 1); infinity instead of 0, so 0 / length is 0."""
    length_N1: Tensor = x_ND.norm(dim=-1, keepdim=True)
    return length_N1.where(length_N1 != 0, torch.inf)


def barlow_twins(online_ND: Tensor, target_ND: Tensor, *, balance: float) -> Tensor:
    """Return sum_i (W_ii - 1)^2 + lambda sum_{i != j} W_ij^2 of W = mean v1 v2^T (Eq. 8).

    The loss is a property of the batch, so every query gets the same value.

    Args:
        online_ND: batch-normalised outputs of view 1, shape (N, D).
        target_ND: batch-normalised outputs of view 2, shape (N, D).
        balance: lambda.

    Returns:
        The loss, repeated N times, shape (N,).

    Raises:
        ValueError: the shapes do not match.
    """
    online_ND, target_ND = outputs(online_ND, target_ND)
    W_DD = product(online_ND.mT, target_ND) / len(online_ND)
    loss = (W_DD.diagonal() - 1).square().sum() + balance * off_diagonal_squares(W_DD)
    return loss.expand(len(online_ND))


def vicreg(
    online_ND: Tensor, target_ND: Tensor, *, cov_weight: float, var_weight: float, gamma: float
) -> Tensor:
    """Return VICReg's loss of view 1 for each query; its mean is Eq. 10.

    ||u1 - u2||^2 + (lambda_1/D) sum_{i != j} W'_ij^2 + (lambda_2/D) sum_i max(0, gamma - std_i),
    with W' the covariance and std the standard deviation of the online outputs over the batch, both
    with divisor N - 1. A channel with zero standard deviation gets no gradient from the last term.
    Each query has its own distance and the batch's two other terms.

    Args:
        online_ND: outputs of view 1, shape (N >= 2, D).
        target_ND: outputs of view 2, shape (N, D).
        cov_weight: lambda_1.
        var_weight: lambda_2.
        gamma: target standard deviation, in units of the outputs.

    Returns:
        Loss of each query, shape (N,).

    Raises:
        ValueError: the shapes do not match, or N < 2.
    """
    online_ND, target_ND = outputs(online_ND, target_ND, least=2)
    n, d = online_ND.shape
    centred_ND = online_ND - online_ND.mean(dim=0)
    W_DD = product(centred_ND.mT, centred_ND) / (n - 1)
    missing = relu(gamma - online_ND.std(dim=0)).sum()
    batch = cov_weight / d * off_diagonal_squares(W_DD) + var_weight / d * missing
    return (online_ND - target_ND).square().sum(dim=-1) + batch


def unigrad(
    online_ND: Tensor, target_ND: Tensor, *, correlation_DD: Tensor, balance: float
) -> Tensor:
    """Return -u1.u2 + (lambda/2) u1^T F u1 (Eq. 15); F and the target are constants.

    u1^T F u1 = sum_v rho_v cos^2(u1, v). The gradient is Eq. 14, -u2 + lambda F u1.

    Args:
        online_ND: unit outputs u1, shape (N, D).
        target_ND: unit targets u2, shape (N, D).
        correlation_DD: F, symmetric, shape (D, D).
        balance: lambda.

    Returns:
        Loss of each query, shape (N,).

    Raises:
        ValueError: the shapes do not match.
    """
    online_ND, target_ND = outputs(online_ND, target_ND.detach())
    F_DD = matching(correlation_DD, online_ND).detach()
    negative_N = (product(online_ND, F_DD) * online_ND).sum(dim=-1)
    return cosine_distance(online_ND, target_ND) + balance / 2 * negative_N


@torch.no_grad()
def principal_component_ratio(x_ND: Tensor, *, threshold: float = 0.9) -> Tensor:
    """Return n_pc / D (Figure 2): the share of components with most of the variance.

    n_pc is the smallest number of principal components whose variances sum to more than `threshold`
    of the total. Features without variance give 0, and features that are not finite give NaN.

    Args:
        x_ND: features, shape (N >= 1, D).
        threshold: share of the variance, 0 <= threshold < 1.

    Returns:
        A scalar, computed in float64, from 0 to 1.

    Raises:
        ValueError: threshold or the shape of x_ND is invalid.
    """
    if not 0 <= threshold < 1:
        raise ValueError(f"threshold must be at least 0 and below 1, found {threshold}")
    if x_ND.ndim != 2 or len(x_ND) == 0:
        raise ValueError(
            f"the features must have a shape (N, D) with N >= 1, found {tuple(x_ND.shape)}"
        )
    x_ND = x_ND.double()
    if not bool(x_ND.isfinite().all()):
        return x_ND.new_tensor(torch.nan)
    values_D = torch.linalg.eigvalsh(correlation(x_ND - x_ND.mean(dim=0)))
    held_D = values_D.flip(0).clamp(min=0).cumsum(dim=0)
    below = (held_D <= threshold * held_D[-1]).sum().double() + 1
    return torch.where(held_D[-1] > 0, below, 0.0) / x_ND.shape[1]


@torch.no_grad()
def eigenspace_alignment(predictor_DD: Tensor, correlation_DD: Tensor) -> Tensor:
    """Return the mean of |cos(u, W u)| over eigenvectors u of F, weighted by eigenvalues.

    It is 1 if W preserves the direction of every eigenvector of F (UniGrad, Sec. 3.2;
    arXiv:2102.06810 uses the cosine of each eigenvector). The weights exclude directions without
    variance, whose eigenvectors are arbitrary. If an input is not finite, the result is NaN. A
    vector mapped to 0 counts as 0.

    Args:
        predictor_DD: weights W of a linear layer, shape (D, D).
        correlation_DD: F, symmetric and positive semi-definite, shape (D, D).

    Returns:
        A scalar, computed in float64, from 0 to 1.

    Raises:
        ValueError: the shapes are not both (D, D).
    """
    shapes = tuple(predictor_DD.shape), tuple(correlation_DD.shape)
    if shapes[0] != shapes[1] or len(shapes[0]) != 2 or shapes[0][0] != shapes[0][1]:
        raise ValueError(
            "predictor_DD and correlation_DD must have the same shape (D, D), found "
            f"{shapes[0]} and {shapes[1]}"
        )
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


def product(a: Tensor, b: Tensor) -> Tensor:
    """Return a @ b in full precision, also under autocast."""
    with torch.autocast(a.device.type, enabled=False):
        return a @ b


def off_diagonal_squares(W_DD: Tensor) -> Tensor:
    """Return sum_{i != j} W_ij^2, a scalar."""
    return (W_DD - W_DD.diagonal().diag()).square().sum()


def outputs(online_ND: Tensor, target_ND: Tensor, *, least: int = 1) -> tuple[Tensor, Tensor]:
    """Check the outputs of both views and return them in float32 or wider.

    Args:
        online_ND: outputs of view 1, shape (N, D).
        target_ND: outputs of view 2, shape (N, D).
        least: the smallest N for which the loss is defined.

    Raises:
        ValueError: the outputs do not both have shape (N >= least, D), or only one is float64.
    """
    if online_ND.shape != target_ND.shape or online_ND.ndim != 2 or len(online_ND) < least:
        raise ValueError(
            f"both outputs must have the same shape (N, D) with N >= {least}, found "
            f"{tuple(online_ND.shape)} and {tuple(target_ND.shape)}"
        )
    online_ND = at_least_float32(online_ND)
    return online_ND, of_one_type("targets", target_ND, online_ND)


def matching(correlation_DD: Tensor, x_ND: Tensor) -> Tensor:
    """Check F against features and return it in float32 or wider.

    Raises:
        ValueError: F does not have shape (D, D) for features (N, D), or only one of F and x is
            float64.
    """
    d = x_ND.shape[1]
    if correlation_DD.shape != (d, d):
        raise ValueError(
            f"the correlation matrix F must have shape {(d, d)}, "
            f"found {tuple(correlation_DD.shape)}"
        )
    return of_one_type("F", correlation_DD, x_ND)


def of_one_type(name: str, y: Tensor, x: Tensor) -> Tensor:
    """Check that `y` and `x` have compatible dtypes; return `y` in float32 or wider.

    Args:
        name: name of `y` in the message.
        y: matrix to multiply with `x`.
        x: outputs.

    Raises:
        ValueError: only one of `x` and `y` is float64.
    """
    wide = at_least_float32(y)
    if wide.dtype != at_least_float32(x).dtype:
        raise ValueError(f"{name} must have type {x.dtype}, like the outputs, found {y.dtype}")
    return wide
