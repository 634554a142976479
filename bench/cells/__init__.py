"""Cells: a typed, frozen, hashed record per experiment, without torch and files."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from bench.cells.baseline import Baseline
from bench.cells.cell import Cell
from bench.cells.detection import Detection
from bench.cells.finetune import FineTune
from bench.cells.image_text import ImageText
from bench.cells.pretrain import TSNE, NetworkSize, Pretrain
from bench.cells.speech import Speech, SpeechBaseline
from bench.cells.supervised import Supervised
from bench.cells.toys import (
    GaussianMI,
    GradientNorm,
    Identity,
    OptimalBound,
    Spirals,
    VinceGaussian,
)
from bench.errors import BenchError

CELLS: dict[str, type[Cell]] = {
    "gaussian-mi": GaussianMI,
    "optimal-bound": OptimalBound,
    "gradient-norm": GradientNorm,
    "identity": Identity,
    "vince-gaussian": VinceGaussian,
    "spirals": Spirals,
    "pretrain": Pretrain,
    "tsne": TSNE,
    "finetune": FineTune,
    "detection": Detection,
    "network-size": NetworkSize,
    "supervised": Supervised,
    "baseline": Baseline,
    "speech": Speech,
    "speech-baseline": SpeechBaseline,
    "image-text": ImageText,
}
"""The record of each experiment, by its name."""


def id_of(experiment: str, fields: Mapping[str, Any]) -> str | None:
    """Return the id of the cell with these fields; None if this version has no such cell."""
    kind = CELLS.get(experiment)
    if kind is None or fields.get("version") != kind.model_fields["version"].default:
        return None
    try:
        return kind.model_validate(fields).id
    except (BenchError, ValidationError):
        return None
