"""Draws by counters: literal values, no column twice, uniform, rows apart, one key one draw."""

import re

import numpy as np
import pytest
import torch
from scipy.stats import chisquare, kstest
from torch import Tensor

from bench.data import draws
from bench.data.draws import Draw, drawn_by
from bench.data.streams import Purpose

CPU = torch.device("cpu")
DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.gpu),
]


def draw(*key: int) -> Draw:
    return drawn_by(0, Purpose.NEGATIVES, *key)


def splitmix64(x: int) -> int:
    """The next output after state x (Steele, Lea and Flood, Fig. 17)."""
    whole = 2**64 - 1
    x = (x + 0x9E3779B97F4A7C15) & whole
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & whole
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & whole
    return x ^ (x >> 31)


def row_key(key: int, row: int) -> int:
    golden = 0x9E3779B97F4A7C15
    return splitmix64(((splitmix64(((row - 1) * golden) % 2**64) ^ key) - golden) % 2**64)


def number(row: int, column: int) -> int:
    """The 32-bit number of a column by Python's integers, as int32."""
    a, b = row >> 32, row & 0xFFFFFFFF
    x = column ^ a
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & 0xFFFFFFFF
    x ^= x >> 15
    x = ((x + b) * 0x846CA68B) & 0xFFFFFFFF
    x ^= x >> 16
    return x - 2**32 if x >= 2**31 else x


@pytest.mark.parametrize("device", DEVICES)
def test_literal_values(device: str) -> None:
    known = drawn_by(0, Purpose.NEGATIVES, 0, 0)
    assert known.key == 0xA9601648099DAE35
    found = known.subsets(3, 20, 5, torch.device(device))
    assert found.tolist() == [[2, 5, 8, 13, 18], [5, 6, 7, 9, 13], [4, 9, 10, 13, 14]]
    places = known.places(torch.tensor([10, 1_000_000, 2**31 - 1], device=device), 3)
    expected = [[5, 6, 8], [606148, 953312, 177257], [1990352061, 1277141599, 622877571]]
    assert places.tolist() == expected
    assert known.of(0).key == 4113637560146679048


@pytest.mark.parametrize("device", DEVICES)
def test_they_are_the_hash_by_pythons_integers(device: str) -> None:
    known, N, M, K = draw(3, 7), 5, 300, 40
    assert isinstance(known.key, int)
    rows = [row_key(known.key, row + 1) for row in range(N)]
    found = known.subsets(N, M, K, torch.device(device))
    for row, columns in zip(rows, found.tolist(), strict=True):
        order = sorted(range(M), key=lambda column, row=row: number(row, column))  # type: ignore[misc]
        assert columns == sorted(order[:K])
    golden, count = 0x9E3779B97F4A7C15, 1_000_003
    places = known.places(torch.full((N,), count, device=device), 4)
    for row, own in zip(rows, places.tolist(), strict=True):
        states = [(row + column * golden - golden) % 2**64 for column in range(4)]
        assert own == [splitmix64(state) * count >> 64 for state in states]


@pytest.mark.parametrize(("M", "K"), [(1, 1), (7, 7), (9, 1), (510, 64), (70_000, 300)])
def test_no_column_twice_and_all_in_order(M: int, K: int) -> None:
    found = draw(M).subsets(40, M, K, CPU)
    assert found.shape == (40, K)
    assert bool((found.diff(dim=1) > 0).all())
    assert found.min() >= 0
    assert found.max() < M


def counts(found: Tensor, M: int) -> Tensor:
    return torch.zeros(len(found), M).scatter_(1, found, 1.0)


@pytest.mark.parametrize(("M", "K"), [(20, 5), (200, 3), (61, 60)])
def test_every_column_and_every_pair_is_as_likely(M: int, K: int) -> None:
    """Of 24,000 rows, in several draws: how often columns are taken, alone and two together."""
    taken = torch.cat([counts(draw(step).subsets(3000, M, K, CPU), M) for step in range(8)])
    n, share = len(taken), K / M
    deviation = (taken.sum(dim=0) - n * share) / (n * share * (1 - share)) ** 0.5
    statistic = float(deviation.square().sum()) * (M - 1) / M  # columns are not independent
    assert 1e-4 < 1 - chi2_cdf(statistic, M - 1) < 1 - 1e-4
    both = (taken.T @ taken)[*torch.triu_indices(M, M, 1)]
    chance = share * (K - 1) / (M - 1)
    spread = (both - n * chance) / (n * chance * (1 - chance)) ** 0.5
    assert spread.square().mean() < 1.25
    assert spread.abs().max() < 5.5


