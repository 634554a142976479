"""The memory bank: its start, its update, its clusters."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize
from torch.testing import assert_close

from bench.losses import in_batch, infonce
from bench.methods.bank import Bank, first_entries
from tests.fakes.cells import small_cell, training_of, weights

n, D = 40, 6


def bank(seed: int = 0, **changes: Any) -> Bank:
    settings: dict[str, Any] = {
        "images": n, "dim": D, "rate": 0.5, "renormalised": True, "clusters": None,
        "clusterings": 0,
    }  # fmt: skip
    settings |= changes
    drawn = {"uniform": settings.pop("uniform", False)}
    sizes = (settings.pop("images"), settings.pop("dim"))
    return Bank(first_entries(*sizes, np.random.default_rng(seed), **drawn), **settings)


def vectors(key: int, rows: int = 3, dim: int = D) -> Tensor:
    return torch.from_numpy(np.random.default_rng(key).standard_normal((rows, dim))).float()


def test_starts_with_random_unit_vectors_and_each_image_by_itself() -> None:
    made = bank(images=2000, clusters=7, clusterings=2)
    assert made.entries.dtype == torch.float32
    assert_close(made.entries.norm(dim=1), torch.ones(2000))
    assert made.entries.mean(dim=0).abs().max() < 0.05
    assert torch.equal(made.clusters, torch.arange(2000)[:, None].expand(-1, 2))
    assert not torch.equal(bank(0).entries, bank(1).entries)
    assert bank().clusters.shape == (n, 0)


def test_a_uniform_start_has_the_coordinates_of_a_cube() -> None:
    """As in the code that mutual-information's App. C.3 names; in two dimensions it shows best."""
    entries, gaussian = (bank(images=9000, dim=2, uniform=u).entries for u in (True, False))
    assert_close(entries.norm(dim=1), torch.ones(9000))
    assert entries.mean(dim=0).abs().max() < 0.05
    near_a_corner, of_any = (
        (x.abs().amin(dim=1) > 0.6).float().mean() for x in (entries, gaussian)
    )
    assert near_a_corner > of_any + 0.03


def test_a_cell_says_how_its_bank_starts() -> None:
    found = [
        weights(training_of(small_cell("ir", bank_start=start)))
        for start in ("uniform", "uniform", None)
    ]
    first, same, other = (next(v for k, v in x.items() if k.endswith("entries")) for x in found)
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("renormalised", [False, True])
@pytest.mark.parametrize("rate", [0.0, 0.25, 0.9])
def test_update_is_the_papers(rate: float, renormalised: bool) -> None:
    made = bank(rate=rate, renormalised=renormalised)
    rows, values, before = torch.tensor([5, 0, 39]), vectors(1), made.entries.clone()
    made.remember(rows, values)
    for row in range(n):
        entry = before[row]
        if row in rows:
            entry = rate * entry + (1 - rate) * values[int((rows == row).nonzero())]
            entry = entry / entry.norm() if renormalised else entry
        assert_close(made.entries[row], entry)


def test_rate_0_is_the_last_view() -> None:
    made, rows = bank(rate=0.0, renormalised=False), torch.tensor([3, 1, 2])
    for key in range(3):
        made.remember(rows, vectors(key))
        assert torch.equal(made.of(rows), vectors(key))


def test_entries_read_are_a_copy_and_have_no_history() -> None:
    made, rows = bank(), torch.tensor([1, 1, 2])
    before = made.entries.clone()
    made.of(rows).zero_()
    assert torch.equal(made.entries, before)
    made.remember(torch.tensor([0, 1, 2]), vectors(1).double().requires_grad_())
    assert not made.entries.requires_grad
    assert made.entries.dtype == torch.float32


def test_everything_is_in_the_checkpoint() -> None:
    filled, fresh = (bank(seed, clusters=4, clusterings=2) for seed in (0, 1))
    filled.fit_clusters(np.random.default_rng(0))
    fresh.load_state_dict(filled.state_dict())
    assert torch.equal(fresh.entries, filled.entries)
    assert torch.equal(fresh.clusters, filled.clusters)


