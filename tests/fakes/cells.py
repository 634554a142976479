"""Small `pretrain` cells on digits, and what to train them with."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from _pytest.mark import ParameterSet

from bench.cells.baseline import Baseline
from bench.cells.pretrain import Pretrain
from bench.methods.method import Method
from bench.suites.presets import filled, paper_presets
from bench.train.loop import Training
from bench.train.sources import open_source
from tests.fakes.suites import SECONDS, SuiteData

METHODS = sorted(paper_presets())

SMALL: dict[str, Any] = {
    "experiment": "pretrain", "method": "simclr", "dataset": "digits", "train_images": 96,
    "image_size": 8, "views": "affine", "arch": "small", "stem": "half", "width": 4,
    "feature_dim": 8, "epochs": 2, "batch_size": 16, "optimizer": "sgd", "lr": 0.05,
    "weight_decay": 1e-4, "lr_schedule": "cosine", "knn_k": 5, "seed": 0,
}  # fmt: skip
PRETRAIN: SuiteData = {
    "name": "small",
    "title": "One encoder, trained for an epoch",
    "experiment": "pretrain",
    "scale": "tiny",
    "scales": {"tiny": SECONDS},
    "seeds": [0],
    "fixed": {k: v for k, v in SMALL.items() if k not in ("experiment", "seed")} | {"epochs": 1},
}
# Presets are published at sizes that no small batch has: in their place, where they have them.
SIZES: dict[str, Any] = {
    "K": 40, "bn_groups": 2, "support_size": 40, "projector_hidden_dim": 16,
    "predictor_hidden_dim": 16, "clusters": 12, "neighbour_count": 3, "uniform_epochs": 1,
    "anneal_epochs": 2, "inner_from_epoch": 0, "inner_to_epoch": 1, "ball_share": 0.5,
    "inner_share": 0.1,
}  # fmt: skip


def sizes_of(method: str) -> dict[str, Any]:
    """Return the small sizes of what a preset has."""
    given = paper_presets()[method].settings if method in paper_presets() else {}
    return {k: v for k, v in SIZES.items() if given.get(k) not in (None, 0) and given[k] != 1}


def pretrain_cell(**settings: Any) -> Pretrain:
    """Return the cell that a suite with these settings has: a preset fills in what they lack."""
    return Pretrain.model_validate(filled(settings, paper_presets()))


def small_cell(method: str = "simclr", **changes: Any) -> Pretrain:
    return pretrain_cell(**SMALL | {"method": method} | sizes_of(method) | changes)


AXES = (
    "colour", "views", "target", "negatives", "negative_views", "negative_branch", "drawn",
    "neighbours", "neighbour_sum", "loss", "norm", "bn", "bn_groups", "bn_over", "symmetric",
    "predictor_layers", "rho", "balance", "positive_gradient", "negative_gradient",
    "normaliser", "own_entry",
)  # fmt: skip
"""Settings in which presets differ in kind."""
SIZED = ("anneal_epochs", "clusters", "inner_share", "neighbour_count", "uniform_epochs")
"""Sizes of parts that few presets have."""


def covering(methods: Iterable[str] = METHODS) -> list[str]:
    """Return few of the methods that have among them every value of an axis, part, and loss.

    A loss counts with each kind of negatives and neighbours that it has. These methods reach every
    branch that any preset reaches; `benchmarks/planted_defects.py` plants defects there.
    """
    left = {
        method: {(axis, getattr(cell, axis)) for axis in AXES}
        | {(part, getattr(cell, part) is None) for part in SIZED}
        | {(cell.loss, cell.negatives, cell.neighbours)}
        for method, cell in ((method, small_cell(method)) for method in methods)
    }
    found = []
    while any(left.values()):
        found.append(max(left, key=lambda method: len(left[method])))
        seen = left[found[-1]]
        left = {method: values - seen for method, values in left.items()}
    return found


def each(methods: Iterable[str]) -> list[ParameterSet]:
    """Return methods as parameters: the covering ones always, the others for `make test-all`."""
    methods = list(methods)
    always = covering(methods)
    return [
        pytest.param(method, marks=() if method in always else pytest.mark.all_presets)
        for method in methods
    ]


def baseline_cell(kind: str, **changes: Any) -> Baseline:
    """Return the baseline of the small cell: the settings that it has too."""
    own = {k: v for k, v in SMALL.items() if k in Baseline.model_fields}
    return Baseline.model_validate(own | {"experiment": "baseline", "baseline": kind} | changes)


def training_of(cell: Pretrain, device: str = "cpu") -> Training:
    return Training(cell, open_source(cell, Path(), device), device)


def method_of(training: Training) -> Method:
    """Return the method of a training that no file has."""
    assert isinstance(training.method, Method)
    return training.method


def weights(training: Training) -> dict[str, torch.Tensor]:
    """Return every tensor that a training holds, by name."""
    parts = {"online": training.online, "probes": training.probes, **training.method.modules}
    return {
        f"{part}.{name}": value.clone()
        for part, module in parts.items()
        for name, value in module.state_dict().items()
    }
