"""Named tensors one behind the other in a row of bytes, so that one copy moves them all."""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

ALIGNMENT = 16  # bytes; a tensor begins at a multiple


class Field(NamedTuple):
    """Where a tensor lies."""

    start: int  # in bytes
    stop: int
    dtype: torch.dtype
    shape: torch.Size


class Layout:
    """Where each tensor lies in a row of bytes."""

    def __init__(self, example: Mapping[str, Tensor]) -> None:
        """Lay out tensors of these names, types and shapes."""
        self.fields: dict[str, Field] = {}
        end = 0
        for name, tensor in example.items():
            start = -(-end // ALIGNMENT) * ALIGNMENT
            end = start + tensor.nbytes
            self.fields[name] = Field(start, end, tensor.dtype, tensor.shape)
        self.nbytes = -(-end // ALIGNMENT) * ALIGNMENT

    def views(self, row: Tensor) -> dict[str, Tensor]:
        """Return the tensors that lie in a row, uint8 (nbytes,): they share its memory."""
        return {
            name: row[field.start : field.stop].view(field.dtype).view(field.shape)
            for name, field in self.fields.items()
        }

    def write(self, tensors: Mapping[str, Tensor], row: Tensor) -> None:
        """Copy tensors into a row.

        Raises:
            ValueError: a tensor has another name, type or shape than the layout.
        """
        if tensors.keys() != self.fields.keys():
            names = ", ".join(sorted(tensors.keys() ^ self.fields.keys()))
            raise ValueError(f"the tensors and the layout do not both have {names}")
        for name, into in self.views(row).items():
            tensor = tensors[name]
            if (tensor.dtype, tensor.shape) != (into.dtype, into.shape):
                raise ValueError(
                    f"{name} must be {into.dtype} of shape {tuple(into.shape)}, found "
                    f"{tensor.dtype} {tuple(tensor.shape)}"
                )
            into.copy_(tensor)
