"""The Siamese losses by loops, against lightly and scikit-learn, at their edges."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from torch import Tensor
from torch.nn.functional import normalize
from torch.testing import assert_close

from bench.losses.siamese import (
    FLOOR,
    barlow_twins,
    correlation,
    cosine_distance,
    directpred,
    moving_average,
    principal_component_ratio,
    unigrad,
    vicreg,
)
from tests.fakes.embeddings import (
    VICREG,
    gradient,
    matrix,
    random_F,
    raw_views,
    root,
    unit_views,
    vicreg_terms,
    whitened,
    whitened_views,
)
from tests.fakes.peers import lightly_loss


def test_cosine_distance_is_lightlys_and_eq_5() -> None:
    a, b = raw_views()
    u, v = normalize(a, dim=1), normalize(b, dim=1)
    loss = cosine_distance(u, v)
    for i in range(len(a)):
        x, y = a[i].tolist(), b[i].tolist()
        inner = sum(p * q for p, q in zip(x, y, strict=True))
        assert loss[i].item() == pytest.approx(-inner / math.hypot(*x) / math.hypot(*y))
    assert_close(loss.mean(), lightly_loss("NegativeCosineSimilarity")(a, b), rtol=0, atol=1e-6)


def test_correlation_is_the_mean_of_all_rows_products() -> None:
    a, b = raw_views()
    rows = [*a.detach(), *b.detach()[:3]]
    F = correlation(a, b[:3])
    assert_close(F, torch.stack([torch.outer(v, v) for v in rows]).sum(dim=0) / 9)
    assert not F.requires_grad


def test_moving_average_weighs_a_sample_by_its_step() -> None:
    """F-update-code: (1 - rho) rho^(T - t) for t > 0 and rho^T for the first batch."""
    rho, batches = 0.9, [raw_views(seed=s) for s in range(5)]
    F = None
    for a, b in batches:
        F = moving_average(F, correlation(a, b), rho)
    shares = [rho**4] + [(1 - rho) * rho ** (4 - t) for t in range(1, 5)]
    assert sum(shares) == pytest.approx(1)
    expected = sum(
        s / 12 * torch.outer(v, v).detach()
        for s, views in zip(shares, batches, strict=True)
        for x in views
        for v in x
    )
    assert_close(F, expected)
    assert F is not None
    assert moving_average(None, F, 0.9) is not F


def test_printed_predictor_is_eq_6_and_its_square_eq_25() -> None:
    F, eps = random_F(), 0.3
    largest = torch.linalg.eigvalsh(F)[-1]
    eye = torch.eye(4, dtype=torch.float64)
    W = matrix(F, eps, "printed")
    assert_close(W, root(F) + eps * largest * eye)
    assert_close(W.T @ W, F + 2 * eps * largest * root(F) + (eps * largest) ** 2 * eye)


def test_released_predictor_is_directpred_code() -> None:
    F, eps = random_F(), 0.3
    largest = torch.linalg.eigvalsh(F)[-1]
    eye = torch.eye(4, dtype=torch.float64)
    W = matrix(F, eps, "released")
    assert_close(W, root(F / largest) + eps * eye)
    # proportional to Lambda_F^(1/2) + eps lambda_max^(1/2) I, not to Eq. 6
    assert_close(W * largest.sqrt(), root(F) + eps * largest.sqrt() * eye)


def test_the_forms_agree_at_a_largest_eigenvalue_of_1() -> None:
    F = random_F() / torch.linalg.eigvalsh(random_F())[-1]
    printed, released = (matrix(F, 0.3, form) for form in ("printed", "released"))
    assert_close(printed, released)
    further = matrix(2 * F, 0.3, "printed")
    assert not torch.allclose(further / further.trace(), released / released.trace(), rtol=1e-3)


def test_released_eigenvalues_stop_at_the_floor() -> None:
    F = torch.diag(torch.tensor([4.0, 0.0], dtype=torch.float64))
    W = matrix(F, 0.0, "released")
    assert_close(W, torch.diag(torch.tensor([1.0, FLOOR], dtype=torch.float64)))
    printed = matrix(F, 0.0, "printed")
    assert_close(printed, torch.diag(torch.tensor([2.0, 0.0], dtype=torch.float64)))


def test_barlow_twins_is_eq_8_by_a_loop() -> None:
    v1, v2 = (x.detach() for x in whitened_views())
    n, d = v1.shape
    W = [[sum(v1[k, i] * v2[k, j] for k in range(n)) / n for j in range(d)] for i in range(d)]
    total = sum((W[i][i] - 1) ** 2 for i in range(d))
    total = total + 0.005 * sum(W[i][j] ** 2 for i in range(d) for j in range(d) if j != i)
    assert_close(barlow_twins(v1, v2, balance=0.005), torch.tensor([total] * n).double())


def test_barlow_twins_is_lightlys() -> None:
    """The same lambda and no other factor, with batch normalisation's own epsilon in both."""
    a, b = raw_views(8)
    ours = barlow_twins(whitened(a), whitened(b), balance=0.005).mean()
    theirs = lightly_loss("BarlowTwinsLoss", lambda_param=0.005)(a, b)
    assert_close(ours, theirs, rtol=0, atol=1e-6)
    assert_close(gradient(ours, a), gradient(theirs, a), rtol=0, atol=1e-6)


