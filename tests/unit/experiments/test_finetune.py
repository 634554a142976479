"""The experiment `finetune`: what learns and what does not, from which labels, to the same bits."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from scipy.optimize import minimize
from torch import nn

from bench.cells.cell import too_much
from bench.cells.finetune import FineTune
from bench.cells.pretrain import Pretrain
from bench.cells.supervised import Supervised
from bench.data.images import load_digits
from bench.data.labelled import stratified_rows
from bench.errors import DataFailure, Interrupted
from bench.evaluate.features import extract
from bench.experiments import Result, probe_of
from bench.experiments.encoder_folder import TrainedFolder
from bench.experiments.finetune import labelled_rows
from bench.methods.online_network import Online
from bench.results.folder import CellFolder
from bench.results.store import Store
from bench.suites.expand import expand
from bench.suites.load import load_suite
from bench.train.finetune import FineTuning
from bench.train.loop import train
from bench.train.sources import open_source
from bench.train.supervised import SupervisedTraining
from tests.fakes.cells import small_cell
from tests.fakes.paths import SUITES
from tests.fakes.transfer import after_steps, moved, result, run
from tests.fakes.workspace import Workspace

TRAINED = small_cell()
PROTOCOL: dict[str, Any] = {
    "experiment": "finetune", "label_fraction": 1.0, "tune_views": "affine", "tune_epochs": 2,
    "tune_batch_size": 16, "tune_optimizer": "sgd", "tune_lr": 0.05, "tune_weight_decay": 1e-4,
    "tune_lr_schedule": "cosine",
}  # fmt: skip


def tuning_cell(trained: Pretrain = TRAINED, **changes: Any) -> FineTune:
    own = trained.model_dump(exclude={"experiment", "version"})
    return FineTune.model_validate(own | PROTOCOL | changes)


def tuning_of(cell: FineTune, encoder: Online | None = None) -> FineTuning:
    source = open_source(cell.trained, Path(), "cpu")
    return FineTuning(cell, source, labelled_rows(cell, source), "cpu", encoder)


def test_it_shares_the_training_and_not_the_id() -> None:
    cell = tuning_cell()
    assert cell.training_id == cell.stack_key == TRAINED.training_id
    assert cell.trained == TRAINED
    others = [tuning_cell(tune_lr=0.1), tuning_cell(label_fraction=0.5), tuning_cell(seed=1)]
    assert len({cell.id, TRAINED.id, *(other.id for other in others)}) == 5
    assert tuning_cell(small_cell(lr=0.1)).id != cell.id
    assert tuning_cell(knn_k=7, features="projector").id == cell.id  # no evaluation is made
    assert cell.training_work == TRAINED.training_work > 0
    few = tuning_cell(label_fraction=0.1)
    assert few.work / cell.work == pytest.approx((2 * 10 + 450) / (2 * 96 + 450))


def test_what_evaluations_ask_of_the_images_is_not_asked() -> None:
    trained = small_cell(knn_k=200, few_shot=50)  # of 96 images
    assert too_much(trained) is not None
    assert too_much(tuning_cell(trained)) is None
    assert too_much(tuning_cell(trained, start="scratch")) is None
    few: dict[str, Any] = {"train_images": 1348, "start": "scratch"}
    assert (
        too_much(tuning_cell(**few))
        == "train_images is 1348, but data set digits has only 1347 training images"
    )


def test_from_scratch_depends_on_the_network_alone() -> None:
    cell = tuning_cell(start="scratch")
    assert (cell.training_id, cell.batch_over_ranks, cell.training_work) == (None, None, 0)
    assert cell.stack_key == cell.id != tuning_cell().id
    other = small_cell("byol", lr=0.1, epochs=9, zero_init_residual=False)
    assert tuning_cell(other, start="scratch").id == cell.id
    for changes in ({"width": 8}, {"train_images": 64}, {"seed": 1}, {"tune_lr": 0.1}):
        assert tuning_cell(small_cell(), start="scratch", **changes).id != cell.id


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"tune_layers": "head", "tune_backbone_lr": 0.1}, "cannot be set with tune_layers"),
        ({"tune_warmup_epochs": 3}, "tune_warmup_epochs = 3 is above tune_epochs = 2"),
        ({"labelled": "published"}, "needs dataset 'imagenet1k' and label_fraction 0.01 or 0.1"),
        ({"label_fraction": 0.0}, "greater than 0"),
        ({"tune_views": "multi-crop"}, "a classifier sees one view"),
    ],
)
def test_a_protocol_that_contradicts_itself(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        tuning_cell(**changes)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.35])
def test_labels_are_a_share_of_each_class(share: float) -> None:
    labels = load_digits().train.labels.numpy()
    rows = stratified_rows(labels, share, seed=3)
    there, kept = (np.bincount(x, minlength=10) for x in (labels, labels[rows]))
    assert kept.tolist() == [max(1, round(share * n)) for n in there]
    assert (np.diff(rows) > 0).all()
    assert (rows == stratified_rows(labels, share, seed=3)).all()
    assert (rows != stratified_rows(labels, share, seed=4)).any()
    assert set(rows) <= set(stratified_rows(labels, 2 * share, seed=3))


def test_a_class_keeps_a_label_and_an_unlabelled_image_gets_none() -> None:
    labels = np.array([0] * 50 + [1] * 3 + [-1] * 20)
    assert np.bincount(labels[stratified_rows(labels, 0.02, seed=0)]).tolist() == [1, 1]
    assert stratified_rows(labels, 1.0, seed=0).tolist() == list(range(53))


def test_a_tuning_sees_the_labelled_images_alone() -> None:
    cell = tuning_cell(label_fraction=0.2, tune_batch_size=64)
    tuning = tuning_of(cell)
    source = open_source(cell.trained, Path(), "cpu")
    rows = labelled_rows(cell, source)
    assert tuning.steps_an_epoch == 1  # fewer images than a batch are one
    batch = tuning.batches.batch(0, 0)
    assert len(batch.labels) == len(rows) < 25
    assert sorted(batch.labels.tolist()) == sorted(source.labels["train"][rows].tolist())
    plain = tuning_of(tuning_cell(label_fraction=0.2, tune_batch_size=64, tune_views="none"))
    shown = plain.batches.batch(0, 0)
    images = torch.cat(list(source.plain("train")))[rows]
    assert torch.allclose(shown.views[0], images[shown.rows], atol=1e-5)
    assert torch.equal(shown.labels, source.labels["train"][rows][shown.rows])


@pytest.mark.parametrize("layers", ["all", "last-stage", "head"])
def test_what_does_not_learn_does_not_move(layers: str) -> None:
    tuning = tuning_of(tuning_cell(tune_layers=layers, tune_weight_decay=0.1))
    before = after_steps(tuning, 3)
    learns: dict[str, str | tuple[str, ...]]
    learns = {"all": "", "last-stage": ("backbone.layer3", "classifier"), "head": "classifier"}
    assert moved(before, tuning.online) == {k for k in before if k.startswith(learns[layers])}


def test_rates_are_those_of_the_groups() -> None:
    """After the first step of plain descent each weight moved by its rate times its gradient."""
    rates: dict[str, Any] = {"tune_lr": 0.4, "tune_backbone_lr": 0.02, "tune_momentum": 0.0}
    cell = tuning_cell(**rates, tune_weight_decay=0.0)
    tuning = tuning_of(cell)
    before = after_steps(tuning, 1)
    for name, weight in tuning.online.named_parameters():
        rate = 0.4 if name.startswith("classifier") else 0.02
        assert weight.grad is not None
        assert torch.allclose(before[name] - weight, rate * weight.grad, atol=1e-6), name
    assert [g["lr"] for g in tuning.optimiser.param_groups] == pytest.approx([0.4, 0.02])
    tuning.step(tuning.steps // 2)  # half of the cosine
    assert [g["lr"] for g in tuning.optimiser.param_groups] == pytest.approx([0.2, 0.01])


def test_from_scratch_is_a_plain_supervised_training() -> None:
    cell = tuning_cell(start="scratch", seed=5)
    own = {name: getattr(cell, name) for name in Supervised.model_fields if name in PLAIN}
    plain = Supervised.model_validate(
        own | {f: getattr(cell, t) for f, t in RENAMED.items()} | KINDS
    )
    tuning = tuning_of(cell)
    training = SupervisedTraining(plain, open_source(plain, Path(), "cpu"), "cpu")
    for step in range(tuning.steps):
        tuning.online.train()
        tuning.step(step)
        training.step(step)
    assert tuning.steps == training.steps == 12
    assert moved(dict(training.online.state_dict()), tuning.online) == set()
    assert tuning.accuracies()["finetune_top1"] == training.test_top1()


PLAIN = ("dataset", "train_images", "image_size", "arch", "stem", "width", "seed")
RENAMED = {
    "views": "tune_views", "epochs": "tune_epochs", "batch_size": "tune_batch_size",
    "optimizer": "tune_optimizer", "lr": "tune_lr", "weight_decay": "tune_weight_decay",
    "lr_schedule": "tune_lr_schedule",
}  # fmt: skip
KINDS: dict[str, Any] = {"experiment": "supervised", "loss": "cross-entropy"}


def test_it_begins_with_the_encoder_and_leaves_it_alone() -> None:
    trained = small_cell("moco-v2", seed=2)  # with batch norm in two groups
    online = Online(trained)
    with torch.no_grad():
        for weight in online.parameters():
            weight.add_(0.1)
    kept = {k: v.clone() for k, v in online.state_dict().items()}
    tuning = tuning_of(tuning_cell(trained), online)
    own = tuning.online.backbone.state_dict()
    assert all(torch.equal(own[k], v) for k, v in online.backbone.state_dict().items())
    after_steps(tuning, 2)
    assert moved(kept, online) == set()


def test_a_head_on_a_frozen_encoder_reaches_the_optimum_of_logistic_regression() -> None:
    """The same convex loss, minimised by SciPy on the features of the frozen encoder."""
    cell = tuning_cell(
        tune_layers="head", tune_views="none", tune_batch_size=96, tune_epochs=800, tune_lr=1.0,
        tune_weight_decay=0.1, tune_lr_schedule="constant",
    )  # fmt: skip
    tuning = tuning_of(cell)
    after_steps(tuning, 800)
    features = extract(tuning.online.backbone, tuning.source.plain("train")).double()
    labels = tuning.source.labels["train"]

    def loss(weights: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
        w = torch.tensor(weights.reshape(10, -1), requires_grad=True)
        value = nn.functional.cross_entropy(features @ w[:, :-1].T + w[:, -1], labels)
        value = value + 0.05 * w.square().sum()
        value.backward()
        assert w.grad is not None
        return value.item(), w.grad.numpy().ravel()

    best = minimize(loss, np.zeros(10 * (features.shape[1] + 1)), jac=True, method="L-BFGS-B")
    head = tuning.online.classifier
    found = torch.cat([head.weight, head.bias[:, None]], dim=1).detach().double().numpy().ravel()
    assert loss(found)[0] == pytest.approx(best.fun, abs=1e-6)
    assert np.allclose(found, best.x, atol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"tune_layers": "last-stage", "tune_backbone_lr": 0.01}])
def test_a_stopped_tuning_ends_like_another(
    changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_CHECKPOINT_S", "0")
    cell = tuning_cell(**changes)

    def trained(side: str, stop_after: int = -1) -> FineTuning:
        tuning, steps = tuning_of(cell), 0

        def heartbeat() -> None:
            nonlocal steps
            steps += 1
            if steps == stop_after:
                raise Interrupted

        folder = tmp_path / side / "cell"
        folder.mkdir(parents=True, exist_ok=True)
        train(tuning, CellFolder(folder), heartbeat)
        return tuning

    whole = trained("a")
    for stop in (4, 5):
        with pytest.raises(Interrupted):
            trained("b", stop)
    resumed = trained("b")
    assert moved(dict(whole.online.state_dict()), resumed.online) == set()
    histories = [(tmp_path / side / "cell" / "history.jsonl").read_bytes() for side in "ab"]
    assert histories[0] == histories[1]


@pytest.mark.slow
def test_cells_of_one_encoder_share_it_with_pretrain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = result(tmp_path, TRAINED)
    home = TrainedFolder.of(TRAINED, Store(tmp_path).folders([TRAINED], tmp_path))
    before = {p: p.read_bytes() for p in home.path.rglob("*") if p.is_file()}
    monkeypatch.setattr(
        "bench.experiments.pretrain.SharedTraining.train", lambda *_: pytest.fail("trained")
    )
    cells = [tuning_cell(), tuning_cell(label_fraction=0.1, test_warp="digits-25", knn_k=200)]
    found = run(tmp_path, *cells)
    assert {p: p.read_bytes() for p in home.path.rglob("*") if p.is_file()} == before
    for cell, outcome in zip(cells, found, strict=True):
        assert isinstance(outcome, Result)
        assert outcome.provenance["encoder"] == TRAINED.training_id
        assert outcome.provenance["trained"] == plain.provenance["trained"]
        warped = cell.test_warp != "none"
        wanted = {name for name in FineTune.metrics if warped or "warped" not in name}
        assert outcome.metrics.keys() == wanted
        history = CellFolder(tmp_path / "finetune" / cell.id).history()
        assert [line["epoch"] for line in history] == [1, 2]
        assert outcome.metrics["train_loss"] == history[-1]["train_loss"]
    assert isinstance(found[1], Result)
    labelled = len(labelled_rows(cells[1], open_source(cells[1].trained, tmp_path, "cpu")))
    assert found[1].provenance["labelled_images"] == labelled
    assert found[1].metrics == result(tmp_path, cells[1]).metrics  # alone as beside others


@pytest.mark.slow
def test_it_learns_and_an_encoder_helps_where_labels_are_few(tmp_path: Path) -> None:
    trained = small_cell(
        train_images=None, image_size=16, width=8, epochs=10, batch_size=64, lr=0.1
    )
    few = {"label_fraction": 0.02, "tune_epochs": 30, "tune_batch_size": 64}
    top1 = {
        start: result(tmp_path, tuning_cell(trained, start=start, **few)).metrics["finetune_top1"]
        for start in ("pretrained", "scratch")
    }
    assert top1["pretrained"] > top1["scratch"] + 5
    assert top1["pretrained"] > 40  # chance is 10


def test_a_probe_times_both_parts(tmp_path: Path) -> None:
    probe = probe_of("finetune")
    assert probe is not None
    ticks = iter(range(10_000))
    both = probe(tuning_cell(tune_epochs=1), tmp_path, "cpu", lambda: float(next(ticks)))
    assert min(both) > 0
    scratch = probe(tuning_cell(start="scratch"), tmp_path, "cpu", lambda: float(next(ticks)))
    assert scratch[0] == 0.0
    assert scratch[1] > 0


def test_a_published_list_needs_names(tmp_path: Path) -> None:
    cell = tuning_cell().model_copy(update={"labelled": "published"})
    with pytest.raises(
        DataFailure,
        match="labelled = 'published' needs the images' file names, but digits has no file names",
    ):
        labelled_rows(cell, open_source(cell.trained, tmp_path, "cpu"))


def test_encoders_of_the_suite_are_those_of_other_suites() -> None:
    def trainings(name: str, scale: str) -> set[str | None]:
        path = SUITES / f"{name}.yaml"
        return {cell.training_id for cell in expand(load_suite(path), scale, path)} - {None}

    for scale, seeds in (("cpu", 10), ("cifar", 3)):
        own = trainings("unigrad-table-9", scale)
        assert len(own) == 4 * seeds
        assert own <= trainings("unigrad-figure-2", scale)
    assert trainings("unigrad-table-9", "paper") == trainings("unigrad-table-5", "paper")


@pytest.mark.slow
def test_the_suite_runs_to_its_page(workspace: Workspace) -> None:
    name = "unigrad-table-9"
    workspace.suite((SUITES / f"{name}.yaml").read_text(), name)
    plan = workspace.call("--data", "sets", "plan", name, "--scale", "paper")
    assert plan.status == 0
    assert (
        "bench: cells of this suite cannot be computed yet: imagenet1k: the folder "
        "sets/imagenet1k does not exist. " in plan.err
    )
    done = workspace.call("run", name, "--scale", "smoke", "--executor", "inline")
    assert done.status == 0, done.err
    assert workspace.call("plan", name, "--scale", "smoke").err == ""
    assert workspace.call("report", name, "--scale", "smoke").status == 0
    page = (workspace.root / "reports" / name / "smoke" / "index.md").read_text()
    assert "scratch" in page
    assert "fine-tuned top-1" in page
    compared = workspace.call("compare", name, "--scale", "paper", "--json").json
    assert len(compared) == 8  # four printed values, of two readings
    assert all(row["differences"] == [] for row in compared)
    judged = workspace.call("claims", name, "--scale", "cpu", "--json").json
    assert {row["claim"] for row in judged} == {"semi-supervised-competitive"}
    assert {row["missing"] for row in judged} == {
        "no seed has finished all cells that one side of this check needs"
    }
