"""Who is drawn from the bank, and the lemmas on what is drawn."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor
from torch.nn.functional import normalize
from torch.testing import assert_close

from bench.data.draws import Draw, drawn_by
from bench.data.streams import Purpose
from bench.losses import infonce
from bench.methods import bank_draws as draws
from bench.methods.bank import Bank, first_entries
from bench.methods.bank_draws import (
    Shares,
    annealed,
    count,
    draw_between,
    draw_from_cluster,
    draw_uniform,
    ranked,
    same_cluster,
)
from bench.methods.bank_negatives import BankNegatives
from bench.methods.negatives import Anchor
from tests.fakes.cells import small_cell

n, D, N = 30, 5, 4
OWN = torch.tensor([7, 0, 29, 12])


def rng(key: int = 0) -> np.random.Generator:
    return np.random.default_rng(key)


def which(key: int = 0) -> Draw:
    return drawn_by(key, Purpose.NEGATIVES)


def units(key: int, rows: int) -> Tensor:
    return normalize(torch.from_numpy(rng(key).standard_normal((rows, D))), dim=1)


def bank(clusterings: int = 2) -> Bank:
    """Return a bank whose images are in clusters 0 to 4 by their number, drawn apart from it."""
    k = 5 if clusterings else None
    made = Bank(
        first_entries(n, D, rng()), rate=0.5, renormalised=True, clusters=k, clusterings=clusterings
    )  # fmt: skip
    made.clusters.copy_(torch.from_numpy(rng(1).integers(5, size=(n, clusterings))))
    return made


def union(made: Bank, own: int) -> set[int]:
    together = made.clusters == made.clusters[own]
    return {own} | {j for j in range(n) if bool(together[j].any())}


def order(most: int = n - 1) -> Tensor:
    return ranked(units(1, n), units(2, N), OWN, most)


def assert_uniform(drawn_NK: Tensor, allowed: list[set[int]]) -> None:
    """Each query's draws are of its set, and as frequent as chance has it."""
    for row, names in zip(drawn_NK, allowed, strict=True):
        assert set(row.tolist()) == names
        assert len(names) == 1 or chisquare(np.bincount(row)[sorted(names)]).pvalue > 0.01


def test_annealing_of_the_ball_and_of_the_ring() -> None:
    """anneal-negatives and anneal-ring at their ends, beyond them, and half way."""

    def shares(epoch: float) -> Shares:
        outer = annealed(epoch, start=1.0, end=0.1, from_epoch=0, to_epoch=100)
        return Shares(outer, annealed(epoch, start=0.0, end=0.01, from_epoch=10, to_epoch=100))

    assert shares(0) == (1.0, 0.0)
    assert shares(10).inner == 0.0
    assert shares(50).outer == pytest.approx(0.55)
    assert shares(55).inner == pytest.approx(0.005)
    assert 0 < shares(10.5).inner < shares(11).inner
    assert shares(100) == shares(199) == Shares(outer=0.1, inner=0.01)
    steps = [annealed(e, start=1.0, end=0.3, from_epoch=5, to_epoch=5) for e in (4, 5)]
    assert steps == [1.0, 0.3]


def test_a_share_counts_others() -> None:
    assert [count(share, 101) for share in (0, 0.001, 0.1, 0.116, 1)] == [0, 1, 10, 12, 100]
    assert count(0.003, 1281167) == 3843  # of ImageNet, as the paper's note has it


@pytest.mark.parametrize("most", [1, 8, n - 1])
def test_ranked_is_by_inner_product_without_the_own_entry(most: int) -> None:
    entries, centre = units(1, n), 3 * units(2, N)
    found = ranked(entries, centre.clone().requires_grad_(), OWN, most)
    assert found.dtype == torch.int64
    for i, own in enumerate(OWN.tolist()):
        others = [j for j in range(n) if j != own]
        others.sort(key=lambda j: -float(centre[i] @ entries[j]))
        assert found[i].tolist() == others[:most]


def test_ranked_takes_entries_and_centres_of_different_width() -> None:
    narrow = ranked(units(1, n).float(), units(2, N), OWN, n - 1)
    assert torch.equal(narrow, order())
    coarse = units(1, n).bfloat16()
    assert torch.equal(ranked(coarse, units(2, N).float(), OWN, 3),
                       ranked(coarse.float(), units(2, N).float(), OWN, 3))  # fmt: skip