def test_vicreg_is_eq_10_by_a_loop() -> None:
    a, b = raw_views()
    n, d = a.shape
    W, std = vicreg_terms(a.detach())
    assert 0 < sum(s < 1.1 for s in std) < d  # the hinge is met from both sides
    distance = sum((x - y) ** 2 for x, y in zip(a.flatten(), b.flatten(), strict=True)) / n
    covariance = sum(W[i, j] ** 2 for i in range(d) for j in range(d) if j != i)
    variance = sum(max(0.0, 1.1 - s.item()) for s in std)
    loss = vicreg(a, b, **VICREG)
    assert loss.shape == (n,)
    assert_close(loss.mean(), distance + 0.3 / d * covariance + 0.7 / d * variance)
    assert_close(loss - loss[0], ((a - b) ** 2).sum(1) - ((a[0] - b[0]) ** 2).sum())


def test_vicreg_is_lightlys() -> None:
    """lightly averages distances over channels too (factor 2 D), halves both variance terms
    (factor 2), adds both covariance terms, has gamma 1, and an epsilon that the paper has not."""
    a, b = raw_views(8)
    weights = {"cov_weight": 0.3, "var_weight": 0.7, "gamma": 1.0}
    ours = (vicreg(a, b, **weights) + vicreg(b, a, **weights)).mean()
    other = {"lambda_param": 2 * 4, "mu_param": 2 * 0.7, "nu_param": 0.3, "eps": 0.0}
    theirs = lightly_loss("VICRegLoss", **other)(a, b)
    assert_close(ours, theirs, rtol=0, atol=1e-6)
    assert_close(gradient(ours, a), gradient(theirs, a), rtol=0, atol=1e-6)


def test_a_channel_without_deviation_has_a_finite_gradient() -> None:
    a = torch.tensor([[1.0, 2.0], [1.0, 3.0]], dtype=torch.float64, requires_grad=True)
    g = gradient(vicreg(a, a.detach(), **VICREG).mean(), a)
    assert bool(g.isfinite().all())


@pytest.mark.parametrize("threshold", [0.0, 0.5, 0.9, 0.99])
def test_principal_component_ratio_by_scikit_learn(threshold: float) -> None:
    x = raw_views(40, 12)[0].detach() * torch.logspace(0, -2, 12)
    shares = PCA().fit(x.numpy()).explained_variance_ratio_.cumsum()
    expected = (int(np.argmax(shares > threshold)) + 1) / 12
    found = principal_component_ratio(x, threshold=threshold)
    assert found.item() == expected
    assert principal_component_ratio(x + 7, threshold=threshold).item() == expected


def test_principal_component_ratio_at_its_ends() -> None:
    x = torch.zeros(5, 4)
    assert principal_component_ratio(x).item() == 0
    assert principal_component_ratio(x + torch.arange(5.0)[:, None]).item() == 0.25
    corners = torch.cat([torch.eye(4), -torch.eye(4)])  # four equal variances
    assert principal_component_ratio(corners).item() == 1
    assert principal_component_ratio(corners, threshold=0.5).item() == 0.75  # more than half


