"""The step of static shapes gives what the plain one does, and goes on after a stop to the bit."""

import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch.testing import assert_close

from bench.cells.pretrain import Pretrain
from bench.cells.step_kinds import why_no_graph
from bench.data.views import apply
from bench.errors import DataFailure, Diverged, Interrupted
from bench.results.folder import CellFolder
from bench.train import feeding
from bench.train.checkpoints import load_checkpoint
from bench.train.loop import Training, train
from tests.fakes.cells import METHODS, small_cell, static_training_of, training_of, weights

pytestmark = pytest.mark.slow

RECORDED = [m for m in METHODS if why_no_graph(small_cell(m), streamed=False) is None]
EVERYWHERE: dict[str, Any] = {"epochs": 2, "batch_size": 8, "train_images": 48}
FURTHER: dict[str, tuple[str, dict[str, Any]]] = {
    "accumulated": ("simclr", {"N": 16}),
    "drawn negatives": ("simclr", {"K": 3, "loss": "eqco", "alpha": 30, "views": "simclr"}),
    "online classifier": ("simclr", {"online_linear": True}),
    "adam": ("simclr", {"optimizer": "adam", "lr_schedule": "step", "lr_drop_epochs": "1"}),
    "lars": ("simclr", {"optimizer": "lars", "exempt": True, "warmup_epochs": 1}),
    "rising momentum": ("moco-v2", {"momentum_schedule": "cosine"}),
    "resized, two rates": ("simclr", {"resized_to": 12, "image_size": 10, "views": "simclr"}),
    "multi-crop": (
        "unigrad", {"views": "multi-crop", "local_size": 8, "negative_branch": "target"},
    ),
    "cutmix": ("unigrad", {"cutmix": True, "negative_branch": "target"}),
    "two dictionaries": (
        "moco-v2",
        {
            "loss": "dual-temperature", "tau_beta": 0.2, "K_scalar": 8, "scalar_size": 60,
            "scalar_drawn": "random",
        },
    ),
    "keys by age": ("moco-v2", {"drawn": "earliest", "queue_size": 60, "K": 20}),
    "bfloat16": ("simclr", {"precision": "bf16"}),
}  # fmt: skip


def small(method: str, changes: dict[str, Any]) -> Pretrain:
    return small_cell(method, **EVERYWHERE | changes)


def trained(training: Training, steps: int | None = None) -> dict[str, torch.Tensor]:
    """Do steps; return what the training holds then, its sums of losses among it."""
    training.online.train()
    for step in range(steps or training.steps):
        training.step(step)
    training.losses.check()
    return weights(training)


