"""The unified gradient of the Siamese family (arXiv:2112.05141, Eq. 13 and Table 2).

g = scale (positive gradient + lambda negative gradient); scale contains constants that Eq. 13
omits; it is 2 in rows f to i. Terms by rows of Table 2, computed as in unigrad-loss-code:

Positive gradients: "target", -u2; "predictor", -W_h^T u2 with `predictor_matrix` of F (row d);
"whitened", -A u2, A = I - (1 - lambda) W_diag, W_diag the diagonal of mean v1 v2^T over the batch
(row f).

Negative gradients: "softmax", sum_v s_v v with s the softmax of u1.v/tau over the samples, and the
whole g over tau (rows a, b, Eq. 4); "online", F u1 (rows d, e, and j with F of the batch);
"target", sum_v (u2.v2/N) v1 over the batch (rows f, g, h); "variance", row i: sum_v (u1'.v1'/N) v1'
+ u1/lambda - B u1', with ' for the centred (Eq. 11).

lambda is a number, above 0 for "variance". None, with "predictor" and "online", uses row d's factor
for each query: g is then Eq. 26 or 27 times N.
"""

from typing import Literal, TypeVar, get_args

import torch
from torch import Tensor

from bench.losses.siamese import Form, Predictor, lengths, matching, of_one_type, outputs, predictor

Positive = Literal["target", "predictor", "whitened"]
Negative = Literal["softmax", "online", "target", "variance"]
T = TypeVar("T")


def gradient_form(  # noqa: PLR0913
    online_ND: Tensor,
    target_ND: Tensor,
    *,
    positive_gradient: Positive,
    negative_gradient: Negative,
    balance: float | None,
    gradient_scale: float = 1.0,
    tau: float | None = None,
    samples_MD: Tensor | None = None,
    allowed_NM: Tensor | None = None,
    correlation_DD: Tensor | None = None,
    eps: float | None = None,
    form: Form | None = None,
    half_power: bool | None = None,
    var_weight: float | None = None,
    gamma: float | None = None,
) -> Tensor:
    """Return <sg(g), u1> of each query: its gradient is g, its value has no meaning.

    g is detached, so targets need not be detached.

    Args:
        online_ND, target_ND: u1, and u2 of the other view, normalised by the method, (N, D).
        positive_gradient, negative_gradient, balance, gradient_scale: see the module's docstring.
        tau, samples_MD, allowed_NM: arguments of "softmax", see `softmax_mean`.
        correlation_DD: F for "predictor" and "online", symmetric, shape (D, D).
        eps, form: arguments of "predictor", see `needed_predictor`.
        half_power: argument for balance None, see `directpred_gradient`.
        var_weight, gamma: arguments of "variance", see `vicreg_negative`.

    Returns:
        One number per query, shape (N,), in float32 or wider, not averaged.

    Raises:
        ValueError: a choice is unknown, an argument is missing, or a shape or number is invalid.
    """
    u1_ND, u2_ND = outputs(online_ND, target_ND, least=2 if negative_gradient == "variance" else 1)
    check_choices(positive_gradient, negative_gradient, balance)
    with torch.no_grad(), torch.autocast(u1_ND.device.type, enabled=False):
        if balance is None:
            h = needed_predictor(u1_ND, correlation_DD, eps, form)
            g_ND = directpred_gradient(u1_ND, u2_ND, h, half_power)
        else:
            if positive_gradient == "predictor":
                g_ND = -u2_ND @ needed_predictor(u1_ND, correlation_DD, eps, form).W_DD
            else:
                g_ND = -u2_ND if positive_gradient == "target" else whitened(u1_ND, u2_ND, balance)
            if negative_gradient == "softmax":
                tau = need(tau, "tau", "softmax")
                g_ND = (g_ND + balance * softmax_mean(u1_ND, samples_MD, allowed_NM, tau)) / tau
            elif negative_gradient == "online":
                F_DD = need(correlation_DD, "correlation_DD", "online")
                g_ND = g_ND + balance * (u1_ND @ matching(F_DD, u1_ND))
            elif negative_gradient == "target":
                g_ND = g_ND + batch_negative(u1_ND, u2_ND, balance)
            else:
                g_ND = g_ND + vicreg_negative(u1_ND, balance, var_weight, gamma)
    return (gradient_scale * g_ND * u1_ND).sum(dim=-1)


