"""Backbones of timm: first values from the seed, training that goes on to the bit, clear lines."""

import importlib.util
from importlib.metadata import version
from typing import Any

import pytest
import torch

from bench.errors import CellFailure
from bench.networks.encoder import checked_timm
from tests.fakes.cells import small_cell, training_of, weights
from tests.fakes.suites import DIGITS, changed
from tests.fakes.workspace import Workspace

VIT: dict[str, Any] = {
    "arch": "timm:test_vit", "stem": "imagenet", "width": 64, "image_size": 32,
}  # fmt: skip


def test_a_vit_trains_and_goes_on_to_the_bit() -> None:
    cell = small_cell(**VIT, optimizer="adamw", epochs=1, train_images=64)
    whole, begun, resumed = (training_of(cell) for _ in range(3))
    assert whole.online.backbone.feature_dim == 64
    first = weights(whole)
    assert all(torch.equal(value, first[name]) for name, value in weights(begun).items())
    for step in range(4):
        whole.step(step)
    for step in range(2):
        begun.step(step)
    torch.manual_seed(1)
    resumed.load(begun.state())
    for step in range(2, 4):
        resumed.step(step)
    last = weights(whole)
    assert [k for k, v in weights(resumed).items() if not torch.equal(v, last[k])] == []
    moved = [k for k in last if not torch.equal(last[k], first[k])]
    assert "online.backbone.network.blocks.0.attn.qkv.weight" in moved


def test_a_seed_gives_its_first_values() -> None:
    one, other = (weights(training_of(small_cell(**VIT, seed=seed))) for seed in (0, 1))
    name = "online.backbone.network.blocks.0.mlp.fc1.weight"
    assert not torch.equal(one[name], other[name])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"fixed.arch": "timm:test_vitt"},
            f"arch 'timm:test_vitt': timm {version('timm')} has no such network. Did you mean ",
        ),
        (
            {"fixed.arch": "timm:vit_tiny_patch16_224"},
            "arch 'timm:vit_tiny_patch16_224': the network cannot be "
            "built for images of 8 pixels: ",
        ),
        (
            {"fixed.width": 8},
            "suites/digits.yaml: arch 'timm:test_vit' has fixed layers: it needs stem ",
        ),
        (
            {"fixed.arch": "timm:Test ViT"},
            "suites/digits.yaml: fixed.arch: found 'timm:Test ViT', ",
        ),
    ],
)
def test_a_mistake_is_one_line(workspace: Workspace, changes: dict[str, Any], says: str) -> None:
    fixed = {"method": "simclr", "K": None, "bn_groups": 1, "image_size": 8}
    suite = changed(DIGITS, {f"fixed.{k}": v for k, v in (VIT | fixed).items()})
    workspace.suite(changed(suite, changes))
    answer = workspace.call("run", "digits", "--executor", "inline")
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1), answer
    assert answer.err.removeprefix("bench: ").startswith(says)


def test_timm_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(CellFailure) as fault:
        checked_timm("test_vit")
    assert str(fault.value) == (
        "arch 'timm:test_vit' needs the package timm: pip install 'contrastive-bench[timm]'"
    )
