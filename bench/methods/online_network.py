"""The online network: from views to outputs for comparison."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from bench.cells.pretrain import Pretrain
from bench.data.streams import Purpose, stream
from bench.experimental import ALONE, Ranks
from bench.losses.contrastive import at_least_float32
from bench.methods.witness import make_witness
from bench.networks.encoder import CHANNELS, Backbone, SideBySide, Towers, make_encoder
from bench.networks.heads import Head, make_head
from bench.networks.ranked_norm import spread_norms


class Projected(NamedTuple):
    """Outputs of the online network for one view."""

    features: Tensor  # of the backbone, (N, F)
    projection_ND: Tensor  # normalised as the cell says
    prediction_ND: Tensor  # normalised too; the projection itself without a predictor
    output_ND: Tensor  # the prediction before it was normalised


class Online(nn.Module):
    """The online network: backbone, projector, predictor and witness."""

    def __init__(self, cell: Pretrain, ranks: Ranks = ALONE) -> None:
        """Initialise from the cell's seed, as one of these ranks."""
        super().__init__()
        self.ranks = ranks
        self.backbone = _backbone(cell)
        self.projector = _projector(cell, self.backbone)
        self.predictor = _head(cell, "predictor", cell.feature_dim, 2)
        generator = stream(cell.seed, Purpose.INIT, 5)
        self.witness = make_witness(cell.witness, cell.feature_dim, generator)
        self.autocast = cell.precision == "bf16"
        self.normalised = NORMS[cell.norm]
        spread_norms(self, ranks)

    @property
    def embedding(self) -> nn.Sequential:
        """Backbone and projector: from views to unnormalised projections."""
        return nn.Sequential(self.backbone, self.projector)

    def forward(self, views: Tensor, tower: int | None = None, blocks: int = 1) -> Projected:
        """Return features, projections and predictions of views, shape (N, channels, H, W).

        With several ranks, each passes its rows and gets the outputs of the whole batch. Features
        are then detached.

        Args:
            views: images for the whole network, or channels of one tower.
            tower: index of the tower; None means the whole network.
            blocks: number of concatenated views; each rank has its rows of every view.
        """
        backbone, projector = self._of(tower)
        with torch.autocast(views.device.type, torch.bfloat16, enabled=self.autocast):
            features = backbone(views)
            projected = projector(features)
            predicted = self.predictor(projected)
        features = self.ranks.whole(features, blocks)
        projection = self.ranks.gather(projected, blocks)
        alike = predicted is projected
        prediction = projection if alike else self.ranks.gather(predicted, blocks)
        unit = self.normalised(at_least_float32(projection))
        if prediction is projection:
            return Projected(features, unit, unit, projection)
        predicted = self.normalised(at_least_float32(prediction))
        return Projected(features, unit, predicted, prediction)

    def _of(self, tower: int | None) -> tuple[nn.Module, nn.Module]:
        if tower is None:
            return self.backbone, self.projector
        assert isinstance(self.backbone, Towers)
        assert isinstance(self.projector, SideBySide)
        return self.backbone.towers[tower], self.projector.heads[tower]


def _standardised(outputs: Tensor) -> Tensor:
    """Return each dimension with mean 0 and variance 1 over the batch."""
    return nn.functional.batch_norm(outputs, None, None, training=True)


NORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "l2": lambda outputs: nn.functional.normalize(outputs, dim=1),
    "bn": _standardised,
    "none": lambda outputs: outputs,
}
"""Normalisation of outputs before they are compared (unigrad, Table 2)."""


def copied_backbone(cell: Pretrain, encoder: Online | None) -> Backbone | Towers:
    """Return a copy of an encoder's backbone, or a new one from scratch.

    Batch norm uses the statistics of the whole batch, even if the pretraining split it.

    Args:
        cell: cell that defines the network.
        encoder: the trained encoder; None means from scratch.
    """
    backbone = Online(cell.model_copy(update={"bn_groups": 1})).backbone
    if encoder is not None:
        backbone.load_state_dict(encoder.backbone.state_dict())
    return backbone


def _backbone(cell: Pretrain) -> Backbone | Towers:
    if cell.colour == "lab":
        return Towers([_encoder(cell, n, 0, i) for i, n in enumerate(CHANNELS)])
    return _encoder(cell, 3, 0)


def _encoder(cell: Pretrain, channels: int, *key: int) -> Backbone:
    return make_encoder(
        cell.arch,
        stem=cell.stem,
        width=cell.width,
        bn_groups=cell.bn_groups,
        generator=stream(cell.seed, Purpose.INIT, *key),
        zero_init_residual=cell.zero_init_residual,
        in_channels=channels,
        image_size=cell.image_size,
    )


def _projector(cell: Pretrain, backbone: Backbone | Towers) -> Head | SideBySide:
    if not isinstance(backbone, Towers):
        return _head(cell, "projector", backbone.feature_dim, 1)
    heads = [_head(cell, "projector", dim, 1, i) for i, dim in enumerate(backbone.dims)]
    return SideBySide(heads, backbone.dims)


def _head(cell: Pretrain, name: Literal["projector", "predictor"], in_dim: int, *key: int) -> Head:
    return make_head(
        in_dim,
        layers=getattr(cell, f"{name}_layers"),
        hidden_dim=getattr(cell, f"{name}_hidden_dim"),
        out_dim=cell.feature_dim,
        bn=getattr(cell, f"{name}_bn") or "none",
        bn_groups=cell.bn_groups,
        generator=stream(cell.seed, Purpose.INIT, *key),
    )
