"""Keys remembered beyond their batch, first in, first out."""

import numpy as np
import torch
from torch import Tensor, nn

from bench.data.draws import Draw


class Memory(nn.Module):
    """The last `size` keys; what it holds is in its buffers, and so in every checkpoint."""

    keys: Tensor
    place: Tensor  # of the next key; once the memory is full that of the oldest
    held: Tensor

    def __init__(self, size: int, dim: int, *, start: np.random.Generator | None) -> None:
        """Start with random unit vectors from the generator `start`, or empty without one."""
        super().__init__()
        drawn = np.zeros((size, dim)) if start is None else start.standard_normal((size, dim))
        norm = np.maximum(np.linalg.norm(drawn, axis=1, keepdims=True), 1e-12)
        self.register_buffer("keys", torch.from_numpy((drawn / norm).astype(np.float32)))
        self.register_buffer("place", torch.tensor(0))
        self.register_buffer("held", torch.tensor(0 if start is None else size))
        self.size, self.always_full = size, start is not None

    def content(self) -> Tensor:
        """Return the keys held, shape (M, D); M < `size` until it is full."""
        return self.keys if self.always_full else self.keys[: int(self.held)]

    def by_age(self) -> Tensor:
        """Return the keys held, the oldest first, shape (M, D)."""
        if not self.always_full and int(self.held) < self.size:
            return self.keys[: int(self.held)]
        return self.keys[
            (self.place + torch.arange(self.size, device=self.keys.device)) % self.size
        ]

    @torch.no_grad()
    def remember(self, keys_ND: Tensor, draw: Draw) -> None:
        """Put keys in the place of the oldest; of more keys than fit, `size` random ones.

        EqCo, Sec. 2.3: with K below N the bank holds K random keys of the previous batch.
        """
        keys_ND = keys_ND.detach().to(self.keys.dtype)
        if len(keys_ND) > self.size:
            keys_ND = keys_ND[draw.subsets(1, len(keys_ND), self.size, keys_ND.device)[0]]
        rows = torch.arange(len(keys_ND), device=self.keys.device)
        self.keys[(self.place + rows) % self.size] = keys_ND
        self.place.copy_((self.place + len(keys_ND)) % self.size)
        self.held.copy_(torch.clamp(self.held + len(keys_ND), max=self.size))
