"""Cells of the toy experiments that take next to no time."""

from typing import Any

import pytest

from bench.cells import CELLS
from bench.cells.cell import Cell
from bench.cells.toys import GaussianMI, GradientNorm
from bench.train import stack as stack_module


def make_cells(count: int) -> list[GradientNorm]:
    return [
        GradientNorm(
            experiment="gradient-norm", loss="infonce", K=1, tau=0.5, d=2, positive_cosine=0.0,
            draws=2, seed=seed,
        )
        for seed in range(count)
    ]  # fmt: skip


TOY: dict[str, Any] = {
    "experiment": "gaussian-mi", "mi_true": 2.0, "d": 20, "K": 8, "steps": 100,
    "optimizer": "adam", "lr": 5e-4, "eval_repeats": 3, "hidden_layers": 1, "hidden_units": 32,
    "activation": "relu", "embedding_dim": 32, "output_relu": True, "tau": 1.0,
    "margin_count": "negatives", "bound_constant": "alpha", "loss": "infonce", "seed": 0,
}  # fmt: skip


def toy(**changes: Any) -> GaussianMI:
    return GaussianMI.model_validate(TOY | changes)


GAUSSIAN_MI: dict[str, Any] = {
    "experiment": "gaussian-mi", "d": 20, "K": 64, "steps": 50, "optimizer": "adam", "lr": 5e-4,
    "eval_repeats": 3, "hidden_layers": 1, "hidden_units": 256, "activation": "relu",
    "embedding_dim": 256, "output_relu": True, "tau": 1.0, "margin_count": "negatives",
    "bound_constant": "one-plus-alpha",
}  # fmt: skip


VINCE: dict[str, Any] = {
    "experiment": "vince-gaussian", "dataset_size": 208, "K": 19, "epochs": 6, "batch_size": 64,
    "optimizer": "adam", "lr": 0.03, "weight_decay": 0.0, "layers": 5, "hidden_units": 10,
    "embedding_dim": 10, "towers": "two", "normalised": True, "tau": 1.0, "bank_rate": 0.5,
    "negatives_from": "encoder",
    "eval_repeats": 2,
}  # fmt: skip


SPIRALS: dict[str, Any] = {
    "experiment": "spirals", "points": 416, "turns": 1.0, "arms": "rotated", "layers": 5,
    "hidden_units": 32, "normalised": True, "tau": 0.07, "optimizer": "sgd", "lr": 0.03,
    "momentum": 0.9, "weight_decay": 1e-5, "batch_size": 64, "iterations": 60,
}  # fmt: skip


def make(name: str) -> list[Cell]:
    return [CELLS[s["experiment"]].model_validate(s) for s in STACKS[name]]


def record_often(patch: pytest.MonkeyPatch) -> None:
    """Have histories and checkpoints written every 20 steps, of which the cells have few."""
    for experiment in ("gaussian_mi", "spirals"):
        patch.setattr(f"bench.experiments.{experiment}.RECORD_EVERY", 20)


def stop_at_checkpoint(number: int, patch: pytest.MonkeyPatch) -> None:
    """Interrupt training right after a checkpoint and some steps more were made."""
    save = stack_module._save
    measured: list[int] = []

    def save_and_count(*args: Any) -> None:
        if len(measured) == number:
            raise KeyboardInterrupt
        measured.append(1)
        save(*args)

    patch.setattr(stack_module, "_save", save_and_count)


STACKS: dict[str, list[dict[str, Any]]] = {
    "gaussian-mi": [
        GAUSSIAN_MI | {"mi_true": mi, "loss": loss, "alpha": alpha, "seed": seed}
        for seed in (0, 1)
        for mi in (2.0, 10.0)
        for loss, alpha in (("infonce", None), ("eqco", 512.0))
    ],
    "vince": [
        VINCE | {"method": method, "valid_percent": share, "seed": seed}
        for seed in (0, 1)
        for method, share in (("infonce", 100.0), ("vince", 50.0), ("vince", 10.0))
    ],
    "vince-shared-tower": [
        VINCE
        | {
            "towers": "shared",
            "negatives_from": "bank",
            "method": "vince",
            "valid_percent": 25.0,
            "seed": seed,
        }
        for seed in (0, 1)
    ],
    "spirals-bank": [
        SPIRALS | {"source": "bank", "K": 100, "bank_rate": 0.5, "eta": eta, "seed": seed}
        for seed in (0, 1)
        for eta in (0.0, 0.4, 5.0)
    ],
    "spirals-batch": [
        SPIRALS | {"source": "batch", "eta": eta, "seed": seed}
        for seed in (0, 1)
        for eta in (0.0, 0.4)
    ],
}
