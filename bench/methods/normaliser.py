"""The constant normaliser of instance discrimination over a bank (mutual-information, Sec. 2)."""

from typing import Any

import torch
from torch import Tensor, nn

FIRST_BATCHES = 10  # assumed: "initial batches" in arXiv:1805.01978, Sec. 3.2


class Normaliser(nn.Module):
    """kappa of Z = kappa n: a number, or the mean of e^{s / tau} over the first batches' negatives.

    The estimate of arXiv:1805.01978, Sec. 3.2, without gradient. While the first batches last it is
    the mean so far, theirs included. What it has seen is in its buffers, and so in checkpoints.
    """

    total: Tensor
    batches: Tensor

    def __init__(self, kappa: float | None, tau: float) -> None:
        """Take kappa as it is; estimate it for None."""
        super().__init__()
        self.kappa, self.tau = kappa, tau
        self._seen: list[Tensor] = []
        self._estimate: float | None = None  # of all first batches, once it was read
        self.register_load_state_dict_post_hook(_forget_estimate)  # type: ignore[no-untyped-call]
        if kappa is None:
            self.register_buffer("total", torch.zeros((), dtype=torch.float64))
            self.register_buffer("batches", torch.tensor(0))

    @torch.no_grad()
    def of(self, neg_NK: Tensor) -> float:
        """Return kappa for queries with these similarities, which count if they are early."""
        if self.kappa is not None:
            return self.kappa
        if self._estimate is None and int(self.batches) == FIRST_BATCHES:
            self._estimate = float(self.total / FIRST_BATCHES)
        if self._estimate is not None:
            return self._estimate
        self._seen.append((neg_NK.double() / self.tau).exp().mean())
        return float((self.total + self._of_batch()) / (self.batches + 1))

    def remember(self) -> None:
        """Keep what the batch said; of several directions their mean."""
        if self._seen:
            self.total += self._of_batch()
            self.batches += 1
            self._seen.clear()

    def _of_batch(self) -> Tensor:
        return torch.stack(self._seen).mean()


def _forget_estimate(module: Any, _: Any) -> None:
    """Have the estimate read anew from what was loaded."""
    module._estimate = None
