"""The vote of the nearest, against scikit-learn and by hand."""

import math
import re
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from sklearn.neighbors import KNeighborsClassifier
from torch.testing import assert_close

from bench.evaluate import knn
from bench.evaluate.features import Accuracy, Features
from bench.evaluate.knn import Metric, knn_top1

Array = np.ndarray[Any, Any]
CLASSES = 7
METRICS: list[Metric] = ["cosine", "euclidean"]


def clouds(seed: int = 0, n: int = 300, m: int = 40, dim: int = 4) -> Features:
    """Clouds that overlap, far from the origin."""
    generator = np.random.default_rng(seed)
    label = generator.integers(CLASSES, size=n + m)
    x = 3 + generator.normal(size=(CLASSES, dim))[label] + generator.normal(size=(n + m, dim))
    both, labels = torch.from_numpy(x).float(), torch.from_numpy(label)
    return Features(both[:n], labels[:n], both[n:], labels[n:])


def vote(metric: Metric, tau: float | None) -> str | Callable[[Array], Array]:
    """Weights by scikit-learn's distance: 1 - cosine, or Euclidean."""
    if tau is None:
        return "uniform"
    if metric == "cosine":
        return lambda distance: np.exp((1 - distance) / tau)
    return lambda distance: np.exp(-0.5 * distance**2 / tau)


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("tau", [0.1, 1.0])
def test_every_query_is_answered_as_by_scikit_learn(metric: Metric, tau: float) -> None:
    """A test part of one image: its accuracy says whether scikit-learn's answer is the label."""
    both = clouds()
    for k in (1, 40, 300):
        oracle = KNeighborsClassifier(
            k, weights=vote(metric, tau), metric=metric, algorithm="brute"
        ).fit(both.train.double().numpy(), both.train_labels.numpy())
        chance = oracle.predict_proba(both.test.double().numpy())
        for i, (label, share) in enumerate(zip(both.test_labels.tolist(), chance, strict=True)):
            one = Features(
                both.train, both.train_labels, both.test[i : i + 1], both.test_labels[i : i + 1]
            )
            before = int((share > share[label]).sum()) if share[label] > 0 else CLASSES
            found = knn_top1(one, k=[k], tau=[tau], metric=metric, classes=CLASSES)[k, tau]
            assert found == (100 * (before < 1), 100 * (before < 5))


def test_a_matrix_is_its_cells_and_a_plain_vote_is_scikit_learns() -> None:
    both = clouds(1, n=200)
    ks, taus = [9, 1, 200], [None, 0.07, 1.0]
    matrix = knn_top1(both, k=ks, tau=taus, classes=CLASSES)
    assert set(matrix) == {(k, tau) for k in ks for tau in taus}
    for (k, tau), found in matrix.items():
        assert found == knn_top1(both, k=[k], tau=[tau], classes=CLASSES)[k, tau]
    oracle = KNeighborsClassifier(1, metric="cosine", algorithm="brute")
    oracle.fit(both.train.numpy(), both.train_labels.numpy())
    expected = 100 * oracle.score(both.test.numpy(), both.test_labels.numpy())
    assert matrix[1, None].top1 == pytest.approx(expected)
    assert len({found.top1 for found in matrix.values()}) > 3


def votes_one_by_one(
    sim_Bk: torch.Tensor, voters_Bk: torch.Tensor, labels_B: torch.Tensor, k: int, tau: float | None
) -> torch.Tensor:
    """How many classes stand before the label's: a loop over queries, neighbours and classes."""
    before = []
    for sims, voters, label in zip(
        sim_Bk.tolist(), voters_Bk.tolist(), labels_B.tolist(), strict=True
    ):
        votes, first = [0.0] * CLASSES, [k] * CLASSES
        for rank, (sim, voter) in enumerate(zip(sims[:k], voters[:k], strict=True)):
            votes[voter] += float(np.exp((sim - sims[0]) / tau)) if tau else 1.0
            first[voter] = min(first[voter], rank)
        better = [
            (-v, f) < (-votes[label], first[label]) for v, f in zip(votes, first, strict=True)
        ]
        before.append(sum(better) if first[label] < k else knn.NO_GUESS)
    return torch.tensor(before)


