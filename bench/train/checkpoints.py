"""Checkpoints and divergence checks, shared by both training loops."""

import io
import math
from pathlib import Path
from typing import Any, TypedDict

import torch

from bench.errors import Damaged, Diverged
from bench.files.atomic import write_whole
from bench.files.messages import warn
from bench.files.regular import check_zip
from bench.results.folder import CellFolder

LINE, LINE_BYTES = b"sha256:", 72
"""First bytes of the line that earlier versions wrote before a checkpoint, and its length."""


class Checkpoint(TypedDict):
    """State of a cell after some steps."""

    cell: str  # its id
    step: int
    state: dict[str, Any]  # tensors and plain numbers


def save_checkpoint(folder: CellFolder, step: int, state: dict[str, Any]) -> None:
    """Write a checkpoint, replacing the previous one, and its step next to it.

    Args:
        folder: folder of the cell.
        step: number of completed steps.
        state: tensors and plain values by name, which `load_checkpoint` returns.
    """
    value = {"cell": folder.path.name, "step": step, "state": state}
    write_whole(folder.checkpoint_file, _bytes_of(value))
    folder.note_step(step)


def load_checkpoint(folder: CellFolder, device: str = "cpu") -> Checkpoint | None:
    """Return the checkpoint; None if it is missing or, with a warning, damaged or foreign."""
    path = folder.checkpoint_file
    try:
        if not check_zip(path):
            return None
        with path.open("rb") as file:
            file.seek(LINE_BYTES if file.read(len(LINE)) == LINE else 0)
            saved: Checkpoint = torch.load(file, weights_only=True, map_location=device)
        if saved["cell"] == folder.path.name and saved["step"] > 0:
            return saved
        why = "the file is not a checkpoint of this cell"
    except FileNotFoundError:
        return None
    except Damaged as fault:
        why = str(fault).removeprefix(f"{path}: ")
    except Exception as fault:  # torch raises many kinds for a torn file
        why = (
            "the file cannot be read "
            f"({str(fault).strip().partition(chr(10))[0] or type(fault).__name__})"
        )
    warn(f"{path}: {why}; the training starts again")
    return None


def write_tensors(path: Path, value: dict[str, Any]) -> None:
    """Write tensors and plain numbers atomically."""
    write_whole(path, _bytes_of(value))


def _bytes_of(value: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def divergence(line: dict[str, float], step: int) -> Diverged | None:
    """Return which value of a history record is not finite; None if all are finite."""
    bad = [name for name, value in line.items() if not math.isfinite(value)]
    return Diverged(f"step {step}: {bad[0]} is {line[bad[0]]}") if bad else None
