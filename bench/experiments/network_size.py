"""How many parameters the network of a method has."""

from collections.abc import Sequence
from pathlib import Path

from torch import nn

from bench.cells.pretrain import NetworkSize
from bench.experiments.outcome import Clock, Outcome, Result, Spent
from bench.methods.online_network import Online
from bench.results.folder import CellFolder

MILLION = 1e6


def run(cells: Sequence[NetworkSize], folders: Sequence[CellFolder], device: str) -> list[Outcome]:
    """Build each cell's network and count what learns, biases and batch norm's numbers too.

    Args:
        cells: what is counted.
        folders: theirs; nothing is written.
        device: of no use, for nothing is computed.
    """
    return [Result({"params_m": _parameters(cell) / MILLION}) for cell in cells]


def probe(cell: NetworkSize, data: Path, device: str, clock: Clock) -> Spent:
    """Time a whole count.

    Args:
        cell: what is counted.
        data: the folder of data sets, of which nothing is read.
        device: of no use, for nothing is computed.
        clock: tells seconds.
    """
    began = clock()
    _parameters(cell)
    return Spent(0.0, clock() - began)


def _parameters(cell: NetworkSize) -> int:
    online = Online(cell.trained)
    counted: list[nn.Module] = [online.backbone]
    counted += [online.projector] if cell.counted != "backbone" else []
    counted += [online.predictor] if cell.counted == "with-predictor" else []
    return sum(weight.numel() for part in counted for weight in part.parameters())
