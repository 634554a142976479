"""Several ranks give what one gives: losses, gradients, memories, statistics, within rounding."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from bench.experimental import ALONE
from tests.fakes.cells import AXES, METHODS, each, sizes_of, small_cell
from tests.fakes.rank_tasks import apart, diverged, gathered_gradient, normalised, resumed, steps
from tests.fakes.ranks import Crew

pytestmark = pytest.mark.slow

CLOSE = 2e-3  # of the largest number of its kind, after two steps in float32
BF16 = 0.1


def points() -> list[str]:
    """Return the presets that differ in more than sizes and annealing."""
    found: dict[tuple[Any, ...], str] = {}
    for method in METHODS:
        cell = small_cell(method)
        found.setdefault(tuple(getattr(cell, axis) for axis in AXES), method)
    return sorted(found.values())


FOUR: dict[str, tuple[str, dict[str, Any]]] = {
    "batch norm of all": (
        "simclr", {"predictor_layers": 2, "predictor_hidden_dim": 8, "predictor_bn": "hidden"},
    ),
    "groups of two ranks": ("simclr", {"bn": "plain", "bn_groups": 2, "bn_over": "each-view"}),
    "groups of a rank": ("simclr", {"bn": "plain", "bn_groups": 4, "bn_over": "each-view"}),
    "two groups a rank": ("moco-v2", {"bn_groups": 8}),
    "shuffled among two": ("moco-v2", {"bn_groups": 2}),
    "groups across views": ("simclr", {"bn": "plain", "bn_groups": 2, "bn_over": "views-together"}),
    "queue": ("moco-v2", {"K": 7, "queue_size": 40}),
    "bank and clusters": ("cave", {"uniform_epochs": 0}),
    "a witness that learns": ("ir-nce", {"witness": "mlp-1", "optimizer": "lars"}),
    "towers, a classifier beside": ("cmc-nce", {"online_linear": True}),
    "mixed images": ("unigrad", {"cutmix": True, "negative_branch": "target"}),
    "local views": (
        "unigrad", {"views": "multi-crop", "local_size": 8, "negative_branch": "target"},
    ),
    "drawn negatives": ("simclr", {"K": 3, "loss": "eqco", "alpha": 30}),
    "accumulated": ("simclr", {"N": 32, "optimizer": "adam"}),
    "cached negatives": ("simclr", {"N": 32, "cached_negatives": True, "optimizer": "adam"}),
}  # fmt: skip


def crew_of(size: int, folder: Path) -> Iterator[Crew]:
    crew = Crew(size, folder)
    yield crew
    crew.end()


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    yield from crew_of(2, tmp_path_factory.mktemp("two"))


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    yield from crew_of(4, tmp_path_factory.mktemp("four"))


def assert_like_one(
    crew: Crew, method: str, changes: dict[str, Any], close: float = CLOSE, count: int = 2
) -> None:
    """Two steps on the crew end like two of one rank, and on all ranks alike to the bit."""
    torch.set_num_threads(1)
    one, ranked = steps(ALONE, method, changes, count), crew.do(steps, method, changes, count)
    for step, expected in enumerate(one):
        off = {k: v for k, v in apart(expected, ranked[0][step]).items() if not v <= close}
        assert off == {}, f"step {step}"
        for other in ranked[1:]:
            differ = [k for k, v in other[step].items() if not torch.equal(v, ranked[0][step][k])]
            assert differ == [], f"step {step}"


@pytest.mark.parametrize("method", each(points()))
def test_two_ranks_train_like_one(method: str, two: Crew) -> None:
    begin = {"uniform_epochs": 0} if "clusters" in sizes_of(method) else {}
    assert_like_one(two, method, begin)


@pytest.mark.parametrize(("method", "changes"), FOUR.values(), ids=FOUR)
def test_four_ranks_train_like_one(method: str, changes: dict[str, Any], four: Crew) -> None:
    assert_like_one(four, method, changes)


def test_so_do_two_in_bfloat16(two: Crew) -> None:
    assert_like_one(two, "simclr", {"precision": "bf16"}, BF16, count=1)


@pytest.mark.parametrize("blocks", [1, 2])
def test_the_gradient_through_gathered_rows_is_the_share_of_the_whole(
    blocks: int, two: Crew
) -> None:
    torch.manual_seed(0)
    whole = 0.3 * torch.randn(8, 3, dtype=torch.float64)
    _, expected = gathered_gradient(ALONE, whole, blocks)
    answers = two.do(gathered_gradient, whole, blocks)
    for rank, (gathered, own) in enumerate(answers):
        assert torch.equal(gathered, whole)
        mine = [block.chunk(2)[rank] for block in expected.chunk(blocks)]
        torch.testing.assert_close(own, torch.cat(mine), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("groups", [1, 2, 3, 4, 12])
@pytest.mark.parametrize("shape", [(24, 5), (24, 5, 2, 3)], ids=["vectors", "images"])
def test_batch_norm_takes_the_groups_of_the_whole_batch(
    shape: tuple[int, ...], groups: int, four: Crew
) -> None:
    torch.manual_seed(1)
    whole = 3 + torch.randn(shape, dtype=torch.float64)
    out, dx, *rest = normalised(ALONE, whole, groups)
    for rank, (own_out, own_dx, *own_rest) in enumerate(four.do(normalised, whole, groups)):
        torch.testing.assert_close(own_out, out, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(own_dx, dx.chunk(4)[rank], rtol=1e-9, atol=1e-9)
        for own, expected in zip(own_rest, rest, strict=True):
            torch.testing.assert_close(own, expected, rtol=1e-9, atol=1e-9)


def test_all_stop_after_the_step_that_one_is_told_to_stop_at_and_go_on(
    two: Crew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the bit: 12 steps in two epochs, stopped after 8 by the second rank."""
    whole = two.do(resumed, tmp_path / "a" / "cell", None)
    stopped = two.do(resumed, tmp_path / "b" / "cell", 8)
    assert [done for done, _ in stopped] == [8, 8]
    assert (tmp_path / "b" / "cell" / "checkpoint.pt").exists()
    again = two.do(resumed, tmp_path / "b" / "cell", None)
    assert [done for done, _ in again] == [4, 4]
    for rank in (0, 1):
        first, second = whole[rank][1], again[rank][1]
        assert [k for k in first if not torch.equal(first[k], second[k])] == []
    lines = [(tmp_path / side / "cell" / "history.jsonl").read_bytes() for side in "ab"]
    assert lines[0] == lines[1]


def test_what_the_first_rank_finds_wrong_ends_the_training_of_all(
    two: Crew, tmp_path: Path
) -> None:
    assert two.do(diverged, tmp_path / "cell") == ["seen by rank 0"] * 2
