"""Negatives out of several batches: the gradients of one large batch."""

from typing import Any

import pytest
import torch
from torch.testing import assert_close

from bench.cells.pretrain import Pretrain
from bench.train.batches import Batch
from bench.train.loop import Training
from tests.fakes.cells import small_cell, training_of

PLAIN: dict[str, Any] = {"views": "none", "N": 32, "lr_schedule": "constant"}
POINTS: dict[str, tuple[str, dict[str, Any]]] = {
    "both views, drawn": ("simclr", {"K": 5, "loss": "eqco", "alpha": 30}),
    "momentum": ("simo", {}),
    "predictor, witness": ("simco", {"predictor_layers": 1, "witness": "bilinear"}),
    "neighbours": ("nnclr", {}),
    "features, one batch norm": ("hypersphere", {"bn_over": "views-together"}),
}


def steps(cell: Pretrain, count: int = 2) -> Training:
    """Return a training after some steps in float64, without batch statistics."""
    training = training_of(cell)
    for module in (training.online, *training.method.modules.values()):
        module.double().eval()
    made = training.batches.batch

    def batch(epoch: int, index: int) -> Batch:
        found = made(epoch, index)
        return found._replace(views=tuple(view.double() for view in found.views))

    training.batches.batch = batch  # type: ignore[method-assign]
    for step in range(count):
        training.step(step)
    return training


@pytest.mark.parametrize(("method", "changes"), POINTS.values(), ids=POINTS)
def test_the_step_is_that_of_the_large_batch(method: str, changes: dict[str, Any]) -> None:
    large = steps(small_cell(method, batch_size=32, **PLAIN | changes))
    cached = steps(small_cell(method, batch_size=8, cached_negatives=True, **PLAIN | changes))
    apart = steps(small_cell(method, batch_size=8, **PLAIN | changes))
    weights = [list(t.online.parameters()) for t in (large, cached, apart)]
    assert all(w.dtype == torch.float64 for w in weights[0])
    for one, other in zip(*weights[:2], strict=True):
        assert_close(other, one, rtol=0, atol=1e-10)
    assert any(
        (one - other).abs().max() > 1e-6 for one, other in zip(weights[0], weights[2], strict=True)
    )
    assert cached.probes.line() == pytest.approx(large.probes.line(), abs=1e-9)


def test_running_statistics_move_once_for_each_batch() -> None:
    """They see each batch by itself, in order, as without the option."""
    cells = [small_cell(N=32, cached_negatives=cached, K=6) for cached in (False, True)]
    trainings = [training_of(cell) for cell in cells]
    for training in trainings:
        training.step(0)
    apart, cached = (dict(training.online.named_buffers()) for training in trainings)
    assert int(cached["backbone.bn1.num_batches_tracked"]) > 0
    assert_close(cached, apart, rtol=1e-6, atol=1e-7)


def test_all_images_of_a_step_are_negatives_and_only_their_cells_have_another_id() -> None:
    cell = small_cell(N=32)
    assert small_cell(N=32, cached_negatives=False).id == cell.id
    cached = small_cell(N=32, cached_negatives=True)
    assert cached.id != cell.id
    assert (cell.count, cached.count) == (30, 62)
