"""Keys remembered beyond their batch, first in, first out."""

from collections.abc import Callable
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from bench.data.draws import Draw


class Memory(nn.Module):
    """The last `size` keys; what it holds is in its buffers, and so in every checkpoint."""

    keys: Tensor
    place: Tensor
    held: Tensor

    def __init__(self, size: int, dim: int, *, start: np.random.Generator | None) -> None:
        """Start with random unit vectors from the generator `start`, or empty without one."""
        super().__init__()
        drawn = np.zeros((size, dim)) if start is None else start.standard_normal((size, dim))
        norm = np.maximum(np.linalg.norm(drawn, axis=1, keepdims=True), 1e-12)
        self.register_buffer("keys", torch.from_numpy((drawn / norm).astype(np.float32)))
        self.register_buffer("place", torch.tensor(0))
        self.register_buffer("held", torch.tensor(0 if start is None else size))
        self.size = size

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move the keys alone: numbers that shapes depend on stay where they are read."""
        place, held = self.place, self.held
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.place, self.held = place, held
        return self

    def content(self) -> Tensor:
        """Return the keys held, shape (M, D); M < `size` until it is full."""
        held = int(self.held)
        return self.keys if held == self.size else self.keys[:held]

    def by_age(self) -> Tensor:
        """Return the keys held, the oldest first, shape (M, D)."""
        held, place = int(self.held), int(self.place)
        return self.keys[:held] if held < self.size else self.keys.roll(-place, dims=0)

    @torch.no_grad()
    def remember(self, keys_ND: Tensor, draw: Draw) -> None:
        """Put keys in the place of the oldest; of more keys than fit, `size` random ones.

        EqCo, Sec. 2.3: with K below N the bank holds K random keys of the previous batch.
        """
        keys_ND = keys_ND.detach().to(self.keys.dtype)
        if len(keys_ND) > self.size:
            keys_ND = keys_ND[draw.subsets(1, len(keys_ND), self.size, keys_ND.device)[0]]
        rows = torch.arange(len(keys_ND), device=self.keys.device)
        self.keys[(int(self.place) + rows) % self.size] = keys_ND
        self.place.copy_((self.place + len(keys_ND)) % self.size)
        self.held.copy_(torch.clamp(self.held + len(keys_ND), max=self.size))
