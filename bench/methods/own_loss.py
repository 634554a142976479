"""Objectives from users' files; only code in trusted folders runs, and only in this module."""

import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from bench.cells.pretrain import Pretrain
from bench.data.streams import Purpose, stream
from bench.errors import NO_MEMORY, BenchError, CellFailure
from bench.loss_files import (
    BEGIN,
    UPDATE,
    Declaration,
    Learned,
    LossFile,
    function_name,
    trusted,
)
from bench.methods.objectives import Pair

OWN = 2000  # the part of a direction's draw that an objective's own generator begins with


F = TypeVar("F")


class OwnState(nn.Module):
    """Named tensors without gradients that every checkpoint contains."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        """Begin with these."""
        super().__init__()
        for name, value in tensors.items():
            self.register_buffer(name, value)

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors by name."""
        return dict(self.named_buffers())

    def put(self, tensors: Mapping[str, Tensor]) -> None:
        """Replace the values of the tensors.

        Raises:
            ValueError: names or shapes differ from the initial ones.
        """
        if tensors.keys() != (mine := self.tensors()).keys():
            found, expected = ", ".join(tensors) or "nothing", ", ".join(mine) or "nothing"
            raise ValueError(f"{UPDATE} leaves {found} in state, but {BEGIN} made {expected}")
        for name, value in mine.items():
            if getattr(tensors[name], "shape", None) != value.shape:
                what = f"{shown(tensors[name])} as '{name}', expected shape {tuple(value.shape)}"
                raise ValueError(f"{UPDATE} leaves {what}")
            value.copy_(tensors[name])


class OwnLoss(nn.Module):
    """A function from a file, with the cell's parameters, learned tensors and state."""

    def __init__(self, cell: Pretrain) -> None:
        """Run the file.

        Raises:
            CellFailure: no trusted folder has it as the cell was planned, or it raises an error.
        """
        super().__init__()
        self.file = found(cell)
        assert isinstance(self.file.declared, Declaration)
        self._functions = defined(
            self.file.source, self.file.code, self.file.function, *self.file.hooks
        )
        self._settings = cell.parameters | {"tau": cell.tau}
        sizes = self._settings | {"feature_dim": cell.feature_dim}
        self.learned = nn.ParameterDict(
            {
                name: _first(declared, sizes, stream(cell.seed, Purpose.INIT, 6, i))
                for i, (name, declared) in enumerate(self.file.declared.learned.items())
            }
        )
        start = stream(cell.seed, Purpose.INIT, 7).integers(2**63)
        self.state = self._begun(sizes | {"generator": torch.Generator().manual_seed(int(start))})

    def takes(self, name: str) -> bool:
        """Return whether a function that receives batches takes this argument."""
        return name in (*self.file.arguments, *self.file.hooks.get(UPDATE, ()))

    def forward(self, pair: Pair) -> Tensor:
        """Return the loss of each query of a direction.

        Raises:
            CellFailure: the function raises an error or returns an invalid value.
        """
        loss_N = self._call(self.file.function, self.file.arguments, pair, self.state.tensors())
        return self._checked(loss_N, len(pair.query_ND))

    @torch.no_grad()
    def remember(self, pairs: Sequence[Pair]) -> None:
        """Update the state with each direction of a batch, after the backward pass.

        Raises:
            CellFailure: the function raises an error.
        """
        if UPDATE not in self.file.hooks:
            return
        for pair in pairs:
            state = self.state.tensors()
            self._call(UPDATE, self.file.hooks[UPDATE], pair, state)
            with faults_of(self.file.code):
                self.state.put(state)

    def _begun(self, given: Mapping[str, Any]) -> OwnState:
        if BEGIN not in self.file.hooks:
            return OwnState({})
        with faults_of(self.file.code):
            names = self.file.hooks[BEGIN]
            made = self._functions[BEGIN](**{name: given[name] for name in names})
            if not isinstance(made, Mapping):
                raise TypeError(f"{BEGIN} returns {shown(made)}, expected a mapping of tensors")
            return OwnState(made)

    def _call(
        self, function: str, names: Iterable[str], pair: Pair, state: dict[str, Tensor]
    ) -> Any:
        def given(name: str) -> Any:
            if name in self.learned:
                return self.learned[name]
            if name in self._settings:
                return self._settings[name]
            if name == "generator":
                assert pair.draw is not None
                return torch.Generator().manual_seed(pair.draw.of(OWN).key % 2**63)
            if name == "correlation_DD":
                return pair.samples.correlation_DD
            return state if name == "state" else getattr(pair, name)

        with faults_of(self.file.code):
            return self._functions[function](**{name: given(name) for name in names})

    def _checked(self, loss_N: Any, queries: int) -> Tensor:
        if isinstance(loss_N, Tensor) and loss_N.shape == (queries,) and loss_N.is_floating_point():
            return loss_N
        raise CellFailure(
            f"{self.file.code}: {self.file.function} returns {shown(loss_N)}, expected a number "
            f"for each query, shape ({queries},)"
        )


def shown(value: Any) -> str:
    """Return an invalid value as short text: a tensor's shape, and its dtype if not float."""
    if not isinstance(value, Tensor):
        return " ".join(repr(value).split())[:60]
    kind = "" if value.is_floating_point() else f" of {value.dtype}"
    return f"shape {tuple(value.shape)}{kind}"


def found(cell: Pretrain) -> LossFile:
    """Return the files of a cell's own objective or method.

    Raises:
        CellFailure: no trusted folder has the files in the planned version.
    """
    return as_planned("loss", cell.loss, str(cell.loss_file), trusted)


def as_planned(
    setting: str, name: str, identity: str, look_up: Callable[[str, str], F | None]
) -> F:
    """Return the code that a setting of a cell names, in the planned version.

    Args:
        setting: name of the setting.
        name: value of the setting.
        identity: identity of the planned version of the code.
        look_up: function from name and identity to the code, or None if no trusted folder has it.

    Raises:
        CellFailure: no trusted folder has the code.
    """
    try:
        file = look_up(name, identity)
    except BenchError as fault:
        raise CellFailure(str(fault)) from None
    if file is None:
        raise CellFailure(
            f"{setting} '{name}': no trusted folder has the file with digest "
            f"{identity}; the file may have been edited"
        )
    return file


def defined(source: bytes, code: Path, *wanted: str) -> dict[str, Callable[..., Any]]:
    """Run the source of a file and return the requested objects by name.

    Raises:
        CellFailure: the code raises an error.
    """
    names: dict[str, Any] = {"__name__": function_name(code), "__file__": str(code)}
    with faults_of(code):
        exec(compile(source, str(code), "exec"), names)
        return {name: names[name] for name in wanted}


def _first(declared: Learned, sizes: Mapping[str, Any], draw: np.random.Generator) -> nn.Parameter:
    """Return the first values of what is learned, float32."""
    shape = [sizes[size] if isinstance(size, str) else size for size in declared.shape]
    drawn = declared.start + declared.std * draw.standard_normal(shape)
    return nn.Parameter(torch.tensor(drawn, dtype=torch.float32))


@contextmanager
def faults_of(code: Path) -> Iterator[None]:
    """Context manager that converts an error in a file's code to one line with its place.

    What the code prints goes to standard error, because `--json` writes to standard output.

    Raises:
        CellFailure: the code raises an error other than out of memory.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except (Exception, SystemExit) as error:
        if any(text in str(error) for text in NO_MEMORY):
            raise
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(code)]
        place = f"{code}:{lines[-1]}" if lines else str(code)
        why = " ".join(str(error).split())
        raise CellFailure(f"{place}: {type(error).__name__}: {why}") from error
