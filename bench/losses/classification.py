"""Classification losses over logits: contrastive objectives with classes as keys.

Cross-entropy is InfoNCE with the one-hot vector of the true class as the positive key and those of
the other classes as negatives (dual temperature, Sec. E). Shapes: N images, C classes. Values in
nats.
"""

from torch import Tensor

from bench.losses.contrastive import at_least_float32, dcl, dual_temperature, infonce


def one_against_rest(logits_NC: Tensor, labels_N: Tensor) -> tuple[Tensor, Tensor]:
    """Return the true classes' logits, (N,), and all logits with -inf at the true class, (N, C).

    Both are in float32 or wider.

    Args:
        logits_NC: shape (N, C), C >= 2.
        labels_N: int64 classes, 0 to C - 1, shape (N,).

    Raises:
        ValueError: the shapes do not match.
    """
    if logits_NC.ndim != 2 or logits_NC.shape[1] < 2 or labels_N.shape != logits_NC.shape[:1]:
        raise ValueError(
            "logits and labels must have shapes (N, C) with C >= 2 and (N,), found "
            f"{tuple(logits_NC.shape)} and {tuple(labels_N.shape)}"
        )
    wide_NC, own_N1 = at_least_float32(logits_NC), labels_N[:, None]
    others_NC = wide_NC.scatter(1, own_N1, -float("inf"))
    return wide_NC.gather(1, own_N1).squeeze(1), others_NC


def cross_entropy(logits_NC: Tensor, labels_N: Tensor, *, tau: float = 1.0) -> Tensor:
    """Return -log( e^{o_gt/tau} / sum_c e^{o_c/tau} ) (dual temperature, supplement Eq. 1).

    Args:
        logits_NC, labels_N: as for `one_against_rest`.
        tau: temperature > 0.

    Returns:
        Loss of each image in nats, shape (N,), computed in float32 or wider.

    Raises:
        ValueError: tau is not above 0, or the shapes do not match.
    """
    return infonce(*one_against_rest(logits_NC, labels_N), tau=tau)


def decoupled(logits_NC: Tensor, labels_N: Tensor, *, tau: float = 1.0) -> Tensor:
    """Return cross-entropy without the true class in its denominator (DCL, App. 7).

    eq-a7-supervised-dcl, with s = o/tau: -s_y + log sum_{c != y} e^{s_c}. The loss may be negative.
    The paper uses no temperature, so tau = 1.

    Args, Returns, Raises: as for `cross_entropy`.
    """
    return dcl(*one_against_rest(logits_NC, labels_N), tau=tau)


def dual_temperature_cross_entropy(
    logits_NC: Tensor, labels_N: Tensor, *, tau: float, tau_beta: float
) -> Tensor:
    """Return cross-entropy at tau times the detached (1 - p_beta) / (1 - p_alpha).

    The paper does not print this loss (ce-dual-temperature). It is defined here by analogy with
    algorithm-1-released-code: p_alpha and p_beta are the true class's probabilities at tau and
    tau_beta.

    Args:
        logits_NC, labels_N, tau: as for `cross_entropy`.
        tau_beta: temperature > 0 of the image's weight. tau_beta = tau gives cross-entropy.

    Returns, Raises: as for `cross_entropy`; tau_beta must be above 0, too.
    """
    pos_N, neg_NC = one_against_rest(logits_NC, labels_N)
    return dual_temperature(pos_N, neg_NC, tau=tau, tau_beta=tau_beta, form="released")
