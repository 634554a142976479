"""Contrastive pretraining on images, and evaluations of the frozen encoder."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from bench.cells.axes import EVALUATIONS, NOWHERE
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
from bench.results.folder import CellFolder, Folders
from bench.results.lease import Lease
from bench.results.provenance import describe
from bench.signals import listening
from bench.train.loop import Training, train
from bench.train.sources import ImageSource, evaluated_source, open_source

OutcomeOf = Callable[[Any, "SharedTraining", Online], Outcome]
"""Function from a cell, the data that it shares with other cells, and the trained encoder to its
outcome."""
TransferResult = Callable[[Any, CellFolder, Path, str, ImageSource | None, Online | None], Result]
"""Function from a cell, its folder, the folder of data sets, the device, the source of the
encoder's images and the encoder (both None if trained from scratch) to the result of further
training."""
NO_METRICS = ("step", "epoch", "lr", "knn_top1")  # of a line of history


def run(
    cells: Sequence[Pretrain],
    folders: Folders,
    device: str,
    ranks: Ranks = ALONE,
) -> list[Outcome]:
    """Train the shared encoder unless it exists, and evaluate it for each cell.

    With several ranks, each trains on its share of every batch. Only the first rank writes and
    evaluates; the others return nothing.

    Args:
        cells: cells with one encoder (equal `training_id`).
        folders: their folders, in the same order.
        device: torch device.
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
    """Train the shared encoder unless it exists; return each cell's outcome.

    Args:
        cells: cells that share an encoder.
        folders: folders of the cells.
        device: cpu or cuda.
        ranks: the processes that train together.
        outcome_of: function that computes the outcome of one cell from the encoder.
        with_history: whether to write the training history to the cells' folders.
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
    """Train the shared encoder unless it exists, then continue training a copy for each cell.

    From scratch there is no shared encoder, and cells are independent.

    Args:
        result_of: function that trains one cell.
        cells: cells that share an encoder, or cells from scratch.
        folders: their folders, in the same order.
        device: torch device.
        ranks: the processes that train the encoder together. Only the first continues training.
    """
    if cells[0].start == "scratch":

        def from_scratch(cell: TransferCell, folder: CellFolder, data: Path, device: str) -> Result:
            with deterministic(device):
                return result_of(cell, folder, data, device, None, None)

        return one_by_one(from_scratch, cells, folders, device)
    folder_of = dict(zip((cell.id for cell in cells), folders, strict=True))

    def outcome(cell: TransferCell, shared: SharedTraining, online: Online) -> Outcome:
        def result() -> Result:
            folder = folder_of[cell.id]
            found = result_of(cell, folder, folders.data, device, shared.source, online)
            origin = {"encoder": shared.home.path.name, "trained": shared.home.provenance()}
            return replace(found, provenance=found.provenance | origin)

        return attempted(result)

    return run_on_encoder(cells, folders, device, ranks, outcome, with_history=False)


def shared_s(cell: TransferCell, data: Path, device: str, clock: Clock) -> float:
    """Return the seconds of the encoder's training; 0 from scratch.

    Args and Raises as for `probe`.
    """
    if cell.start == "scratch":
        return 0.0
    unasked = {"evaluated_on": NOWHERE}
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
    with listening() if ranks.many else nullcontext(), deterministic(device):
        shared = SharedTraining(cells, folders, device, ranks)
        faults = [shared.evaluator_of(each).fault(each) for each in cells]
        if all(faults):
            return [fault for fault in faults if fault]
        shared.have_trained()
    if not ranks.first:
        return []
    shared.home.sweep()
    shared.home.remove_checkpoint()
    with deterministic(device):
        online = shared.load()
        outcomes = [
            fault or outcome_of(each, shared, online)
            for fault, each in zip(faults, cells, strict=True)
        ]
    for folder in folders if with_history else ():
        folder.copy_history(shared.home)
    return outcomes


class SharedTraining:
    """Data shared by cells with one encoder: `pretrain` cell, images, folder, evaluations."""

    def __init__(
        self, cells: Sequence[EncoderCell], folders: Folders, device: str, ranks: Ranks
    ) -> None:
        """Open the images.

        Raises:
            DataFailure: ranks, maybe on several machines, see different images.
        """
        self.cell, self.device, self.ranks = cells[0].trained, device, ranks
        self.home = TrainedFolder.of(self.cell, folders)
        self.source = ranks.all_do(lambda: open_source(self.cell, folders.data, device))
        self.fingerprint = self.source.meta.fingerprint
        if len(fingerprints := set(ranks.hear_all(self.fingerprint))) > 1:
            listed = ", ".join(sorted(fingerprints))
            raise DataFailure(
                f"the ranks read different images of {self.cell.dataset} (fingerprints {listed}); "
                "give all ranks the same images"
            )
        groups: dict[str | None, list[Pretrain]] = {}
        for each in cells:
            if isinstance(each, Pretrain) and each.evaluated_on not in (None, NOWHERE):
                groups.setdefault(each.evaluated_on, []).append(each)
        self.evaluator = Evaluator([c for c in cells if c.evaluated_on is None], self.source)
        self._elsewhere: dict[str | None, Evaluator] = {}
        for name, group in groups.items():
            look = partial(evaluated_source, group[0], self.source, folders.data, device)
            self._elsewhere[name] = Evaluator(group, ranks.all_do(look))

    def evaluator_of(self, cell: EncoderCell) -> Evaluator:
        """Return the evaluator for a cell, with the images that the cell uses."""
        return self._elsewhere.get(cell.evaluated_on, self.evaluator)

    def have_trained(self) -> None:
        """Train the encoder unless a valid one exists; the first rank checks and claims."""
        home, ranks = self.home, self.ranks
        if ranks.first:
            home.drop_unusable(lambda: home.load_encoder(Online(self.cell), "cpu"))
        if ranks.tell(not home.is_done):
            with self._held() as heartbeat:
                if ranks.tell(not home.is_done):  # while it was waited for
                    self.train(heartbeat)

    @contextmanager
    def _held(self) -> Iterator[Callable[[], None]]:
        """Hold the claim on the first rank; yield what each rank calls after every step."""
        if not self.ranks.many:
            with Lease() as lease:
                lease.wait_for(self.home)
                yield lease.check
            return
        with listening() as asked, Lease() as lease:
            if self.ranks.first:
                lease.wait_for(self.home, asked)
            yield agreed(lease.check, asked, self.ranks)

    def load(self) -> Online:
        """Return the trained encoder from its file.

        Raises:
            DataFailure: the encoder was trained on other images.
        """
        trained_on = self.home.provenance().get("dataset")
        if trained_on != self.fingerprint:
            raise DataFailure(
                f"{self.cell.dataset} has changed since the encoder in {self.home.path} was "
                f"trained (fingerprint {trained_on}, now {self.fingerprint}); remove this folder "
                "to train the encoder again"
            )
        online = Online(self.cell)
        self.home.load_encoder(online, self.device)
        return online.to(self.device).to(memory_format=torch.channels_last)

    def train(self, heartbeat: Callable[[], None]) -> None:
        """Train the encoder and write its folder; `heartbeat` is called after each step."""
        cell, home, evaluator, ranks = self.cell, self.home, self.evaluator, self.ranks
        watch = Stopwatch(cell, self.device)
        resumed_at = home.checkpoint_step() if ranks.first else None
        training = ranks.all_do(lambda: Training(cell, self.source, self.device, ranks))
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
        provenance = describe(self.device, torch.get_num_threads())
        provenance |= watch.record() | {"dataset": self.fingerprint}
        provenance |= {"resumed_at": resumed_at or 0}  # the step from which its seconds count
        if ranks.many:
            provenance["ranks"] = ranks.world_size
        home.finish(metrics, arrays, provenance)


def probe(cell: Pretrain, data: Path, device: str, clock: Clock) -> Spent:
    """Time steps, monitoring during training, and evaluations of the untrained encoder.

    Raises:
        CellFailure: the cell cannot be evaluated.
    """
    source = open_source(cell, data, device)
    evaluator = Evaluator([cell], evaluated_source(cell, source, data, device))
    training = Training(cell, source, device)
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
            lambda: Evaluator([cell], source).watch(cell, online), clock, expected_s=evaluation_s
        )
        shared_s += -(-cell.epochs // cell.knn_every_epochs) * look_s
    return Spent(shared_s, own_s)


def _outcome(cell: Pretrain, shared: SharedTraining, online: Online) -> Outcome:
    """Return what one cell asks for; a failure of its own harms no other."""
    home = shared.home

    def result() -> Result:
        evaluator = shared.evaluator_of(cell)
        metrics = (home.metrics() or {}) | _evaluate(cell, home, evaluator, online)
        provenance = {"dataset": shared.fingerprint, "trained": home.provenance()}
        if evaluator is not shared.evaluator:
            provenance["evaluated_on"] = evaluator.source.meta.fingerprint
        return Result(metrics, arrays=home.arrays(), provenance=provenance)

    return attempted(result)


def _evaluate(
    cell: Pretrain, home: TrainedFolder, evaluator: Evaluator, online: Online
) -> dict[str, float]:
    """Return the metrics of every evaluation that the cell asks for, done now or before."""
    metrics: dict[str, float] = {}
    for name in EVALUATIONS:
        known = home.evaluation(cell, name)
        if known is None or cell.evaluated_on:  # whose images may have changed
            known = evaluator.evaluate(name, cell, online)
            home.write_evaluation(cell, name, known)
        metrics |= known
    return metrics
