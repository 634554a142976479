"""The memory of a step, as counted from settings, against what autograd keeps in a real one."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from tests.fakes.cells import small_cell, training_of
from tests.fakes.detectors import C4, detecting, detecting_cell

NUMBERS = 3 * 4  # bytes of a weight: itself, its gradient and its momentum


def kept_bytes(step: Callable[[], None], learnt: Iterable[nn.Parameter]) -> float:
    """Return the bytes that the backward pass of a step needs, and those of the weights."""
    parameters = list(learnt)
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    kept: dict[int, Tensor] = {}  # by address, held so that no address is used twice

    def pack(tensor: Tensor) -> Tensor:
        kept.setdefault(tensor.untyped_storage().data_ptr(), tensor)
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        step()
    saved = sum(t.untyped_storage().nbytes() for a, t in kept.items() if a not in weights)
    return saved + NUMBERS * sum(p.numel() for p in parameters)


NETWORKS: dict[str, dict[str, Any]] = {
    "small": {"width": 16, "image_size": 16},
    "resnet18": {"arch": "resnet18", "stem": "cifar", "width": 8, "image_size": 32},
    "resnet50": {"arch": "resnet50", "stem": "imagenet", "width": 8, "image_size": 64},
    "queue": {"method": "moco", "arch": "resnet18", "stem": "half", "image_size": 32},
    "both ways": {"method": "byol", "arch": "resnet18", "stem": "half", "image_size": 32},
    "multi-crop": {"method": "unigrad", "views": "multi-crop", "image_size": 64, "local_size": 32},
}


@pytest.mark.parametrize("network", NETWORKS)
def test_a_step_of_pretraining(network: str) -> None:
    cell = small_cell(**NETWORKS[network])
    training = training_of(cell)
    training.online.train()
    found = kept_bytes(lambda: training.step(0), training.online.parameters())
    assert found == pytest.approx(cell.costs.shared_bytes, rel=0.3)


DETECTORS: dict[str, dict[str, Any]] = {
    "pyramid": {},
    "masks": {"detector": "mask-rcnn"},
    "frozen": {"frozen_backbone": True},
    "c4": C4,
}


@pytest.mark.parametrize("kind", DETECTORS)
def test_a_step_of_a_detector(kind: str) -> None:
    trained = small_cell(arch="resnet18", stem="imagenet", width=8, image_size=32)
    sizes = {
        "region_channels": 32, "head_units": 64, "sampled_regions": 32, "proposals": 100,
        "shorter_side": 256, "longer_side": 256,
    }  # fmt: skip
    cell = detecting_cell(trained, start="scratch", **sizes, **DETECTORS[kind])
    training = detecting(cell)
    training.online.train()
    found = kept_bytes(lambda: training.step(0), training.online.parameters())
    assert found == pytest.approx(cell.costs.own_bytes, rel=0.3)


def test_an_encoder_is_trained_before_its_detector() -> None:
    cell = detecting_cell()
    assert cell.costs.shared_bytes == cell.trained.costs.shared_bytes > 0
    assert detecting_cell(start="scratch").costs.shared_bytes == 0


def test_low_precision_halves_activations_and_not_weights() -> None:
    high, low = (small_cell(precision=p).costs.shared_bytes for p in ("float32", "bf16"))
    one = small_cell(batch_size=32).costs.shared_bytes - high  # 16 more images
    assert low == pytest.approx(high - one / 2)