def test_votes_are_those_of_a_loop_ties_included() -> None:
    """Similarities of a few levels alone, so that classes often have equal votes."""
    generator = np.random.default_rng(3)
    for levels in (2, 5, 1000):
        sim_Bk = torch.from_numpy(generator.integers(levels, size=(60, 30)) / levels).float()
        sim_Bk = sim_Bk.sort(dim=1, descending=True).values
        voters_Bk = torch.from_numpy(generator.integers(CLASSES, size=(60, 30)))
        labels_B = torch.from_numpy(generator.integers(CLASSES, size=60))
        ks, taus = [30, 1, 4, 5], [None, 0.1, 1.0]
        found = knn._positions(sim_Bk, voters_Bk, labels_B, ks, taus, CLASSES)
        for k in ks:
            for tau, positions in zip(taus, found[k], strict=True):
                expected = votes_one_by_one(sim_Bk, voters_Bk, labels_B, k, tau)
                assert positions.tolist() == expected.tolist()


@pytest.mark.gpu
def test_a_gpu_adds_the_votes_in_the_same_order() -> None:
    generator = np.random.default_rng(4)
    voters = torch.from_numpy(generator.integers(CLASSES, size=(50, 200)))
    weights = torch.from_numpy(generator.random((3, 50, 200)))
    votes = torch.zeros(3, 50, CLASSES, dtype=torch.double)
    there = votes.cuda()
    knn._add_votes(there, voters.cuda(), weights.cuda())
    knn._add_votes(votes, voters, weights)
    assert_close(there.cpu(), votes)
    again = torch.zeros_like(there)
    knn._add_votes(again, voters.cuda(), weights.cuda())
    assert torch.equal(again, there)


def on_a_line(labels: list[int], label: int, k: int, tau: float | None) -> Accuracy:
    """The query stands at 0, the training images at 1, 2, 3, ... with these labels."""
    places = torch.arange(1.0, len(labels) + 1)[:, None]
    line = Features(places, torch.tensor(labels), torch.zeros(1, 1), torch.tensor([label]))
    return knn_top1(line, k=[k], tau=[tau], metric="euclidean", classes=8)[k, tau]


@pytest.mark.parametrize(
    ("labels", "k", "winner"),
    [
        ([5, 3], 2, 5),
        ([3, 5], 2, 3),
        ([5, 3, 3, 5], 4, 5),
        ([3, 5, 5, 3], 4, 3),
        ([5, 3, 3, 5], 3, 3),
        ([1, 3, 3, 5, 5], 5, 3),
        ([1, 5, 3, 3, 5], 5, 5),
    ],
)
def test_of_equal_votes_the_nearest_wins(labels: list[int], k: int, winner: int) -> None:
    for label in range(8):
        assert on_a_line(labels, label, k, None).top1 == 100 * (label == winner)


def test_many_votes_are_counted_exactly() -> None:
    assert on_a_line([0] * 2100 + [1] * 2101, 1, 4201, None) == (100, 100)


def test_weights_by_hand() -> None:
    """exp(-1/2) against exp(-2) + exp(-9/2) at tau 1; against 0.96 + 0.91 of 0.99 at tau 50."""
    assert math.exp(-0.5) > math.exp(-2) + math.exp(-4.5)
    assert on_a_line([0, 1, 1], 0, 3, 1.0).top1 == 100
    assert on_a_line([0, 1, 1], 1, 3, 50.0).top1 == 100


