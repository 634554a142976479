"""The alignment of eigenspaces: 1 of a shared one, by hand in the plane, whatever the scale."""

import math

import pytest
import torch

from bench.losses import correlation, eigenspace_alignment, predictor_matrix

X = torch.randn(200, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
F = correlation(X * torch.arange(1.0, 7.0))


def test_a_predictor_made_of_f_is_aligned() -> None:
    W = predictor_matrix(F, eps=0.1, form="printed")
    assert eigenspace_alignment(W, F).item() == pytest.approx(1)
    assert eigenspace_alignment(-3 * W, F).item() == pytest.approx(1)
    assert eigenspace_alignment(torch.eye(6), F).item() == pytest.approx(1)


def test_by_hand_in_the_plane() -> None:
    """A turn by 60 degrees: both cosines are 1/2; a matrix that turns the first axis alone."""
    turn = torch.tensor([[0.5, -math.sqrt(0.75)], [math.sqrt(0.75), 0.5]])
    axes = torch.diag(torch.tensor([3.0, 1.0]))
    assert eigenspace_alignment(turn, axes).item() == pytest.approx(0.5)
    shear = torch.tensor([[1.0, 0.0], [1.0, 1.0]])
    assert eigenspace_alignment(shear, axes).item() == pytest.approx((3 / math.sqrt(2) + 1) / 4)


def test_directions_without_variance_do_not_count() -> None:
    flat = torch.diag(torch.tensor([2.0, 0.0, 0.0]))
    W = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    assert eigenspace_alignment(W, flat).item() == pytest.approx(1)


def test_a_random_matrix_is_hardly_aligned() -> None:
    W = torch.randn(6, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert eigenspace_alignment(W, F).item() < 0.6


def test_what_cannot_be_said() -> None:
    assert eigenspace_alignment(F * torch.nan, F).isnan()
    assert eigenspace_alignment(0 * F, F).item() == 0
    with pytest.raises(ValueError, match=r"the same shape \(D, D\), found \(6, 5\) and \(6, 6\)"):
        eigenspace_alignment(F[:, :5], F)
