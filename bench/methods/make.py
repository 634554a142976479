"""Build the method of a cell from its settings, one choice per axis."""

import numpy as np
from torch import nn

from bench.cells.pretrain import Pretrain
from bench.data.streams import Purpose, stream
from bench.errors import DataFailure
from bench.methods.bank import Bank, first_entries
from bench.methods.bank_negatives import BankNegatives
from bench.methods.method import Method
from bench.methods.negatives import (
    BatchNegatives,
    Memory,
    Negatives,
    Onlookers,
    QueueNegatives,
    ScalarDictionary,
)
from bench.methods.objectives import Previous, make_objective
from bench.methods.online_network import Online
from bench.methods.own_loss import OwnLoss
from bench.methods.own_method import OwnMethod
from bench.methods.targets import Momentum, Shared, StopGradient, Target
from bench.networks.encoder import Towers


def method_of(cell: Pretrain, online: Online, images: int) -> Method | OwnMethod:
    """Return the method with the cell's settings, or the method in its file.

    Args and Raises as for `make_method`, and as for `OwnMethod`.
    """
    own = cell.target == "own"
    return (OwnMethod if own else make_method)(cell, online, images)


def make_method(cell: Pretrain, online: Online, images: int) -> Method:
    """Return the method with the cell's settings.

    Args:
        cell: the settings.
        online: the online network.
        images: number of training images.

    Raises:
        DataFailure: there are too few images for the requested negatives or clusters.
        CellFailure: the objective's file is not in a trusted folder.
    """
    return Method(
        cell=cell,
        target=_target(cell, online),
        negatives=_negatives(cell),
        support=None
        if cell.support_size is None
        else Memory(cell.support_size, cell.feature_dim, start=_start(cell, 1)),
        banks=_banks(cell, online, images) if cell.target == "bank" else None,
        previous=None if cell.rho is None else Previous(cell.feature_dim, cell.rho),
        objective=make_objective(cell) if cell.loss_file is None else OwnLoss(cell),
        ranks=online.ranks,
    )


def _target(cell: Pretrain, online: Online) -> Target:
    if cell.target == "momentum":
        return Momentum(
            online.embedding,
            shuffle=cell.bn == "shuffling",
            autocast=online.autocast,
            normalised=online.normalised,
            ranks=online.ranks,
        )
    return Shared() if cell.target == "shared" else StopGradient()


def _negatives(cell: Pretrain) -> Negatives:
    if cell.negatives == "bank":
        return BankNegatives(cell)
    if cell.negatives == "queue":
        return _queue(cell)
    if cell.negatives == "batch" and cell.norm == "l2":
        return BatchNegatives(both_views=cell.negative_views == "both", K=cell.K)
    return Onlookers()


def _queue(cell: Pretrain) -> QueueNegatives:
    scalar = None
    if cell.K_scalar is not None and cell.scalar_size is not None and cell.scalar_drawn is not None:
        scalar = ScalarDictionary(cell.K_scalar, cell.scalar_size, cell.scalar_drawn)
    drawn = cell.drawn if cell.drawn in ("earliest", "newest") else "uniform"
    return QueueNegatives(
        cell.queue_size or cell.count,
        cell.feature_dim,
        K=cell.count,
        start=_start(cell, 0) if cell.queue_start == "random" else None,
        drawn=drawn,
        scalar=scalar,
    )


def _banks(cell: Pretrain, online: Online, images: int) -> nn.ModuleList:
    nearest = cell.K if cell.drawn == "nearest" else 0
    for name, least in (("clusters", cell.clusters), ("K", nearest)):
        if (least or 0) >= images:
            raise DataFailure(
                f"{name} is {least}, but must be below {images}, the number of images in the bank"
            )
    towers = len(online.backbone.towers) if isinstance(online.backbone, Towers) else 1
    assert cell.bank_rate is not None
    uniform = cell.bank_start == "uniform"
    return nn.ModuleList(
        Bank(
            first_entries(images, cell.feature_dim, _start(cell, 2 + tower), uniform=uniform),
            rate=cell.bank_rate,
            renormalised=bool(cell.bank_normalised),
            clusters=cell.clusters,
            clusterings=cell.clusterings or 0,
        )
        for tower in range(towers)
    )


def _start(cell: Pretrain, memory: int) -> np.random.Generator:
    return stream(cell.seed, Purpose.INIT, 3, memory)
