"""Toy data: the papers' formulas, and streams that know nothing of interruptions."""

import math

import numpy as np
import pytest

from bench.data.streams import Purpose, stream
from bench.data.toys import (
    RADIUS,
    correlate,
    correlation_for,
    normal_pairs,
    two_spirals,
    vince_mi,
    vince_pairs,
)
from bench.papers.reader import load_paper


def test_rho_is_that_of_the_notes() -> None:
    """The note of EqCo's protocol toy-mi lists rho for each true MI at d = 20."""
    found = [round(correlation_for(mi, 20), 4) for mi in (2, 4, 6, 8, 10)]
    assert found == [0.4258, 0.5742, 0.6717, 0.7421, 0.7951]


def test_correlated_pairs_have_the_correlation() -> None:
    x, eps = normal_pairs(np.random.default_rng(0), 100_000, 2)
    y = correlate(x, eps, 0.6)
    assert np.corrcoef(x[:, 0], y[:, 0])[0, 1] == pytest.approx(0.6, abs=0.01)
    assert np.corrcoef(x[:, 0], y[:, 1])[0, 1] == pytest.approx(0.0, abs=0.01)
    assert y.std() == pytest.approx(1, abs=0.01)


def test_vince_pairs_have_the_printed_mutual_information() -> None:
    x, y = vince_pairs(np.random.default_rng(0), 400_000)
    covariance = np.cov(np.concatenate([x, y], axis=1).T)
    assert covariance == pytest.approx(np.array([[2, 0.4], [0.4, 2]]), abs=0.02)
    printed = load_paper("mutual-information").artifact("table-3").values[0]
    assert vince_mi() == pytest.approx(printed.value, abs=printed.half_unit)


@pytest.mark.parametrize("arms", ["rotated", "mirrored"])
def test_spirals_lie_in_their_square_and_on_their_curve(arms: str) -> None:
    points, label = two_spirals(np.random.default_rng(0), 1000, turns=1.5, arms=arms)  # type: ignore[arg-type]
    radius = np.linalg.norm(points, axis=1)
    assert radius.max() <= RADIUS
    assert np.bincount(label).tolist() == [500, 500]
    angle = np.arctan2(points[:, 1], points[:, 0])
    expected = 2 * math.pi * 1.5 * radius / RADIUS
    first = label == 0
    assert np.cos(angle[first] - expected[first]) == pytest.approx(np.ones(500), abs=1e-4)
    second = angle[~first] - math.pi if arms == "rotated" else math.pi - angle[~first]
    assert np.cos(second - expected[~first]) == pytest.approx(np.ones(500), abs=1e-4)


def test_streams_are_functions_of_their_key() -> None:
    def draw(seed: int, purpose: Purpose, step: int) -> list[float]:
        return [float(v) for v in stream(seed, purpose, step).random(3)]

    assert draw(0, Purpose.TRAIN, 5) == draw(0, Purpose.TRAIN, 5)
    keys = [
        (0, Purpose.TRAIN, 5),
        (1, Purpose.TRAIN, 5),
        (0, Purpose.EVALUATE, 5),
        (0, Purpose.TRAIN, 6),
    ]
    assert len({tuple(draw(*key)) for key in keys}) == 4
