"""Batch normalisation over parts of a batch, as GPUs do that share no statistics.

Shapes: B images or vectors, C channels, H and W pixels.
"""

import torch
from torch import Tensor, nn


class GroupBatchNorm2d(nn.BatchNorm2d):
    """nn.BatchNorm2d whose batch statistics are those of each of `groups` parts of the batch.

    Part g holds images g B / groups up to (g + 1) B / groups. A running statistic moves by the mean
    of the parts' updates; in eval mode it stands for all of them, as in nn.BatchNorm2d.
    """

    def __init__(self, channels: int, groups: int) -> None:
        """Normalise `channels` channels over `groups` parts."""
        super().__init__(channels)
        self.groups = groups

    def forward(self, x: Tensor) -> Tensor:
        """Normalise x of shape (B, C, H, W).

        Raises:
            ValueError: the batch does not divide into the groups.
        """
        return _by_parts(self, x, self.groups) if self.training else super().forward(x)


class GroupBatchNorm1d(nn.BatchNorm1d):
    """nn.BatchNorm1d over parts of the batch; see GroupBatchNorm2d."""

    def __init__(self, channels: int, groups: int) -> None:
        """Normalise `channels` channels over `groups` parts."""
        super().__init__(channels)
        self.groups = groups

    def forward(self, x: Tensor) -> Tensor:
        """Normalise x of shape (B, C).

        Raises:
            ValueError: the batch does not divide into the groups.
        """
        return _by_parts(self, x, self.groups) if self.training else super().forward(x)


def batch_norm_2d(channels: int, groups: int) -> nn.BatchNorm2d:
    """Return the layer for images; plain nn.BatchNorm2d for one group.

    Raises:
        ValueError: groups < 1.
    """
    check_groups(groups)
    return nn.BatchNorm2d(channels) if groups == 1 else GroupBatchNorm2d(channels, groups)


def batch_norm_1d(channels: int, groups: int) -> nn.BatchNorm1d:
    """Return the layer for vectors; plain nn.BatchNorm1d for one group.

    Raises:
        ValueError: groups < 1.
    """
    check_groups(groups)
    return nn.BatchNorm1d(channels) if groups == 1 else GroupBatchNorm1d(channels, groups)


def check_groups(groups: int) -> None:
    """Refuse fewer than one group."""
    if groups < 1:
        raise ValueError(f"bn_groups must be at least 1, found {groups}")


def _by_parts(norm: nn.BatchNorm1d | nn.BatchNorm2d, x: Tensor, groups: int) -> Tensor:
    if len(x) % groups:
        raise ValueError(f"a batch of {len(x)} does not divide into {groups} bn_groups")
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert norm.num_batches_tracked is not None
    assert norm.momentum is not None
    means, variances = norm.running_mean.repeat(groups, 1), norm.running_var.repeat(groups, 1)
    parts = [
        nn.functional.batch_norm(
            part, mean, variance, norm.weight, norm.bias, True, norm.momentum, norm.eps
        )
        for part, mean, variance in zip(x.chunk(groups), means, variances, strict=True)
    ]
    norm.running_mean.copy_(means.mean(dim=0))
    norm.running_var.copy_(variances.mean(dim=0))
    norm.num_batches_tracked.add_(1)
    return torch.cat(parts)
