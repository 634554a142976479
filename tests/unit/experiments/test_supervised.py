"""The experiment `supervised`: it learns, goes on to the bit, and its suites run."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn
from torch.testing import assert_close

from bench.cells.supervised import Supervised
from bench.data.images import load_digits
from bench.errors import DataFailure, Interrupted
from bench.experiments import Outcome, Result
from bench.experiments.supervised import run
from bench.losses import q_b
from bench.losses.classification import one_against_rest
from bench.networks.encoder import make_encoder
from bench.results.folder import CellFolder, Folders
from bench.train.loop import train
from bench.train.sources import open_source
from bench.train.supervised import SupervisedTraining, given_labels
from tests.fakes.paths import SUITES
from tests.fakes.workspace import Workspace

SMALL: dict[str, Any] = {
    "experiment": "supervised", "dataset": "digits", "train_images": 96, "image_size": 8,
    "views": "affine", "arch": "small", "stem": "half", "width": 4, "loss": "cross-entropy",
    "epochs": 2, "batch_size": 16, "optimizer": "sgd", "lr": 0.05, "weight_decay": 1e-4,
    "lr_schedule": "cosine", "seed": 0,
}  # fmt: skip
DUAL = {"loss": "dual-temperature", "tau_beta": 10.0}
NOISY = {"label_noise": "symmetric", "eta": 0.5}


def small_cell(**changes: Any) -> Supervised:
    return Supervised.model_validate(SMALL | changes)


def training_of(cell: Supervised) -> SupervisedTraining:
    return SupervisedTraining(cell, open_source(cell, Path(), "cpu"), "cpu")


def outcome(root: Path, cell: Supervised) -> Outcome:
    folders = Folders([CellFolder(root / cell.id)], encoders=root, data=root)
    folders[0].path.mkdir(parents=True, exist_ok=True)
    (found,) = run([cell], folders, "cpu")
    return found


def result(root: Path, cell: Supervised) -> Result:
    found = outcome(root, cell)
    assert isinstance(found, Result), found
    return found


def trained(folder: Path, cell: Supervised, stop_after: int = -1) -> SupervisedTraining:
    """Train in a folder named like a cell; stop after so many steps of this attempt."""
    training, steps = training_of(cell), 0

    def heartbeat() -> None:
        nonlocal steps
        steps += 1
        if steps == stop_after:
            raise Interrupted

    folder.mkdir(parents=True, exist_ok=True)
    train(training, CellFolder(folder), heartbeat)
    return training


def test_a_search_is_scored_on_training_images_that_are_held_out() -> None:
    whole, cell = small_cell(train_images=None), small_cell(train_images=None, held_out=0.1)
    labels = open_source(cell, Path(), "cpu").labels
    everything = open_source(whole, Path(), "cpu").labels
    assert len(labels["train"]) + len(labels["test"]) == len(everything["train"])
    assert cell.step_of("test_top1") == pytest.approx(100 / 135)
    assert cell.asked_of_data()[0].most == pytest.approx(len(labels["train"]), abs=5)
    assert cell.work / whole.work == pytest.approx(0.9, abs=0.01)
    assert cell.id != whole.id


@pytest.mark.slow
def test_a_small_cell_trains_above_chance(tmp_path: Path) -> None:
    cell = small_cell(train_images=None, image_size=16, width=8, epochs=3, batch_size=32)
    found = result(tmp_path, cell)
    assert set(found.metrics) == set(Supervised.metrics)
    assert found.metrics["test_top1"] > 60
    assert found.metrics["q_b"] < 0.7 < found.metrics["q_b_first"] < 1  # 0.9 is chance
    history = CellFolder(tmp_path / cell.id).history()
    assert [line["epoch"] for line in history] == [1, 2, 3]
    assert found.metrics["test_top1_best"] == max(line["test_top1"] for line in history)
    assert found.metrics["test_top1"] == history[-1]["test_top1"]
    assert found.metrics["q_b_first"] == history[0]["q_b"]
    assert found.provenance == {"dataset": load_digits().fingerprint}


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"loss": "dcl", "optimizer": "adam", "lr": 1e-3, **NOISY},
        {**DUAL, "optimizer": "lars", "exempt": True, "warmup_epochs": 1},
        {"lr_schedule": "step", "lr_drop_epochs": "1"},
    ],
)
def test_a_stopped_run_ends_like_another(
    changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """12 steps in two epochs, stopped within the first, then within the second."""
    monkeypatch.setenv("BENCH_CHECKPOINT_S", "0")
    cell = small_cell(**changes)
    whole = trained(tmp_path / "a" / "cell", cell)
    for stop in (4, 5):
        with pytest.raises(Interrupted):
            trained(tmp_path / "b" / "cell", cell, stop_after=stop)
    resumed = trained(tmp_path / "b" / "cell", cell)
    first, second = (run.online.state_dict() | run.probes.state_dict() for run in (whole, resumed))
    assert [name for name in first if not torch.equal(first[name], second[name])] == []
    histories = [(tmp_path / side / "cell" / "history.jsonl").read_bytes() for side in "ab"]
    assert histories[0] == histories[1]


def test_an_epochs_line_is_its_means() -> None:
    """Recomputed step by step from the batches; the test part is seen in evaluation mode."""
    training = training_of(small_cell(tau=0.5, **NOISY))
    found: list[list[Tensor]] = []
    for step in range(training.steps_an_epoch):
        batch = training.batches.batch(0, step)
        before = {k: v.clone() for k, v in training.online.state_dict().items()}
        with torch.no_grad():
            logits = training.online(batch.views[0])
        training.online.load_state_dict(before)
        loss = nn.functional.cross_entropy(logits / 0.5, batch.labels, reduction="none")
        right = 100.0 * (logits.argmax(dim=1) == batch.labels)
        found.append([loss, right, q_b(*one_against_rest(logits, batch.labels), tau=0.5)])
        training.step(step)
    line = training.probes.line()
    for i, name in enumerate(("train_loss", "train_top1", "q_b")):
        expected = torch.cat([values[i] for values in found]).double().mean()
        assert line[name] == pytest.approx(float(expected), rel=1e-5)
    assert training.online.training
    training.online.eval()
    with torch.no_grad():
        scores = torch.cat([training.online(x) for x in training.source.plain("test")])
    right = scores.argmax(dim=1) == load_digits().test.labels
    assert len(right) == 450
    assert line["test_top1"] == pytest.approx(100 * float(right.double().mean()))


def test_the_rate_falls_by_the_schedule() -> None:
    cell = small_cell(epochs=4, lr_schedule="step", lr_drop_epochs="1,3", warmup_epochs=1)
    training = training_of(cell)
    rates = [training.rate(step) for step in range(0, 24, 6)]
    assert rates == pytest.approx([0, 0.005, 0.005, 0.0005])


def test_wrong_labels_depend_on_the_seed_alone() -> None:
    """And never reach the test images."""
    source = open_source(small_cell(), Path(), "cpu")
    clean = source.labels["train"]
    first = given_labels(small_cell(**NOISY), source)
    assert 0.3 < float((first != clean).double().mean()) < 0.7
    assert torch.equal(given_labels(small_cell(**NOISY | DUAL, lr=0.1), source), first)
    assert not torch.equal(given_labels(small_cell(**NOISY, seed=1), source), first)
    training = training_of(small_cell(**NOISY))
    assert torch.equal(training.batches.labels, first)
    assert torch.equal(training.source.labels["test"], load_digits().test.labels)


def test_unlabelled_images_are_told() -> None:
    source = open_source(small_cell(), Path(), "cpu")
    source.labels["train"] = source.labels["train"].clone().fill_(-1)
    with pytest.raises(
        DataFailure, match=r"^digits: a training image has no label, but a classifier needs labels$"
    ):
        SupervisedTraining(small_cell(), source, "cpu")


def test_a_loss_that_is_not_finite_stops_before_it_reaches_the_weights(tmp_path: Path) -> None:
    cell = small_cell()
    training = training_of(cell)
    before = [p.detach().clone() for p in training.online.parameters()]
    objective = training.objective
    training.objective = lambda logits, labels: objective(logits, labels) * torch.nan
    with pytest.raises(Exception, match=r"^step 1: loss is nan$"):
        training.step(0)
    assert all(map(torch.equal, before, training.online.parameters()))
    found = outcome(tmp_path, small_cell(lr=1e30, lr_schedule="constant"))
    assert re.match(r"step \d+: loss is (nan|inf)$", str(found)), found


def test_resnet20_is_the_network_of_cifar() -> None:
    """He et al. 2015, Sec. 4.2: shortcuts without parameters, 269,722 with the classifier."""
    from bench.data.streams import Purpose, stream

    made = make_encoder(
        "resnet20", stem="cifar", width=16, bn_groups=1, generator=stream(0, Purpose.INIT)
    )
    assert made.feature_dim == 64
    classifier = 64 * 10 + 10
    assert sum(p.numel() for p in made.parameters()) + classifier == 269_722
    wide = [m for m in made.modules() if isinstance(m, nn.Conv2d) and m.kernel_size == (3, 3)]
    assert len(wide) == 19
    assert_close(made(torch.zeros(2, 3, 32, 32)).shape, torch.Size([2, 64]))


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["dcl-table-17", "dual-temperature-table-2"])
def test_the_suites_plan_and_run(suite: str, workspace: Workspace) -> None:
    workspace.suite((SUITES / f"{suite}.yaml").read_text(), suite)
    for scale in ("paper", "gpu", "cpu"):
        assert workspace.call("plan", suite, "--scale", scale).status == 0
    done = workspace.call("run", suite, "--scale", "smoke", "--seeds", "0", "--executor", "inline")
    assert done.status == 0, done.err
    assert workspace.call("report", suite, "--scale", "smoke").status == 0
    judged = workspace.call("claims", suite, "--scale", "smoke", "--json").json
    assert judged
    assert all(row["missing"] is None for row in judged)
    compared = workspace.call("compare", suite, "--scale", "paper", "--json").json
    assert len(compared) == 24  # twelve printed values, as the last and as the best epoch
    assert all(row["differences"] == [] for row in compared)


BELONGS = "{} must be set with {}, and left out otherwise"
BETA = BELONGS.format("tau_beta", "loss 'dual-temperature'")
ETA = "eta must be above 0 with label noise, and left out with label_noise 'none'"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (DUAL | {"tau_beta": None}, BETA),
        ({"tau_beta": 2.0}, BETA),
        ({"lr_schedule": "step"}, BELONGS.format("lr_drop_epochs", "lr_schedule 'step'")),
        ({"eta": 0.4}, ETA),
        ({"label_noise": "symmetric"}, ETA),
        ({"warmup_epochs": 3}, "warmup_epochs = 3 is above epochs = 2"),
        ({"base_lr": 0.1}, "base_lr and lr_scaling must be set together; without them, set lr"),
        (
            {"base_lr": 0.1, "lr_scaling": "none"},
            "lr is not the value that base_lr and lr_scaling give; change base_lr, and "
            "leave lr out",
        ),
    ],
)
def test_settings_that_disagree_are_told_in_one_line(change: dict[str, Any], text: str) -> None:
    with pytest.raises(ValidationError) as caught:
        small_cell(**change)
    (error,) = caught.value.errors()
    assert error["msg"] == f"Value error, {text}"


def test_the_rate_is_written_out_and_its_rule_enters_no_id() -> None:
    bare = {k: v for k, v in SMALL.items() if k != "lr"}
    cell = Supervised.model_validate(bare | {"base_lr": 0.8, "lr_scaling": "linear"})
    assert cell.lr == 0.05
    assert cell.id == small_cell().id
    assert Supervised.model_validate(bare | {"base_lr": 0.05}).id == cell.id
    assert small_cell(lr=0.06).id != cell.id
    assert json.loads(cell.model_dump_json())["lr_scaling"] == "linear"