def of_directpred(form: Any) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda a, b: directpred(a, b, correlation_DD=correlation(a, b), eps=0.3, form=form)


LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cosine": cosine_distance,
    "printed": of_directpred("printed"),
    "released": of_directpred("released"),
    "barlow": lambda a, b: barlow_twins(a, b, balance=0.005),
    "vicreg": lambda a, b: vicreg(a, b, **VICREG),
    "unigrad": lambda a, b: unigrad(a, b, correlation_DD=correlation(a, b), balance=100.0),
}


@pytest.mark.parametrize("name", LOSSES)
def test_narrow_inputs_are_computed_wide(name: str) -> None:
    """bf16 outputs and autocast change neither the type nor, beyond rounding, the numbers."""
    a, b = (x.detach().bfloat16().requires_grad_() for x in unit_views(8))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = LOSSES[name](a, b)
    assert loss.dtype == torch.float32
    assert loss.shape == (8,)
    wide = LOSSES[name](a.detach().double(), b.detach().double())
    assert_close(loss.double(), wide, rtol=1e-4, atol=1e-5)
    assert bool(gradient(loss.mean(), a).isfinite().all())


@pytest.mark.parametrize("name", LOSSES)
def test_the_order_of_the_images_changes_nothing(name: str) -> None:
    a, b = (x.detach() for x in unit_views(8))
    order = torch.from_numpy(np.random.default_rng(0).permutation(8))
    assert_close(LOSSES[name](a[order], b[order]), LOSSES[name](a, b)[order])


@pytest.mark.parametrize("name", LOSSES)
def test_outputs_that_diverged_are_no_error(name: str) -> None:
    a = torch.full((3, 2), torch.nan)
    assert bool(LOSSES[name](a, a).isnan().all() and principal_component_ratio(a).isnan())


X, EYE = torch.zeros(3, 2), torch.eye(2)
MISTAKES: dict[str, Callable[[], Any]] = {
    "both outputs must have the same shape (N, D) with N >= 1, found (3, 2) and (2, 2)": lambda: (
        cosine_distance(X, X[:2])
    ),
    "both outputs must have the same shape (N, D) with N >= 2, found (1, 2) and (1, 2)": lambda: (
        vicreg(X[:1], X[:1], **VICREG)
    ),
    "the correlation matrix F must have shape (2, 2), found (3, 3)": lambda: unigrad(
        X, X, correlation_DD=torch.eye(3), balance=1.0
    ),
    "F must have type torch.float32, like the outputs, found torch.float64": lambda: unigrad(
        X, X, correlation_DD=EYE.double(), balance=1.0
    ),
    "targets must have type torch.float64, like the outputs, found torch.bfloat16": lambda: (
        barlow_twins(X.double(), X.bfloat16(), balance=1.0)
    ),
    "all features must have shapes (N, D) with the same D, found []": lambda: correlation(),
    "all features must have shapes (N, D) with the same D, found [(3, 2), (2, 3)]": lambda: (
        correlation(X, X.T)
    ),
    "rho must be at least 0 and below 1, found 1.0": lambda: moving_average(None, EYE, 1.0),
    "previous_DD and current_DD must have the same shape, found (1, 1) and (2, 2)": lambda: (
        moving_average(torch.eye(1), EYE, 0.5)
    ),
    "the matrix must have a shape (D, D), found (3, 2)": lambda: matrix(X, 0.3, "printed"),
    "eps must be at least 0, found -1.0": lambda: matrix(EYE, -1.0, "printed"),
    "form must be 'printed' or 'released', found 'exact'": lambda: matrix(EYE, 0.3, "exact"),
    "the correlation matrix F must have an eigenvalue above 0, but the largest is 0.0": lambda: (
        matrix(0 * EYE, 0.3, "printed")
    ),
    "threshold must be at least 0 and below 1, found 1.0": lambda: principal_component_ratio(
        X, threshold=1.0
    ),
    "the features must have a shape (N, D) with N >= 1, found (0, 2)": lambda: (
        principal_component_ratio(X[:0])
    ),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_arguments_out_of_their_domain(message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        MISTAKES[message]()
