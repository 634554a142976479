"""The loop of `pretrain`: the same bits however often it was stopped, and nothing bad let in."""

import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from bench.data.draws import drawn_by
from bench.data.streams import Purpose, stream
from bench.errors import Diverged, Interrupted
from bench.methods.method import StepInput
from bench.results.folder import CellFolder
from bench.train.loop import Training, train
from tests.fakes.cells import METHODS, each, method_of, small_cell, training_of, weights

pytestmark = pytest.mark.slow

FURTHER = {
    "accumulated": {"N": 32, "epochs": 3},
    "cached negatives": {"N": 32, "cached_negatives": True},
    "online classifier": {"online_linear": True},
    "lars": {"optimizer": "lars", "exempt": True, "warmup_epochs": 1},
    "adam": {"optimizer": "adam", "lr_schedule": "step", "lr_drop_epochs": "1"},
    "adamw": {"optimizer": "adamw", "lr_schedule": "triangular", "warmup_epochs": 1},
    "muon": {"optimizer": "muon", "lr_schedule": "triangular", "warmup_epochs": 1},
    "nesterov": {"nesterov": True},
    "decay that grows, clipped gradients": {"weight_decay_end": 0.4, "clip_each": 0.05},
    "plateau": {
        "lr_schedule": "plateau", "plateau_patience": 1, "plateau_drops": 2,
        "knn_every_epochs": 1, "epochs": 4,
    },
    "drawn negatives": {"K": 3, "loss": "eqco", "alpha": 30},
    "bfloat16": {"precision": "bf16"},
}  # fmt: skip


OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
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
    "a witness that learns": ("ir-nce", {"witness": "mlp-1"}),
    "towers with a classifier beside": ("cmc-nce", {"online_linear": True}),
}  # fmt: skip


def falling(_: nn.Module) -> dict[str, float]:
    """Stand in for kNN: no epoch is better than the first."""
    return {"knn_top1": 50.0}


def run(
    folder: Path, method: str, stop_after: int = -1, device: str = "cpu", **changes: Any
) -> Training:
    """Train in a folder named like a cell; stop after so many steps of this attempt."""
    training, steps = training_of(small_cell(method, **changes), device), 0

    def heartbeat() -> None:
        nonlocal steps
        steps += 1
        if steps == stop_after:
            raise Interrupted

    folder.mkdir(parents=True, exist_ok=True)
    train(training, CellFolder(folder), heartbeat, watch=falling)
    return training


def assert_same_run(folder: Path, method: str, stops: list[int], **changes: Any) -> None:
    """A run that is stopped again and again ends like one that is not, bit for bit."""
    with patch.dict(os.environ, BENCH_CHECKPOINT_S="3600"):  # this one writes none
        whole = run(folder / "a" / "cell", method, **changes)
    for stop in stops:
        with pytest.raises(Interrupted):
            run(folder / "b" / "cell", method, stop_after=stop, **changes)
    resumed = run(folder / "b" / "cell", method, **changes)
    first, second = weights(whole), weights(resumed)
    assert first.keys() == second.keys()
    assert [name for name in first if not torch.equal(first[name], second[name])] == []
    histories = [(folder / side / "cell" / "history.jsonl").read_bytes() for side in "ab"]
    assert histories[0] == histories[1]


@pytest.fixture(autouse=True)
def _checkpoint_at_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_CHECKPOINT_S", "0")


@pytest.mark.parametrize("method", each(METHODS))
def test_a_stopped_run_ends_like_another(method: str, tmp_path: Path) -> None:
    """12 steps in two epochs; stopped at random ones, which differ from method to method."""
    draw = stream(METHODS.index(method), Purpose.ORDER)
    assert_same_run(tmp_path, method, [int(n) for n in draw.integers(1, 5, size=2)])


@pytest.mark.parametrize("changes", FURTHER.values(), ids=FURTHER)
def test_so_it_is_with_every_option(changes: dict[str, Any], tmp_path: Path) -> None:
    assert_same_run(tmp_path, "simclr", [2, 3], **changes)


