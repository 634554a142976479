"""Class separation by hand, at its ends, and what it refuses."""

import math
import re

import pytest
import torch

from bench.evaluate.features import class_separation


def test_by_hand() -> None:
    """Two classes on a line, means 1 and 5: distances 1 to the own, 5, 3, 3 and 5 to the other."""
    x = torch.tensor([[0.0], [2.0], [4.0], [6.0]])
    expected = (4 / 5 + 2 / 3 + 2 / 3 + 4 / 5) / 4
    assert class_separation(x, torch.tensor([0, 0, 7, 7])) == pytest.approx(expected)


def test_ends_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    apart = torch.tensor([[1.0, 0.0], [0.0, 1.0]]).repeat(5, 1)
    labels = torch.tensor([0, 1]).repeat(5)
    assert class_separation(apart, labels) == 1
    assert class_separation(torch.zeros(4, 2), torch.tensor([0, 1, 0, 1])) == 0
    crossed = torch.tensor([[0.0], [0.0], [3.0], [1.0], [1.0], [-2.0]])
    assert class_separation(crossed, torch.tensor([0, 0, 0, 1, 1, 1])) < 0
    random = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    together = class_separation(random, torch.arange(50) % 4)
    monkeypatch.setattr("bench.evaluate.features.IMAGES_A_BLOCK", 7)
    assert math.isclose(class_separation(random, torch.arange(50) % 4), together, rel_tol=1e-6)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (torch.zeros(2, dtype=torch.int64), "the labels must have two classes or more, found 1"),
        (
            torch.arange(3),
            "the features and labels must have shapes (m, D) and (m,), found (2, 1) and (3,)",
        ),
    ],
)
def test_refuses(labels: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        class_separation(torch.zeros(2, 1), labels)
