"""Equations and inequalities of the papers on random features."""

from collections.abc import Callable, Sequence

import torch

from bench.cells.toys import Identity
from bench.data.streams import Purpose, stream
from bench.experiments import identities
from bench.experiments.identities import Deviations, RandomFeatures
from bench.experiments.outcome import Outcome, Result
from bench.results.folder import CellFolder


def run(cells: Sequence[Identity], folders: Sequence[CellFolder], device: str) -> list[Outcome]:
    """Test each cell's identity on its random samples."""
    return [Result(_metrics(cell)) for cell in cells]


def identity_named(name: str) -> Callable[[RandomFeatures], Deviations]:
    """Return the function of an identity; for instance, `la0-is-ball` gives `la0_is_ball`."""
    identity: Callable[[RandomFeatures], Deviations] = getattr(identities, name.replace("-", "_"))
    return identity


def _metrics(cell: Identity) -> dict[str, float]:
    """Return the worst of all draws: of equal sides, and of sides of which one is larger."""
    identity = identity_named(cell.identity)
    draws = [
        identity(RandomFeatures(stream(cell.seed, Purpose.DATA, i), cell.N, cell.d))
        for i in range(cell.draws)
    ]
    differences = [x.detach().abs().max() for deviations in draws for x in deviations.differences]
    margins = [x.detach().flatten() for deviations in draws for x in deviations.margins]
    metrics = {}
    if differences:
        metrics["largest_difference"] = float(torch.stack(differences).max())
    if margins:
        together = torch.cat(margins)
        metrics["smallest_margin"] = float(together.min())
        metrics["violated_share"] = float((~(together > 0)).double().mean())
    return metrics