@pytest.fixture
def by_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the plain step make views as a GPU does, for all images and kept for some.

    On a CPU it makes them for some images alone, to 3e-6 the same (`test_masks.py`).
    """
    monkeypatch.setattr(apply, "by_masks", lambda _: True)


@pytest.mark.usefixtures("by_masks")
@pytest.mark.parametrize("method", RECORDED)
def test_it_gives_what_the_plain_step_gives(method: str) -> None:
    """In two epochs: weights, queues, banks, probes."""
    assert_same(small(method, {}))


@pytest.mark.usefixtures("by_masks")
@pytest.mark.parametrize(("method", "changes"), FURTHER.values(), ids=FURTHER)
def test_so_it_does_with_what_few_methods_have(method: str, changes: dict[str, Any]) -> None:
    assert_same(small(method, changes))


def assert_same(cell: Pretrain) -> None:
    """The same to the bit; to rounding, for two steps, where a rate on the device enters others.

    SGD's kernel takes a rate in float32 either way. LARS and Adam multiply in another order, and so
    does a target network whose momentum changes.
    """
    steps = None if is_exact(cell) else 2
    plain = trained(training_of(cell), steps)
    assert_equal(cell, plain, trained(static_training_of(cell), steps))


def is_exact(cell: Pretrain) -> bool:
    return cell.optimizer == "sgd" and cell.momentum_schedule == "fixed"


def assert_equal(
    cell: Pretrain, plain: dict[str, torch.Tensor], static: dict[str, torch.Tensor]
) -> None:
    tolerance = 0.0 if is_exact(cell) else 1e-4
    for name, value in plain.items():
        assert_close(static[name], value, rtol=tolerance, atol=tolerance / 10, msg=name)


def test_losses_are_those_of_the_default_on_a_cpu() -> None:
    """Views of some images alone are to 3e-6 the same, which three steps do not amplify far."""
    cell = small("simclr", {"views": "simclr"})
    plain, static = (make(cell) for make in (training_of, static_training_of))
    for training in (plain, static):
        trained(training, 3)
    assert static.probes.line() == pytest.approx(plain.probes.line(), rel=1e-3)


@pytest.mark.usefixtures("by_masks")
@pytest.mark.parametrize("method", RECORDED)
def test_it_does_not_depend_on_neighbours(method: str) -> None:
    """The same to the bit as alone; the neighbour gives what its plain step gives."""
    cell, other = small(method, {}), small(method, {"seed": 1})
    alone = trained(static_training_of(cell))
    steps = None if is_exact(other) else 2
    training, neighbour = static_training_of(cell), static_training_of(other)
    for one in (training, neighbour):
        one.online.train()
    for step in range(training.steps):
        training.step(step)
        if steps is None or step < steps:
            neighbour.step(step)
    beside = weights(training)
    assert [name for name in alone if not torch.equal(alone[name], beside[name])] == []
    assert_equal(other, trained(training_of(other), steps), weights(neighbour))


def run(
    folder: Path, cell: Pretrain, stop_after: int = -1, device: str = "cpu"
) -> tuple[Training, int]:
    """Train, to the end or for some steps; return the training and how many steps it did."""
    training, steps = static_training_of(cell, device), 0

    def heartbeat() -> None:
        nonlocal steps
        steps += 1
        if steps == stop_after:
            raise Interrupted

    folder.mkdir(parents=True, exist_ok=True)
    train(training, CellFolder(folder), heartbeat)
    return training, steps


def assert_same_run(folder: Path, cell: Pretrain, stops: list[int], device: str = "cpu") -> None:
    with patch.dict(os.environ, BENCH_CHECKPOINT_S="3600"):
        whole, steps = run(folder / "a" / "cell", cell, device=device)
    with patch.dict(os.environ, BENCH_CHECKPOINT_S="0"):
        for stop in stops:
            with pytest.raises(Interrupted):
                run(folder / "b" / "cell", cell, stop, device)
        resumed, left = run(folder / "b" / "cell", cell, device=device)
    assert left == steps - sum(stops)  # it went on, and did not begin anew
    expected, found = weights(whole), weights(resumed)
    assert [name for name in expected if not torch.equal(expected[name], found[name])] == []
    histories = [(folder / side / "cell" / "history.jsonl").read_bytes() for side in "ab"]
    assert histories[0] == histories[1]


@pytest.mark.parametrize("method", RECORDED)
def test_a_stopped_run_ends_like_another(method: str, tmp_path: Path) -> None:
    assert_same_run(tmp_path, small(method, {}), [3, 2])


def test_a_rate_that_falls_on_a_plateau_is_the_present_one(tmp_path: Path) -> None:
    """Chunks are drawn ahead of time; the rate of their steps is asked when they are sent."""
    changes = {
        "lr_schedule": "plateau", "plateau_patience": 1, "plateau_drops": 2, "epochs": 4,
        "knn_every_epochs": 1,
    }  # fmt: skip
    training = static_training_of(small("simclr", changes))
    rates = []
    (tmp_path / "cell").mkdir()

    def heartbeat() -> None:
        rates.append(float(training.feeding.numbers()["rate"]))

    train(training, CellFolder(tmp_path / "cell"), heartbeat, watch=lambda _: {"knn_top1": 50.0})
    told = [line["lr"] for line in CellFolder(tmp_path / "cell").history()]
    per_epoch = training.steps_an_epoch
    assert rates[per_epoch - 1 :: per_epoch] == pytest.approx(told)
    assert told[-1] < told[0]


@pytest.mark.parametrize("most", [1, 4])
def test_chunks_change_nothing(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of any length give the same, also where an epoch is no multiple of them."""
    cell = small("simclr", {})
    expected = trained(static_training_of(cell))
    monkeypatch.setattr(feeding, "MOST_STEPS", most)
    training = static_training_of(cell)
    found = trained(training)
    assert training.feeding.most == most
    assert [name for name in expected if not torch.equal(expected[name], found[name])] == []


def test_a_checkpoint_of_the_plain_step_begins_anew(tmp_path: Path) -> None:
    cell = small("simclr", {})
    folder = CellFolder(tmp_path / "cell")
    folder.path.mkdir()
    with patch.dict(os.environ, BENCH_CHECKPOINT_S="3600"):
        with pytest.raises(Interrupted):
            train(training_of(cell), folder, heartbeat=_stop)
        saved = load_checkpoint(folder)
        assert saved is not None
        assert saved["step"] == 1
        with pytest.raises(Interrupted):  # gone on from step 1 there would be 11 left, not 12
            run(folder.path, cell, stop_after=12)


def _stop() -> None:
    raise Interrupted


def test_a_loss_that_is_not_finite_leaves_the_weights(tmp_path: Path) -> None:
    training = static_training_of(small("simclr", {}))
    before = [p.detach().clone() for p in training.online.parameters()]
    objective = training.method.objective
    object.__setattr__(training.method, "objective", lambda pair: objective(pair) * torch.nan)
    with pytest.raises(Diverged, match=r"^step 1: loss is nan$"):
        train(training, CellFolder(tmp_path))
    assert all(map(torch.equal, before, training.online.parameters()))
    assert not (tmp_path / "checkpoint.pt").exists()


def test_what_cannot_be_recorded_is_refused() -> None:
    told = (
        r"^BENCH_STEP=graph: method 'directpred' takes the eigenvectors of a matrix in each step, "
        r"which the host has to wait for$"
    )
    with pytest.raises(DataFailure, match=told):
        static_training_of(small("directpred", {}))


@pytest.mark.gpu
@pytest.mark.parametrize("method", RECORDED)
def test_a_graph_gives_what_the_plain_step_gives(method: str) -> None:
    """To rounding, replayed at least once on the way where the host decides nothing new."""
    cell = small(method, {"train_images": 96})
    plain, training = trained(training_of(cell, "cuda")), static_training_of(cell, "cuda")
    static = trained(training)
    annealed = cell.anneal_epochs is not None or cell.inner_to_epoch is not None
    assert training.recorded.replays > 0 or annealed
    for name, value in plain.items():
        assert_close(static[name], value, rtol=1e-4, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("method", ["simclr", "moco-v2", "nnclr", "ir", "unigrad"])
def test_a_graph_goes_on_after_a_stop(method: str, tmp_path: Path) -> None:
    assert_same_run(tmp_path, small(method, {"train_images": 96}), [8, 5], "cuda")
