"""What the record of each experiment says of its cells: work, cuts, limits."""

import re
from functools import cache, cached_property
from typing import Any

import pytest

from bench.cells import CELLS
from bench.cells.cell import Cell, impossible, too_much
from bench.cells.groups import make_stacks
from bench.cells.supervised import Supervised
from bench.experiments import probe_of
from bench.suites.expand import expand
from bench.suites.load import load_suite, suite_paths
from tests.fakes.cells import small_cell
from tests.fakes.paths import SUITES

KINDS = {
    "gaussian-mi": ("eqco-table-9", "paper", "gaussian-mi K=64 d=20 hidden_units=256"),
    "optimal-bound": ("eqco-theorems", "paper", "optimal-bound K=16 d=20"),
    "gradient-norm": ("eqco-theorems", "paper", "gradient-norm K=1 d=128"),
    "identity": ("dcl-propositions", "cpu", "identity N=24 d=16"),
    "vince-gaussian": (
        "mutual-information-table-3", "paper",
        "vince-gaussian K=100 dataset_size=2000 hidden_units=10",
    ),
    "spirals": (
        "mutual-information-figure-6", "paper",
        "spirals source=bank batch 128 hidden_units=128",
    ),
    "pretrain": ("cifar10-jpeg", "gpu", "pretrain resnet18 cifar width 64 32 px batch 128"),
    "tsne": ("dcl-figure-4c", "cpu", "tsne small half width 16 16 px batch 32"),
    "finetune": ("unigrad-table-9", "cpu", "finetune small half width 16 16 px batch 64"),
    "detection": (
        "eqco-table-8", "cpu", "detection faster-rcnn fpn small half width 16 64 px batch 4",
    ),
    "network-size": (
        "dcl-table-10-params", "paper", "network-size resnet50 imagenet width 64 224 px batch 256",
    ),
    "baseline": ("dcl-table-1", "cifar", "baseline raw 24 px"),
    "speech": ("dcl-table-16", "speech", "speech wav2vec2-small batch 32"),
    "speech-baseline": ("dcl-table-16", "speech", "speech-baseline raw wav2vec2-small"),
    "image-text": ("dcl-clip", "cpu", "image-text clip-small batch 16"),
    "supervised": ("dcl-table-17", "paper", "supervised resnet20 cifar width 16 32 px batch 32"),
}  # fmt: skip
"""Of each experiment the first cell of a suite at a scale, and its kind."""
CUT = [name for name, record in CELLS.items() if record.cuttable]
CLASSIFIER: dict[str, Any] = {
    "experiment": "supervised", "dataset": "digits", "image_size": 8, "views": "affine",
    "arch": "small", "stem": "half", "width": 4, "loss": "cross-entropy", "epochs": 2,
    "batch_size": 16, "optimizer": "sgd", "lr": 0.05, "weight_decay": 1e-4,
    "lr_schedule": "cosine", "seed": 0,
}  # fmt: skip


def classifier(**changes: Any) -> Supervised:
    return Supervised.model_validate(CLASSIFIER | changes)


@cache
def first_cell(experiment: str) -> Cell:
    name, scale, _ = KINDS[experiment]
    path = suite_paths(SUITES)[name]
    cells = expand(load_suite(path), scale, path)
    return next(cell for cell in cells if cell.experiment == experiment)


@pytest.mark.parametrize("experiment", CELLS)
def test_every_experiment_names_its_kind(experiment: str) -> None:
    assert first_cell(experiment).kind == KINDS[experiment][2]


def test_precision_and_batch_tell_kinds_apart() -> None:
    assert small_cell(N=32).kind == small_cell().kind
    assert classifier(batch_size=32).kind == "supervised small half width 4 8 px batch 32"
    assert small_cell(precision="bf16").kind == "pretrain small half width 4 8 px bf16 batch 16"


@pytest.mark.parametrize("experiment", CELLS)
def test_a_probe_cuts_a_kind_or_is_its_own(experiment: str) -> None:
    as_a_whole = ("network-size",)
    assert (experiment in (*CUT, *as_a_whole)) == (probe_of(experiment) is None)


@pytest.mark.parametrize("experiment", CUT)
def test_a_cut_is_so_much_of_the_work_and_of_the_same_kind(experiment: str) -> None:
    cell = first_cell(experiment)
    quarter = cell.shortened(1 / 4)
    assert quarter.work == pytest.approx(cell.work / 4, rel=0.05)
    assert quarter.kind == cell.kind
    changed = {k for k, v in cell.settings.items() if quarter.settings[k] != v}
    assert changed == set(cell.cuttable)
    assert cell.shortened(1) == cell
    least = cell.shortened(1e-9)
    assert {getattr(least, name) for name in cell.cuttable} == {2}
    assert least.shortened(1e-9) == least


def test_work_grows_with_steps_images_and_sizes() -> None:
    toy, plain = first_cell("spirals"), small_cell()
    assert (toy.work, toy.training_work) == (toy.settings["iterations"] * 128 * 128, 0)
    pixels = 8**2 * 4**2
    assert (plain.training_work, plain.work) == (2 * 96 * pixels, (96 + 450) * pixels)
    assert classifier(train_images=96).work == 2 * 96 * pixels