def needed_predictor(
    u1_ND: Tensor, correlation_DD: Tensor | None, eps: float | None, form: Form | None
) -> Predictor:
    """Return DirectPred's predictor for features with these shapes.

    Args:
        u1_ND: features, shape (N, D).
        correlation_DD: F, shape (D, D).
        eps, form: as for `predictor_matrix`. "released" also replaces F and eps^2 lambda_max^2 by F
            / lambda_max and eps^2 in row d's factor and negative gradient (directpred-code).

    Raises:
        ValueError: an argument is missing, or as for `predictor`.
    """
    F_DD = matching(need(correlation_DD, "correlation_DD", "predictor"), u1_ND)
    return predictor(F_DD, eps=need(eps, "eps", "predictor"), form=need(form, "form", "predictor"))


def directpred_gradient(
    u1_ND: Tensor, u2_ND: Tensor, h: Predictor, half_power: bool | None
) -> Tensor:
    """Return (-W^T u2 + lambda G u1) / |W u1| with lambda = u1.W^T u2 / u1.G u1, shape (N, D).

    With `half_power` G = W^T W = F + 2 c F^(1/2) + c^2 I (Eq. 26, by Eq. 25), without F + c^2 I
    (Eq. 27). If W u1 is 0, the gradient is 0, as in `directpred`. If u1.G u1 is 0, lambda is 0.

    Args:
        u1_ND: unit outputs of the online network, shape (N, D).
        u2_ND: unit targets, shape (N, D).
        h: W_h, F and c: result of `siamese.predictor`.
        half_power: whether G has the term 2 c F^(1/2).

    Raises:
        ValueError: half_power is None.
    """
    half_power = need(half_power, "half_power", "balance None")
    d = u1_ND.shape[1]
    G_DD = h.W_DD.mT @ h.W_DD if half_power else h.F_DD + (h.shift**2).expand(d).diag()
    pull_ND, push_ND = u2_ND @ h.W_DD, u1_ND @ G_DD
    pushed_N1 = dots(u1_ND, push_ND)
    factor_N1 = torch.where(pushed_N1 > 0, dots(u1_ND, pull_ND) / pushed_N1, 0.0)
    return (factor_N1 * push_ND - pull_ND) / lengths(u1_ND @ h.W_DD.mT)


def whitened(u1_ND: Tensor, u2_ND: Tensor, balance: float) -> Tensor:
    """Return row f's positive gradient, shape (N, D).

    Args:
        u1_ND: online embeddings, shape (N, D).
        u2_ND: target embeddings, shape (N, D).
        balance: lambda.
    """
    return -(1 - (1 - balance) * (u1_ND * u2_ND).mean(dim=0)) * u2_ND


def batch_negative(u1_ND: Tensor, u2_ND: Tensor, balance: float) -> Tensor:
    """Return lambda times the negative gradient of rows f, g and h, shape (N, D).

    Args:
        u1_ND: online embeddings, shape (N, D).
        u2_ND: target embeddings, shape (N, D).
        balance: lambda.
    """
    sum_ND: Tensor = torch.linalg.multi_dot([u2_ND, u2_ND.mT, u1_ND])
    return balance * sum_ND / len(u1_ND)


