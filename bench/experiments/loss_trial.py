"""Test calls of the user's own objective, method, metric or network before a run."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

import torch
from torch.nn.functional import normalize

from bench.cells.pretrain import EncoderCell, Pretrain
from bench.data.draws import drawn_by
from bench.data.streams import Purpose
from bench.errors import CellFailure
from bench.losses import correlation
from bench.methods.negatives import Similarities
from bench.methods.objectives import Pair, Samples
from bench.methods.online_network import Online
from bench.methods.own_loss import OwnLoss, faults_of
from bench.methods.own_method import Moment, OwnMethod
from bench.methods.own_metric import OwnMetric
from bench.train.sources import views_of

QUERIES, MOST = 8, 256  # of a method, whose step is slow; and of what is not, at most
OF_PAIR = ("query_ND", "key_ND", "pos_N", "neg_NK", "labels_N", "queued_KD")


def try_loss(cell: Pretrain) -> None:
    """Call the cell's objective twice and compute its gradient.

    Raises:
        CellFailure: the code raises an error, or its values are not finite, differ between calls,
            or do not depend on the outputs.
    """
    objective = OwnLoss(cell)
    pair = _random_pair(cell)
    first_N, again_N = objective(pair), objective(pair)
    code, who = objective.file.code, objective.file.function
    with faults_of(code):  # of tensors without values, say
        finite, same = first_N.isfinite().all().item(), torch.equal(first_N, again_N)
    if not finite:
        raise CellFailure(f"{code}: {who} is not finite on random unit vectors")
    if not same:
        raise CellFailure(
            f"{code}: two calls with the same arguments give different values; draw "
            "random numbers only with `generator`"
        )
    _check_unchanged(code, _given_of(pair), _given_of(_random_pair(cell)))
    if not first_N.requires_grad:
        raise CellFailure(f"{code}: {who} has no gradient with respect to its arguments")
    with faults_of(code):
        first_N.sum().backward()
    if not _all_finite([pair.query_ND, pair.key_ND]):
        raise CellFailure(f"{code}: the gradient of {who} is not finite on random unit vectors")
    objective.remember([pair])


def try_method(cell: Pretrain) -> None:
    """Do two steps of the cell's method on random images, without changing the network.

    Raises:
        CellFailure: the code raises an error, a quantity is not finite, or the loss is not finite,
            not reproducible, independent of the network, or different after restoring the method's
            parameters and buffers.
    """
    images = max(QUERIES, 2 * cell.bn_groups)
    cell = cell.model_copy(update={"batch_size": images, "N": images})
    first, again, restored = (_Trial(cell, images) for _ in range(3))
    code, loss = first.method.file.code, first.loss(0)
    if not loss.isfinite():
        raise CellFailure(f"{code}: the loss is not finite on random images")
    if not torch.equal(loss, again.loss(0)):
        raise CellFailure(
            f"{code}: two trainings with one seed differ; draw random numbers only with "
            "torch, which is seeded"
        )
    if not loss.requires_grad:
        raise CellFailure(f"{code}: the loss has no gradient with respect to the network")
    with faults_of(first.method.file.code):
        loss.backward()
    if all(weight.grad is None for weight in first.online.backbone.parameters()):
        raise CellFailure(f"{code}: the loss has no gradient with respect to the network")
    if not _all_finite(first.online.parameters()):
        raise CellFailure(f"{code}: the gradient of the loss is not finite on random images")
    first.method.after_step(first.online, first.moment(0))
    restored.online.load_state_dict(first.online.state_dict())
    with faults_of(first.method.file.code):
        restored.method.module.load_state_dict(first.method.module.state_dict())
    if not torch.equal(first.loss(1), restored.loss(1)):
        raise CellFailure(
            f"{code}: a resumed training would differ from an uninterrupted one; keep "
            "all changing state in buffers (register_buffer) or parameters"
        )


def try_metrics(cell: EncoderCell) -> None:
    """Call the cell's own evaluation and training record twice.

    Raises:
        CellFailure: the code raises an error, or its values are not numbers or differ between
            calls.
    """
    for setting in ("evaluate", "record"):
        if getattr(cell, setting) is not None:
            metric = OwnMetric(cell, setting)
            given = _random_features(cell)
            if metric(given) != metric(_random_features(cell)):
                told = (
                    "; draw random numbers only with `generator`" if setting == "evaluate" else ""
                )
                raise CellFailure(
                    f"{metric.file.path}: two calls with the same arguments give different "
                    f"values{told}"
                )
            _check_unchanged(metric.file.path, given, _random_features(cell))


def _all_finite(leaves: Iterable[torch.Tensor]) -> bool:
    return all(leaf.grad.isfinite().all() for leaf in leaves if leaf.grad is not None)


def _check_unchanged(code: Path, given: Mapping[str, object], fresh: Mapping[str, object]) -> None:
    """Refuse code that changes what it is given, which others look at after it."""
    for name, value in given.items():
        if isinstance(value, torch.Tensor) and not torch.equal(
            value, cast(torch.Tensor, fresh[name])
        ):
            raise CellFailure(
                f"{code}: the code changes {name} in place; change a copy instead: {name}.clone()"
            )


def try_network(cell: EncoderCell) -> None:
    """Build the cell's network with initial weights.

    Raises:
        CellFailure: the network cannot be built.
    """
    Online(cell.trained)


class _Trial:
    """A method with a network of its own, on images that are the same in all trials."""

    def __init__(self, cell: Pretrain, images: int) -> None:
        self.online = Online(cell)
        self.method = OwnMethod(cell, self.online, images)
        self.images, self.sizes = images, views_of(cell).sizes

    def moment(self, step: int) -> Moment:
        return Moment(step, 2, step, 2)  # each in an epoch of its own

    def loss(self, step: int) -> torch.Tensor:
        draw = torch.Generator().manual_seed(step)
        views = [torch.randn(self.images, 3, size, size, generator=draw) for size in self.sizes]
        rows_N = torch.arange(self.images)
        moment = self.moment(step)
        given = {"labels_N": rows_N % 3, "rows_N": rows_N}
        stepped = self.method.step(self.online, views, moment, step, **given)
        for name, value in stepped.quantities.items():
            if not value.isfinite():
                code = self.method.file.code
                raise CellFailure(f"{code}: {name} is not finite on random images")
        return stepped.loss


def _random_features(cell: EncoderCell) -> dict[str, object]:
    draw, labels_N = torch.Generator().manual_seed(0), torch.arange(MOST) % 3
    train_ND, test_MD = (torch.randn(MOST, cell.feature_dim, generator=draw) for _ in range(2))
    pair = _random_pair(cell.trained)
    return _given_of(pair) | {
        "train_ND": train_ND, "train_labels_N": labels_N, "test_MD": test_MD,
        "test_labels_M": labels_N, "generator": torch.Generator().manual_seed(1),
        "tau": cell.tau, "epoch": 0.5,
    }  # fmt: skip


def _given_of(pair: Pair) -> dict[str, object]:
    return {name: getattr(pair, name) for name in OF_PAIR}


def _random_pair(cell: Pretrain) -> Pair:
    draw, queries = torch.Generator().manual_seed(0), min(cell.batch_size, MOST)

    def outputs() -> torch.Tensor:
        made = torch.randn(queries, cell.feature_dim, generator=draw)
        return normalize(made, dim=1).requires_grad_()

    query_ND, key_ND = outputs(), outputs()
    sim_NN = query_ND @ key_ND.T
    others = ~torch.eye(queries, dtype=torch.bool)
    similarities = Similarities(sim_NN.diagonal(), sim_NN[others].view(queries, -1))
    labels_N = torch.arange(queries) % 3
    samples = Samples(correlation(query_ND.detach()))
    draw_of = drawn_by(0, Purpose.NEGATIVES)
    queued_KD = outputs().detach()
    return Pair(query_ND, key_ND, query_ND, similarities, samples, draw_of, labels_N, queued_KD)
