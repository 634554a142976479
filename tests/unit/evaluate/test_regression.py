"""Logistic regressions at once, against scikit-learn's one by one."""

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from bench.evaluate import regression
from bench.evaluate.features import Features, normalise
from bench.evaluate.regression import logistic_scores
from tests.fakes.features import CLASSES, clouds

# The stated agreement: measured on these shapes 6.8e-3 and 2.2e-4 at most, where scikit-learn's own
# default tolerance leaves up to 0.4 of a probability.
LOGITS, PROBABILITIES = 1e-2, 4e-4


def made(draws: int, n: int, dim: int, classes: int) -> list[Features]:
    """Clouds that overlap, their dimensions correlated, with every class in each draw."""
    drawn = []
    for key in range(draws):
        generator = np.random.default_rng((key, n, dim))
        label = np.concatenate([np.arange(classes), generator.integers(classes, size=n + 100)])
        mixed = generator.normal(size=(dim, dim)) * np.geomspace(1, 0.05, dim)
        x = (generator.normal(size=(classes, dim))[label] * 0.5) @ mixed
        x += generator.normal(size=(len(label), dim)) @ mixed
        both, labels = torch.from_numpy(x).float(), torch.from_numpy(label)
        drawn.append(Features(both[:n], labels[:n], both[n:], labels[n:]))
    return drawn


@pytest.mark.parametrize(
    ("draws", "n", "dim", "classes", "C"),
    [
        (1, 400, 20, 10, 1.0),
        (5, 60, 100, 6, 1.0),
        (3, 50, 8, 2, 1.0),
        (2, 90, 90, 4, 0.01),
        (1, 1347, 128, 10, 1.0),
    ],
)
def test_probabilities_and_logits_are_scikit_learns(
    draws: int, n: int, dim: int, classes: int, C: float
) -> None:
    given = made(draws, n, dim, classes)
    for draw, scores in zip(
        given, logistic_scores(given, classes, C=C, iterations=1000), strict=True
    ):
        x, y, test, _ = (t.numpy().astype(np.float64) for t in vars(draw).values())
        oracle = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(x, y)
        expected = torch.from_numpy(oracle.predict_proba(test))
        assert_close(scores, expected, rtol=0, atol=PROBABILITIES)
        centred = [p.log() - p.log().mean(dim=1, keepdim=True) for p in (scores, expected)]
        assert_close(*centred, rtol=0, atol=LOGITS)
        assert torch.equal(scores.argmax(dim=1), expected.argmax(dim=1))


def test_a_draw_beside_others_is_the_draw_alone() -> None:
    given = made(4, 60, 12, 5)
    together = logistic_scores(given, 5, C=1.0, iterations=1000)
    for draw, scores in zip(given, together, strict=True):
        (alone,) = logistic_scores([draw], 5, C=1.0, iterations=1000)
        assert_close(scores, alone, rtol=0, atol=PROBABILITIES)
    again = logistic_scores(given, 5, C=1.0, iterations=1000)
    assert all(map(torch.equal, together, again))


def test_the_optimum_has_no_gradient() -> None:
    (draw,) = made(1, 200, 30, 7)
    x = draw.train[None].double()
    own = torch.nn.functional.one_hot(draw.train_labels, 7)[None].double()
    with_ones = torch.cat([x, torch.ones_like(x[..., :1])], dim=2)
    weights = regression.fit(with_ones, own, 1.0, 1000).requires_grad_()
    logits = x @ weights[:, :-1] + weights[:, -1:]
    loss = -(logits.log_softmax(dim=2) * own).sum() + 0.5 * weights[:, :-1].square().sum()
    (gradient,) = torch.autograd.grad(loss, weights)
    assert gradient.abs().max() <= 200 * regression.GRADIENT


def test_the_iterations_end_it() -> None:
    given = made(1, 100, 5, 3)
    (none,) = logistic_scores(given, 3, C=1.0, iterations=0)
    assert_close(none, torch.full_like(none, 1 / 3))
    (some,), (all_,) = (logistic_scores(given, 3, C=1.0, iterations=i) for i in (2, 1000))
    assert 1e-4 < (some - all_).abs().max() < 0.3


@pytest.mark.parametrize("labels", [[1, 3, 1, 3], [0, 2, 3, 3]])
def test_a_class_never_seen_has_probability_0(labels: list[int]) -> None:
    x = torch.tensor([[0.0], [4.0], [1.0], [5.0]])
    parts = Features(x, torch.tensor(labels), x, torch.tensor(labels))
    (scores,) = logistic_scores([parts], CLASSES, C=1e4, iterations=1000)
    assert_close(scores.sum(dim=1), torch.ones(4, dtype=torch.float64))
    assert (scores.sum(dim=0) > 0).nonzero().flatten().tolist() == sorted(set(labels))
    assert scores[0].argmax() == labels[0]


@pytest.mark.gpu
def test_a_gpu_finds_the_same_optimum() -> None:
    there = Features(*(part.cuda() for part in vars(clouds()).values()))
    (on_gpu,) = logistic_scores([there], CLASSES, C=1.0, iterations=1000)
    (on_cpu,) = logistic_scores([clouds()], CLASSES, C=1.0, iterations=1000)
    assert_close(on_gpu.cpu(), on_cpu, rtol=0, atol=PROBABILITIES)


class Noted(TorchDispatchMode):
    """Keep every tensor of float64 that has so many numbers."""

    def __init__(self, least: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.least, self.kept = least, list[torch.Tensor]()

    def __torch_dispatch__(  # type: ignore[no-untyped-def]
        self, func, types, args=(), kwargs=None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        if isinstance(made, torch.Tensor) and made.dtype == torch.float64:
            self.kept += [made] * (made.numel() >= self.least)
        return made


def test_features_are_in_memory_twice_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """In float64, the second time while the Hessian is made."""
    monkeypatch.setattr(regression, "ROWS", 32)
    (draw,) = made(1, 200, 30, 7)
    expected = logistic_scores([normalise(draw, "standardise")], 7, C=1.0, iterations=5)
    with Noted(draw.train.numel()) as noted:
        found = logistic_scores([draw], 7, C=1.0, iterations=5, normalised="standardise")
    assert torch.equal(found[0], expected[0])
    assert len({made.untyped_storage().data_ptr() for made in noted.kept}) == 2
