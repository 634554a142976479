"""Metrics from users' files; only code in trusted folders runs, and only in this module."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from bench.cells.pretrain import EncoderCell
from bench.errors import CellFailure
from bench.methods.objectives import Pair
from bench.methods.own_loss import as_planned, defined, faults_of
from bench.metric_files import trusted_metric


class OwnMetric:
    """A function from a file, called with arguments by name."""

    def __init__(self, cell: EncoderCell, setting: str) -> None:
        """Run the file that a setting of the cell names.

        Raises:
            CellFailure: no trusted folder has it as the cell was planned, or it raises an error.
        """
        look_up = partial(trusted_metric, setting)
        name, identity = getattr(cell, setting), getattr(cell, f"{setting}_file")
        self.file = as_planned(setting, name, identity, look_up)
        self._function = defined(self.file.source, self.file.path, name)[name]
        self._parameters = {k: cell.parameters[f"{setting}_{k}"] for k in self.file.parameters}

    @property
    def given(self) -> list[str]:
        """Arguments of the function other than its parameters."""
        return [name for name in self.file.arguments if name not in self._parameters]

    @torch.no_grad()
    def __call__(self, given: Mapping[str, Any]) -> float:
        """Return the number of what is given.

        Raises:
            CellFailure: the function raises an error, or returns no finite number.
        """
        with faults_of(self.file.path):
            known = {**given, **self._parameters}
            value = self._function(**{name: known[name] for name in self.file.arguments})
            number = float(value) if _is_one_number(value) else math.nan
        if not math.isfinite(number):
            shown = " ".join(str(value).split())[:60]
            raise CellFailure(
                f"{self.file.path}: {self.file.name} returns {shown}, expected a finite number"
            )
        return number


def _is_one_number(value: Any) -> bool:
    """Whether a value is a number or an array with one number and no dimension; no truth value."""
    if isinstance(value, bool) or str(getattr(value, "dtype", "")).endswith("bool"):
        return False
    return isinstance(value, int | float) or getattr(value, "ndim", None) == 0


class OwnRecord(nn.Module):
    """Mean of a file's function over all batches and directions of an epoch.

    Its sums are buffers, so they survive a restart.
    """

    sums: Tensor

    def __init__(self, cell: EncoderCell) -> None:
        """Begin with nothing.

        Raises:
            CellFailure: as for `OwnMetric`.
        """
        super().__init__()
        self.metric, self.tau = OwnMetric(cell, "record"), cell.tau
        self.register_buffer("sums", torch.zeros(2, dtype=torch.float64))

    def add(self, pairs: Sequence[Pair]) -> None:
        """Add the directions of a batch.

        Raises:
            CellFailure: as for `OwnMetric.__call__`.
        """
        for pair in pairs:
            given = {
                name: value.detach() if isinstance(value, Tensor) else value
                for name in self.metric.given
                for value in [self.tau if name == "tau" else getattr(pair, name)]
            }
            self.sums += self.sums.new_tensor([1.0, self.metric(given)])

    def line(self) -> dict[str, float]:
        """Return the mean."""
        return {"own_record": float(self.sums[1] / self.sums[0])}
