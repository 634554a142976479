"""Batch normalisation over parts of a batch, like GPUs that do not share statistics.

Shapes: B images or vectors, C channels, H and W pixels.
"""

import torch
from torch import Tensor, nn

Norm = nn.modules.batchnorm._BatchNorm


class _InGroups(nn.modules.batchnorm._BatchNorm):
    """Batch norm whose batch statistics are those of each of `groups` parts of the batch.

    Part g holds rows g B / groups up to (g + 1) B / groups. A running statistic moves by the mean
    of the parts' updates; in eval mode it stands for all of them, as in torch's own layers.
    """

    def __init__(self, channels: int, groups: int) -> None:
        """Normalise `channels` channels over `groups` parts."""
        super().__init__(channels)
        self.groups = groups

    def forward(self, x: Tensor) -> Tensor:
        """Normalise x of shape (B, C) or (B, C, H, W).

        Raises:
            ValueError: the batch does not divide into the groups.
        """
        return _by_parts(self, x, self.groups) if self.training else super().forward(x)


class GroupBatchNorm2d(_InGroups, nn.BatchNorm2d):
    """nn.BatchNorm2d that normalises parts of the batch separately."""


class GroupBatchNorm1d(_InGroups, nn.BatchNorm1d):
    """nn.BatchNorm1d that normalises parts of the batch separately."""


def batch_norm_2d(channels: int, groups: int) -> nn.BatchNorm2d:
    """Return the batch-norm layer for images; nn.BatchNorm2d for one group."""
    return nn.BatchNorm2d(channels) if groups == 1 else GroupBatchNorm2d(channels, groups)


def batch_norm_1d(channels: int, groups: int) -> nn.BatchNorm1d:
    """Return the batch-norm layer for vectors; nn.BatchNorm1d for one group."""
    return nn.BatchNorm1d(channels) if groups == 1 else GroupBatchNorm1d(channels, groups)


def _by_parts(norm: Norm, x: Tensor, groups: int) -> Tensor:
    if len(x) % groups:
        raise ValueError(
            f"a batch of {len(x)} images cannot be divided into {groups} equal bn_groups"
        )
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert norm.num_batches_tracked is not None
    means, variances = norm.running_mean.repeat(groups, 1), norm.running_var.repeat(groups, 1)
    apart = _one_by_one if x.device.type == "cpu" else _as_channels
    normalised = apart(norm, x, means, variances)
    norm.running_mean.copy_(means.mean(dim=0))
    norm.running_var.copy_(variances.mean(dim=0))
    norm.num_batches_tracked.add_(1)
    return normalised


def _one_by_one(norm: Norm, x: Tensor, mean_GC: Tensor, var_GC: Tensor) -> Tensor:
    """Return the parts normalised by a kernel each, which a CPU does fastest."""
    parts = zip(x.chunk(len(mean_GC)), mean_GC, var_GC, strict=True)
    return torch.cat([_normalised(norm, part, mean, var, 1) for part, mean, var in parts])


def _as_channels(norm: Norm, x: Tensor, mean_GC: Tensor, var_GC: Tensor) -> Tensor:
    """Return the parts normalised by one kernel, as G C channels of B / G images."""
    groups, channels = mean_GC.shape
    side_by_side = x.unflatten(0, (groups, -1)).transpose(0, 1).flatten(1, 2)
    mean, var = mean_GC.view(-1), var_GC.view(-1)
    if x.dim() == 4:
        side_by_side = side_by_side.contiguous(memory_format=torch.channels_last)
    y_side = _normalised(norm, side_by_side, mean, var, groups)
    y: Tensor = y_side.unflatten(1, (groups, channels)).transpose(0, 1).flatten(0, 1)
    if x.dim() == 4:
        y = y.contiguous(memory_format=torch.channels_last)
    return y


def _normalised(norm: Norm, x: Tensor, mean: Tensor, var: Tensor, groups: int) -> Tensor:
    weight, bias = (values.repeat(groups) for values in (norm.weight, norm.bias))
    assert norm.momentum is not None
    return nn.functional.batch_norm(x, mean, var, weight, bias, True, norm.momentum, norm.eps)
