"""Contrastive pretraining on images, and evaluations of the frozen encoder."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from bench.cells.axes import EVALUATIONS
from bench.cells.pretrain import EncoderCell, Pretrain, TransferCell
from bench.errors import CellFailure, DataFailure
from bench.experimental import ALONE, Ranks
from bench.experimental.ranks import agreed
from bench.experiments.encoder_folder import TrainedFolder
from bench.experiments.evaluations import Evaluator
from bench.experiments.outcome import Clock, Outcome, Result, Spent, attempted, one_by_one
from bench.experiments.timing import (
    BACKWARD_TOO,
    Stopwatch,
    deterministic,
    forward_s,
    seconds_of,
    seconds_unless_long,
    steps_s,
)
from bench.methods.online_network import Online
from bench.results.folder import CellFolder
from bench.results.folders import Folders
from bench.results.lease import Lease
from bench.results.provenance import describe
from bench.signals import listening
from bench.train.loop import Training, train
from bench.train.sources import Source, open_source

OutcomeOf = Callable[[Any, Source, TrainedFolder, Evaluator, Online], Outcome]
TransferResult = Callable[[Any, CellFolder, Path, str, Source | None, Online | None], Result]
"""From a cell, its folder, the folder of data sets, the device, the source of the encoder's images
and the encoder, both None from scratch, to the result of training on."""
NO_METRICS = ("step", "epoch", "lr", "knn_top1")  # of a line of history


def run(
    cells: Sequence[Pretrain],
    folders: Folders,
    device: str,
    ranks: Ranks = ALONE,
) -> list[Outcome]:
    """Train the encoder that the cells share, unless it is there, and evaluate it for each.

    Of several ranks all train, each on its share of every batch; the first alone writes, and
    evaluates after that: the others return nothing then.

    Args:
        cells: cells of one encoder: equal `training_id`.
        folders: their folders, in the same order.
        device: where to compute, as torch names it.
        ranks: the processes that train together; each calls this.
    """
    return run_on_encoder(cells, folders, device, ranks, _outcome)


def run_on_encoder(
    cells: Sequence[EncoderCell],
    folders: Folders,
    device: str,
    ranks: Ranks,
    outcome_of: OutcomeOf,
    *,
    with_history: bool = True,
) -> list[Outcome]:
    """Train the encoder that the cells share, unless it is there; return each cell's outcome.

    Args:
        cells: which share an encoder.
        folders: theirs.
        device: cpu or cuda.
        ranks: that train together.
        outcome_of: what is taken of the encoder for one cell.
        with_history: whether the cells' folders get the history of the training.
    """
    outcomes = attempted(
        lambda: _outcomes(cells, folders, device, ranks, outcome_of, with_history=with_history)
    )
    return [outcomes] * len(cells) if isinstance(outcomes, CellFailure) else outcomes


def run_transfer(
    result_of: TransferResult,
    cells: Sequence[TransferCell],
    folders: Folders,
    device: str,
    ranks: Ranks,
) -> list[Outcome]:
    """Train the encoder that the cells share, unless it is there, and train on from a copy of it.

    From scratch there is none, and each cell stands alone.

    Args:
        result_of: trains one cell.
        cells: which share an encoder, or cells from scratch.
        folders: their folders, in the same order.
        device: where to compute, as torch names it.
        ranks: that train the encoder together; the first alone trains on.
    """
    if cells[0].start == "scratch":

        def from_scratch(cell: TransferCell, folder: CellFolder, data: Path, device: str) -> Result:
            with deterministic(device):
                return result_of(cell, folder, data, device, None, None)

        return one_by_one(from_scratch, cells, folders, device)
    folder_of = dict(zip((cell.id for cell in cells), folders, strict=True))

    def outcome(
        cell: TransferCell, source: Source, home: TrainedFolder, _: Evaluator, online: Online
    ) -> Outcome:
        def result() -> Result:
            found = result_of(cell, folder_of[cell.id], folders.data, device, source, online)
            origin = {"encoder": home.path.name, "trained": home.provenance()}
            return replace(found, provenance=found.provenance | origin)

        return attempted(result)

    return run_on_encoder(cells, folders, device, ranks, outcome, with_history=False)


def shared_s(cell: TransferCell, data: Path, device: str, clock: Clock) -> float:
    """Return the seconds of the encoder's training; 0 from scratch.

    Args and Raises as for `probe`.
    """
    if cell.start == "scratch":
        return 0.0
    unasked: dict[str, Any] = {"linear": None, "few_shot": None, "weights_K": None, "spread": False}
    return probe(cell.trained.model_copy(update=unasked), data, device, clock).shared


def _outcomes(
    cells: Sequence[EncoderCell],
    folders: Folders,
    device: str,
    ranks: Ranks,
    outcome_of: OutcomeOf,
    *,
    with_history: bool,
) -> list[Outcome]:
    """Return the outcomes; a failure of the training, which is raised, is of all cells alike."""
    cell = cells[0].trained
    home = TrainedFolder.of(cell, folders)
    with listening() if ranks.many else nullcontext(), deterministic(device):
        source = ranks.all_do(lambda: open_source(cell, folders.data, device))
        _check_alike(source, ranks)
        evaluator = Evaluator(cells, source)
        faults = [evaluator.fault(each) for each in cells]
        if all(faults):
            return [fault for fault in faults if fault]
        _have_trained(cell, source, home, evaluator, device, ranks)
    if not ranks.first:
        return []
    home.sweep()
    home.remove_checkpoint()
    with deterministic(device):
        online = _load(cell, source, home, device)
        outcomes = [
            fault or outcome_of(each, source, home, evaluator, online)
            for fault, each in zip(faults, cells, strict=True)
        ]
    for folder in folders if with_history else ():
        folder.copy_history(home)
    return outcomes


def probe(cell: Pretrain, data: Path, device: str, clock: Clock) -> Spent:
    """Time steps, what is watched each epoch, and the evaluations of the untrained encoder.

    Args:
        cell: what is timed; nothing of it is kept.
        data: the folder of data sets.
        device: cpu or cuda.
        clock: tells seconds.

    Raises:
        CellFailure, DataError: the cell could not be computed either.
    """
    source = open_source(cell, data, device)
    training, evaluator = Training(cell, source, device), Evaluator([cell], source)
    if fault := evaluator.fault(cell):
        raise fault
    online = training.online
    image_s = forward_s(online.backbone, source, clock)
    evaluation_s = image_s * sum(map(len, source.labels.values()))
    views = 1 if cell.one_view else 2
    shared_s = steps_s(training, clock, BACKWARD_TOO * views * cell.batch_size * image_s)
    if cell.clusters is not None:
        shared_s += cell.epochs * seconds_of(
            lambda: training.method.begin_epoch(cell.epochs - 1), clock
        )
    own_s = seconds_unless_long(
        lambda: [evaluator.evaluate(name, cell, online) for name in EVALUATIONS],
        clock,
        expected_s=evaluation_s,
    )
    if cell.knn_every_epochs:
        look_s = seconds_unless_long(
            lambda: evaluator.watch(cell, online), clock, expected_s=evaluation_s
        )
        shared_s += -(-cell.epochs // cell.knn_every_epochs) * look_s
    return Spent(shared_s, own_s)


def _outcome(
    cell: Pretrain, source: Source, home: TrainedFolder, evaluator: Evaluator, online: Online
) -> Outcome:
    """Return what one cell asks for; a failure of its own harms no other."""

    def result() -> Outcome:
        metrics = (home.metrics() or {}) | _evaluate(cell, home, evaluator, online)
        provenance = {"dataset": source.meta.fingerprint, "trained": home.provenance()}
        return Result(metrics, arrays=home.arrays(), provenance=provenance)

    return attempted(result)


def _check_alike(source: Source, ranks: Ranks) -> None:
    """Raise a DataFailure if ranks, maybe on several machines, see different images."""
    if len(fingerprints := set(ranks.hear_all(source.meta.fingerprint))) > 1:
        listed = ", ".join(sorted(fingerprints))
        raise DataFailure(f"the ranks see different images: fingerprints {listed}")


def _have_trained(
    cell: Pretrain,
    source: Source,
    home: TrainedFolder,
    evaluator: Evaluator,
    device: str,
    ranks: Ranks,
) -> None:
    """Train the encoder unless it is there and sound; the first rank looks, claims and tells."""
    if ranks.first:
        home.drop_unusable(lambda: home.load_encoder(Online(cell), "cpu"))
    if ranks.tell(not home.is_done):
        with _held(home, ranks) as heartbeat:
            if ranks.tell(not home.is_done):  # while it was waited for
                _train(cell, source, home, evaluator, device, heartbeat, ranks)


@contextmanager
def _held(home: TrainedFolder, ranks: Ranks) -> Iterator[Callable[[], None]]:
    """Hold the claim on the first rank; yield what each rank calls after every step."""
    if not ranks.many:
        with Lease() as lease:
            lease.wait_for(home)
            yield lease.check
        return
    with listening() as asked, Lease() as lease:
        if ranks.first:
            lease.wait_for(home, asked)
        yield agreed(lease.check, asked, ranks)


def _load(cell: Pretrain, source: Source, home: TrainedFolder, device: str) -> Online:
    """Return the trained encoder from its file."""
    trained_on = home.provenance().get("dataset")
    if trained_on != source.meta.fingerprint:
        raise DataFailure(
            f"{cell.dataset} has changed since {home.path} was trained (fingerprint {trained_on}, "
            f"now {source.meta.fingerprint}); remove that folder to train again"
        )
    online = Online(cell)
    home.load_encoder(online, device)
    return online.to(device).to(memory_format=torch.channels_last)


def _train(
    cell: Pretrain,
    source: Source,
    home: TrainedFolder,
    evaluator: Evaluator,
    device: str,
    heartbeat: Callable[[], None],
    ranks: Ranks,
) -> None:
    watch, resumed_at = Stopwatch(cell, device), home.checkpoint_step() if ranks.first else None
    training = ranks.all_do(lambda: Training(cell, source, device, ranks))
    train(training, home, heartbeat, watch=partial(evaluator.watch, cell), ranks=ranks)
    if not ranks.first:
        return
    history = home.history()
    metrics = {k: v for k, v in history[-1].items() if k not in NO_METRICS}
    watched = [line["knn_top1"] for line in history if "knn_top1" in line]
    if watched:
        metrics["knn_top1_best"] = max(watched)
    if training.head is not None:
        metrics["online_linear_top1"] = evaluator.online_top1(training.head, training.online)
    home.write_encoder(training.online)
    shares = training.probes.distribution()
    arrays = {} if shares is None else {"q_b_histogram": shares.cpu().numpy()}
    provenance = describe(device, torch.get_num_threads())
    provenance |= watch.record() | {"dataset": source.meta.fingerprint}
    provenance |= {"resumed_at": resumed_at or 0}  # the step from which its seconds count
    if ranks.many:
        provenance["ranks"] = ranks.world_size
    home.finish(metrics, arrays, provenance)


def _evaluate(
    cell: Pretrain, home: TrainedFolder, evaluator: Evaluator, online: Online
) -> dict[str, float]:
    """Return the metrics of every evaluation that the cell asks for, done now or before."""
    metrics: dict[str, float] = {}
    for name in EVALUATIONS:
        known = home.evaluation(cell, name)
        if known is None:
            known = evaluator.evaluate(name, cell, online)
            home.write_evaluation(cell, name, known)
        metrics |= known
    return metrics