def blobs() -> tuple[Tensor, Tensor]:
    """Two clouds of 20 points, 10 of their widths apart, in random order; and who is where."""
    where = torch.from_numpy(np.random.default_rng(0).permutation(n) % 2)
    return vectors(1, n) + 10 * torch.eye(D)[where], where


def test_k_means_separates_clouds_in_every_clustering() -> None:
    made = bank(clusters=2, clusterings=5)
    points, where = blobs()
    made.entries.copy_(points)
    made.fit_clusters(np.random.default_rng(0))
    assert made.clusters.dtype == torch.int64
    for cluster in made.clusters.T:
        same = cluster[:, None] == cluster
        assert torch.equal(same, where[:, None] == where)


def clusters(seed: int, key: int, points: Tensor) -> Tensor:
    made = bank(seed, clusters=5, clusterings=3)
    made.entries.copy_(points)
    made.fit_clusters(np.random.default_rng(key))
    return made.clusters


def test_k_means_depends_on_entries_and_generator_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    points = vectors(1, n)
    once = clusters(0, 0, points)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert torch.equal(clusters(1, 0, points), once)
    monkeypatch.undo()
    assert torch.equal(clusters(1, 0, points), once)
    assert not torch.equal(clusters(0, 1, points), once)
    pairs = [once[:, r, None] == once[:, r] for r in range(3)]
    assert not torch.equal(pairs[0], pairs[1])  # the clusterings differ, not their labels alone
    assert not torch.equal(pairs[1], pairs[2])


def test_each_entry_is_in_the_cluster_of_the_nearest_mean() -> None:
    points = vectors(1, n)
    for cluster in clusters(0, 0, points).T:
        means = torch.stack([points[cluster == k].mean(dim=0) for k in range(5)])
        assert torch.equal(torch.cdist(points, means).argmin(dim=1), cluster)


def test_few_and_many_points_a_cluster(capfd: pytest.CaptureFixture[str]) -> None:
    """Few are no reason to warn; of many none is left out: 600 points, 1 mean."""
    made = bank(clusters=n - 1, clusterings=1)
    made.fit_clusters(np.random.default_rng(0))
    assert len(made.clusters.unique()) == n - 1
    one = bank(images=600, clusters=1, clusterings=1)
    one.fit_clusters(np.random.default_rng(0))
    assert one.clusters.unique().tolist() == [0]
    assert capfd.readouterr() == ("", "")


def test_without_clusterings_there_is_nothing_to_fit() -> None:
    made = bank()
    made.fit_clusters(np.random.default_rng(0))
    assert made.clusters.shape == (n, 0)


@pytest.mark.parametrize("seed", range(3))
def test_theorem_2_1(seed: int) -> None:
    """Embeddings and entries permuted together leave the full-softmax objective as it is."""
    made = bank(seed).double()
    g = normalize(vectors(seed + 10, n), dim=1).double()
    pi = torch.from_numpy(np.random.default_rng(seed).permutation(n))
    objective = [
        -infonce(*in_batch(g[rows] @ made.entries[rows].T), tau=0.07).mean()
        for rows in (torch.arange(n), pi)
    ]
    assert_close(*objective, rtol=1e-12, atol=0)
    plain = (g @ made.entries.T / 0.07).log_softmax(dim=1).diagonal().mean()
    assert_close(objective[0], plain)
    apart = -infonce(*in_batch(g[pi] @ made.entries.T), tau=0.07).mean()
    assert (apart - plain).abs() > 0.01  # a permutation of the embeddings alone does change it


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"images": 1}, "a bank needs images >= 2 and dim >= 1, found 1 and 6"),
        ({"dim": 0}, "a bank needs images >= 2 and dim >= 1, found 40 and 0"),
        ({"rate": 1.0}, "rate must be at least 0 and below 1, found 1.0"),
        ({"rate": -0.1}, "rate must be at least 0 and below 1, found -0.1"),
        *(
            (
                {"clusters": k, "clusterings": R},
                "clusters must be 1 to 40 if clusterings is 1 or more, and None if "
                f"clusterings is 0, found clusters {k} with clusterings {R}",
            )
            for k, R in ((None, 1), (5, 0), (0, 1), (41, 1), (5, -1))
        ),
    ],
)  # fmt: skip
def test_arguments_out_of_their_range(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        bank(**wrong)
