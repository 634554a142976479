"""Checkpoints: whole on disk, read with weights only, bound to one cell and its history."""

import io
from typing import Any, TypedDict

import torch

from bench.store.files import write_whole
from bench.store.folder import CellFolder


class Checkpoint(TypedDict):
    """A cell after some steps."""

    cell: str  # its id
    step: int
    state: dict[str, Any]  # tensors and plain numbers


def save_checkpoint(folder: CellFolder, step: int, state: dict[str, Any]) -> None:
    """Write where to go on from, in the place of the one before."""
    buffer = io.BytesIO()
    torch.save({"cell": folder.path.name, "step": step, "state": state}, buffer)
    write_whole(folder.checkpoint_file, buffer.getvalue())


def load_checkpoint(folder: CellFolder, device: str = "cpu") -> Checkpoint | None:
    """Return the checkpoint; None if there is none, or it is torn or another cell's."""
    try:
        saved: Checkpoint = torch.load(
            folder.checkpoint_file, weights_only=True, map_location=device
        )
        mine = saved["cell"] == folder.path.name and saved["step"] > 0
    except Exception:  # torch raises many kinds for a torn file
        return None
    return saved if mine else None
