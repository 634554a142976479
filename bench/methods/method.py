"""A method joins a target, negatives, neighbours and an objective; nothing depends on its name."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from bench.config.pretrain import Pretrain
from bench.data.streams import Purpose, stream
from bench.methods.memory import Memory
from bench.methods.negatives import BatchNegatives, Negatives, QueueNegatives
from bench.methods.objectives import OBJECTIVES, Objective, Pair
from bench.methods.targets import Momentum, Shared, StopGradient, Target
from bench.networks.encoder import make_encoder
from bench.networks.heads import Head, make_head


class Projected(NamedTuple):
    """What the online network makes of one view."""

    features: Tensor  # of the backbone, (N, F)
    projection_ND: Tensor  # of unit length
    prediction_ND: Tensor  # of unit length; the projection itself without a predictor


class Online(nn.Module):
    """The network that learns: backbone, projector, predictor."""

    def __init__(self, cell: Pretrain) -> None:
        """Initialise from the cell's seed."""
        super().__init__()
        self.backbone = make_encoder(
            cell.arch,
            stem=cell.stem,
            width=cell.width,
            bn_groups=cell.bn_groups,
            generator=stream(cell.seed, Purpose.INIT, 0),
        )
        self.projector = _head(cell, "projector", self.backbone.feature_dim, 1)
        self.predictor = _head(cell, "predictor", cell.feature_dim, 2)
        self.autocast = cell.precision == "bf16"

    @property
    def embedding(self) -> nn.Sequential:
        """Backbone and projector: from views to projections, not yet of unit length."""
        return nn.Sequential(self.backbone, self.projector)

    def forward(self, views: Tensor) -> Projected:
        """Return features, projections and predictions of views, shape (N, 3, H, W)."""
        with torch.autocast(views.device.type, torch.bfloat16, enabled=self.autocast):
            features = self.backbone(views)
            projection = self.projector(features)
            prediction = self.predictor(projection)
        unit = nn.functional.normalize(projection.float(), dim=1)
        if prediction is projection:
            return Projected(features, unit, unit)
        return Projected(features, unit, nn.functional.normalize(prediction.float(), dim=1))


def _head(cell: Pretrain, name: Literal["projector", "predictor"], in_dim: int, part: int) -> Head:
    return make_head(
        in_dim,
        layers=getattr(cell, f"{name}_layers"),
        hidden_dim=getattr(cell, f"{name}_hidden_dim"),
        out_dim=cell.feature_dim,
        bn=getattr(cell, f"{name}_bn") or "none",
        bn_groups=cell.bn_groups,
        generator=stream(cell.seed, Purpose.INIT, part),
    )


class Compared(NamedTuple):
    """A batch in the eyes of a method."""

    pairs: list[Pair]  # one a direction
    keys: list[Tensor]  # of all views that keys were made of, (N, D) each
    first: Projected  # what the online network made of the first view


@dataclass(frozen=True)
class Method:
    """Choices on the axes of a method, joined."""

    target: Target
    negatives: Negatives
    support: Memory | None  # of nearest neighbours (NNCLR)
    objective: Objective
    symmetric: bool
    together: bool  # both views are one batch for the online network
    own_keys: bool  # negatives need the keys of an anchor's own view

    @property
    def modules(self) -> dict[str, nn.Module]:
        """What has a state beside the online network."""
        parts = {"target": self.target, "negatives": self.negatives, "support": self.support}
        return {name: part for name, part in parts.items() if isinstance(part, nn.Module)}

    def compare(
        self, online: Online, views: Sequence[Tensor], draw: np.random.Generator
    ) -> Compared:
        """Return the similarities of each direction; nothing is remembered yet.

        Args:
            online: the network that learns.
            views: two views of the same images, (N, 3, H, W) each.
            draw: which negatives, where not all are taken.
        """
        projected = self._project(online, views)
        needed = {0, 1} if self.symmetric or self.own_keys else {1}
        keys = {v: self._keys(views[v], projected, v) for v in sorted(needed)}
        pairs = []
        for a in (0, 1) if self.symmetric else (0,):
            query_ND = self._anchors(projected[a])
            own = keys.get(a) if self.own_keys else None
            pos_N, neg_NK = self.negatives.similarities(query_ND, keys[1 - a], own, draw)
            probed = query_ND if query_ND.requires_grad else keys[1 - a]
            pairs.append(Pair(query_ND, keys[1 - a], pos_N, neg_NK, probed))
        return Compared(pairs, [keys[v] for v in sorted(needed)], projected[0])

    def remember(self, compared: Compared, draw: np.random.Generator) -> None:
        """Take note of the batch's keys, after its backward pass."""
        self.negatives.remember(compared.keys, draw)
        if self.support is not None:
            self.support.remember(compared.first.projection_ND, draw)

    def _project(self, online: Online, views: Sequence[Tensor]) -> list[Projected]:
        """Return what the online network makes of the views that it needs to see."""
        if isinstance(self.target, Momentum) and not self.symmetric:
            return [online(views[0])]
        if not self.together:
            return [online(view) for view in views]
        both = online(torch.cat(list(views)))
        halves = zip(*(part.chunk(2) for part in both), strict=True)
        return [Projected(*half) for half in halves]

    def _keys(self, view: Tensor, projected: list[Projected], v: int) -> Tensor:
        if self.support is not None:
            return _node(projected[v].prediction_ND)
        known = projected[v].projection_ND if v < len(projected) else view
        return self.target.keys(view, known)

    def _anchors(self, projected: Projected) -> Tensor:
        """Return the queries as tensors of their own, so that gradients through keys stay apart."""
        if self.support is None:
            return _node(projected.prediction_ND)
        with torch.no_grad():
            nearest = (projected.projection_ND @ self.support.content().T).argmax(dim=1)
            return self.support.content()[nearest]


def _node(values: Tensor) -> Tensor:
    own = values.view_as(values)
    if own.requires_grad:
        own.retain_grad()
    return own


def make_method(cell: Pretrain, online: Online) -> Method:
    """Return the method at the cell's coordinates."""
    return Method(
        target=_target(cell, online),
        negatives=_negatives(cell),
        support=None
        if cell.support_size is None
        else Memory(cell.support_size, cell.feature_dim, start=_start(cell, 1)),
        objective=OBJECTIVES[cell.loss](cell),
        symmetric=cell.symmetric,
        together=cell.bn_over == "views-together",
        own_keys=cell.negative_views == "both",
    )


def _target(cell: Pretrain, online: Online) -> Target:
    if cell.target == "momentum":
        return Momentum(online.embedding, shuffle=cell.bn == "shuffling", autocast=online.autocast)
    return Shared() if cell.target == "shared" else StopGradient()


def _negatives(cell: Pretrain) -> Negatives:
    if cell.negatives == "batch":
        return BatchNegatives(both_views=cell.negative_views == "both", K=cell.K)
    start = _start(cell, 0) if cell.queue_start == "random" else None
    size = cell.queue_size or cell.count
    return QueueNegatives(size, cell.feature_dim, K=cell.count, start=start)


def _start(cell: Pretrain, memory: int) -> np.random.Generator:
    return stream(cell.seed, Purpose.INIT, 3, memory)
