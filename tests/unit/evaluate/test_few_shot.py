"""Few labels: balanced draws, oracles where the draw is known, no global randomness."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from bench.evaluate import few_shot as module
from bench.evaluate.features import Features
from bench.evaluate.few_shot import few_shot
from bench.evaluate.knn import knn_top1
from bench.evaluate.regression import logistic_top1


def digits(a_class: int | None = None) -> Features:
    """scikit-learn's digits as features; the training part has `a_class` images a class."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    x, y = (x[order] / 16).astype(np.float32), y[order].astype(np.int64)
    train = np.arange(1347)
    if a_class:
        train = np.concatenate([np.flatnonzero(y[:1347] == c)[:a_class] for c in range(10)])
    parts = (x[train], y[train], x[1347:], y[1347:])
    return Features(*[torch.from_numpy(part) for part in parts])


def test_where_all_is_drawn_the_oracles_are_known() -> None:
    """20 of 20 images a class: the draw is the training part, in another order."""
    both = digits(20)
    train, train_y, test, test_y = (t.numpy() for t in vars(both).values())
    found = few_shot(
        both, labels_a_class=20, draws=3, classes=10, generator=np.random.default_rng(1)
    )
    logistic = logistic_top1(train.astype(float), train_y, test.astype(float), test_y)
    nearest = KNeighborsClassifier(1, metric="cosine").fit(train, train_y).score(test, test_y)
    assert found["few_shot_linear_top1"] == pytest.approx(logistic, abs=0.3)
    assert found["few_shot_linear_top1_std"] < 0.2
    assert found["few_shot_nn_top1"] == pytest.approx(100 * nearest)
    assert found["few_shot_nn_top1_std"] == 0


def test_draws_are_balanced_differ_and_are_summed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Features, float]] = []

    def spy(features: Features, **how: object) -> object:
        found = knn_top1(features, k=[1], tau=[None], classes=10)
        seen.append((features, found[1, None].top1))
        return found

    monkeypatch.setattr(module, "knn_top1", spy)
    both = digits()
    found = few_shot(
        both, labels_a_class=4, draws=5, classes=10, generator=np.random.default_rng(2)
    )
    for drawn, _ in seen:
        assert drawn.train_labels.bincount().tolist() == [4] * 10
        assert len(drawn.train.unique(dim=0)) == 40
        own = (drawn.train[:, None] == both.train).all(dim=2).nonzero()[:, 1]
        assert bool((both.train_labels[own] == drawn.train_labels).all())
    assert len({tuple(drawn.train.flatten().tolist()) for drawn, _ in seen}) == 5
    values = [top1 for _, top1 in seen]
    assert found["few_shot_nn_top1"] == pytest.approx(np.mean(values))
    assert found["few_shot_nn_top1_std"] == pytest.approx(np.std(values, ddof=1))
    assert found["few_shot_linear_top1_std"] > 0


def test_the_generator_alone_decides() -> None:
    def result(seed: int, draws: int = 2) -> dict[str, float]:
        return few_shot(
            digits(),
            labels_a_class=5,
            draws=draws,
            classes=10,
            generator=np.random.default_rng(seed),
        )

    before = torch.get_rng_state(), np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    first = result(0)
    after = torch.get_rng_state(), np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    assert bool((before[0] == after[0]).all())
    np.testing.assert_equal(before[1], after[1])
    torch.rand(3)
    assert result(0) == first
    assert result(1) != first
    assert result(0, draws=1)["few_shot_nn_top1_std"] == 0


def test_too_few_images_of_a_class() -> None:
    with pytest.raises(ValueError, match=r"^labels_a_class is 5, but class 0 has only 4 images$"):
        few_shot(
            digits(4), labels_a_class=5, draws=1, classes=10, generator=np.random.default_rng(0)
        )


@pytest.mark.parametrize(("labels", "draws"), [(0, 1), (1, 0)])
def test_numbers_out_of_their_domain(labels: int, draws: int) -> None:
    said = f"^labels_a_class and draws must be 1 or more, found {labels} and {draws}$"
    with pytest.raises(ValueError, match=said):
        few_shot(
            digits(4),
            labels_a_class=labels,
            draws=draws,
            classes=10,
            generator=np.random.default_rng(0),
        )
