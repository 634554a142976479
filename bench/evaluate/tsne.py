"""Features as points in a plane (t-SNE, van der Maaten and Hinton 2008), by scikit-learn."""

from typing import Any

import numpy as np
from sklearn.manifold import TSNE

Array = np.ndarray[Any, Any]


def tsne(x_mD: Array, *, perplexity: float, seed: int) -> tuple[Array, float]:
    """Return points in a plane, shape (m, 2), float32, and the divergence that is left, in nats.

    Near points have near features; distances and sizes of groups mean nothing.

    Args:
        x_mD: features, shape (m, D).
        perplexity: how many neighbours a point is close to; below m.
        seed: of the draws that the first two principal components do not decide.

    Raises:
        ValueError: the perplexity is not below the number of points.
    """
    if perplexity >= len(x_mD):
        raise ValueError(f"perplexity {perplexity:g}: needs more points, found {len(x_mD)}")
    method = TSNE(perplexity=perplexity, init="pca", random_state=seed)
    points = method.fit_transform(np.asarray(x_mD, dtype=np.float32))
    return np.asarray(points, dtype=np.float32), float(method.kl_divergence_)
