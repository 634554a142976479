"""Batch normalisation over groups of a batch whose rows are distributed over ranks.

This module is experimental: it has not run on several GPUs (see `bench.experimental`).

Shapes: n rows on this rank, B = W n rows on W ranks, C channels, G groups.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm

from bench.experimental import Ranks
from bench.networks.batchnorm import (
    GroupBatchNorm1d,
    GroupBatchNorm2d,
    batch_norm_1d,
    batch_norm_2d,
)

BatchNorm = nn.BatchNorm1d | nn.BatchNorm2d


class RankedBatchNorm(nn.Module):
    """Batch-norm layer for groups whose rows are on several ranks.

    In training mode, statistics and their gradients are exchanged between ranks.
    """

    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor

    def __init__(self, norm: BatchNorm, ranks: Ranks) -> None:
        """Take over the parameters and statistics of a layer under their names."""
        super().__init__()
        self.weight, self.bias = norm.weight, norm.bias
        for name, buffer in norm.named_buffers():
            self.register_buffer(name, buffer)
        assert norm.momentum is not None
        self.momentum, self.eps = norm.momentum, norm.eps
        self.groups, self.ranks = groups_of(norm), ranks

    def forward(self, x: Tensor) -> Tensor:
        """Normalise this rank's rows x of shape (n, C) or (n, C, H, W).

        Raises:
            ValueError: the batch size is not divisible by the number of groups.
        """
        if not self.training:
            return batch_norm(
                x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
            )
        spread = spread_of(len(x), self.groups, self.ranks)
        y, mean_GC, var_GC = _Normalise.apply(x, self.weight, self.bias, self.eps, spread)
        with torch.no_grad():
            numbers = spread.rows * x[0, 0].numel()
            unbiased_GC = var_GC * (numbers / max(1, numbers - 1))
            self.running_mean.lerp_(mean_GC.mean(dim=0), self.momentum)
            self.running_var.lerp_(unbiased_GC.mean(dim=0), self.momentum)
            self.num_batches_tracked.add_(1)
        normalised: Tensor = y
        return normalised


class RankGroups(NamedTuple):
    """Distribution of a batch's groups over ranks."""

    ranks: Ranks
    groups: int
    rows: int  # of a group
    parts: list[tuple[int, int]]  # of this rank's rows, in order: the group, and how many


