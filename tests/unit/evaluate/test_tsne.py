"""t-SNE: groups that lie apart stay apart, and the same draw gives the same points."""

import numpy as np
import pytest

from bench.experiments.tsne import tsne

RNG = np.random.default_rng(0)
GROUPS = np.arange(90) % 3
FEATURES = np.eye(8)[GROUPS] + 0.05 * RNG.normal(size=(90, 8))


def test_the_nearest_point_is_of_the_same_group() -> None:
    points, left = tsne(FEATURES, perplexity=10, seed=1)
    assert (points.shape, points.dtype) == ((90, 2), np.float32)
    apart = np.linalg.norm(points[:, None] - points[None], axis=2) + 1e9 * np.eye(90)
    assert (GROUPS[apart.argmin(axis=1)] == GROUPS).all()
    assert 0 < left < 1


def test_the_same_draw_gives_the_same_points() -> None:
    first, again = (tsne(FEATURES, perplexity=10, seed=1)[0] for _ in range(2))
    assert np.array_equal(first, again)


def test_too_few_points() -> None:
    with pytest.raises(ValueError, match=r"^perplexity 30 needs more points than the 30 given$"):
        tsne(FEATURES[:30], perplexity=30, seed=0)
