"""Multinomial logistic regressions, several at once, solved to the optimum.

Shapes: S draws of n training images each, D dimensions, C classes, F = D + 1 with the intercept.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from bench.evaluate.features import Features, normaliser

ROWS = 4096  # of features that are normalised at once
GRADIENT = 1e-7  # largest entry of the mean gradient at which a regression has ended
MEMORY = 10  # pairs of steps and changes of the gradient that are remembered
HALVINGS = 30  # of a step, at most, until the loss has fallen enough


def logistic_scores(
    draws: Sequence[Features], classes: int, *, C: float, iterations: int, normalised: str = "none"
) -> list[Tensor]:
    """Return class probabilities of each test part (m, classes), float64.

    The problem is scikit-learn's LogisticRegression(C): the cross-entropy summed over the training
    images plus half the squared weights divided by C, without a penalty on intercepts. With two
    classes, the weights are those of the difference. A class without training images has
    probability 0. Computation uses float64 on the features' device. It stops when no entry of the
    mean gradient exceeds GRADIENT, with probability errors below 4e-4, or after the maximum number
    of iterations.

    Args:
        draws: samples with equal numbers of training images and the same classes.
        classes: number of classes; labels are 0 to classes - 1.
        C: inverse strength of the penalty, above 0.
        iterations: maximum number of iterations.
        normalised: normalisation of the features, as for `normalise`.
    """
    seen = [draw.train_labels.unique(return_inverse=True) for draw in draws]
    own_C, labels_Sn = seen[0][0], torch.stack([label_n for _, label_n in seen])
    penalty = (2 if len(own_C) == 2 else 1) / C  # two rows share the weights of their difference
    ready = [normaliser(draw.train, normalised) for draw in draws]
    x_SnF = _with_ones([draw.train for draw in draws], ready)
    weights_SFC = fit(x_SnF, one_hot(labels_Sn, len(own_C)).double(), penalty, iterations)
    scores = []
    for draw, of_draw, weight_FC in zip(draws, ready, weights_SFC, strict=True):
        scores_mC = draw.test.new_zeros(len(draw.test), classes, dtype=torch.float64)
        logits = torch.addmm(weight_FC[-1], of_draw(draw.test).double(), weight_FC[:-1])
        scores.append(scores_mC.index_copy_(1, own_C, logits.softmax(dim=1)))
    return scores


def _with_ones(
    parts: Sequence[Tensor], normalisers: Sequence[Callable[[Tensor], Tensor]]
) -> Tensor:
    """Return normalised features and a 1 behind those of each image, float64 (S, n, D + 1).

    They are the most that an evaluation holds, so no part of them is held twice.
    """
    n, dim = parts[0].shape
    x_SnF = parts[0].new_ones(len(parts), n, dim + 1, dtype=torch.float64)
    for x_nF, part_nD, normalised in zip(x_SnF, parts, normalisers, strict=True):
        for x_BF, part_BD in zip(x_nF.split(ROWS), part_nD.split(ROWS), strict=True):
            x_BF[:, :-1] = normalised(part_BD)
    return x_SnF


def fit(x_SnF: Tensor, one_hot_SnC: Tensor, penalty: float, iterations: int) -> Tensor:
    """Return the optimal weights of each sample, with intercepts last, (S, D + 1, C).

    With fewer images than dimensions, the optimum is a linear combination of the images, so the
    solver works in their span.

    Args:
        x_SnF: features of each sample's images, with a 1 appended.
        one_hot_SnC: one-hot classes of the images.
        penalty: factor of the squared weights.
        iterations: maximum number of solver steps.
    """
    if x_SnF.shape[1] >= x_SnF.shape[2] - 1:
        return _Problem(x_SnF, one_hot_SnC, penalty).solve(iterations)
    base_SDn, within = torch.linalg.qr(x_SnF[..., :-1].mT)
    inside_SnF = torch.cat([within.mT, x_SnF[..., -1:]], dim=2)
    weights = _Problem(inside_SnF, one_hot_SnC, penalty).solve(iterations)
    return torch.cat([base_SDn @ weights[:, :-1], weights[:, -1:]], dim=1)


class _Problem:
    """The sum of the cross-entropies of S draws and their penalties; it knows its gradient."""

    def __init__(self, x_SnF: Tensor, one_hot_SnC: Tensor, penalty: float) -> None:
        self.x_SnF, self.one_hot_SnC = x_SnF, one_hot_SnC
        self.n, classes = one_hot_SnC.shape[1:]
        self.penalty_F1 = x_SnF.new_full((x_SnF.shape[2], 1), penalty)
        self.penalty_F1[-1] = 0.0
        # A third of p (1 - p) at equal probabilities, for the weight that an image has in between.
        curvature = (classes - 1) / (3 * classes**2) or 1.0
        squares_SFF = x_SnF.mT.contiguous() @ x_SnF  # a view would be rounded otherwise
        hessian_SFF = curvature * squares_SFF + torch.diag(self.penalty_F1[:, 0])
        self.factor_SFF: Tensor = torch.linalg.cholesky(hessian_SFF)

    def loss(self, w_SFC: Tensor, logits_SnC: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses (S,) and their gradients."""
        total_Sn1 = logits_SnC.logsumexp(dim=2, keepdim=True)
        loss_S = total_Sn1.sum(dim=(1, 2)) - _dot(logits_SnC, self.one_hot_SnC)
        decayed_SFC = self.penalty_F1 * w_SFC
        error_SnC = (logits_SnC - total_Sn1).exp_().sub_(self.one_hot_SnC)
        return loss_S + 0.5 * _dot(decayed_SFC, w_SFC), self.x_SnF.mT @ error_SnC + decayed_SFC

    def solve(self, iterations: int) -> Tensor:
        """Return the optimum by L-BFGS from 0, each draw with steps of its own.

        Nocedal and Wright, Numerical Optimization, Alg. 7.4, with a Hessian to begin with that all
        classes share, and steps halved until the loss falls (Alg. 3.1).
        """
        S, _, F = self.x_SnF.shape
        w = self.x_SnF.new_zeros(S, F, self.one_hot_SnC.shape[2])
        logits = self.x_SnF @ w
        loss, gradient = self.loss(w, logits)
        pairs: list[tuple[Tensor, Tensor, Tensor]] = []
        for _ in range(iterations):
            open_S = gradient.abs().amax(dim=(1, 2)) > GRADIENT * self.n
            if not bool(open_S.any()):
                break
            way = -self._inverse_hessian(gradient, pairs)
            moved, size_S = self.x_SnF @ way, open_S.double()
            for _ in range(HALVINGS):
                size = size_S[:, None, None]
                there, logits_there = w + size * way, logits + size * moved
                loss_there, gradient_there = self.loss(there, logits_there)
                enough = loss + 1e-4 * size_S * _dot(gradient, way) + 1e-13 * loss.abs()
                if bool((loss_there <= enough).all()):
                    break
                size_S = torch.where(loss_there <= enough, size_S, 0.5 * size_S)
            step, change = there - w, gradient_there - gradient
            along = _dot(step, change)
            pairs.append((step, change, torch.where(along > 0, 1 / along, 0.0)))
            pairs = pairs[-MEMORY:]
            w, logits, loss, gradient = there, logits_there, loss_there, gradient_there
        return w

    def _inverse_hessian(
        self, gradient: Tensor, pairs: Sequence[tuple[Tensor, Tensor, Tensor]]
    ) -> Tensor:
        """Return the approximation of the inverse Hessian times a gradient, newest pair last."""
        shares = []
        for step, change, rho_S in reversed(pairs):
            shares.append(rho_S * _dot(step, gradient))
            gradient = gradient - shares[-1][:, None, None] * change
        way = torch.cholesky_solve(gradient, self.factor_SFF)
        for (step, change, rho_S), share_S in zip(pairs, reversed(shares), strict=True):
            way = way + (share_S - rho_S * _dot(change, way))[:, None, None] * step
        return way


def _dot(a: Tensor, b: Tensor) -> Tensor:
    """Return the inner product of each draw's part, shape (S,)."""
    product_S: Tensor = torch.linalg.vecdot(a.flatten(1), b.flatten(1))
    return product_S


Array = np.ndarray[Any, Any]


def logistic_top1(train_x: Array, train_y: Array, test_x: Array, test_y: Array) -> float:
    """Return a logistic regression's test accuracy, in percent.

    Features are standardised on the training part. The penalty is scikit-learn's default (C = 1).

    Args:
        train_x: features, (n, D).
        train_y: labels, (n,).
        test_x: features, (m, D).
        test_y: labels, (m,).
    """
    from sklearn.linear_model import LogisticRegression  # slow to import, and needed by a toy only
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model.fit(train_x, train_y)
    return float(100 * model.score(test_x, test_y))
