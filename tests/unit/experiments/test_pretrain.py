"""The experiment as a whole: one training for many evaluations, on embedded images and folders."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from bench.cells.axes import EVALUATIONS
from bench.cells.pretrain import Pretrain
from bench.errors import CellFailure, DataFailure, Diverged, Interrupted
from bench.evaluate.features import extract
from bench.experiments import Outcome, Result
from bench.experiments.encoder_folder import TrainedFolder
from bench.experiments.pretrain import run
from bench.files.atomic import write_whole
from bench.methods.online_network import Online
from bench.results.digests import write_digests
from bench.results.folder import CellFolder, Folders
from bench.results.lease import Lease
from bench.results.store import Store
from bench.train.checkpoints import write_tensors
from bench.train.sources import open_source
from tests.fakes.cells import small_cell

pytestmark = pytest.mark.slow


def folder_of(root: Path, cell: Pretrain) -> CellFolder:
    return CellFolder(root / "pretrain" / cell.id)


def folders_of(root: Path, *cells: Pretrain) -> Folders:
    return Store(root).folders(cells, root / "sets")


def outcomes(root: Path, *cells: Pretrain) -> list[Outcome]:
    return run(cells, folders_of(root, *cells), "cpu")


def results(root: Path, *cells: Pretrain) -> list[Result]:
    found = outcomes(root, *cells)
    assert all(isinstance(outcome, Result) for outcome in found), found
    return [outcome for outcome in found if isinstance(outcome, Result)]


def metrics(root: Path, cell: Pretrain) -> dict[str, float]:
    (outcome,) = outcomes(root, cell)
    assert isinstance(outcome, Result), outcome
    return outcome.metrics


FULL: dict[str, Any] = {
    "few_shot": 2, "few_shot_draws": 2, "linear": "logistic", "online_linear": True,
    "knn_every_epochs": 1, "components": True, "weights_K": 20, "test_warp": "digits-25",
    "spread": True, "ranks": True, "q_b_limit": 0.9,
}  # fmt: skip


def test_a_cell_gives_every_metric_it_names(tmp_path: Path) -> None:
    found = metrics(tmp_path, small_cell(**FULL))
    missing = {"surrogate", "eigenspace_alignment"}  # of a gradient without a loss, of a predictor
    missing |= {"own_evaluation", "own_record"}  # of files
    assert set(found) == set(Pretrain.metrics) - missing
    assert all(np.isfinite(value) for value in found.values())
    assert 10 < found["knn_top1"] <= 100


def test_a_linear_predictor_is_held_against_the_eigenvectors_of_f(tmp_path: Path) -> None:
    """By the cosines one by one, from the encoder's file and the test images."""
    linear = {"predictor_layers": 1, "predictor_hidden_dim": None, "predictor_bn": None}
    cell = small_cell("byol", **linear, knn_every_epochs=1, eigenspaces=True)
    found = metrics(tmp_path, cell)
    folders = Store(tmp_path).folders([cell], tmp_path)
    online = Online(cell)
    TrainedFolder.of(cell, folders).load_encoder(online, "cpu")
    images = open_source(cell, tmp_path, "cpu").plain("test")
    v = torch.nn.functional.normalize(extract(online.embedding, images), dim=1).double()
    values, u = torch.linalg.eigh(v.T @ v / len(v))
    w = online.predictor[0].get_parameter("weight").detach().double()
    cosines = [abs(torch.cosine_similarity(w @ u[:, i], u[:, i], dim=0)) for i in range(len(w))]
    expected = sum(float(a * b) for a, b in zip(values, cosines, strict=True)) / float(values.sum())
    assert found["eigenspace_alignment"] == pytest.approx(expected, abs=1e-4)
    plain = small_cell("byol", **linear, knn_every_epochs=1)
    assert {n: v for n, v in found.items() if n != "eigenspace_alignment"} == metrics(
        tmp_path, plain
    )


def test_a_new_protocol_uses_the_trained_encoder_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = small_cell(**FULL)
    first = metrics(tmp_path, cell)
    monkeypatch.setattr(
        "bench.experiments.pretrain.SharedTraining.train", lambda *_: pytest.fail("trained")
    )
    evaluated: list[str] = []
    from bench.experiments.evaluations import Evaluator

    ask = Evaluator.evaluate

    def noted(self: Evaluator, name: str, *rest: Any) -> dict[str, float]:
        evaluated.append(name)
        return ask(self, name, *rest)

    monkeypatch.setattr(Evaluator, "evaluate", noted)
    second = metrics(tmp_path, small_cell(**FULL | {"knn_k": 9}))
    assert evaluated == ["knn", "warped-knn"]
    assert {k: v for k, v in first.items() if "knn_" not in k} == {
        k: v for k, v in second.items() if "knn_" not in k
    }
    home = TrainedFolder.of(cell, folders_of(tmp_path, cell))
    protocols = [json.loads(p.read_text()) for p in home.path.glob("evaluations/*.json")]
    assert len(protocols) == len(EVALUATIONS) + 2
    found = sorted(p["protocol"]["knn_k"] for p in protocols if "knn_k" in p["protocol"])
    assert found == [5, 5, 9, 9]