def test_a_class_without_a_vote_is_no_guess() -> None:
    assert on_a_line([0, 1, 2, 3], 1, 1, None) == (0, 0)
    assert on_a_line([0, 1, 2, 3], 1, 2, None) == (0, 100)
    assert on_a_line([0, 1, 2, 3, 4, 5], 5, 6, None) == (0, 0)
    assert on_a_line([0, 1, 2, 3, 4, 5], 4, 6, None) == (0, 100)
    assert on_a_line([0, 1, 2, 3, 4, 5], 7, 6, 0.1) == (0, 0)


def test_small_tau_neither_overflows_nor_forgets() -> None:
    """exp(1 / 1e-4) is no float, nor is exp(-2 / 1e-4): the nearest decides, all have a vote."""
    assert on_a_line([4, 2, 2], 4, 3, 1e-4) == (100, 100)
    assert on_a_line([4, 2, 2], 2, 3, 1e-4) == (0, 100)


def test_small_tau_still_weighs() -> None:
    """Two votes of e^-0.1 beat one of 1, though exp(0.9 / 1e-3) is no float."""
    cosine = torch.tensor([0.9, 0.8999, 0.8999])
    bank = torch.stack([cosine, (1 - cosine**2).sqrt()], dim=1)
    parts = Features(bank, torch.tensor([4, 2, 2]), torch.tensor([[1.0, 0.0]]), torch.tensor([2]))
    assert knn_top1(parts, k=[3], tau=[1e-3], classes=8)[3, 1e-3] == (100, 100)


@pytest.mark.parametrize("metric", METRICS)
def test_blocks_change_nothing(metric: Metric, monkeypatch: pytest.MonkeyPatch) -> None:
    both, ks, taus = clouds(2), [3, 50], [None, 0.2]
    whole = knn_top1(both, k=ks, tau=taus, metric=metric, classes=CLASSES)
    monkeypatch.setattr(knn, "BLOCK_NUMBERS", 7 * len(both.train))
    assert knn_top1(both, k=ks, tau=taus, metric=metric, classes=CLASSES) == whole


@pytest.mark.parametrize("metric", METRICS)
def test_faiss_finds_what_torch_finds(metric: Metric, monkeypatch: pytest.MonkeyPatch) -> None:
    both = clouds(3, n=500, dim=16)
    bank, queries = knn._ready(both, metric)
    sims, places = knn.nearest(bank, queries, 30, metric)
    monkeypatch.setattr(knn, "FAISS_FROM", len(bank))
    search = Mock(wraps=knn._by_faiss)
    monkeypatch.setattr(knn, "_by_faiss", search)
    sims_of_faiss, places_of_faiss = knn.nearest(bank, queries, 30, metric)
    search.assert_called_once()
    assert_close(sims_of_faiss, sims, rtol=1e-5, atol=1e-5)
    assert bool((places_of_faiss == places).all())


def test_unit_length_makes_the_metrics_one() -> None:
    both = clouds(4)
    train, test = (torch.nn.functional.normalize(x, dim=1) for x in (both.train, both.test))
    unit = Features(train, both.train_labels, test, both.test_labels)
    cosine = knn_top1(both, k=[20], tau=[0.1], metric="cosine", classes=CLASSES)
    assert knn_top1(unit, k=[20], tau=[0.1], metric="euclidean", classes=CLASSES) == cosine


@pytest.mark.parametrize("k", [[301], [5, 0], []])
def test_k_out_of_its_domain(k: list[int]) -> None:
    said = f"k must be 1 to 300 (the number of training images), found {k}"
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        knn_top1(clouds(), k=k, tau=[None], classes=CLASSES)


@pytest.mark.parametrize("tau", [[0.0], [None, -0.1], [math.nan], []])
def test_tau_out_of_its_domain(tau: list[float | None]) -> None:
    said = f"tau must be above 0, or None for a plain vote, found {tau}"
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        knn_top1(clouds(), k=[1], tau=tau, classes=CLASSES)


def test_labels_beyond_the_classes() -> None:
    with pytest.raises(ValueError, match=r"^labels must be 0 to 5, found 0 to 6$"):
        knn_top1(clouds(), k=[1], tau=[None], classes=6)
