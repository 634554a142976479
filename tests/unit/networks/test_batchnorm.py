"""Grouped batch norm against one plain layer a part."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from bench.networks import batchnorm
from bench.networks.batchnorm import batch_norm_1d, batch_norm_2d

GROUPS = 3
Norm = nn.BatchNorm1d | nn.BatchNorm2d


def grouped(spatial: bool) -> tuple[Norm, list[Norm]]:
    """Return a grouped layer and a plain one for each of its parts, with equal parameters."""
    kind = nn.BatchNorm2d if spatial else nn.BatchNorm1d
    layer: Norm = (batch_norm_2d if spatial else batch_norm_1d)(4, GROUPS)
    nn.init.uniform_(layer.weight, 0.5, 2, generator=torch.Generator().manual_seed(0))
    nn.init.uniform_(layer.bias, -1, 1, generator=torch.Generator().manual_seed(1))
    plain: list[Norm] = [kind(4) for _ in range(GROUPS)]
    for one in plain:
        one.load_state_dict(layer.state_dict())
    return layer.double(), [one.double() for one in plain]


def inputs(spatial: bool, seed: int) -> Tensor:
    shape = (6, 4, 5, 2) if spatial else (6, 4)
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator) * 3 + 1


@pytest.mark.parametrize("spatial", [True, False])
def test_parts_are_normalised_apart(spatial: bool) -> None:
    """Outputs, gradients and running statistics over three steps."""
    layer, plain = grouped(spatial)
    for seed in range(3):
        x = inputs(spatial, seed).requires_grad_()
        y = inputs(spatial, seed).requires_grad_()
        out = layer(x)
        parts = zip(plain, y.chunk(GROUPS), strict=True)
        expected = torch.cat([one(part) for one, part in parts])
        assert_close(out, expected)
        weight = inputs(spatial, seed + 10)
        (out * weight).sum().backward()
        (expected * weight).sum().backward()
        assert_close(x.grad, y.grad)
    assert_close(layer.weight.grad, sum(one.weight.grad for one in plain))
    assert_close(layer.bias.grad, sum(one.bias.grad for one in plain))
    for name in ("running_mean", "running_var"):
        mean = torch.stack([one.get_buffer(name) for one in plain]).mean(dim=0)
        assert_close(layer.get_buffer(name), mean)
    assert layer.get_buffer("num_batches_tracked").item() == 3


@pytest.mark.parametrize("spatial", [True, False])
@pytest.mark.parametrize("last", [True, False])
def test_one_kernel_is_a_kernel_a_part(
    spatial: bool, last: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outputs, their memory format, gradients and running statistics over three steps."""
    found = []
    for way in (batchnorm._one_by_one, batchnorm._as_channels):
        monkeypatch.setattr(batchnorm, "_one_by_one", way)
        layer, _ = grouped(spatial)
        for seed in range(3):
            x = inputs(spatial, seed)
            if spatial and last:
                x = x.contiguous(memory_format=torch.channels_last)
            x.requires_grad_()
            out = layer(x)
            (out * inputs(spatial, seed + 10)).sum().backward()
        assert not (spatial and last) or out.is_contiguous(memory_format=torch.channels_last)
        found.append([out, x.grad, layer.weight.grad, layer.bias.grad, *layer.buffers()])
    assert_close(found[0], found[1])


@pytest.mark.gpu
@pytest.mark.parametrize("spatial", [True, False])
def test_a_gpu_normalises_the_parts_apart(spatial: bool) -> None:
    (here, _), (there, _) = grouped(spatial), grouped(spatial)
    there.cuda()
    x = inputs(spatial, 0)
    assert_close(there(x.cuda()).cpu(), here(x))
    for name, buffer in here.named_buffers():
        assert_close(there.get_buffer(name).cpu(), buffer)


@pytest.mark.parametrize("spatial", [True, False])
def test_eval_mode_takes_the_running_statistics(spatial: bool) -> None:
    layer, plain = grouped(spatial)
    layer(inputs(spatial, 0))
    plain[0].load_state_dict(layer.state_dict())
    x = inputs(spatial, 1)[:5]  # in eval mode the batch need not divide
    assert_close(layer.eval()(x), plain[0].eval()(x))


def test_one_group_is_torchs_layer() -> None:
    assert type(batch_norm_2d(4, 1)) is nn.BatchNorm2d
    assert type(batch_norm_1d(4, 1)) is nn.BatchNorm1d


def test_memory_format_is_kept() -> None:
    x = inputs(True, 0).float().contiguous(memory_format=torch.channels_last)
    assert batch_norm_2d(4, 2)(x).is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("spatial", [True, False])
def test_a_batch_that_does_not_divide(spatial: bool) -> None:
    layer, _ = grouped(spatial)
    with pytest.raises(
        ValueError, match=r"^a batch of 5 images cannot be divided into 3 equal bn_groups$"
    ):
        layer(inputs(spatial, 0)[:5])