@pytest.mark.parametrize(("method", "changes"), OTHERS.values(), ids=OTHERS)
def test_so_it_is_with_what_few_methods_have(
    method: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    assert_same_run(tmp_path, method, [1, 5], **changes)


GPU_METHODS = [
    "simclr",
    "moco-v2",
    "nnclr",
    "ring-s-neigh-anneal",
    "la",
    "cmc",
    "unigrad",
    "vicreg",
]


@pytest.mark.gpu
@pytest.mark.parametrize("method", GPU_METHODS)
def test_so_it_is_on_a_gpu(method: str, tmp_path: Path) -> None:
    assert_same_run(tmp_path, method, [2, 5], device="cuda")


def test_without_its_history_a_checkpoint_is_worth_nothing(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        run(tmp_path / "cell", "simclr", stop_after=8)
    (tmp_path / "cell" / "history.jsonl").unlink()
    run(tmp_path / "cell", "simclr")
    run(tmp_path / "other" / "cell", "simclr")
    both = [(tmp_path / side / "history.jsonl").read_bytes() for side in ("cell", "other/cell")]
    assert both[0] == both[1]


def test_a_torn_checkpoint_begins_anew(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        run(tmp_path / "cell", "simclr", stop_after=8)
    (tmp_path / "cell" / "checkpoint.pt").write_bytes(b"torn")
    resumed = run(tmp_path / "cell", "simclr")
    whole = run(tmp_path / "other" / "cell", "simclr")
    assert all(map(torch.equal, weights(resumed).values(), weights(whole).values()))


def test_a_checkpoint_of_other_images_begins_anew(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        run(tmp_path / "cell", "simclr", stop_after=8)
    path = tmp_path / "cell" / "checkpoint.pt"
    saved = torch.load(path, weights_only=True)
    saved["state"]["images"] = "other"
    torch.save(saved, path)
    with pytest.raises(Interrupted):  # gone on from step 8 there would be 4 steps left, not 12
        run(tmp_path / "cell", "simclr", stop_after=12)


def test_a_loss_that_is_not_finite_stops_before_it_reaches_the_weights(tmp_path: Path) -> None:
    training = training_of(small_cell())
    before = [p.detach().clone() for p in training.online.parameters()]
    objective = method_of(training).objective
    object.__setattr__(training.method, "objective", lambda pair: objective(pair) * torch.nan)
    with pytest.raises(Diverged, match=r"^step 1: loss is nan$"):
        train(training, CellFolder(tmp_path), watch=falling)
    assert all(map(torch.equal, before, training.online.parameters()))


def test_accumulated_gradients_are_the_mean_over_batches() -> None:
    """N = 2 batches: negatives stay within their batch, the step is that of the mean loss."""
    both = training_of(small_cell(N=32, lr_schedule="constant"))
    online = both.online
    losses = []
    for place in (0, 1):
        batch = both.batches.batch(0, place)
        found = method_of(both).compare(
            online, StepInput(batch.views, drawn_by(0, Purpose.NEGATIVES))
        )
        losses.append(torch.cat([method_of(both).objective(pair) for pair in found.pairs]).mean())
    mean = torch.stack(losses).mean()
    expected = torch.autograd.grad(mean, list(online.parameters()))
    fresh = training_of(small_cell(N=32, lr_schedule="constant"))
    fresh.step(0)
    found_grads = [p.grad for p in fresh.online.parameters()]
    for mine, theirs in zip(found_grads, expected, strict=True):
        assert_close(mine, theirs, rtol=1e-4, atol=1e-6)


def test_history_holds_a_line_an_epoch(tmp_path: Path) -> None:
    training = run(tmp_path / "cell", "simclr", knn_every_epochs=2, epochs=3)
    lines = CellFolder(tmp_path / "cell").history()
    assert [line["epoch"] for line in lines] == [1, 2, 3]
    assert [line["step"] for line in lines] == [6, 12, 18]
    assert [("knn_top1" in line) for line in lines] == [False, True, True]
    assert all(0 <= line["q_b"] <= 1 for line in lines)
    shares = training.probes.distribution()
    assert shares is not None
    assert shares.sum() == pytest.approx(1)


def test_probes_are_the_means_of_an_epoch(tmp_path: Path) -> None:
    """Recomputed step by step from the batches, beside the run."""
    from bench.losses import infonce, mi_lower_bound, q_b

    training = training_of(small_cell(alpha=20.0, loss="eqco", epochs=1, q_b_limit=0.9))
    found: dict[str, list[torch.Tensor]] = {"q_b": [], "mi_lower_bound": [], "train_loss": []}
    for step in range(training.steps):
        batch = training.batches.batch(0, step)
        training.online.train()
        state = {k: v.clone() for k, v in training.online.state_dict().items()}
        with torch.no_grad():
            pairs = (
                method_of(training)
                .compare(training.online, StepInput(batch.views, drawn_by(0, Purpose.NEGATIVES)))
                .pairs
            )
        training.online.load_state_dict(state)
        margin = 0.1 * float(np.log(20 / 30))
        for pair in pairs:
            given = (pair.pos_N, pair.neg_NK)
            found["q_b"].append(q_b(*given, tau=0.1))
            found["train_loss"].append(infonce(*given, tau=0.1, margin=margin))
            bound = mi_lower_bound(found["train_loss"][-1], candidates=1 + 20)  # alpha
            found["mi_lower_bound"].append(bound)
        training.step(step)
    line = training.probes.line()
    for name, values in found.items():
        assert line[name] == pytest.approx(float(torch.cat(values).double().mean()), rel=1e-4)
    spread = torch.cat(found["q_b"]).double().std(correction=0)
    assert line["q_b_std"] == pytest.approx(float(spread), rel=1e-3)
    assert line["q_b_cv"] == pytest.approx(line["q_b_std"] / line["q_b"])
    below = torch.cat(found["q_b"]) < 0.9
    assert 0 < below.double().mean() < 1
    assert line["q_b_low"] == pytest.approx(float(below.double().mean()))
