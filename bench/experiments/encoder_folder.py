"""Trained encoders, each stored once, and the layers that provide features.

`<results>/trained/<training id>/` has a checkpoint, history, arrays, provenance, summary, the
weights (`encoder.pt`), and one file per evaluation.
"""

import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch
from torch import nn

from bench.cells.axes import EVALUATIONS as KINDS
from bench.cells.pretrain import Pretrain
from bench.errors import Damaged
from bench.files.atomic import write_whole
from bench.files.messages import warn
from bench.methods.online_network import Online
from bench.results.digests import ENCODER, EVALUATIONS
from bench.results.folder import CellFolder, Folders, damage_of, discard
from bench.results.lease import POLL_S
from bench.results.records import EvaluationRecord, read_record, sealed
from bench.train.checkpoints import write_tensors

SWEPT_AT_MOST = 3  # times, while one small file is written


def check_encoder(path: Path) -> None:
    """Raise a ValueError unless the file has only named tensors; tensors are not read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of tensors that are refused below
            weights = torch.load(path, weights_only=True, map_location="cpu", mmap=True)
    except Exception as fault:  # torch raises many kinds for a file that is no such
        raise ValueError(str(fault).strip().partition("\n")[0]) from fault
    if not isinstance(weights, dict) or not weights:
        raise ValueError("the file has no named tensors")
    left = 4 * path.stat().st_size  # tensors may share their numbers
    for name, value in weights.items():
        if not isinstance(name, str) or not isinstance(value, torch.Tensor):
            raise ValueError(f"{name!r} is not a tensor")
        if value.is_meta or value.layout != torch.strided:
            raise ValueError(f"{name!r} is not a dense tensor of numbers")
        left -= value.nbytes
        if left < 0:
            raise ValueError("the tensors need more numbers than the file holds")
        if not all(torch.isfinite(part).all() for part in value.reshape(-1).split(2**20)):
            raise ValueError(f"{name!r} holds numbers that are not finite")


class TrainedFolder(CellFolder):
    """Folder of a trained encoder."""

    @staticmethod
    def of(cell: Pretrain, folders: Folders) -> "TrainedFolder":
        """Return the folder of the encoder that a cell evaluates."""
        return TrainedFolder(folders.encoders / cell.training_id)

    @property
    def encoder_file(self) -> Path:
        """Path of the online network's weights."""
        return self.path / ENCODER

    def evaluation_file(self, name: str) -> Path:
        """Return the path of an evaluation's file, by its id."""
        return self.path / EVALUATIONS / f"{name}.json"

    def evaluation(self, cell: Pretrain, name: str) -> dict[str, float] | None:
        """Return the metrics of an evaluation; None if it must be computed.

        It must be computed if no record with the cell's protocol has all metrics. A damaged record
        is reported and ignored.
        """
        path = self.evaluation_file(cell.evaluation_id(name))
        try:
            record = read_record(path, EvaluationRecord, "an evaluation")
        except Damaged as fault:
            warn(f"{fault}; the evaluation will be computed again")
            return None
        if record is None:
            return None
        if (record["evaluation"], record["protocol"]) != (name, cell.evaluation(name)):
            warn(
                f"{path}: this file holds an evaluation with settings that do not match its file "
                "name; the evaluation will be computed again"
            )
            return None
        metrics: dict[str, float] = record["metrics"]
        asked = KINDS[name].metrics if KINDS[name].is_asked_by(cell) else ()
        return dict(metrics) if metrics.keys() >= set(asked) else None  # a metric came later

    def write_evaluation(self, cell: Pretrain, name: str, metrics: dict[str, float]) -> None:
        """Store the metrics of an evaluation with its protocol.

        Args:
            cell: cell whose settings define the protocol.
            name: name of the evaluation.
            metrics: the metrics; accuracies in percent.
        """
        record = {"evaluation": name, "protocol": cell.evaluation(name), "metrics": metrics}
        path = self.evaluation_file(cell.evaluation_id(name))
        for _ in range(SWEPT_AT_MOST):
            with suppress(FileNotFoundError):  # another process has swept meanwhile
                write_whole(path, sealed(record))
                return
        write_whole(path, sealed(record))

    def drop_unusable(self, fill: Callable[[], None]) -> None:
        """Remove and report a finished encoder that is damaged or does not fit the network.

        Args:
            fill: function that loads the weights into the network and raises if they do not fit.
        """

        def fault(folder: CellFolder) -> str | None:
            why = damage_of(folder, whole=True)
            if why is None:
                try:
                    fill()
                except Exception as error:  # torch raises many kinds
                    why = f"{self.encoder_file}: {str(error).strip().partition(chr(10))[0]}"
            return why

        while self.is_done and (why := fault(self)) is not None:
            warn(f"{why}; the encoder will be trained again")
            if not discard(self, lambda folder: fault(folder) is not None):
                time.sleep(POLL_S)

    def write_encoder(self, online: nn.Module) -> None:
        """Store the weights."""
        write_tensors(self.encoder_file, online.state_dict())

    def load_encoder(self, online: nn.Module, device: str) -> None:
        """Load the weights into a network."""
        online.load_state_dict(
            torch.load(self.encoder_file, weights_only=True, map_location=device)
        )

    def sweep(self) -> None:
        """Remove incomplete files, including those of evaluations, which any process may write.

        A running process writes its file again (`write_evaluation`).
        """
        super().sweep()
        for leftover in (self.path / EVALUATIONS).glob(".*"):
            leftover.unlink(missing_ok=True)


class Frozen(nn.Module):
    """An encoder without a head."""

    def __init__(self, backbone: nn.Module) -> None:
        """Take what maps images (B, 3, H, W) to features (B, F)."""
        super().__init__()
        self.backbone = self.embedding = backbone


Layers = Online | Frozen
"""The source of the features for evaluations."""


def encoder_of(layer: str, online: Layers) -> nn.Module:
    """Return the function from images to the features of a layer: backbone or projector."""
    return online.backbone if layer == "backbone" else online.embedding