@pytest.mark.parametrize("numbers", [1, 2 * n, 3 * n + 1])
def test_blocks_give_what_one_block_gives(numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def both() -> list[Tensor]:
        return [order(), draw_from_cluster(bank(), OWN, 50, which(3))]

    whole = both()
    monkeypatch.setattr(draws, "BLOCK_NUMBERS", numbers)
    for blocks, one in zip(both(), whole, strict=True):
        assert torch.equal(blocks, one)


def test_draws_follow_a_permutation_of_the_bank() -> None:
    """The same images are drawn, wherever they stand; but for K-neighbours, drawn by place."""
    made, moved = bank(), bank()
    pi = torch.from_numpy(rng(5).permutation(n))  # image pi[i] goes to place i
    moved.entries.copy_(made.entries[pi])
    moved.clusters.copy_(made.clusters[pi])

    def cave(b: Bank, own: Tensor) -> Tensor:
        near = ranked(b.entries, units(2, N), own, 12)
        banned = same_cluster(b, own, near)
        return draw_between(near, 2, 9, which(3), banned_Nm=banned)

    place = torch.argsort(pi)
    assert torch.equal(pi[cave(moved, place[OWN])], cave(made, OWN))
    sets = [set(row.tolist()) for row in pi[draw_from_cluster(moved, place[OWN], 900, which())]]
    assert sets == [union(made, own) for own in OWN.tolist()]


def test_uniform_and_a_ball_of_everyone_are_one_distribution() -> None:
    others = [set(range(n)) - {own} for own in OWN.tolist()]
    assert_uniform(draw_uniform(n, OWN, 6000, which(1)), others)
    everyone = order(count(1.0, n))
    assert_uniform(draw_between(everyone, 0, 6000, which(2), banned_Nm=None), others)


@pytest.mark.parametrize("inner", [0, 1, 7, 11])
def test_a_ring_is_the_ball_without_its_inner_ball(inner: int) -> None:
    near = order(12)
    ring = [set(row[inner:].tolist()) for row in near]
    drawn = draw_between(near, inner, 3000, which(inner), banned_Nm=None)
    assert_uniform(drawn, ring)
    nobody = torch.zeros_like(near, dtype=torch.bool)
    assert torch.equal(draw_between(near, inner, 3000, which(inner), banned_Nm=nobody), drawn)


@pytest.mark.parametrize("clusterings", [1, 3])
def test_a_cave_never_holds_the_cluster(clusterings: int) -> None:
    made, near = bank(clusterings), order(12)
    banned = same_cluster(made, OWN, near)
    cave = [
        set(row[2:].tolist()) - union(made, own)
        for row, own in zip(near, OWN.tolist(), strict=True)
    ]
    assert all(0 < len(left) < 10 for left in cave)
    assert_uniform(draw_between(near, 2, 3000, which(1), banned_Nm=banned), cave)


@pytest.mark.parametrize("method", ["ball", "ring", "cave"])
def test_each_method_draws_from_its_own_set(method: str) -> None:
    """BALL from the ball, RING without its hole, CAVE without the query's clusters (Sec. 4)."""
    cell = small_cell(method, K=1300, ball_share=0.4, centre="view")
    cell = cell.model_copy(update={"inner_share": 0.1})
    made, query = bank(), units(2, N).float()
    near = ranked(made.entries, query, OWN, count(0.4, n)).tolist()
    hole, unions = count(0.1, n), [union(made, own) for own in OWN.tolist()]
    allowed = {
        "ball": [set(row) for row in near],
        "ring": [set(row[hole:]) for row in near],
        "cave": [set(row) - own for row, own in zip(near, unions, strict=True)],
    }[method]
    anchor = Anchor(query, query, None, which(), rows_N=OWN, bank=made)
    chosen = BankNegatives(cell).similarities(anchor).neg_NK
    scores = query @ made.entries.T
    drawn = (chosen[:, :, None] - scores[:, None, :]).abs().argmin(dim=2)
    assert_uniform(drawn, allowed)


def test_a_cave_with_nothing_left_is_the_ball() -> None:
    near = order(6)
    banned = torch.zeros_like(near, dtype=torch.bool)
    banned[0] = True
    banned[1, 2:] = True  # what is left lies in the inner ball
    banned[2, 3] = True
    banned_before = banned.clone()
    drawn = draw_between(near, 2, 3000, which(2), banned_Nm=banned)
    left = [set(row[2:].tolist()) for row in near]
    left[2].remove(int(near[2, 3]))
    assert_uniform(drawn, left)
    assert torch.equal(banned, banned_before)


@pytest.mark.parametrize("clusterings", [0, 1, 3])
def test_clusters_are_joined_over_clusterings(clusterings: int) -> None:
    made = bank(clusterings)
    everyone = torch.arange(n).expand(N, n)
    same = same_cluster(made, OWN, everyone)
    members = [union(made, own) for own in OWN.tolist()]
    if clusterings:
        assert [set(row.nonzero()[:, 0].tolist()) for row in same] == members
        assert all(1 < len(names) < n for names in members)
    else:
        assert not bool(same.any())
    assert_uniform(draw_from_cluster(made, OWN, 4000, which(4)), members)


DRAWS: list[Callable[[Draw], Tensor]] = [
    lambda draw: draw_uniform(n, OWN, 20, draw),
    lambda draw: draw_between(order(), 0, 20, draw, banned_Nm=None),
    lambda draw: draw_from_cluster(bank(), OWN, 20, draw),
]


@pytest.mark.parametrize("drawn", DRAWS)
def test_draws_are_the_generators_alone(drawn: Callable[[Draw], Tensor]) -> None:
    torch.manual_seed(1)
    once = drawn(which(1))
    torch.manual_seed(2)
    assert torch.equal(drawn(which(1)), once)
    assert not torch.equal(drawn(which(2)), once)
    assert once.dtype == torch.int64
    assert once.shape == (N, 20)


def test_queries_with_equal_candidates_draw_apart() -> None:
    same = torch.arange(n).expand(2, n)
    first, second = draw_between(same, 0, 20, which(), banned_Nm=None)
    assert not torch.equal(first, second)


def logits(key: int) -> tuple[Tensor, Tensor, Tensor]:
    """s_j of one query with every entry, its background set B (i first), and i."""
    M, v, own = units(key, n), units(key + 100, 1), torch.tensor([key])
    near = ranked(M, v, own, 12)[0]
    return M @ v[0] / 0.07, torch.cat([own, near]), own


def la(s_n: Tensor, close: Tensor, background: Tensor) -> Tensor:
    """Eq. 2 with the full softmax of Eq. 1."""
    p_n = s_n.softmax(dim=0)
    both = close[torch.isin(close, background)]
    return (p_n[both].sum() / p_n[background].sum()).log()


@pytest.mark.parametrize("key", range(5))
def test_lemma_4_3_and_b_3(key: int) -> None:
    s, background, own = logits(key)
    negatives = background[1:]
    ball = -infonce(s[own] * 0.07, s[negatives][None] * 0.07, tau=0.07)[0]
    assert_close(la(s, own, background), s[own][0] - s[background].logsumexp(dim=0))
    assert_close(la(s, own, background), ball)
    close = torch.cat([own, background[3:6], torch.tensor([(key + 1) % n])])  # the last maybe not B
    inside = close[torch.isin(close, background)]
    difference = s[inside].logsumexp(dim=0) - s[background].logsumexp(dim=0)
    assert_close(la(s, close, background), difference)


@pytest.mark.parametrize("key", range(5))
def test_lemma_4_4_where_its_assumption_holds(key: int) -> None:
    """L^LA0 >= L^LA - log |C| if M[i] has the largest dot product of C; else it may not hold."""
    s, background, own = logits(key)
    close = torch.cat([own, background[4:8]])
    for largest, holds in ((s.max() + 0.1, True), (s[close].max(), True), (s.min() - 9, False)):
        s[own] = largest
        bound = la(s, close, background) - np.log(len(close))
        assert bool(la(s, own, background) >= bound) is holds


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: annealed(0, start=1, end=0, from_epoch=9, to_epoch=8),
         "to_epoch must be at least 9 (from_epoch), found 8"),
        (lambda: count(1.5, 9), "share must be 0 to 1, found 1.5"),
        (lambda: count(-0.1, 9), "share must be 0 to 1, found -0.1"),
        (lambda: order(0), "`most` must be 1 to 29 (the number of other entries), found 0"),
        (lambda: order(n), "`most` must be 1 to 29 (the number of other entries), found 30"),
        (lambda: draw_uniform(1, OWN, 1, which()), "n must be at least 2, found 1"),
        (lambda: draw_between(order(3), 3, 1, which(), banned_Nm=None),
         "inner must be 0 or more and below 3 (the number of candidates), found 3"),
        (lambda: draw_between(order(3), -1, 1, which(), banned_Nm=None),
         "inner must be 0 or more and below 3 (the number of candidates), found -1"),
    ],
)  # fmt: skip
def test_arguments_out_of_their_range(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()
