"""Heads: what stands in them, what they compute, where their numbers come from."""

import re
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from bench.cells.axes import BN
from bench.networks.batchnorm import GroupBatchNorm1d
from bench.networks.heads import Head, make_head


def head(layers: int, bn: BN = "none", bn_groups: int = 1, seed: int = 0) -> Head:
    return make_head(
        6, layers=layers, hidden_dim=5, out_dim=4, bn=bn, bn_groups=bn_groups,
        generator=np.random.default_rng(seed),
    )  # fmt: skip


def spelled(module: Head) -> str:
    """Return L for linear with bias, l without, B for batch norm, R for ReLU."""
    letters = {nn.BatchNorm1d: "B", GroupBatchNorm1d: "G", nn.ReLU: "R"}
    return "".join(
        ("l" if m.bias is None else "L") if isinstance(m, nn.Linear) else letters[type(m)]
        for m in module
    )


@pytest.mark.parametrize(
    ("layers", "bn", "expected"),
    [
        (1, "none", "L"), (1, "hidden", "L"), (1, "all", "lB"),
        (2, "none", "LRL"), (2, "hidden", "lBRL"), (2, "all", "lBRlB"),
        (3, "none", "LRLRL"), (3, "hidden", "lBRlBRL"), (3, "all", "lBRlBRlB"),
    ],
)  # fmt: skip
def test_layers(layers: int, bn: BN, expected: str) -> None:
    made = head(layers, bn)
    assert spelled(made) == expected
    widths = [m.weight.shape for m in made if isinstance(m, nn.Linear)]
    ends = [6, *[5] * (layers - 1), 4]
    assert widths == [torch.Size([o, i]) for i, o in pairwise(ends)]
    assert made.out_dim == 4


def test_the_last_batch_norm_is_affine() -> None:
    """SiMo has batch norm behind every fully connected layer (EqCo, App. B.1)."""
    last = head(2, "all")[-1]
    assert isinstance(last, nn.BatchNorm1d)
    assert_close(last.weight.data, torch.ones(4))
    assert_close(last.bias.data, torch.zeros(4))


def test_batch_norm_in_groups() -> None:
    assert spelled(head(2, "all", bn_groups=2)) == "lGRlG"


def test_no_layers_is_the_identity() -> None:
    identity = make_head(
        6, layers=0, hidden_dim=None, out_dim=4, bn="all", bn_groups=1,
        generator=np.random.default_rng(0),
    )  # fmt: skip
    x = torch.ones(2, 6)
    assert identity(x) is x
    assert identity.out_dim == 6


def test_computes_what_it_says() -> None:
    made = head(2).double()
    first, second = made[0], made[2]
    assert isinstance(first, nn.Linear)
    assert isinstance(second, nn.Linear)
    x = torch.from_numpy(np.random.default_rng(1).standard_normal((3, 6)))
    hidden = (x @ first.weight.T + first.bias).clamp(min=0)
    assert_close(made(x.clone()), hidden @ second.weight.T + second.bias)


def test_numbers_come_from_the_generator_alone() -> None:
    def numbers(seed: int) -> torch.Tensor:
        return nn.utils.parameters_to_vector(head(3, "hidden", seed=seed).parameters())

    torch.manual_seed(1)
    before, once = torch.get_rng_state(), numbers(0)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert torch.equal(numbers(0), once)
    assert not torch.equal(numbers(1), once)


def test_linear_layers_are_uniform_as_torchs() -> None:
    made = make_head(
        400, layers=1, hidden_dim=None, out_dim=300, bn="none", bn_groups=1,
        generator=np.random.default_rng(0),
    )  # fmt: skip
    for parameter in made.parameters():
        assert parameter.abs().max().item() == pytest.approx(1 / 20, rel=0.02)
        assert parameter.abs().max().item() <= 1 / 20
        assert parameter.std().item() == pytest.approx(1 / 20 / 3**0.5, rel=0.1)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"layers": -1}, "a head needs layers >= 0 and widths >= 1, found -1 and [6, 4]"),
        ({"hidden_dim": None}, "a head needs layers >= 0 and widths >= 1, found 2 and [6, 0, 4]"),
        ({"out_dim": 0}, "a head needs layers >= 0 and widths >= 1, found 2 and [6, 5, 0]"),
    ],
)
def test_arguments_out_of_their_domain(change: dict[str, object], text: str) -> None:
    settings = {"layers": 2, "hidden_dim": 5, "out_dim": 4, "bn": "none", "bn_groups": 1} | change
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        make_head(6, **settings, generator=np.random.default_rng(0))  # type: ignore[arg-type]
