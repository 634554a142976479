"""Trained encoders: each stands once in the store, whatever is evaluated of it.

`<results>/trained/<training id>/` is a cell's folder of its own: checkpoint, history, arrays,
provenance, summary, the weights (`encoder.pt`), and one file an evaluation.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn

from bench.config.pretrain import Pretrain
from bench.errors import CellFailure, Interrupted
from bench.signals import end_if_told
from bench.store.attempts import begin_attempt
from bench.store.files import read_json, to_json, write_whole
from bench.store.folder import CellFolder
from bench.store.owner import HEARTBEAT_S, Owner
from bench.store.parcels import ENCODER, EVALUATIONS, TRAINED
from bench.train.checkpoints import write_tensors

POLL_S = 1.0


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
    def of(cell: Pretrain, folder: CellFolder) -> "TrainedFolder":
        """Return the folder of the encoder that a cell, kept in `folder`, speaks of."""
        return TrainedFolder(folder.path.parents[1] / TRAINED / cell.training_id)

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
        write_whole(self.evaluation_file(cell.evaluation_id(name)), to_json(record))

    def write_encoder(self, online: nn.Module) -> None:
        """Keep the weights."""
        write_tensors(self.encoder_file, online.state_dict())

    def load_encoder(self, online: nn.Module, device: str) -> None:
        """Fill in the weights."""
        online.load_state_dict(
            torch.load(self.encoder_file, weights_only=True, map_location=device)
        )

    @contextmanager
    def held(self, stop: Callable[[], bool] = lambda: False) -> Iterator[Callable[[], None]]:
        """Claim the training, waiting while another living process has it.

        Yields a function to be called now and then, which stops a process whose claim was taken
        for dead; signs of life are given in the background.

        Args:
            stop: whether to wait no longer, where a signal does not say so.

        Raises:
            Interrupted: it says so.
        """
        attempt = begin_attempt(self.attempts, Owner.me(), "")
        while attempt is None:
            if stop():
                end_if_told()
                raise Interrupted("told to stop")
            time.sleep(POLL_S)
            attempt = begin_attempt(self.attempts, Owner.me(), "")
        for leftover in self.path.glob(".*"):  # half-written files of a killed owner
            leftover.unlink()
        claim, looked, over = attempt, time.monotonic(), threading.Event()

        def live() -> None:
            while not over.wait(HEARTBEAT_S):
                claim.touch()

        def check() -> None:
            nonlocal looked
            if time.monotonic() - looked > HEARTBEAT_S:
                looked = time.monotonic()
                if not claim.is_mine():
                    raise CellFailure(f"another process took over the training in {self.path}")

        thread = threading.Thread(target=live, daemon=True)
        thread.start()
        try:
            yield check
        finally:
            over.set()
            thread.join()
            if claim.is_mine():
                claim.end("done" if self.is_done else "interrupted")