def test_what_a_killed_process_left_beside_an_encoder_is_removed(tmp_path: Path) -> None:
    """Of a training, and of an evaluation after it; a checkpoint that outlived its training."""
    cell = small_cell()
    home = TrainedFolder.of(cell, folders_of(tmp_path, cell))
    for name in (".encoder.pt.01", "evaluations/.89ab.json.01"):
        write_whole(home.path / name, b"half")
    metrics(tmp_path, cell)
    left = home.path / "evaluations" / ".89ab.json.23"
    for path in (left, home.checkpoint_file, home.step_file):
        path.write_bytes(b"half")
    metrics(tmp_path, small_cell(knn_k=9))
    names = {path.name for path in home.path.rglob("*") if path.is_file()}
    assert not any(name.startswith((".", "checkpoint")) for name in names), names


@pytest.mark.parametrize(
    "damage", ["flipped", "empty", "gone", "of another shape", "old and torn", "no summary"]
)
def test_an_unusable_encoder_is_trained_again_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    cell = small_cell()
    first = metrics(tmp_path, cell)
    home = TrainedFolder.of(cell, folders_of(tmp_path, cell))
    content = home.encoder_file.read_bytes()
    if damage == "flipped":
        altered = bytearray(content)
        altered[len(altered) // 2] ^= 4
        home.encoder_file.write_bytes(altered)
    elif damage == "of another shape":
        write_tensors(home.encoder_file, {"weight": torch.zeros(3)})
        write_digests(home.path, home.summary_file.read_bytes())
    elif damage == "no summary":
        home.summary_file.write_text("{}")
    elif damage == "gone":
        home.encoder_file.unlink()
    else:
        home.encoder_file.write_bytes(content[:1000] if damage == "old and torn" else b"")
        if damage == "old and torn":
            (home.path / "digests.json").unlink()
    assert metrics(tmp_path, cell) == first
    assert capsys.readouterr().err.endswith("; the encoder will be trained again\n")
    assert home.encoder_file.read_bytes() == content


@pytest.mark.parametrize("content", [b"", b"{}", b"altered"])
def test_a_torn_evaluation_is_done_again_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    cell = small_cell()
    first = metrics(tmp_path, cell)
    home = TrainedFolder.of(cell, folders_of(tmp_path, cell))
    file = home.evaluation_file(cell.evaluation_id("knn"))
    before = file.read_bytes()
    altered = before.replace(b'"knn_top1": ', b'"knn_top1": 1')
    assert altered != before
    file.write_bytes(altered if content == b"altered" else content)
    assert metrics(tmp_path, cell) == first
    assert capsys.readouterr().err.endswith("; the evaluation will be computed again\n")
    assert file.read_bytes() == before


def test_an_evaluation_is_written_though_another_process_sweeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sweeping removes half-written files of the dead; those of the living are written again."""
    cell = small_cell()
    home = TrainedFolder.of(cell, folders_of(tmp_path, cell))
    replaced = os.replace
    swept: list[Path] = []

    def replace(partial: Path, path: Path) -> None:
        if not swept:
            home.sweep()
            swept.append(partial)
        replaced(partial, path)

    monkeypatch.setattr(os, "replace", replace)
    home.write_evaluation(cell, "knn", {"knn_top1": 50.0, "knn_top5": 90.0})
    assert len(swept) == 1
    assert home.evaluation(cell, "knn") == {"knn_top1": 50.0, "knn_top5": 90.0}


def test_cells_that_share_an_encoder_give_what_they_give_alone(tmp_path: Path) -> None:
    cells = [small_cell(knn_k=k, knn_tau=tau) for k in (1, 5) for tau in (0.1, None)]
    together = outcomes(tmp_path / "together", *cells)
    for cell, outcome in zip(cells, together, strict=True):
        assert isinstance(outcome, Result)
        assert outcome.metrics == metrics(tmp_path / "alone" / cell.id, cell)


def test_what_is_watched_while_training_does_not_depend_on_an_evaluation(tmp_path: Path) -> None:
    """Cells that share a training share its history, whichever of them was first."""
    histories = []
    for k in (1, 9):
        cell = small_cell(knn_k=k, knn_every_epochs=1)
        outcomes(tmp_path / str(k), cell)
        histories.append(folder_of(tmp_path / str(k), cell).history())
    assert histories[0] == histories[1]


def test_the_projector_is_another_layer(tmp_path: Path) -> None:
    cells = [small_cell(features=layer) for layer in ("backbone", "projector")]
    first, second = outcomes(tmp_path, *cells)
    assert isinstance(first, Result)
    assert isinstance(second, Result)
    assert first.metrics["uniformity"] != second.metrics["uniformity"]


def test_provenance_names_data_and_training(tmp_path: Path) -> None:
    (outcome,) = outcomes(tmp_path, small_cell())
    assert isinstance(outcome, Result)
    assert outcome.provenance["dataset"] == "8abf809f7259e6ba"
    assert outcome.provenance["trained"]["wall_s"] > 0


def test_histories_are_copied_to_the_cells(tmp_path: Path) -> None:
    cell = small_cell(epochs=3)
    outcomes(tmp_path, cell)
    assert [line["epoch"] for line in folder_of(tmp_path, cell).history()] == [1, 2, 3]


def test_missing_data_is_a_failure_of_that_reason(tmp_path: Path) -> None:
    (outcome,) = outcomes(tmp_path, small_cell(dataset="folder:nowhere"))
    assert isinstance(outcome, DataFailure)
    assert str(outcome).startswith(
        f"folder:nowhere: the folder {tmp_path}/sets/nowhere does not exist."
    )


def test_too_few_images_are_a_failure(tmp_path: Path) -> None:
    (outcome,) = outcomes(tmp_path, small_cell(train_images=8, knn_k=1))
    assert isinstance(outcome, DataFailure)
    assert str(outcome) == "a step needs N = 16 images, but there are only 8 training images"


def test_an_evaluation_that_fails_harms_its_cell_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def diverges(*_: Any, protocol: Any, **__: Any) -> Any:
        raise Diverged("a weight of the linear classifier is infinite or not a number")

    monkeypatch.setattr("bench.experiments.evaluations.linear_top1", diverges)
    found = outcomes(tmp_path, small_cell(), small_cell(linear="moco"))
    assert isinstance(found[0], Result)
    assert str(found[1]).startswith("a weight of the linear classifier")


def test_what_cannot_be_evaluated_is_told_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "bench.experiments.pretrain.SharedTraining.train", lambda *_: pytest.fail("trained")
    )
    found = outcomes(tmp_path, small_cell(knn_k=97), small_cell(few_shot=80))
    assert [str(outcome) for outcome in found] == [
        "knn_k is 97, but there are only 96 labelled training images",
        "few_shot is 80, but a class has only 6 labelled images",
    ]


def test_a_strength_out_of_range_is_told(tmp_path: Path) -> None:
    (outcome,) = outcomes(tmp_path, small_cell(views="crop", view_strength=1.2))
    assert isinstance(outcome, DataFailure)
    assert str(outcome) == "views: strength 1.2 lies outside the range that 'crop' allows"


def test_images_that_changed_since_the_training_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(32):
        path = (
            tmp_path / "sets" / "grey" / ("train" if i < 24 else "test") / str(i % 2) / f"{i}.png"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((8, 8, 3), 7 * i, dtype=np.uint8)).save(path)
    settings: dict[str, Any] = {"dataset": "folder:grey", "train_images": None, "epochs": 1}
    metrics(tmp_path, small_cell(**settings))
    path = tmp_path / "sets" / "grey" / "train" / "0" / "0.png"
    Image.fromarray(np.full((8, 8, 3), 255, dtype=np.uint8)).save(path)
    (outcome,) = outcomes(tmp_path, small_cell(**settings, knn_k=3))
    assert isinstance(outcome, DataFailure)
    assert str(outcome).startswith("folder:grey has changed since ")


def test_a_diverged_training_fails_all_its_cells_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []

    def diverges(*_: Any, **__: Any) -> None:
        tries.append(1)
        raise Diverged("step 3: loss is nan")

    monkeypatch.setattr("bench.experiments.pretrain.train", diverges)
    found = outcomes(tmp_path, small_cell(knn_k=3), small_cell(knn_k=4))
    assert [str(outcome) for outcome in found] == ["step 3: loss is nan"] * 2
    assert all(isinstance(outcome, CellFailure) for outcome in found)
    assert tries == [1]


def test_a_folder_of_images_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Colour images with every operation of SimCLR's views; classes are told apart by colour."""
    draw = np.random.default_rng(0)
    for split, count in (("train", 24), ("test", 8)):
        for label, colour in enumerate(((200, 30, 30), (30, 30, 200))):
            for i in range(count):
                noise = draw.integers(-30, 31, size=(12, 12, 3))
                pixels = np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)
                path = tmp_path / "sets" / "colours" / split / str(label) / f"{i}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(pixels).save(path)
    cell = small_cell(
        dataset="folder:colours", views="simclr", train_images=None, image_size=12, epochs=1
    )
    assert metrics(tmp_path, cell)["knn_top1"] > 90


