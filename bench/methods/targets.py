"""Target branches: the network for the keys, with or without gradients (UniGrad, Sec. 3)."""

import copy
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor, nn

from bench.experimental import ALONE, Ranks
from bench.losses.contrastive import at_least_float32


class Shared(nn.Module):
    """The online network with gradients through queries and keys (SimCLR)."""

    def keys(self, projection_ND: Tensor) -> Tensor:
        """Return the projections as keys."""
        return projection_ND

    def after_step(self, online: nn.Sequential, momentum: float) -> None:
        """Do nothing: there is no separate network."""


class StopGradient(Shared):
    """The online network with detached outputs."""

    def keys(self, projection_ND: Tensor) -> Tensor:
        """Return the detached projections as keys."""
        return projection_ND.detach()


class Momentum(nn.Module):
    """Momentum encoder: theta_k = beta theta_k + (1 - beta) theta_q (MoCo, Eq. 2).

    Only parameters are averaged. The copy has its own batch-norm statistics.
    """

    def __init__(
        self,
        online: nn.Sequential,
        *,
        shuffle: bool,
        autocast: bool,
        normalised: Callable[[Tensor], Tensor],
        ranks: Ranks = ALONE,
    ) -> None:
        """Copy the network that maps views to projections.

        Args:
            online: backbone and projector; their parameters are followed, in order.
            shuffle: encode keys in another order than queries, so that batch normalisation over
                parts of a batch sees other images with a key than with its query.
            autocast: compute in bfloat16 where torch holds it safe.
            normalised: how outputs are normalised before they are compared.
            ranks: this process among those that each bring their rows of the views.
        """
        super().__init__()
        self.network = copy.deepcopy(online)
        self.network.requires_grad_(False)
        self.shuffle, self.autocast, self.normalised = shuffle, autocast, normalised
        self.ranks = ranks

    @torch.no_grad()
    def keys(self, views: Tensor) -> Tensor:
        """Return the momentum encoder's normalised projections of all ranks' views."""
        if not self.shuffle:
            return self._project(views)
        views = self.ranks.whole(views)  # a rank's keys are of images from all over the batch
        order = interleaved(len(views), views.device)
        keys = self._project(self.ranks.own(views[order]))
        return torch.empty_like(keys).index_copy_(0, order, keys)

    def _project(self, views: Tensor) -> Tensor:
        with torch.autocast(views.device.type, torch.bfloat16, enabled=self.autocast):
            projection = self.network(views)
        return self.normalised(at_least_float32(self.ranks.whole(projection)))

    @torch.no_grad()
    def after_step(self, online: nn.Sequential, momentum: float) -> None:
        """Update the momentum encoder."""
        ours: list[Tensor] = list(self.network.parameters())
        theirs: list[Tensor] = list(online.parameters())
        torch._foreach_lerp_(ours, theirs, 1 - momentum)


Target = Shared | Momentum
"""The network that computes the keys."""


@cache
def interleaved(n: int, device: torch.device) -> Tensor:
    """Return a permutation of n indices that moves neighbours to different parts of the batch.

    Batches are in random order, so a fixed permutation that separates neighbours shuffles as well
    as a random one.
    """
    width = max(1, round(n**0.5))
    return torch.cat([torch.arange(begin, n, width, device=device) for begin in range(width)])
