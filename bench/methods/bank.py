"""Memory bank: one embedding per training image, and clusters of them (mutual-information).

Shapes: n entries (training images), D dimensions, N images of a batch, R clusterings.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize


def first_entries(
    images: int, dim: int, start: np.random.Generator, *, uniform: bool = False
) -> Tensor:
    """Return the initial entries of a bank, shape (n, D), float32.

    Args:
        images: number n of training images.
        dim: number D of dimensions.
        start: generator of the coordinates.
        uniform: whether the coordinates are uniform in -1 to 1 instead of Gaussian, as in the code
            named in mutual-information, App. C.3. The paper does not specify this.
    """
    if uniform:
        return torch.from_numpy(2 * start.random((images, dim), dtype=np.float32) - 1)
    return torch.from_numpy(start.standard_normal((images, dim), dtype=np.float32))


class Bank(nn.Module):
    """The memory bank M; its content is in buffers, so checkpoints contain it."""

    entries: Tensor
    clusters: Tensor

    def __init__(
        self,
        entries_nD: Tensor,
        *,
        rate: float,
        renormalised: bool,
        clusters: int | None,
        clusterings: int,
    ) -> None:
        """Start with these entries, brought to unit length, and each image by itself.

        Args:
            entries_nD: the first entries, see `first_entries`, of n >= 2 images.
            rate: share of the old entry in the new one, in [0, 1); 0 remembers the last view.
            renormalised: whether entries are brought to unit length after each update (open too).
            clusters: k of K-means, 1 to n; None without clusterings.
            clusterings: R, from different seeds; 0 without.

        Raises:
            ValueError: an argument out of its range, or one of clusters and clusterings alone.
        """
        super().__init__()
        images, dim = entries_nD.shape
        if images < 2 or dim < 1:
            raise ValueError(f"a bank needs images >= 2 and dim >= 1, found {images} and {dim}")
        if not 0 <= rate < 1:
            raise ValueError(f"rate must be at least 0 and below 1, found {rate}")
        plain = clusters is None and clusterings == 0
        if not (plain or (clusters is not None and 1 <= clusters <= images and clusterings >= 1)):
            raise ValueError(
                f"clusters must be 1 to {images} if clusterings is 1 or more, and None if "
                f"clusterings is 0, found clusters {clusters} with clusterings {clusterings}"
            )
        self.rate, self.renormalised = rate, renormalised
        self.k = clusters or 0
        self.register_buffer("entries", normalize(entries_nD, dim=1))
        alone = torch.arange(images)[:, None].repeat(1, clusterings)
        self.register_buffer("clusters", alone)

    def of(self, rows_N: Tensor) -> Tensor:
        """Return a copy of these images' entries, shape (N, D)."""
        return self.entries[rows_N]

    @torch.no_grad()
    def remember(self, rows_N: Tensor, values_ND: Tensor) -> None:
        """Update the batch's entries: M[i] <- rate M[i] + (1 - rate) v.

        Source: `memory-bank-update-views`, Sec. 2.1.

        Args:
            rows_N: indices of the images, without repetition.
            values_ND: embedding of one view of each image.
        """
        values_ND = values_ND.to(self.entries.dtype)
        mixed_ND = self.rate * self.entries[rows_N] + (1 - self.rate) * values_ND
        self.entries[rows_N] = normalize(mixed_ND, dim=1) if self.renormalised else mixed_ND

    @torch.no_grad()
    def fit_clusters(self, draw: np.random.Generator) -> None:
        """Cluster the entries R times with different seeds (`la-close-set`).

        It uses Euclidean k-means over all entries with faiss's 25 iterations (20 in the code named
        in App. C.3). Then each entry is assigned to its nearest centre by exact search. Equal
        entries and generators give equal clusters.
        """
        import faiss  # slow to import, and needed with clusters only

        faiss.omp_set_num_threads(torch.get_num_threads())
        points = self.entries.cpu().numpy()
        for r in range(self.clusters.shape[1]):
            kmeans = faiss.Kmeans(
                points.shape[1],
                self.k,
                seed=int(draw.integers(2**31)),
                min_points_per_centroid=1,  # faiss warns below, ...
                max_points_per_centroid=len(points),  # ... and leaves points out above
            )
            kmeans.train(points)
            self.clusters[:, r] = torch.from_numpy(kmeans.assign(points)[1])
