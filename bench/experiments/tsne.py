"""t-SNE maps of the test images' features from a trained encoder.

The implementation of t-SNE (van der Maaten and Hinton 2008) is scikit-learn's.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn import manifold
from torch import nn

from bench.cells.pretrain import TSNE
from bench.data.streams import Purpose, stream
from bench.errors import DataFailure
from bench.evaluate.features import extract
from bench.experimental import ALONE, Ranks
from bench.experiments.encoder_folder import encoder_of
from bench.experiments.outcome import Outcome, Result
from bench.experiments.pretrain import SharedTraining, probe, run_on_encoder
from bench.methods.online_network import Online
from bench.results.folder import Folders

__all__ = ["probe", "run", "tsne"]
Array = np.ndarray[Any, Any]
SEEDS = 2**31


def tsne(x_mD: Array, *, perplexity: float, seed: int) -> tuple[Array, float]:
    """Return 2-d points, shape (m, 2), float32, and the final KL divergence, in nats.

    Nearby points have similar features. Distances between groups and sizes of groups cannot be
    interpreted.

    Args:
        x_mD: features, shape (m, D).
        perplexity: effective number of neighbours, below m.
        seed: random seed. The initial points are the first two principal components.

    Raises:
        ValueError: the perplexity is not below the number of points.
    """
    if perplexity >= len(x_mD):
        raise ValueError(f"perplexity {perplexity:g} needs more points than the {len(x_mD)} given")
    method = manifold.TSNE(perplexity=perplexity, init="pca", random_state=seed)
    points = method.fit_transform(np.asarray(x_mD, dtype=np.float32))
    return np.asarray(points, dtype=np.float32), float(method.kl_divergence_)


def run(
    cells: Sequence[TSNE], folders: Folders, device: str, ranks: Ranks = ALONE
) -> list[Outcome]:
    """Train the shared encoder unless it exists, and map its features.

    Args:
        cells: cells with one encoder (equal `training_id`).
        folders: their folders, in the same order.
        device: torch device.
        ranks: the processes that train together; each calls this.
    """
    return run_on_encoder(cells, folders, device, ranks, _mapped, with_history=False)


def _mapped(cell: TSNE, shared: SharedTraining, online: Online) -> Outcome:
    """Return unit features of test images as points, with the images' labels."""
    source = shared.source
    features = extract(encoder_of(cell.features, online), source.plain("test"))
    unit = nn.functional.normalize(features, dim=1).cpu().numpy()
    draw = stream(cell.seed, Purpose.EVALUATE, 20)
    rows = np.sort(draw.permutation(len(unit))[: cell.images])
    if cell.perplexity >= len(rows):
        return DataFailure(
            f"perplexity is {cell.perplexity:g}, which is too large for {len(rows)} test images"
        )
    points, left = tsne(unit[rows], perplexity=cell.perplexity, seed=int(draw.integers(SEEDS)))
    arrays = {"tsne": points, "label": source.labels["test"].cpu().numpy()[rows]}
    provenance = {"dataset": shared.fingerprint, "trained": shared.home.provenance()}
    return Result({"kl_divergence": left}, arrays, provenance)
