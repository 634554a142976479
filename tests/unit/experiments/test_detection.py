"""The experiment `detection`: what learns and what does not, on which encoder, to the same bits."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from bench.cells.cell import too_much
from bench.cells.detection import OF_BOXES, Detection
from bench.data.boxed import BoxedPart
from bench.data.shapes import draw_shapes
from bench.errors import DataFailure, Interrupted
from bench.experiments import Result, probe_of
from bench.experiments.encoder_folder import TrainedFolder
from bench.methods.online_network import Online
from bench.networks.detector import torch_seeded
from bench.results.folder import CellFolder
from bench.results.store import Store
from bench.suites.expand import expand
from bench.suites.facts import facts
from bench.suites.load import load_suite
from bench.train.detection import Detecting, as_tensor, detected, flipped
from bench.train.loop import train
from tests.fakes.cells import small_cell
from tests.fakes.detectors import C4, TRAINED, detecting, detecting_cell
from tests.fakes.paths import SUITES
from tests.fakes.transfer import after_steps, moved, result, run
from tests.fakes.workspace import Workspace

KINDS: dict[str, dict[str, Any]] = {
    "pyramid": {},
    "four convolutions": {"box_head": "four-conv", "head_norm": "batch", "backbone_bn": "batch"},
    "masks": {"detector": "mask-rcnn", "shorter_side_from": 48},
    "frozen": {"detector": "mask-rcnn", "frozen_backbone": True},
    "keypoints": {"detector": "keypoint-rcnn", "detect_dataset": "shapes-keypoints"},
    "c4": C4 | {"detector": "mask-rcnn"},
    "frozen c4": C4 | {"frozen_backbone": True},
}


def test_it_shares_the_training_and_not_the_id() -> None:
    cell = detecting_cell()
    assert cell.training_id == cell.stack_key == TRAINED.training_id
    assert (cell.trained, cell.looks_at) == (TRAINED, ("digits",))
    others = [detecting_cell(detect_lr=0.1), detecting_cell(seed=1), detecting_cell(flips=False)]
    assert len({cell.id, TRAINED.id, *(other.id for other in others)}) == 5
    assert detecting_cell(knn_k=7, features="projector").id == cell.id  # no evaluation is made
    assert detecting_cell(detections=100, least_score=0.05).id == cell.id  # as before these came
    assert detecting_cell(detections=300).id != cell.id != detecting_cell(least_score=0.0).id
    assert cell.training_work == TRAINED.training_work > 0
    assert cell.work == (2 * 6 + 100) * cell.shorter_side**2 * cell.width**2


def test_from_scratch_depends_on_the_network_alone() -> None:
    cell = detecting_cell(start="scratch")
    assert (cell.training_id, cell.batch_over_ranks, cell.looks_at) == (None, None, ())
    assert cell.training_work == 0
    assert cell.stack_key == cell.id != detecting_cell().id
    other = small_cell("byol", lr=0.1, epochs=9, train_images=64, zero_init_residual=False)
    assert detecting_cell(other, start="scratch").id == cell.id
    changed: list[dict[str, Any]] = [{"width": 8}, {"seed": 1}, {"detect_lr": 0.1}]
    for changes in changed:
        assert detecting_cell(small_cell(), start="scratch", **changes).id != cell.id


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"box_head": None}, "box_head must be set with neck 'fpn' and left out with neck 'c4'"),
        ({"neck": "c4"}, "box_head must be set with neck 'fpn' and left out with neck 'c4'"),
        ({"frozen_backbone": True, "backbone_bn": "batch"}, "cannot be combined with frozen_back"),
        ({"shorter_side_from": 65}, "shorter_side_from may not exceed shorter_side"),
        ({"detect_steps": 5}, "exactly one of detect_epochs and detect_steps must be set"),
        ({"detect_epochs": None}, "exactly one of detect_epochs and detect_steps must be set"),
        ({"detect_drops": "1,2"}, "detect_drops is 1,2, but each drop of the learning rate "
            "must come before the end of the training, detect_epochs = 2"),
        ({"detect_epochs": None, "detect_steps": 5, "detect_warmup_steps": 6},
         "detect_warmup_steps is 6, above detect_steps = 5"),
        ({"arch": "small-alexnet", "stem": "cifar", "image_size": 16},
         "a detector needs a residual network as arch, and colour 'rgb'"),
        ({"detect_dataset": "../coco"}, "String should match pattern"),
        ({"detector": "keypoint-rcnn"}, "detect_dataset 'shapes' has no key points; use "
            "'shapes-keypoints', which has them"),
        (KINDS["keypoints"] | C4, "detector 'keypoint-rcnn' needs neck 'fpn'"),
    ],
)  # fmt: skip
def test_a_detector_that_contradicts_itself(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        detecting_cell(**changes)


def test_what_the_images_have_not_is_said(tmp_path: Path) -> None:
    assert too_much(detecting_cell(detect_images=201)) == (
        "detect_images is 201, but data set shapes has only 200 training images"
    )
    faults: list[tuple[dict[str, Any], str]] = [
        ({"detect_images": 201}, "detect_images is 201, but only 200 images have an object"),
        ({"detect_batch_size": 7}, "a step needs 7 images, but there are only 6"),
    ]
    for changes, why in faults:
        with pytest.raises(DataFailure, match=why):
            detecting(detecting_cell(**changes))


def test_the_schedule_is_known_by_its_published_name() -> None:
    steps: dict[str, Any] = {"detect_epochs": None, "detect_steps": 90_000}
    assert detecting_cell(detect_epochs=12).schedule == "1x"
    assert detecting_cell(**steps, detect_batch_size=16).schedule == "1x"
    assert detecting_cell(**steps).schedule is detecting_cell().schedule is None
    known = facts(detecting_cell(detect_drops="1"))
    assert (known["dataset"], known["pretrain_dataset"]) == ("shapes", "digits")
    assert (known["lr"], known["epochs"], known["lr_drop_epochs"]) == (0.02, 2, "1")
    assert known["base_lr"] == TRAINED.lr * 256 / 16  # that of the pretraining


@pytest.mark.parametrize("kind", KINDS)
def test_what_does_not_learn_does_not_move(kind: str) -> None:
    training = detecting(detecting_cell(**KINDS[kind]))
    learning = {k for k, w in training.online.named_parameters() if w.requires_grad}
    before = after_steps(training, 2)
    found = moved(before, training.online)
    backbone = {k for k in found if ".layers." in k}
    norms = {k for k in before if ".layers." in k and (".bn" in k or "downsample.1" in k)}
    assert learning <= found  # everything that may learn does
    if KINDS[kind].get("frozen_backbone"):
        assert backbone == set()
    elif KINDS[kind].get("backbone_bn") == "batch":
        assert norms <= found
    else:
        assert backbone
        assert not norms & found
    heads = {k for k in found if "box_head.0." in k}
    assert bool(heads) == (kind in ("four convolutions", "c4", "frozen c4"))


def test_a_rate_rises_and_falls_as_stated() -> None:
    steps: dict[str, Any] = {"detect_epochs": None, "detect_steps": 10, "detect_warmup_steps": 4}
    training = detecting(detecting_cell(**steps, detect_drops="6,8"))
    rates = [training.rate(step) for step in range(10)]
    wanted = [0, 0.005, 0.01, 0.015, 0.02, 0.02, 0.002, 0.002, 0.0002, 0.0002]
    assert rates == pytest.approx(wanted)
    by_epoch = detecting(detecting_cell(detect_drops="1"))
    assert [by_epoch.rate(step) for step in (2, 3)] == pytest.approx([0.02, 0.002])


def test_it_begins_with_the_encoder_and_leaves_it_alone() -> None:
    trained = small_cell("moco-v2", seed=2)  # with batch norm in two groups
    online = Online(trained)
    with torch.no_grad():
        for weight in online.parameters():
            weight.add_(0.1)
    kept = {k: v.clone() for k, v in online.state_dict().items()}
    training = detecting(detecting_cell(trained, backbone_bn="batch"), online)
    stages = training.online.model.backbone[0].layers.state_dict()
    own = online.backbone.state_dict()
    assert stages
    assert all(torch.equal(value, own[name]) for name, value in stages.items())
    after_steps(training, 2)
    assert moved(kept, online) == set()


def test_torchs_own_generator_is_left_as_it_was() -> None:
    training = detecting(detecting_cell())
    before = torch.get_rng_state()
    after_steps(training, 1)
    assert torch.equal(torch.get_rng_state(), before)
    drawn = []
    for _ in range(2):
        with torch_seeded(3):
            drawn.append(torch.rand(2))
    assert torch.equal(*drawn)


def test_a_mirrored_image_has_its_objects_where_they_are() -> None:
    part = draw_shapes().train
    objects = part.objects(0, "masks")
    target = {
        "boxes": torch.from_numpy(objects.boxes), "masks": torch.from_numpy(objects.masks),
    }  # fmt: skip
    image = as_tensor(part, 0)
    turned, found = flipped(image, target)
    assert torch.equal(turned[:, :, 0], image[:, :, -1])
    for box, mask in zip(found["boxes"].int().tolist(), found["masks"], strict=True):
        left, top, right, bottom = box
        assert mask[top:bottom, left:right].sum() == mask.sum() > 0
    again, same = flipped(turned, found)
    assert torch.equal(again, image)
    assert torch.equal(same["boxes"], target["boxes"])


def test_of_a_mirrored_object_left_and_right_change_sides() -> None:
    target = {
        "boxes": torch.tensor([[1.0, 0.0, 5.0, 4.0]]),
        "keypoints": torch.tensor([[[3.5, 0.5, 2.0], [1.5, 3.5, 1.0], [4.5, 3.5, 0.0]]]),
    }  # fmt: skip
    points = draw_shapes("shapes-keypoints").train.mirrored_points
    _, found = flipped(torch.zeros(3, 4, 10), target, points)
    assert found["keypoints"].tolist() == [[[6.5, 0.5, 2], [5.5, 3.5, 0], [8.5, 3.5, 1]]]


def test_key_points_are_learnt_found_and_written_as_pixels() -> None:
    training = detecting(detecting_cell(**KINDS["keypoints"]))
    _, targets = training._shown(0)
    assert all(t["keypoints"].shape == (len(t["boxes"]), 3, 3) for t in targets)
    part = training.images.test
    found = {
        "boxes": torch.zeros(1, 4), "labels": torch.tensor([1]), "scores": torch.tensor([0.5]),
        "keypoints": torch.tensor([[[3.5, 0.5, 1.0], [1.5, 3.5, 1.0], [4.5, 3.5, 1.0]]]),
    }  # fmt: skip
    (one,) = detected(part, 0, found)
    assert one["keypoints"] == [3, 0, 1, 1, 3, 1, 4, 3, 1]
    few = part_of(part, np.arange(2))
    assert {"ap_bbox", "ap_keypoint"} <= set(training.precisions(few)) <= set(Detection.metrics)


def test_the_long_tail_is_measured_by_lviss_rules() -> None:
    tail: dict[str, Any] = {
        "detect_dataset": "shapes-long-tail",
        "least_score": 0.0,
        "detections": 5,
    }
    training = detecting(detecting_cell(**tail | {"detector": "mask-rcnn"}))
    few = part_of(training.images.test, np.arange(4))
    assert len(training.found_on(few, 0)) == 5
    measured = set(training.precisions(few))
    assert {"ap_mask", "apc_mask", "apf_bbox"} <= measured <= set(Detection.metrics)


def test_a_detection_is_written_as_coco_writes_it() -> None:
    part = draw_shapes().test
    mask = torch.zeros(1, 1, 64, 64)
    mask[:, :, 2:5, 1:4] = 0.5
    found = {
        "boxes": torch.tensor([[1.0, 2.0, 4.0, 5.5]]), "labels": torch.tensor([3]),
        "scores": torch.tensor([0.5]), "masks": mask,
    }  # fmt: skip
    (one,) = detected(part, 4, found)
    segmentation = one.pop("segmentation")
    wanted = {"image_id": 5, "score": 0.5, "category_id": 3, "bbox": [1.0, 2.0, 3.0, 3.5]}
    assert one == wanted
    assert segmentation["size"] == [64, 64]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["masks", "frozen c4", "keypoints"])
def test_a_stopped_training_ends_like_another(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_CHECKPOINT_S", "0")
    cell = detecting_cell(**KINDS[kind])

    def trained(side: str, stop_after: int = -1) -> Detecting:
        training, steps = detecting(cell), 0

        def heartbeat() -> None:
            nonlocal steps
            steps += 1
            if steps == stop_after:
                raise Interrupted

        folder = tmp_path / side / "cell"
        folder.mkdir(parents=True, exist_ok=True)
        train(training, CellFolder(folder), heartbeat)
        return training

    whole = trained("a")
    for stop in (2, 3):
        with pytest.raises(Interrupted):
            trained("b", stop)
    resumed = trained("b")
    assert moved(dict(whole.online.state_dict()), resumed.online) == set()
    histories = [(tmp_path / side / "cell" / "history.jsonl").read_bytes() for side in "ab"]
    assert histories[0] == histories[1]
    few = part_of(whole.images.test, np.arange(100 if cell.learns != "keypoints" else 3))
    assert whole.precisions(few) == resumed.precisions(few)


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
    steps: dict[str, Any] = {"detect_epochs": None, "detect_steps": 2}
    cells = [detecting_cell(), detecting_cell(**KINDS["masks"], **steps)]
    found = run(tmp_path, *cells)
    assert {p: p.read_bytes() for p in home.path.rglob("*") if p.is_file()} == before
    for cell, outcome in zip(cells, found, strict=True):
        assert isinstance(outcome, Result), outcome
        assert outcome.provenance["encoder"] == TRAINED.training_id
        assert outcome.provenance["trained"] == plain.provenance["trained"]
        assert outcome.provenance["dataset"] == draw_shapes().fingerprint
        assert outcome.provenance["learnt_images"] == 6
        assert set(outcome.metrics) <= set(Detection.metrics)
        assert ("ap_mask" in outcome.metrics) == (cell.detector == "mask-rcnn")
        history = CellFolder(tmp_path / "detection" / cell.id).history()
        assert [line["step"] for line in history] == ([3, 6] if cell is cells[0] else [2])
        assert outcome.metrics["train_loss"] == history[-1]["train_loss"]
    assert isinstance(found[1], Result)
    assert found[1].metrics == result(tmp_path, cells[1]).metrics  # alone as beside others


OVERFIT: dict[str, Any] = {
    "start": "scratch", "width": 16, "head_norm": "batch", "backbone_bn": "batch",
    "region_channels": 32, "head_units": 128, "proposals": 50, "sampled_regions": 64,
    "detect_images": 6, "detect_epochs": None, "detect_steps": 240, "detect_batch_size": 3,
    "detect_lr": 0.05, "detect_drops": "180", "detect_warmup_steps": 20, "flips": False,
}  # fmt: skip


@pytest.mark.slow
def test_a_detector_overfits_six_images() -> None:
    training = detecting(detecting_cell(**OVERFIT))
    assert training.steps_an_epoch == 2
    after_steps(training, training.steps)
    seen = part_of(training.images.train, training.rows)
    assert training.precisions(seen)["ap_bbox"] > 80


def part_of(part: BoxedPart, rows: np.ndarray[Any, Any]) -> BoxedPart:
    images = [part.images[row] for row in rows]
    ids = {image["id"] for image in images}
    own = [a for a in part.annotations["annotations"] if a["image_id"] in ids]
    truth = part.annotations | {"images": images, "annotations": own}
    return BoxedPart(truth, lambda i: part.read(int(rows[i])))


def test_a_probe_times_both_parts(tmp_path: Path) -> None:
    probe = probe_of("detection")
    assert probe is not None
    ticks = iter(range(10_000))
    both = probe(detecting_cell(detect_epochs=1), tmp_path, "cpu", lambda: float(next(ticks)))
    assert min(both) > 0
    scratch = probe(detecting_cell(start="scratch"), tmp_path, "cpu", lambda: float(next(ticks)))
    assert scratch[0] == 0.0
    assert scratch[1] > 0


SHARED = {
    "eqco-table-8": ("eqco-simo-and-moco", "eqco-simo-and-moco"),
    "unigrad-table-10": ("unigrad-figure-2", "unigrad-table-5"),
    "mutual-information-table-2b": ("mutual-information-table-1", "mutual-information-table-2a"),
    "mutual-information-table-2c": ("mutual-information-table-1", "mutual-information-table-2a"),
    "mutual-information-table-2e": ("mutual-information-table-1", "mutual-information-table-2a"),
    "mutual-information-table-2d": ("mutual-information-table-1", "mutual-information-table-2a"),
    "mutual-information-table-4": ("mutual-information-table-1", "mutual-information-table-2a"),
}


@pytest.mark.parametrize("suite", SHARED)
def test_encoders_of_a_suite_are_those_of_other_suites(suite: str) -> None:
    def trainings(name: str, scale: str) -> set[str | None]:
        path = SUITES / f"{name}.yaml"
        return {cell.training_id for cell in expand(load_suite(path), scale, path)} - {None}

    for scale, other in zip(("cpu", "paper"), SHARED[suite], strict=True):
        assert trainings(suite, scale)
        assert trainings(suite, scale) <= trainings(other, scale)


@pytest.mark.slow
def test_the_suite_runs_to_its_page(workspace: Workspace) -> None:
    name = "eqco-table-8"
    workspace.suite((SUITES / f"{name}.yaml").read_text(), name)
    plan = workspace.call("--data", "sets", "plan", name, "--scale", "paper")
    assert plan.status == 0
    assert (
        "bench: cells of this suite cannot be computed yet: imagenet1k: the folder "
        "sets/imagenet1k does not exist. " in plan.err
    )
    assert (
        "bench: cells of this suite cannot be computed yet: coco: sets/coco has no train "
        "part. Store this part in the folder train/" in plan.err
    )
    done = workspace.call("run", name, "--scale", "smoke", "--executor", "inline")
    assert done.status == 0, done.err
    assert workspace.call("plan", name, "--scale", "smoke").err == ""
    assert workspace.call("report", name, "--scale", "smoke").status == 0
    page = (workspace.root / "reports" / name / "smoke" / "index.md").read_text()
    assert "scratch" in page
    assert "box AP" in page
    compared = workspace.call("compare", name, "--scale", "paper", "--json").json
    # six averages of SiMo and MoCo v2, each of two readings, and of random initialisation
    assert len(compared) == 6 * (2 * 2 + 1)
    assert all(row["differences"] == [] for row in compared)
    assert {row["metric"] for row in compared} == set(OF_BOXES)
    judged = workspace.call("claims", name, "--scale", "cpu", "--json").json
    assert {row["claim"] for row in judged} == {"coco-transfer"}
    assert {row["missing"] for row in judged} == {
        "no seed has finished all cells that one side of this check needs"
    }