def spread_of(n: int, groups: int, ranks: Ranks) -> RankGroups:
    """Return which ranks have which groups; group g has rows g B / G to (g + 1) B / G.

    Args:
        n: number B of rows of the whole batch.
        groups: number G of groups.
        ranks: the processes that share the batch.

    Raises:
        ValueError: the batch size is not divisible by the number of groups.
    """
    batch = n * ranks.world_size
    if batch % groups:
        raise ValueError(
            f"a batch of {batch} images cannot be divided into {groups} equal bn_groups"
        )
    rows, begin, end = batch // groups, ranks.rank * n, (ranks.rank + 1) * n
    parts = [
        (g, min(end, (g + 1) * rows) - max(begin, g * rows))
        for g in range(begin // rows, -(-end // rows))
    ]
    return RankGroups(ranks, groups, rows, parts)


class _Normalise(torch.autograd.Function):
    """Normalise each row by its group's mean and (biased) variance, in float32 or wider."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float, spread: RankGroups
    ) -> tuple[Tensor, Tensor, Tensor]:
        mean_GC, var_GC = _statistics(x, weight.dtype, spread)
        pieces = x.split([count for _, count in spread.parts])
        y = [
            batch_norm(piece, mean_GC[g], var_GC[g], weight, bias, eps=eps)
            for piece, (g, _) in zip(pieces, spread.parts, strict=True)
        ]
        ctx.save_for_backward(x, weight, mean_GC, (var_GC + eps).rsqrt())
        ctx.spread = spread
        ctx.mark_non_differentiable(mean_GC, var_GC)
        return y[0] if len(y) == 1 else torch.cat(y), mean_GC, var_GC

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """With h = (x - mean) / std: dx = weight / std (dy - mean(dy) - h mean(dy h))."""
        x, weight, mean_GC, scale_GC = ctx.saved_tensors
        spread: RankGroups = ctx.spread
        counts = [count for _, count in spread.parts]
        sums_2GC = mean_GC.new_zeros(2, *mean_GC.shape)
        held = []
        pairs = zip(x.split(counts), grads[0].split(counts), spread.parts, strict=True)
        for piece, dy, (g, _) in pairs:
            dy = dy.to(mean_GC.dtype)
            h = (piece.to(mean_GC.dtype) - _wide(mean_GC[g], x)) * _wide(scale_GC[g], x)
            held.append((g, dy, h))
            sums_2GC[0, g], sums_2GC[1, g] = _summed(dy), _summed(dy * h)
        of_bias, of_weight = sums_2GC.sum(dim=1)  # of this rank's rows: summed over the ranks later
        mean_2GC = spread.ranks.sum_(sums_2GC.clone()) / (spread.rows * x[0, 0].numel())
        dx = [
            _wide(weight * scale_GC[g], x)
            * (dy - _wide(mean_2GC[0, g], x) - h * _wide(mean_2GC[1, g], x))
            for g, dy, h in held
        ]
        return (
            (dx[0] if len(dx) == 1 else torch.cat(dx)).to(x.dtype),
            of_weight,
            of_bias,
            None,
            None,
        )


def _statistics(x: Tensor, dtype: torch.dtype, spread: RankGroups) -> tuple[Tensor, Tensor]:
    """Return mean and variance of each group, (G, C), put together from those of its parts."""
    table = torch.zeros(3, spread.groups, x.shape[1], dtype=dtype, device=x.device)
    axes = [i for i in range(x.dim()) if i != 1]
    for piece, (g, count) in zip(x.split([n for _, n in spread.parts]), spread.parts, strict=True):
        var, mean = torch.var_mean(piece.to(dtype), dim=axes, correction=0)
        table[0, g], table[1, g], table[2, g] = count, mean, var
    count_WGC, mean_WGC, var_WGC = torch.stack(spread.ranks.every(table)).unbind(dim=1)
    share_WGC = count_WGC / spread.rows
    mean_GC = (share_WGC * mean_WGC).sum(dim=0)
    apart_WGC = (mean_WGC - mean_GC).square()
    return mean_GC, (share_WGC * (var_WGC + apart_WGC)).sum(dim=0)


def _wide(values_C: Tensor, x: Tensor) -> Tensor:
    return values_C.view(-1, *[1] * (x.dim() - 2))


def _summed(x: Tensor) -> Tensor:
    return x.sum(dim=[i for i in range(x.dim()) if i != 1])


def groups_of(norm: BatchNorm) -> int:
    """Return the number of batch parts that a layer normalises separately."""
    return norm.groups if isinstance(norm, GroupBatchNorm1d | GroupBatchNorm2d) else 1


def spread_norms(network: nn.Module, ranks: Ranks) -> None:
    """Replace the batch norms of a network so that groups refer to the whole batch.

    A layer whose groups are within ranks then uses only its rank's groups. Other layers exchange
    statistics. Names, parameters and statistics are unchanged. With a single rank, nothing changes.
    """
    if not ranks.many:
        return
    for module in list(network.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.BatchNorm1d | nn.BatchNorm2d):
                setattr(module, name, _on_rank(child, ranks))


def _on_rank(norm: BatchNorm, ranks: Ranks) -> nn.Module:
    groups, channels = groups_of(norm), norm.num_features
    if groups % ranks.world_size:
        return RankedBatchNorm(norm, ranks)
    make = batch_norm_2d if isinstance(norm, nn.BatchNorm2d) else batch_norm_1d
    part = make(channels, groups // ranks.world_size)
    part.weight, part.bias = norm.weight, norm.bias
    part.running_mean, part.running_var = norm.running_mean, norm.running_var
    return part


def statistics_apart(*networks: nn.Module) -> list[Tensor]:
    """Return the running statistics that each rank computes from its own groups.

    Running statistics average over groups, so their mean over ranks equals the statistics of the
    whole batch.
    """
    kinds = nn.BatchNorm1d | nn.BatchNorm2d
    layers = [m for network in networks for m in network.modules() if isinstance(m, kinds)]
    both = [(layer.running_mean, layer.running_var) for layer in layers]
    return [t for pair in both for t in pair if t is not None]
