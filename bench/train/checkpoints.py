"""Checkpoints, and lines of history that may go on: what both training loops share."""

import io
import math
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict

import torch

from bench.errors import Diverged
from bench.files.atomic import write_whole
from bench.files.messages import warn
from bench.files.regular import check_regular
from bench.files.sealed import pass_seal, with_seal
from bench.results.folder import CellFolder


class Checkpoint(TypedDict):
    """A cell after some steps."""

    cell: str  # its id
    step: int
    state: dict[str, Any]  # tensors and plain numbers


def save_checkpoint(folder: CellFolder, step: int, state: dict[str, Any]) -> None:
    """Write where to go on from, in the place of the one before, and its step beside it.

    Args:
        folder: of the cell.
        step: how many steps are done.
        state: what `load_checkpoint` gives back: tensors and plain values, by name.
    """
    value = {"cell": folder.path.name, "step": step, "state": state}
    write_whole(folder.checkpoint_file, with_seal(_bytes_of(value)))
    folder.note_step(step)


Save = Callable[[CellFolder, int, dict[str, Any]], None]
"""Writes a checkpoint as `save_checkpoint` does, at once or later."""


@contextmanager
def saving(*, in_thread: bool) -> Iterator[Save]:
    """Yield what writes checkpoints; all are written when the block ends, however it ends.

    Args:
        in_thread: the state is copied to the host at once and written while the training goes on,
            one checkpoint after the other. What cannot be written is told by the next call, or by
            the end of the block.
    """
    if not in_thread:
        yield save_checkpoint
        return
    begun: Future[None] | None = None
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoint") as thread:

        def save(folder: CellFolder, step: int, state: dict[str, Any]) -> None:
            nonlocal begun
            copied = _on_host(state)
            if begun is not None:
                begun.result()
            begun = thread.submit(save_checkpoint, folder, step, copied)

        try:
            yield save
        finally:
            if begun is not None:
                begun.result()


def _on_host(value: Any) -> Any:
    """Return the value with copies of its tensors, which no later step changes, on the CPU."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, dict):
        return {key: _on_host(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_on_host(part) for part in value)
    return value


def load_checkpoint(folder: CellFolder, device: str = "cpu") -> Checkpoint | None:
    """Return the checkpoint; None if there is none or, with a warning, it is damaged or foreign."""
    path = folder.checkpoint_file
    try:
        if not check_regular(path):
            return None
        with path.open("rb") as file:
            pass_seal(file)
            saved: Checkpoint = torch.load(file, weights_only=True, map_location=device)
        if saved["cell"] == folder.path.name and saved["step"] > 0:
            return saved
        why = "is not a checkpoint of this cell"
    except FileNotFoundError:
        return None
    except Exception as fault:  # torch raises many kinds for a torn file
        why = f"cannot be read ({str(fault).strip().partition(chr(10))[0] or type(fault).__name__})"
    warn(f"{path}: {why}; the training begins anew")
    return None


def write_tensors(path: Path, value: dict[str, Any]) -> None:
    """Write tensors and plain numbers so that a reader finds the old file or the whole new one."""
    write_whole(path, _bytes_of(value))


def _bytes_of(value: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def divergence(line: dict[str, float], step: int) -> Diverged | None:
    """Return how a line of history is not finite, if it is not."""
    bad = [name for name, value in line.items() if not math.isfinite(value)]
    return Diverged(f"step {step}: {bad[0]} is {line[bad[0]]}") if bad else None
