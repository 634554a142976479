"""What a stack of cells needs to go on, cut into cells and put together again."""

from collections.abc import Sequence

import torch
from torch import Tensor

CellState = dict[str, Tensor]


class StackState:
    """Parameters and moments of an optimiser, and further tensors, cut along their first axis."""

    def __init__(
        self,
        optimiser: torch.optim.Optimizer,
        rows: Sequence[Sequence[int]],
        **further: Tensor,
    ) -> None:
        """Name what is to be kept.

        Args:
            optimiser: its parameters have one row an encoder.
            rows: the rows that belong to each cell.
            further: other tensors with such rows.
        """
        self.optimiser, self.further = optimiser, further
        self.rows = [list(indices) for indices in rows]
        self.parameters = [p for group in optimiser.param_groups for p in group["params"]]

    def split(self) -> list[CellState]:
        """Return the part of each cell."""
        named = dict(self.further)
        for i, parameter in enumerate(self.parameters):
            named[f"{i}.parameter"] = parameter.data
            for name, value in self.optimiser.state[parameter].items():
                named[f"{i}.{name}"] = value
        return [
            {name: (t[indices] if t.dim() else t).clone() for name, t in named.items()}
            for indices in self.rows
        ]

    def join(self, states: Sequence[CellState]) -> None:
        """Go on from what `split` returned, for the same cells or any other stack of them."""
        for i, parameter in enumerate(self.parameters):
            prefix = f"{i}."
            for name in [n for n in states[0] if n.startswith(prefix)]:
                key = name.removeprefix(prefix)
                if key == "parameter":
                    self._fill(parameter.data, name, states)
                elif states[0][name].dim() == 0:
                    scalar = states[0][name].clone()
                    fused = self.optimiser.defaults.get("fused")
                    self.optimiser.state[parameter][key] = (
                        scalar.to(parameter.device) if fused else scalar
                    )
                else:
                    moment = torch.zeros_like(parameter)
                    self._fill(moment, name, states)
                    self.optimiser.state[parameter][key] = moment
        for name, tensor in self.further.items():
            self._fill(tensor, name, states)

    def _fill(self, tensor: Tensor, name: str, states: Sequence[CellState]) -> None:
        for indices, state in zip(self.rows, states, strict=True):
            tensor[indices] = state[name].to(tensor.device)
