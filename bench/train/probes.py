"""Quantities recorded during training, common to all objectives.

Values are accumulated on the device without synchronisation and read once per epoch. Shapes: N
queries, K negatives of one query, D dimensions.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from bench.cells.losses import Q_B_BINS, loss_named
from bench.cells.pretrain import Pretrain
from bench.losses import histogram, mi_lower_bound
from bench.losses.contrastive import excess
from bench.methods.objectives import Pair, margin_of
from bench.methods.own_metric import OwnRecord

PER_QUERY = (
    "train_loss", "mi_lower_bound", "q_b", "grad_norm_q", "positive_similarity",
    "negative_similarity",
)  # fmt: skip
# Of the last convolutions of the last two blocks (DCL, App. 9).
LAYERS = ("grad_norm_block_before", "grad_norm_last_block")


class Probes(nn.Module):
    """Sums over an epoch; they are buffers, so they survive a restart."""

    sums: Tensor
    layer_sums: Tensor
    histogram: Tensor

    def __init__(
        self, cell: Pretrain, weights: Sequence[nn.Parameter], quantities: Sequence[str] = ()
    ) -> None:
        """Probe the cell's objective, and the gradients of the LAYERS' weights.

        Args:
            cell: what is trained.
            weights: of the LAYERS.
            quantities: names of what a method of its own records.
        """
        super().__init__()
        self.tau, self.margin = cell.tau, margin_of(cell)
        self.untold = set() if cell.tau else {"q_b", "mi_lower_bound"}  # they need a temperature
        if cell.target == "own":  # which compares no queries with keys
            self.untold = set(PER_QUERY) - {"train_loss"}
        self.limit = cell.q_b_limit
        self.names = (*PER_QUERY, *([] if self.limit is None else ["q_b_low"]), *quantities)
        self.value = "train_loss" if loss_named(cell.loss).is_loss else "surrogate"
        self._weights = tuple(weights)
        self.own = OwnRecord(cell) if cell.record is not None else None
        self.register_buffer("sums", torch.zeros(3, len(self.names), dtype=torch.float64))
        self.register_buffer("layer_sums", torch.zeros(3, len(LAYERS), dtype=torch.float64))
        self.register_buffer("histogram", torch.zeros(Q_B_BINS, dtype=torch.float64))

    @torch.no_grad()
    def add(self, pairs: Sequence[Pair], losses: Iterable[Tensor], shares: int) -> None:
        """Add a batch after its backward pass.

        Args:
            pairs: directions of the batch.
            losses: loss of each query, (N,) for each direction.
            shares: number of queries over which the differentiated loss is averaged.

        Raises:
            CellFailure: the user's own record raises an error or is not a finite number.
        """
        for pair, loss_N in zip(pairs, losses, strict=True):
            pos_N, neg_NK = pair.pos_N.detach(), pair.neg_NK.detach()
            tau = self.tau or 1.0
            odds_N = excess(pos_N, neg_NK, tau)  # one pass over the negatives for both
            q_N = logsigmoid(odds_N).exp()
            candidates = 1 + neg_NK.shape[1] * math.exp(self.margin / tau)
            loss_NCE_N = -logsigmoid(-odds_N - self.margin / tau)
            bound_N = mi_lower_bound(loss_NCE_N, candidates=candidates)
            gradient = pair.probed_ND.grad
            norm_N = torch.zeros_like(pos_N) if gradient is None else gradient.norm(dim=1) * shares
            values = [loss_N.detach(), bound_N, q_N, norm_N, pos_N, neg_NK.mean(dim=1)]
            values += [] if self.limit is None else [q_N < self.limit]
            self._sum(self.sums, torch.stack([value.double() for value in values]))
            self.histogram += histogram(q_N, bins=Q_B_BINS)
        if self.own is not None:
            self.own.add(pairs)

    @torch.no_grad()
    def add_loss(self, loss: Tensor, quantities: Mapping[str, Tensor], images: int) -> None:
        """Add a batch of a user's method, as means over its images."""
        values = torch.zeros(len(self.names), images, dtype=torch.float64, device=loss.device)
        values[self.names.index("train_loss")] = loss.double()
        for name, value in quantities.items():
            values[self.names.index(name)] = value.double()
        self._sum(self.sums, values)

    @torch.no_grad()
    def add_gradients(self) -> None:
        """Add the layers' gradients before an optimiser step."""
        norms = torch.stack(
            torch._foreach_norm([w.grad for w in self._weights if w.grad is not None])
        )
        self._sum(self.layer_sums, norms.double()[:, None])

    @staticmethod
    def _sum(sums: Tensor, values: Tensor) -> None:
        """Add count, sum and sum of squares of values, shape (quantities, n)."""
        sums[0] += values.shape[1]
        sums[1] += values.sum(dim=1)
        sums[2] += values.square().sum(dim=1)

    def line(self) -> dict[str, float]:
        """Return means and standard deviations (over queries, or over steps for layers)."""
        metrics: dict[str, float] = {}
        for names, sums, spread in (
            (self.names, self.sums, ("q_b", "grad_norm_q")),
            (LAYERS, self.layer_sums, LAYERS),
        ):
            mean = sums[1] / sums[0]
            std = (sums[2] / sums[0] - mean**2).clamp(min=0).sqrt()
            for known, m, s in zip(names, mean.tolist(), std.tolist(), strict=True):
                if known in self.untold:
                    continue
                name = self.value if known == "train_loss" else known
                metrics[name] = m
                if name in spread:
                    metrics[f"{name}_std"] = s
                if name in spread and name != "grad_norm_q":
                    metrics[f"{name}_cv"] = s / m if m > 0 else 0.0
        if self.own is not None:
            metrics |= self.own.line()
        mode = int(self.histogram.argmax())
        return metrics if self.untold else metrics | {"q_b_mode": (mode + 0.5) / Q_B_BINS}

    def distribution(self) -> Tensor | None:
        """Return the histogram of q_B, with sum 1, shape (Q_B_BINS,); None without tau."""
        return None if self.untold else self.histogram / self.histogram.sum()

    def reset(self) -> None:
        """Start an epoch."""
        for buffer in self.buffers():
            buffer.zero_()