def softmax_mean(
    u1_ND: Tensor, samples_MD: Tensor | None, allowed_NM: Tensor | None, tau: float
) -> Tensor:
    """Return sum_v s_v v over each query's allowed samples, shape (N, D) (Eq. 4).

    Args:
        u1_ND: queries, shape (N, D).
        samples_MD: v, shape (M >= 1, D).
        allowed_NM: whether each sample counts for each query, bool, shape (N, M), at least one per
            query; None means all.
        tau: temperature > 0.

    Raises:
        ValueError: there are no samples, tau is not above 0, or shapes or dtypes do not match.
    """
    v_MD = of_one_type("samples", need(samples_MD, "samples_MD", "softmax"), u1_ND)
    if not tau > 0:
        raise ValueError(f"tau must be above 0, found {tau}")
    d = u1_ND.shape[1]
    if v_MD.ndim != 2 or len(v_MD) == 0 or v_MD.shape[1] != d:
        raise ValueError(
            f"the samples must have shape (M, {d}) with M >= 1, found {tuple(v_MD.shape)}"
        )
    logit_NM = u1_ND @ v_MD.mT / tau
    if allowed_NM is not None:
        if allowed_NM.shape != logit_NM.shape or allowed_NM.dtype != torch.bool:
            raise ValueError(
                f"the argument `allowed` must have shape {tuple(logit_NM.shape)} and type "
                f"torch.bool, found {tuple(allowed_NM.shape)} and {allowed_NM.dtype}"
            )
        logit_NM = logit_NM.masked_fill(~allowed_NM, -torch.inf)
    return logit_NM.softmax(dim=-1) @ v_MD


def vicreg_negative(
    u1_ND: Tensor, balance: float, var_weight: float | None, gamma: float | None
) -> Tensor:
    """Return lambda times row i's negative gradient (Eq. 11), shape (N, D).

    lambda sum_v (u1'.v1'/N) v1' + u1 - lambda B u1', with lambda_1 = lambda D (N - 1)^2 / (2 N^2).
    A channel with zero standard deviation gets no gradient from the variance term, as in `vicreg`.

    Args:
        u1_ND: outputs, not normalised, shape (N, D).
        balance: lambda > 0.
        var_weight: lambda_2.
        gamma: target standard deviation.

    Raises:
        ValueError: an argument is missing, or lambda is not above 0.
    """
    lambda_2, gamma = need(var_weight, "var_weight", "variance"), need(gamma, "gamma", "variance")
    if not balance > 0:
        raise ValueError(f"negative_gradient 'variance' needs balance > 0, found {balance}")
    n, d = u1_ND.shape
    lambda_1 = balance * d * (n - 1) ** 2 / (2 * n**2)
    centred_ND = u1_ND - u1_ND.mean(dim=0)
    std_D = u1_ND.std(dim=0)
    low_D = torch.where((gamma > std_D) & (std_D > 0), std_D.reciprocal(), 0.0)
    B_D = n / (d * balance * (n - 1)) * (2 * lambda_1 * std_D.square() + lambda_2 / 2 * low_D)
    sum_ND: Tensor = torch.linalg.multi_dot([centred_ND, centred_ND.mT, centred_ND]) / n
    return balance * sum_ND + u1_ND - balance * B_D * centred_ND


def dots(a_ND: Tensor, b_ND: Tensor) -> Tensor:
    """Return the inner products of corresponding rows, shape (N, 1)."""
    return (a_ND * b_ND).sum(dim=-1, keepdim=True)


def need(value: T | None, name: str, by: str) -> T:
    """Return `value` unless it is None.

    Args:
        value: the required value.
        name: name of the value, for the message.
        by: the choice that requires it, for the message.

    Raises:
        ValueError: the value is None.
    """
    if value is None:
        raise ValueError(f"{by} needs {name}")
    return value


def check_choices(positive: str, negative: str, balance: float | None) -> None:
    """Check that the gradients exist and are compatible with `balance`.

    Args:
        positive: name of the positive gradient.
        negative: name of the negative gradient.
        balance: lambda; None means a separate factor per query.

    Raises:
        ValueError: a gradient is unknown, or `balance` is not compatible.
    """
    for name, value, known in (
        ("positive_gradient", positive, get_args(Positive)),
        ("negative_gradient", negative, get_args(Negative)),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, found {value}")
    if balance is None and (positive, negative) != ("predictor", "online"):
        raise ValueError(
            "balance may be None only with positive_gradient 'predictor' and negative_gradient "
            f"'online', found '{positive}' and '{negative}'"
        )