def chi2_cdf(statistic: float, degrees: int) -> float:
    from scipy.stats import chi2

    return float(chi2.cdf(statistic, degrees))


def test_rows_are_independent_of_each_other() -> None:
    """How many columns two rows share is hypergeometric: neighbours, and a draw and the next."""
    N, M, K = 4000, 100, 20
    first, second = (counts(draw(0, step).subsets(N, M, K, CPU), M) for step in (0, 1))
    for a, b in ((first[:-1], first[1:]), (first[:-64], first[64:]), (first, second)):
        shared = (a * b).sum(dim=1)
        variance = K * K / M * (1 - K / M) * (M - K) / (M - 1)
        assert abs(float(shared.mean()) - K * K / M) < 4 * (variance / len(shared)) ** 0.5
        assert float(shared.var()) == pytest.approx(variance, rel=0.1)
    shifted = (first[:-1] * first[1:].roll(1, dims=1)).sum(dim=1)
    assert abs(float(shifted.mean()) - K * K / M) < 0.12


def test_places_are_uniform_and_rows_apart() -> None:
    N, K, count = 300, 400, 10
    places = draw(1).places(torch.full((N,), count), K)
    assert chisquare(np.bincount(places.flatten(), minlength=count)).pvalue > 1e-4
    pairs = places[:-1] * count + places[1:]
    assert chisquare(np.bincount(pairs.flatten(), minlength=count**2)).pvalue > 1e-4
    pairs = places[:, :-1] * count + places[:, 1:]
    assert chisquare(np.bincount(pairs.flatten(), minlength=count**2)).pvalue > 1e-4
    wide = draw(2).places(torch.full((N,), 2**31 - 1), K).flatten().double() / (2**31 - 1)
    assert kstest(wide.numpy(), "uniform").pvalue > 1e-4
    counted = torch.arange(1, N + 1)
    assert bool((draw(3).places(counted, K) < counted[:, None]).all())
    assert bool((draw(3).places(counted, K)[0] == 0).all())


def test_blocks_and_rows_asked_for_apart_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = draw(5).subsets(50, 90, 8, CPU)
    assert torch.equal(draw(5).from_row(20).from_row(3).subsets(27, 90, 8, CPU), whole[23:])
    count = torch.arange(1, 51)
    assert torch.equal(draw(5).from_row(7).places(count[7:], 6), draw(5).places(count, 6)[7:])
    monkeypatch.setattr(draws, "_BLOCK_CPU", 300)
    assert torch.equal(draw(5).subsets(50, 90, 8, CPU), whole)


def test_both_ways_to_the_least_keys_agree() -> None:
    keys = torch.from_numpy(np.random.default_rng(0).permutation(3000).reshape(30, 100)).int()
    for K in (1, 13, 100):
        assert torch.equal(draws._least(keys, K), draws._least_cpu(keys, K))


def test_key_and_part_decide_and_nothing_else() -> None:
    known = draw(1, 2).of(0).subsets(4, 50, 10, CPU)
    torch.rand(3)
    assert torch.equal(draw(1, 2).of(0).subsets(4, 50, 10, CPU), known)
    others = [
        draw(1, 2), draw(1, 2).of(1), draw(1, 2).of(0).of(0), draw(2, 1).of(0), draw(1).of(2),
        drawn_by(1, Purpose.NEGATIVES, 1, 2).of(0), drawn_by(0, Purpose.VIEWS, 1, 2).of(0),
    ]  # fmt: skip
    assert len({other.key for other in others}) == len(others)
    for other in others:
        assert not torch.equal(other.subsets(4, 50, 10, CPU), known)


@pytest.mark.parametrize("K", [0, 10])
def test_more_columns_than_there_are(K: int) -> None:
    said = f"K must be 1 to 9 (the number of columns), found {K}"
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        draw().subsets(2, 9, K, CPU)