@pytest.fixture
def photos(tmp_path: Path) -> str:
    """Return the name of a few drawn images without classes, and draw some with two."""
    draw = np.random.default_rng(0)
    names = [f"photos/{i}" for i in range(48)]
    names += [f"pairs/{k}/{i % 2}/{i}" for k in ("train", "test") for i in range(12)]
    for name in names:
        path = tmp_path / "sets" / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw.integers(0, 256, size=(8, 8, 3), dtype=np.uint8)).save(path)
    return "folder:photos"


def of_photos(photos: str, **changes: Any) -> Pretrain:
    return small_cell(dataset=photos, train_images=None, batch_size=8, **changes)


def test_images_without_classes_are_trained_on_and_others_evaluate(
    tmp_path: Path, photos: str
) -> None:
    """One encoder; of digits the accuracy is that of features normalised as the photos are."""
    names = ("digits", "folder:pairs", "none")
    cells = [of_photos(photos, evaluated_on=name, epochs=1) for name in names]
    every = [*cells, of_photos(photos, epochs=1)]
    assert (len({cell.training_id for cell in every}), len({cell.id for cell in every})) == (1, 4)
    digits, pairs, nothing = results(tmp_path, *cells)
    assert 10 < digits.metrics["knn_top1"] <= 100
    right = pairs.metrics["knn_top1"] * 12 / 100  # of twelve test images
    assert right == pytest.approx(round(right))
    assert "train_loss" in nothing.metrics
    assert not set(nothing.metrics) & set(cells[0].evaluation_metrics)
    origins = [found.provenance.get("evaluated_on") for found in (digits, pairs, nothing)]
    assert origins[2] is None
    assert len(set(origins)) == 3

    online = Online(cells[0])
    TrainedFolder.of(cells[0], folders_of(tmp_path, cells[0])).load_encoder(online, "cpu")
    of_set = open_source(small_cell(train_images=None), tmp_path, "cpu")
    trained_on = open_source(of_photos(photos), tmp_path / "sets", "cpu")
    of_set.normalise = trained_on.normalise
    known, asked = (extract(online.backbone, of_set.plain(part)) for part in ("train", "test"))
    unit = torch.nn.functional.normalize
    similar = (unit(asked) @ unit(known).T).topk(5)
    votes = torch.zeros(len(asked), 10).scatter_add_(
        1, of_set.labels["train"][similar.indices], (similar.values / 0.1).exp()
    )
    share = float((votes.argmax(dim=1) == of_set.labels["test"]).double().mean())
    assert digits.metrics["knn_top1"] == pytest.approx(100 * share, abs=0.3)


