"""Number of parameters of a method's network."""

from collections.abc import Sequence

from torch import nn

from bench.cells.pretrain import NetworkSize
from bench.experiments.outcome import Outcome, Result
from bench.methods.online_network import Online
from bench.results.folder import CellFolder

MILLION = 1e6


def run(cells: Sequence[NetworkSize], folders: Sequence[CellFolder], device: str) -> list[Outcome]:
    """Build each cell's network and count trained parameters, including biases and batch norm."""
    return [Result({"params_m": _parameters(cell) / MILLION}) for cell in cells]


def _parameters(cell: NetworkSize) -> int:
    online = Online(cell.trained)
    counted: list[nn.Module] = [online.backbone]
    counted += [online.projector] if cell.counted != "backbone" else []
    counted += [online.predictor] if cell.counted == "with-predictor" else []
    return sum(weight.numel() for part in counted for weight in part.parameters())
