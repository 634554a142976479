"""Checkpoints, and lines of history that may go on: what both training loops share."""

import io
import math
from pathlib import Path
from typing import Any, TypedDict

import torch

from bench.errors import Diverged
from bench.files.atomic import write_whole
from bench.results.folder import CellFolder


class Checkpoint(TypedDict):
    """A cell after some steps."""

    cell: str  # its id
    step: int
    state: dict[str, Any]  # tensors and plain numbers


def save_checkpoint(folder: CellFolder, step: int, state: dict[str, Any]) -> None:
    """Write where to go on from, in the place of the one before, and its step beside it."""
    write_tensors(folder.checkpoint_file, {"cell": folder.path.name, "step": step, "state": state})
    folder.note_step(step)


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


def write_tensors(path: Path, value: dict[str, Any]) -> None:
    """Write tensors and plain numbers so that a reader finds the old file or the whole new one."""
    buffer = io.BytesIO()
    torch.save(value, buffer)
    write_whole(path, buffer.getvalue())


def divergence(line: dict[str, float], step: int) -> Diverged | None:
    """Return how a line of history is not finite, if it is not."""
    bad = [name for name, value in line.items() if not math.isfinite(value)]
    return Diverged(f"step {step}: {bad[0]} is {line[bad[0]]}") if bad else None