def test_a_training_without_classes_goes_on_to_the_same_bits(
    tmp_path: Path, photos: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = of_photos(photos, evaluated_on="folder:pairs")  # 12 steps

    def computed(root: str) -> tuple[dict[str, float], dict[str, torch.Tensor]]:
        folders = Store(tmp_path / root).folders([cell], tmp_path / "sets")
        (found,) = run([cell], folders, "cpu")
        assert isinstance(found, Result), found
        return found.metrics, torch.load(TrainedFolder.of(cell, folders).encoder_file)

    left = [None] * 7

    def beat(_: Lease) -> None:
        if not left:
            raise Interrupted
        left.pop()

    with monkeypatch.context() as patch:
        patch.setattr(Lease, "check", beat)
        with pytest.raises(Interrupted):
            computed("killed")
    (metrics_a, encoder_a), (metrics_b, encoder_b) = computed("killed"), computed("whole")
    assert metrics_a == metrics_b
    assert all(torch.equal(encoder_a[name], value) for name, value in encoder_b.items())


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "set evaluated_on to a labelled data set, or to 'none', which skips all evaluations"),
        ({"evaluated_on": "none", "knn_every_epochs": 1}, "set knn_every_epochs to 0"),
        ({"evaluated_on": "none", "online_linear": True}, "set online_linear to false"),
    ],
)
def test_what_needs_classes_is_refused_before_training(
    tmp_path: Path, photos: str, changes: dict[str, Any], told: str
) -> None:
    cell = of_photos(photos, **changes)
    (found,) = outcomes(tmp_path, cell)
    assert isinstance(found, DataFailure)
    assert str(found).startswith("the images of folder:photos have no classes")
    assert str(found).endswith(told)
    assert not TrainedFolder.of(cell, folders_of(tmp_path, cell)).history()


def test_results_do_not_depend_on_the_global_random_state(tmp_path: Path) -> None:
    cell = small_cell(loss="dcl", K=7, few_shot=2, few_shot_draws=2)
    torch.manual_seed(1)
    first = metrics(tmp_path / "a", cell)
    torch.manual_seed(2)
    np.random.seed(3)  # noqa: NPY002
    assert metrics(tmp_path / "b", cell) == first
