"""Who is compared with whom."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize
from torch.testing import assert_close

from bench.data.draws import Draw, drawn_by
from bench.data.streams import Purpose
from bench.methods.negatives import (
    Anchor,
    BatchNegatives,
    Memory,
    Negatives,
    QueueNegatives,
    off_diagonal,
)

N, D = 6, 4


def draw(key: int = 0) -> np.random.Generator:
    return np.random.default_rng(key)


def which(key: int = 0) -> Draw:
    return drawn_by(key, Purpose.NEGATIVES)


def units(key: int, n: int = N) -> Tensor:
    return normalize(torch.from_numpy(draw(key).standard_normal((n, D))), dim=1).float()


def compared(source: Negatives, *anchor: Any) -> tuple[Tensor, Tensor]:
    found = source.similarities(Anchor(*anchor))
    return found.pos_N, found.neg_NK


def test_off_diagonal_leaves_out_the_diagonal_alone() -> None:
    assert off_diagonal(torch.arange(9.0).view(3, 3)).tolist() == [[1, 2], [3, 5], [6, 7]]


@pytest.mark.parametrize("both", [False, True])
def test_batch_negatives_are_the_other_images_keys(both: bool) -> None:
    query, positive, own = units(1), units(2), units(3)
    pos, neg = compared(BatchNegatives(both_views=both, K=None), query, positive, own, which())
    for i in range(N):
        others = [positive[j] for j in range(N) if j != i]
        others += [own[j] for j in range(N) if j != i] if both else []
        assert_close(pos[i], query[i] @ positive[i])
        assert_close(neg[i], torch.stack([query[i] @ key for key in others]))


def test_K_of_the_batch_are_drawn_for_each_query() -> None:
    query, positive = units(1), units(2)
    _, neg = compared(BatchNegatives(both_views=False, K=2), query, positive, None, which())
    everything = off_diagonal(query @ positive.T)
    assert neg.shape == (N, 2)
    assert all(value in everything[i] for i in range(N) for value in neg[i])
    _, again = compared(BatchNegatives(both_views=False, K=2), query, positive, None, which())
    assert torch.equal(neg, again)


def test_both_views_need_own_keys() -> None:
    with pytest.raises(ValueError, match="need the keys of both views"):
        compared(BatchNegatives(both_views=True, K=None), units(1), units(2), None, which())


def newest_first(memory: Memory) -> Tensor:
    """Return the keys held in the order of their age."""
    held, place = int(memory.held), int(memory.place)
    return memory.keys[(place - 1 - torch.arange(held)) % memory.size]


def test_a_queue_is_first_in_first_out_for_any_batch_size() -> None:
    memory = Memory(5, D, start=draw())
    fed: list[Tensor] = []
    for key, size in enumerate((2, 2, 4, 5, 3)):
        keys = units(key, size)
        memory.remember(keys, which())
        fed += list(keys)
        newest = list(reversed(fed))[:5]
        for mine, theirs in zip(newest_first(memory), newest, strict=False):
            assert torch.equal(mine, theirs)


@pytest.mark.parametrize("begins", ["empty", "full"])
def test_keys_by_age_are_oldest_first(begins: str) -> None:
    memory = Memory(5, D, start=None if begins == "empty" else draw())
    fed = [] if begins == "empty" else list(memory.by_age())
    for key, size in enumerate((2, 2, 1, 3)):
        keys = units(key, size)
        memory.remember(keys, which())
        fed += list(keys)
        assert torch.equal(memory.by_age(), torch.stack(fed[-5:]))


def test_a_queue_smaller_than_the_batch_keeps_random_keys_of_it() -> None:
    """EqCo, Sec. 2.3: the bank holds K random keys drawn from the previous batch."""
    seen = set()
    for key in range(30):
        memory = Memory(2, D, start=draw())
        batch = units(9)
        memory.remember(batch, which(key))
        held = [int((batch == kept).all(dim=1).nonzero()) for kept in memory.content()]
        assert len(set(held)) == 2
        seen |= set(held)
    assert seen == set(range(N))


def test_an_empty_queue_grows_and_holds_the_opposite_before() -> None:
    queue = QueueNegatives(8, D, K=8, start=None)
    pos, neg = compared(queue, units(1), units(2), None, which())
    assert_close(pos, (units(1) * units(2)).sum(dim=1))
    assert neg.tolist() == [[-1]] * N
    queue.remember([units(3)], which())
    _, neg = compared(queue, units(1), units(2), None, which())
    assert_close(neg, units(1) @ units(3).T)


def test_a_queue_starts_with_random_unit_vectors() -> None:
    keys = Memory(200, D, start=draw()).content()
    assert_close(keys.norm(dim=1), torch.ones(200))
    assert keys.mean(dim=0).abs().max() < 0.2


def test_K_are_drawn_from_a_larger_queue() -> None:
    queue = QueueNegatives(50, D, K=3, start=draw())
    _, neg = compared(queue, units(1), units(2), None, which(1))
    everything = units(1) @ queue.memory.content().T
    assert neg.shape == (N, 3)
    assert all(value in everything[i] for i in range(N) for value in neg[i])


def test_a_queue_keeps_keys_without_their_history() -> None:
    queue = QueueNegatives(8, D, K=8, start=None)
    queue.remember([units(3).requires_grad_()], which())
    assert not queue.memory.content().requires_grad
