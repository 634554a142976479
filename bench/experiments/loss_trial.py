"""One call of an objective of one's own on random outputs, before anything is trained with it."""

import torch
from torch.nn.functional import normalize

from bench.cells.pretrain import Pretrain
from bench.data.draws import drawn_by
from bench.data.streams import Purpose
from bench.errors import CellFailure
from bench.losses import correlation
from bench.methods.negatives import Similarities
from bench.methods.objectives import Pair
from bench.methods.own_loss import OwnLoss, faults_of
from bench.methods.sample_sets import Samples

QUERIES = 8


def try_loss(cell: Pretrain) -> None:
    """Call the cell's objective twice, and ask for its gradient.

    Raises:
        CellFailure: in one line with its place, an error of the code; or values that are not
            finite, not the same each time, or no function of the outputs.
    """
    objective = OwnLoss(cell)
    pair = _random_pair(cell)
    first_N, again_N = objective(pair), objective(pair)
    code = objective.file.code
    if not first_N.isfinite().all():
        raise CellFailure(f"{code}: {objective.file.function} is not finite on random unit vectors")
    if not torch.equal(first_N, again_N):
        raise CellFailure(f"{code}: two calls give different values: draw with `generator`")
    if not first_N.requires_grad:
        raise CellFailure(f"{code}: {objective.file.function} has no gradient in its arguments")
    with faults_of(objective.file):
        first_N.sum().backward()
    objective.remember([pair])


def _random_pair(cell: Pretrain) -> Pair:
    draw = torch.Generator().manual_seed(0)

    def outputs() -> torch.Tensor:
        made = torch.randn(QUERIES, cell.feature_dim, generator=draw)
        return normalize(made, dim=1).requires_grad_()

    query_ND, key_ND = outputs(), outputs()
    sim_NN = query_ND @ key_ND.T
    others = ~torch.eye(QUERIES, dtype=torch.bool)
    similarities = Similarities(sim_NN.diagonal(), sim_NN[others].view(QUERIES, -1))
    labels_N = torch.arange(QUERIES) % 3
    samples = Samples(correlation(query_ND.detach()))
    draw_of = drawn_by(0, Purpose.NEGATIVES)
    queued_KD = outputs().detach()
    return Pair(query_ND, key_ND, query_ND, similarities, samples, draw_of, labels_N, queued_KD)