def test_only_cells_of_an_encoder_share_a_training_and_span_ranks() -> None:
    of_an_encoder = {"pretrain", "tsne", "finetune", "detection"}
    assert {name for name in CELLS if first_cell(name).training_id} == of_an_encoder
    assert {name for name in CELLS if first_cell(name).batch_over_ranks} == of_an_encoder
    assert small_cell(N=32).batch_over_ranks == 16


def test_what_shares_a_training_is_one_unit_and_what_shares_a_stack_may_be_two() -> None:
    evaluated_twice = [small_cell(knn_k=k) for k in (3, 7)]
    stacked = [first_cell("spirals").model_copy(update={"seed": seed}) for seed in (0, 1)]
    assert make_stacks(evaluated_twice, slots=2) == [evaluated_twice]
    assert make_stacks(stacked, slots=2) == [stacked[:1], stacked[1:]]
    assert make_stacks(stacked, slots=1) == [stacked]


BANK: dict[str, Any] = {
    "method": "ring",
    "drawn": "nearest",
    "ball_share": None,
    "inner_share": None,
}
TOO_MUCH: dict[str, tuple[Cell, str | None]] = {
    "nothing": (small_cell(), None),
    "a folder": (small_cell(dataset="folder:mine", knn_k=10**6), None),
    "images": (
        small_cell(train_images=1348),
        "train_images is 1348, but data set digits has only 1347 training images",
    ),
    "a batch": (
        small_cell(batch_size=128),
        "batch_size is 128, but train_images limits the training to 96 images",
    ),
    "a step": (small_cell(N=112), "N is 112, but train_images limits the training to 96 images"),
    "of all": (
        small_cell(train_images=None, knn_k=1348),
        "knn_k is 1348, but data set digits has only 1347 training images",
    ),
    "labels": (
        small_cell(
            dataset="stl10", pretrain_on="train+unlabeled", train_images=None, knn_k=5001
        ),
        "knn_k is 5001, but data set stl10 has only 5000 labelled images",
    ),
    "weights": (
        small_cell(weights_K=97),
        "weights_K is 97, but train_images limits the training to 96 images",
    ),
    "itself among the nearest": (
        small_cell(**BANK, K=96, uniform_epochs=0),
        "K is 96, but train_images limits the training to 96 images, so at most 95 are possible",
    ),
    "more than a bank": (
        small_cell(**BANK | {"drawn": "uniform"}, K=96, uniform_epochs=0),
        "K is 96, but train_images limits the training to 96 images, so at most 95 are possible",
    ),
    "labels of a class": (
        small_cell(few_shot=10),
        "few_shot is 10, but train_images limits the training to 96 images, divided "
        "among all classes",
    ),
    "clusters": (
        small_cell("cave", clusters=96),
        "clusters is 96, but train_images limits the training to 96 images, so at most 95 are "
        "possible",
    ),
    "repeated negatives": (
        small_cell("moco-v2", K=97),
        "K is 97, but train_images limits the training to 96 images, so negatives repeat",
    ),
    "a classifier's images": (
        classifier(train_images=1348),
        "train_images is 1348, but data set digits has only 1347 training images",
    ),
    "a classifier's batch": (
        classifier(batch_size=1348),
        "batch_size is 1348, but data set digits has only 1347 training images",
    ),
    "a toy": (first_cell("spirals"), None),
}  # fmt: skip


@pytest.mark.parametrize(("cell", "text"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_what_a_data_set_has_not_is_said_in_one_line(cell: Cell, text: str | None) -> None:
    assert too_much(cell) == text
    repeats = text is not None and text.endswith("so negatives repeat")
    assert impossible([cell, cell]) == ({text: 2} if text and not repeats else {})


@pytest.mark.parametrize(
    ("experiment", "setting", "value", "why"),
    [
        ("spirals", "lr", 1e300, "lr is 1e+300, but the largest number in float32 is 3.4e38"),
        (
            "optimal-bound",
            "mi_true",
            1e4,
            "mi_true 10000.0 is too large: in 20 dimensions the correlation rounds to 1",
        ),
    ],
)
def test_numbers_that_no_computation_can_hold_are_refused(
    experiment: str, setting: str, value: float, why: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        CELLS[experiment].model_validate(first_cell(experiment).model_dump() | {setting: value})


@pytest.mark.parametrize("experiment", sorted(CELLS))
def test_a_copy_with_another_seed_keeps_nothing_computed_of_the_first(experiment: str) -> None:
    cell = first_cell(experiment)
    kinds = type(cell).__mro__
    names = {n for k in kinds for n, v in vars(k).items() if isinstance(v, cached_property)}
    assert {"id", "settings"} <= names
    for name in names:
        getattr(cell, name)
    changed = cell.model_copy(update={"seed": cell.seed + 1})
    anew = type(cell).model_validate(changed.model_dump())
    assert {n: getattr(changed, n) for n in names} == {n: getattr(anew, n) for n in names}
