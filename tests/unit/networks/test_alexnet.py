"""The small AlexNet of Hypersphere's code for STL-10."""

import numpy as np
import pytest
import torch

from bench.networks.encoder import SmallAlexNet, make_encoder
from tests.fakes.cells import small_cell, training_of


def made(width: int = 4, image_size: int = 16) -> SmallAlexNet:
    found = make_encoder(
        "small-alexnet", stem="cifar", width=width, bn_groups=1,
        generator=np.random.default_rng(0), image_size=image_size,
    )  # fmt: skip
    assert isinstance(found, SmallAlexNet)
    return found


def test_it_has_the_parameters_of_the_released_code() -> None:
    """Five convolutions, fc6 of 192 x 7 x 7 and fc7, batch norms; the projector is fc8."""
    network = SmallAlexNet(width=64, image_size=64, bn_groups=1)
    convolutions = 9 * (3 * 96 + 96 * 192 + 192 * 384 + 384 * 384 + 384 * 192)
    full = 192 * 7 * 7 * 4096 + 4096 * 4096
    norms = 2 * (96 + 192 + 384 + 384 + 192 + 4096 + 4096)
    assert sum(p.numel() for p in network.parameters()) == convolutions + full + norms == 58_153_952
    assert network.feature_dim == 4096


def test_shapes_from_layer_to_layer() -> None:
    x, shapes = torch.zeros(2, 3, 64, 64), []
    for name, layer in made(image_size=64).named_children():
        x = layer(x)
        if name.startswith(("pool", "fc")):
            shapes.append(tuple(x.shape))
    assert shapes == [
        (2, 6, 31, 31), (2, 12, 15, 15), (2, 12, 7, 7), (2, 256), (2, 256),
    ]  # fmt: skip


def test_every_weight_begins_normal_with_the_released_spread() -> None:
    for name, parameter in made(width=16).named_parameters():
        if parameter.ndim > 1:
            assert parameter.std().item() == pytest.approx(0.02, rel=0.1), name


def test_it_trains_under_a_projector() -> None:
    cell = small_cell("hypersphere", arch="small-alexnet", stem="cifar", image_size=16)
    training = training_of(cell)
    before = [p.clone() for p in training.online.parameters()]
    training.step(0)
    assert all(
        not torch.equal(a, b) for a, b in zip(before, training.online.parameters(), strict=True)
    )
