"""Multi-layer perceptrons of many cells in one batched computation.

Shapes: E encoders in the stack, B inputs each, D dimensions. Encoder e gets only input e, so
results of a cell are the same as in a separate training.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from bench.cells.cell import NUMBERS_A_LINE


class StackedMLP(nn.Module):
    """E perceptrons of equal shape with ReLU between layers."""

    def __init__(
        self,
        widths: Sequence[int],
        generators: Sequence[np.random.Generator],
        *,
        output_relu: bool = False,
        pad: bool = False,
        device: str = "cpu",
    ) -> None:
        """Initialise as torch initialises nn.Linear: U(-1/sqrt(fan_in), 1/sqrt(fan_in)).

        Args:
            widths: input, hidden and output widths.
            generators: one for each encoder.
            output_relu: ReLU after the last layer too.
            pad: widen hidden and output layers to whole cache lines by units that are and stay 0.
            device: where the parameters live.
        """
        super().__init__()
        self.output_relu = output_relu
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList()
        for fan_in, fan_out in pairwise(widths):
            drawn = [_uniform(g, (fan_in + 1, fan_out), fan_in**-0.5) for g in generators]
            both = torch.from_numpy(np.stack(drawn)).to(device)
            weight, bias = both[:, :-1], both[:, -1:]
            if pad:
                more_in = -fan_in % NUMBERS_A_LINE if len(self.weights) else 0
                more_out = -fan_out % NUMBERS_A_LINE
                weight = nn.functional.pad(weight, (0, more_out, 0, more_in))
                bias = nn.functional.pad(bias, (0, more_out))
            self.weights.append(nn.Parameter(weight.contiguous()))
            self.biases.append(nn.Parameter(bias.contiguous()))

    def forward(self, x_EBD: Tensor) -> Tensor:
        """Return the embeddings, shape (E, B, D_out), of inputs of shape (E, B, D_in).

        With `pad`, D_out is rounded up to a multiple of 16 and padded with zeros.
        """
        last = len(self.weights) - 1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            # BLAS takes another kernel for one thin matrix than for a batch of them, with other
            # rounding; scaling by hand keeps a cell's numbers free of its neighbours.
            thin = x_EBD.shape[-1] == 1
            x_EBD = bias + x_EBD * weight if thin else torch.baddbmm(bias, x_EBD, weight)
            if layer < last or self.output_relu:
                x_EBD = x_EBD.relu()
        return x_EBD


def _uniform(
    generator: np.random.Generator, shape: tuple[int, int], limit: float
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return ((generator.random(shape, dtype=np.float32) * 2 - 1) * np.float32(limit)).astype(
        np.float32
    )
