"""Encoders against torchvision, against published counts, by their first values."""

import math
from typing import get_args

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close
from torchvision import models  # type: ignore[import-untyped, unused-ignore]

from bench.cells.architectures import ARCHITECTURES, Stem
from bench.networks.encoder import initialise, make_encoder
from bench.networks.resnet import PaddedShortcut, ResNet
from bench.papers.reader import load_paper

TORCHVISION = {"resnet18": models.resnet18, "resnet50": models.resnet50}


def encoder(
    arch: str, stem: Stem = "cifar", width: int = 8, bn_groups: int = 1, seed: int = 0
) -> ResNet:
    generator = np.random.default_rng(seed)
    made = make_encoder(arch, stem=stem, width=width, bn_groups=bn_groups, generator=generator)
    assert isinstance(made, ResNet)
    return made


def images(count: int, size: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(
        count, 3, size, size, dtype=dtype, generator=torch.Generator().manual_seed(0)
    )


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["resnet18", "resnet50"])
def test_same_weights_same_features_as_torchvision(arch: str) -> None:
    mine = encoder(arch, "imagenet", width=64)
    with torch.device("meta"):
        theirs = TORCHVISION[arch]()
    theirs.fc = nn.Identity()
    theirs.load_state_dict(mine.state_dict(), strict=True, assign=True)
    x = images(2, 65)
    for mode in (True, False):
        assert torch.equal(mine.train(mode)(x), theirs.train(mode)(x))


@pytest.mark.parametrize(
    ("arch", "parameters"), [("resnet18", 11_176_512), ("resnet50", 23_508_032)]
)
def test_parameters_are_torchvisions_without_the_classifier(arch: str, parameters: int) -> None:
    mine = ResNet(ARCHITECTURES[arch], stem="imagenet", width=64, bn_groups=1)
    with torch.device("meta"):
        theirs = TORCHVISION[arch]()
    counted = sum(p.numel() for name, p in theirs.named_parameters() if not name.startswith("fc"))
    assert sum(p.numel() for p in mine.parameters()) == counted == parameters


@pytest.mark.parametrize(("arch", "wide"), [("resnet50-2x", 128), ("resnet50-4x", 256)])
def test_wide_networks_have_the_published_parameters(arch: str, wide: int) -> None:
    """EqCo, Table 7."""
    rows = load_paper("eqco").artifact("table-7").values
    (published,) = [v for v in rows if v.metric == "params_m" and v.settings["arch"] == arch]
    for network, width in ((arch, 64), ("resnet50", wide)):
        mine = ResNet(ARCHITECTURES[network], stem="imagenet", width=width, bn_groups=1)
        assert round(sum(p.numel() for p in mine.parameters()) / 1e6) == published.value


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("stem", get_args(Stem))
def test_feature_dim_is_what_comes_out(arch: str, stem: Stem) -> None:
    mine = encoder(arch, stem, width=4)
    assert mine(images(2, 33)).shape == (2, mine.feature_dim)
    expected = {"small": 16, "resnet20": 16, "resnet18": 32, "resnet50": 128, "resnet50-2x": 256}
    assert mine.feature_dim == expected.get(arch, 512)


def test_a_padded_shortcut_is_every_other_pixel_and_zeros() -> None:
    x = images(2, 5)
    found = PaddedShortcut(3, 7)(x)
    assert torch.equal(found[:, :3], x[:, :, ::2, ::2])
    assert found.shape == (2, 7, 3, 3)
    assert found[:, 3:].count_nonzero() == 0


