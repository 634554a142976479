"""The cell of `baseline`: it depends on what it is made of, and on nothing else."""

from typing import Any

import pytest
from pydantic import ValidationError

from bench.cells.baseline import BASELINES, Baseline, without_baselines
from tests.fakes.cells import baseline_cell, small_cell

CHANGES: dict[str, tuple[Any, set[str]]] = {
    "image_size": (16, {"raw", "untrained", "labels"}),
    "train_images": (100, {"raw", "untrained", "labels"}),
    "held_out": (0.1, {"raw", "untrained", "labels"}),
    "knn_k": (7, {"raw", "untrained", "labels"}),
    "linear": ("logistic", {"raw", "untrained", "labels"}),
    "test_warp": ("digits-25", {"raw", "untrained", "labels"}),
    "seed": (1, {"raw", "untrained", "labels"}),
    "width": (8, {"untrained", "labels"}),
    "zero_init_residual": (True, {"untrained"}),
    "epochs": (3, {"labels"}),
    "views": ("crop", {"labels"}),
    "lr": (0.1, {"labels"}),
}
"""A setting, another value of it, and the baselines that it makes others."""


@pytest.mark.parametrize("name", CHANGES)
def test_an_id_depends_on_what_the_baseline_depends_on(name: str) -> None:
    value, expected = CHANGES[name]
    changed = {
        kind
        for kind in BASELINES
        if baseline_cell(kind).id != baseline_cell(kind, **{name: value}).id
    }
    assert changed == expected


def test_where_the_rate_comes_from_enters_no_id() -> None:
    ruled = baseline_cell("labels", base_lr=0.8, lr_scaling="linear", lr=0.05)
    assert ruled.id == baseline_cell("labels").id
    settings = ruled.model_dump(exclude={"lr"})
    assert Baseline.model_validate(settings).lr == 0.05


@pytest.mark.parametrize(
    ("kind", "changes", "told"),
    [
        ("untrained", {"arch": None}, "arch must be set with baseline 'untrained'"),
        ("labels", {"epochs": None}, "epochs must be set with baseline 'labels'"),
        (
            "labels",
            {"lr": 0.1, "base_lr": 0.8, "lr_scaling": "linear"},
            "lr is not the value that base_lr and lr_scaling give; change base_lr, and "
            "leave lr out",
        ),
        (
            "raw",
            {"dataset": "cifar10", "test_warp": "digits-25"},
            "test_warp 'digits-25' can be used only with dataset 'digits'",
        ),
    ],
)
def test_what_does_not_fit_is_told(kind: str, changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        baseline_cell(kind, **changes)
    assert caught.value.errors()[0]["msg"] == f"Value error, {told}"


def test_the_work_is_the_evaluation_and_with_labels_the_training() -> None:
    """96 training images twice with labels, then 96 and 450."""
    untrained, labels = (baseline_cell(kind).work for kind in ("untrained", "labels"))
    assert labels / untrained == pytest.approx((96 * (1 + 2) + 450) / (96 + 450))
    assert baseline_cell("raw").work > 0


def test_baselines_are_no_cells_that_claims_speak_of() -> None:
    assert without_baselines([baseline_cell("raw"), small_cell()]) == [small_cell()]
