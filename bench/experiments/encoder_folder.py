"""Trained encoders: each stands once in the store, whatever is evaluated of it.

`<results>/trained/<training id>/` is a cell's folder of its own: checkpoint, history, arrays,
provenance, summary, the weights (`encoder.pt`), and one file an evaluation.
"""

from contextlib import suppress
from pathlib import Path

import torch
from torch import nn

from bench.cells.pretrain import Pretrain
from bench.files.atomic import read_json, to_json, write_whole
from bench.results.exchange.entry import ENCODER, EVALUATIONS
from bench.results.folder import CellFolder
from bench.results.folders import Folders
from bench.train.checkpoints import write_tensors

SWEPT_AT_MOST = 3  # times, while one small file is written


def check_encoder(path: Path) -> None:
    """Raise a ValueError unless a file holds named tensors and nothing else; none is read whole."""
    try:
        weights = torch.load(path, weights_only=True, map_location="cpu", mmap=True)
    except Exception as fault:  # torch raises many kinds for a file that is no such
        raise ValueError(str(fault).strip().partition("\n")[0]) from fault
    if not isinstance(weights, dict) or not weights:
        raise ValueError("no named tensors")
    for name, value in weights.items():
        if not isinstance(name, str) or not isinstance(value, torch.Tensor):
            raise ValueError(f"{name!r} is no tensor")


class TrainedFolder(CellFolder):
    """The folder of a trained encoder."""

    @staticmethod
    def of(cell: Pretrain, folders: Folders) -> "TrainedFolder":
        """Return the folder of the encoder that a cell evaluates."""
        return TrainedFolder(folders.encoders / cell.training_id)

    @property
    def encoder_file(self) -> Path:
        """The weights of the online network."""
        return self.path / ENCODER

    def evaluation_file(self, name: str) -> Path:
        """Return the file of an evaluation, by its id."""
        return self.path / EVALUATIONS / f"{name}.json"

    def evaluation(self, cell: Pretrain, name: str) -> dict[str, float] | None:
        """Return what an evaluation found; None if it was not done under the cell's protocol."""
        record = read_json(self.evaluation_file(cell.evaluation_id(name)))
        return None if record is None else dict(record["metrics"])

    def write_evaluation(self, cell: Pretrain, name: str, metrics: dict[str, float]) -> None:
        """Keep what an evaluation found, with its protocol."""
        record = {"evaluation": name, "protocol": cell.evaluation(name), "metrics": metrics}
        path = self.evaluation_file(cell.evaluation_id(name))
        for _ in range(SWEPT_AT_MOST):
            with suppress(FileNotFoundError):  # another process has swept meanwhile
                write_whole(path, to_json(record))
                return
        write_whole(path, to_json(record))

    def write_encoder(self, online: nn.Module) -> None:
        """Keep the weights."""
        write_tensors(self.encoder_file, online.state_dict())

    def load_encoder(self, online: nn.Module, device: str) -> None:
        """Fill in the weights."""
        online.load_state_dict(
            torch.load(self.encoder_file, weights_only=True, map_location=device)
        )

    def sweep(self) -> None:
        """Remove half-written files, those of evaluations too, which any process may write.

        One that lives writes its file again (`write_evaluation`).
        """
        super().sweep()
        for leftover in (self.path / EVALUATIONS).glob(".*"):
            leftover.unlink(missing_ok=True)