@pytest.mark.slow
def test_stems_halve_the_size_twice_once_or_not() -> None:
    def sizes(stem: Stem) -> list[int]:
        found = []
        x = images(2, 32)
        for layer in encoder("resnet18", stem):
            x = layer(x)
            found += [x.shape[-1]] if x.ndim == 4 else []
        return found

    # conv1, bn1, relu, maxpool, four stages, mean
    assert sizes("cifar") == [32, 32, 32, 32, 32, 16, 8, 4, 1]
    assert sizes("half") == [16, 16, 16, 16, 16, 8, 4, 2, 1]
    assert sizes("imagenet") == [16, 16, 16, 8, 8, 4, 2, 1, 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arch", "names"),
    [
        ("small", ["layer2.0.conv2", "layer3.0.conv2"]),
        ("resnet18", ["layer4.0.conv2", "layer4.1.conv2"]),
        ("resnet50", ["layer4.1.conv3", "layer4.2.conv3"]),
    ],
)
def test_probed_layers(arch: str, names: list[str]) -> None:
    """DCL, App. 9: the last convolutions of the last two residual blocks."""
    mine = encoder(arch)
    probed = mine.probed_layers()
    assert list(probed) == names
    mine(images(2, 16)).square().sum().backward()
    for name, weight in probed.items():
        assert weight is mine.get_submodule(name).weight
        assert weight.grad is not None


def test_groups_of_the_batch_do_not_see_each_other() -> None:
    two, one = encoder("small", bn_groups=2).double(), encoder("small").double()
    x = images(6, 16, torch.float64)
    assert_close(two(x), torch.cat([one(x[:3]), one(x[3:])]))


@pytest.mark.slow
@pytest.mark.parametrize("width", [4, 16])
def test_gradients_do_not_depend_on_the_memory_format(width: int) -> None:
    """Narrow networks too, where oneDNN's 1x1 convolution at stride 2 destroys the heap."""
    gradients = []
    for memory_format in (torch.contiguous_format, torch.channels_last):
        mine = encoder("small", width=width).to(memory_format=memory_format)
        for _ in range(30):
            mine(images(4, 8).contiguous(memory_format=memory_format)).square().sum().backward()
        gradients.append([p.grad for p in mine.parameters()])
    assert_close(gradients[0], gradients[1], rtol=1e-3, atol=1e-2)


def test_convolutions_are_he_normal_by_fan_out() -> None:
    for name, layer in encoder("resnet18", "imagenet", width=32).named_modules():
        if isinstance(layer, nn.Conv2d):
            fan_out = layer.out_channels * math.prod(layer.kernel_size)
            error = 4 / math.sqrt(2 * layer.weight.numel())  # four standard errors of a deviation
            assert layer.weight.std().item() == pytest.approx((2 / fan_out) ** 0.5, rel=error), name
            assert abs(layer.weight.mean().item()) < 4 * (2 / fan_out / layer.weight.numel()) ** 0.5


def test_batch_norm_begins_as_the_identity() -> None:
    mine = encoder("small")
    mine(images(4, 16))
    initialise(mine, np.random.default_rng(0))
    for layer in mine.modules():
        if isinstance(layer, nn.BatchNorm2d):
            x = images(1, 4)[:, :1].expand(1, layer.num_features, 4, 4)
            assert_close(layer.eval()(x), x / math.sqrt(1 + layer.eps))
            assert layer.get_buffer("num_batches_tracked").item() == 0


@pytest.mark.parametrize("arch", ["small", "resnet50"])
def test_zero_init_residual(arch: str) -> None:
    mine = make_encoder(
        arch, stem="cifar", width=4, bn_groups=1, generator=np.random.default_rng(0),
        zero_init_residual=True,
    )  # fmt: skip
    last = "bn3" if arch == "resnet50" else "bn2"
    for name, layer in mine.named_modules():
        if isinstance(layer, nn.BatchNorm2d):
            assert bool((layer.weight == (0 if name.endswith(last) else 1)).all()), name


def test_numbers_come_from_the_generator_alone() -> None:
    def numbers(seed: int) -> torch.Tensor:
        return nn.utils.parameters_to_vector(encoder("small", seed=seed).parameters())

    torch.manual_seed(1)
    before, once = torch.get_rng_state(), numbers(0)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert torch.equal(numbers(0), once)
    assert not torch.equal(numbers(1), once)


@pytest.mark.parametrize("layer", [nn.Conv2d(1, 1, 1), nn.PReLU()])
def test_a_layer_without_a_rule(layer: nn.Module) -> None:
    name = type(layer).__name__
    with pytest.raises(
        ValueError, match=f"^the encoder has no rule to initialise a layer of type {name}$"
    ):
        initialise(nn.Sequential(layer), np.random.default_rng(0))
