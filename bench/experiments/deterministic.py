"""Deterministic kernels on a GPU, for all that an experiment computes."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.utils import deterministic as memory


@contextmanager
def deterministic(device: str) -> Iterator[None]:
    """On a GPU take deterministic kernels; torch warns where there is none.

    Convolutions that stay in float32 may round their factors to TF32's 10 bits: like the device
    itself that moves no more than rounding, so no setting of the cell names it. Products of
    matrices keep float32: similarities over a small temperature, neighbours and views would feel
    it. New memory is not filled, since nothing here reads what it has not written.
    """
    if device == "cpu":
        yield
        return
    before = torch.are_deterministic_algorithms_enabled()
    tf32 = torch.backends.cudnn.allow_tf32
    filled = memory.fill_uninitialized_memory  # type: ignore[attr-defined]
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.allow_tf32 = True
    memory.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
        torch.backends.cudnn.allow_tf32 = tf32
        memory.fill_uninitialized_memory = filled  # type: ignore[attr-defined]
