"""Ranks of features by a decomposition of numpy, at their ends, and what they refuse."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from bench.evaluate.ranks import effective_rank, lidar, rankme
from bench.experiments.evaluations import RANKED_VIEWS, Evaluator
from bench.methods.online_network import Online
from bench.train.sources import open_source
from tests.fakes.cells import small_cell

DRAW = np.random.default_rng(0)
X: NDArray[np.float64] = DRAW.standard_normal((40, 5)) * [1, 2, 0.5, 0.1, 3] + 1.5
VIEWS: NDArray[np.float64] = X[:, None] + 0.3 * DRAW.standard_normal((40, 6, 5))


def entropy_rank(spectrum: NDArray[Any], epsilon: float) -> float:
    p = spectrum / spectrum.sum() + epsilon
    return float(np.exp(-sum(share * np.log(share) for share in p)))


def test_rankme_is_that_of_the_singular_values() -> None:
    expected = entropy_rank(np.linalg.svd(X, compute_uv=False), 1e-7)
    assert rankme(torch.tensor(X)) == pytest.approx(expected, rel=1e-10)
    assert rankme(torch.tensor(X).float()) == pytest.approx(expected, rel=1e-6)


def test_effective_rank_is_that_of_the_covariance() -> None:
    expected = entropy_rank(np.linalg.svd(np.cov(X.T, ddof=0), compute_uv=False), 0)
    assert effective_rank(torch.tensor(X)) == pytest.approx(expected, rel=1e-10)


def test_lidar_is_that_of_its_discriminant() -> None:
    means = VIEWS.mean(axis=1)
    within, between = 1e-4 * np.eye(5), np.zeros((5, 5))
    for i, views in enumerate(VIEWS):
        aside = means[i] - means.mean(axis=0)
        between += np.outer(aside, aside) / len(VIEWS)
        for view in views:
            within += np.outer(view - means[i], view - means[i]) / VIEWS[..., 0].size
    spectrum = np.linalg.eigvals(np.linalg.inv(within) @ between).real
    assert lidar(torch.tensor(VIEWS)) == pytest.approx(entropy_rank(spectrum, 1e-7), rel=1e-9)


def test_ends() -> None:
    axes = torch.eye(8)
    assert rankme(axes) == pytest.approx(8, rel=1e-5)
    assert effective_rank(axes) == pytest.approx(7, rel=1e-6)
    assert rankme(torch.ones(9, 8)) == pytest.approx(1, abs=1e-4)
    assert effective_rank(torch.ones(9, 8)) == rankme(torch.zeros(9, 8)) == 0
    assert lidar(torch.ones(9, 2, 8)) == 0


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: rankme(torch.ones(3)), "the features must have 2 axes, found shape (3,)"),
        (
            lambda: effective_rank(torch.ones(0, 3)),
            "the features must have 2 axes, found shape (0, 3)",
        ),
        (lambda: lidar(torch.ones(4, 3)), "the features must have 3 axes, found shape (4, 3)"),
        (
            lambda: lidar(torch.ones(4, 1, 3)),
            "at least two images and two views are needed, found shape (4, 1",
        ),
    ],
)
def test_refused(call: object, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        call()  # type: ignore[operator]


def test_a_cell_that_lists_them_has_them_under_its_own_id() -> None:
    plain, listed = small_cell(), small_cell(ranks=True)
    assert (listed.id, listed.training_id) == (plain.id, plain.training_id)
    ranks = ["rankme", "effective_rank", "lidar"]
    assert set(listed.evaluation_metrics) - set(plain.evaluation_metrics) == set(ranks)
    online = Online(listed)
    evaluator = Evaluator([listed], open_source(listed, Path(), "cpu"))
    assert evaluator.evaluate("ranks", plain, online) == {}
    found = evaluator.evaluate("ranks", listed, online)
    assert list(found) == ranks
    assert found == evaluator.evaluate("ranks", listed, online)
    assert all(1 < value <= 16 for value in found.values())
    test = evaluator._features("backbone", online, "none").test
    assert found["rankme"] == rankme(test)


def test_every_image_has_as_many_views_with_one_view_a_step() -> None:
    cell = small_cell("ir", ranks=True)
    evaluator = Evaluator([cell], open_source(cell, Path(), "cpu"))
    seen: list[int] = []
    ask = evaluator._embeddings

    def noted(*asked: object) -> object:
        shown = ask(*asked)  # type: ignore[arg-type]
        seen.append(sum(view is not None for view in shown))
        return shown

    evaluator._embeddings = noted  # type: ignore[assignment,method-assign]
    evaluator.evaluate("ranks", cell, Online(cell))
    assert seen == [1] * RANKED_VIEWS
