"""Training loop of `pretrain`: resumable at every step, with bitwise equal results."""

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from bench.cells.pretrain import Pretrain
from bench.data.draws import drawn_by
from bench.data.streams import Purpose, stream
from bench.environment import seconds_between_checkpoints
from bench.errors import DataFailure, Interrupted
from bench.evaluate.linear import OnlineLinear
from bench.evaluate.plateau import Plateau
from bench.experimental import ALONE, Ranks
from bench.methods.cached import encode_all, pass_on
from bench.methods.make import method_of
from bench.methods.method import ComparedBatch, Method, StepInput
from bench.methods.online_network import Online
from bench.methods.own_loss import OwnLoss
from bench.methods.own_method import Moment, OwnMethod
from bench.networks.ranked_norm import statistics_apart
from bench.results.folder import CellFolder
from bench.signals import end_if_stopped, listening
from bench.train.batches import Batches
from bench.train.checkpoints import Checkpoint, divergence, load_checkpoint, save_checkpoint
from bench.train.optimisers import by_cosine, clip, momentum_at, optimiser_of
from bench.train.probes import Probes
from bench.train.sources import ImageSource
from bench.train.trainable import FiniteLosses, Trainable

LABELS = "labels_N"
Watch = Callable[[nn.Module], dict[str, float]]
"""Function from the trained network to the quantities that are monitored, kNN accuracy in percent
among them."""


class Training(Trainable):
    """Training state of a `pretrain` cell."""

    cell: Pretrain
    online: Online
    probes: Probes

    def __init__(
        self, cell: Pretrain, source: ImageSource, device: str, ranks: Ranks = ALONE
    ) -> None:
        """Initialise from the cell's seed; of several ranks each takes its share of a batch.

        Raises:
            DataFailure: it looks at labels, which the images do not have.
            ValueError: batches do not divide among the ranks.
        """
        self.cell, self.device, self.ranks = cell, device, ranks
        self.batches = Batches(cell, source, ranks.share(cell.batch_size))
        self.fingerprint = source.meta.fingerprint
        # Several ranks end together only where each of them reads every loss.
        self.losses = FiniteLosses(device, at_once=device == "cpu" or ranks.many)
        self.shares = cell.N // cell.batch_size  # batches whose gradients make one step
        self.steps_an_epoch = self.batches.per_epoch // self.shares
        self.steps = cell.epochs * self.steps_an_epoch
        online = Online(cell, ranks)
        self.method = method_of(cell, online, len(self.batches.labels))
        self.online = online.to(device).to(memory_format=torch.channels_last)
        for module in self.method.modules.values():
            module.to(device)
        if isinstance(self.method, OwnMethod):
            self.method.module.to(memory_format=torch.channels_last)
        self._statistics = (
            statistics_apart(self.online, *self.method.modules.values()) if ranks.many else []
        )
        self.optimiser = optimiser_of(cell, self.online, self.method.learned, self.method.trained)
        layers = list(self.online.backbone.probed_layers().values())
        self.probes = Probes(cell, layers, self.method.quantities).to(device)
        if not source.meta.classes:
            self._check_label_free()
        self.head: OnlineLinear | None = None
        if cell.online_linear:
            draw = stream(cell.seed, Purpose.INIT, 4)
            self.head = OnlineLinear(
                self.online.backbone.feature_dim,
                classes=source.meta.classes,
                generator=draw,
                device=device,
            )
        if cell.plateau_patience is not None:
            self.plateau = Plateau(patience=cell.plateau_patience, drops=cell.plateau_drops or 1)

    def _check_label_free(self) -> None:
        """Raise a DataFailure if the training looks at labels: its images have no classes."""
        cell, method = self.cell, self.method
        no_classes = f"the images of {cell.dataset} have no classes"
        for name, off in (("knn_every_epochs", "0"), ("online_linear", "false")):
            if getattr(cell, name):
                raise DataFailure(f"{no_classes}, but {name} needs classes; set {name} to {off}")
        own = method.file.arguments if isinstance(method, OwnMethod) else ()
        if isinstance(method, Method) and isinstance(method.objective, OwnLoss):
            own = (LABELS,) * method.objective.takes(LABELS)
        recorded = self.probes.own.metric.given if self.probes.own is not None else ()
        for who, taken in ((f"loss '{cell.loss}'", own), (f"record '{cell.record}'", recorded)):
            if LABELS in taken:
                raise DataFailure(f"{no_classes}, but {who} takes the argument `{LABELS}`")

    def step(self, step: int) -> None:
        """Do one optimiser step on N queries.

        Raises:
            Diverged: the loss is checked immediately and not finite. The weights are unchanged.
        """
        epoch, index = divmod(step, self.steps_an_epoch)
        if index == 0:
            self.method.begin_epoch(epoch)
        self.optimiser.zero_grad(set_to_none=True)
        places = range(index * self.shares, (index + 1) * self.shares)
        if self.cell.cached_negatives:
            self._compare_at_once(step, epoch, places)
        else:
            for place in places:
                self._accumulate(step, epoch, place)
        seen_whole = [*self.online.witness.parameters(), *self.method.learned]  # what was gathered
        everything = [*self.online.parameters(), *self.method.learned]
        self.ranks.sum_gradients(everything, whole=seen_whole)
        self.probes.add_gradients()
        self._decay(step)
        if norm := self.cell.clip_norm or self.cell.clip_each:
            clip(self.optimiser, norm, each=self.cell.clip_norm is None)
        self.move(step)
        if isinstance(self.method, OwnMethod):
            self.method.after_step(self.online, self._moment(step, epoch))
        elif (momentum := self.momentum(step)) is not None:
            self.method.target.after_step(self.online.embedding, momentum)
        self.ranks.average_(self._statistics)

    def _accumulate(self, step: int, epoch: int, index: int) -> None:
        """Add the gradients of one batch of an epoch."""
        seen = self._seen(step, epoch, index)
        if isinstance(self.method, OwnMethod):
            self._add_own(self.method, self._moment(step, epoch), index, seen)
        else:
            self._add(step, self.method.compare(self.online, seen), seen, self.shares)

    def _compare_at_once(self, step: int, epoch: int, places: range) -> None:
        """Add the gradients of some batches of an epoch, which are compared as one."""
        assert isinstance(self.method, Method)
        batches = [self._seen(step, epoch, place) for place in places]
        encoded = encode_all(self.method, self.online, batches)
        draw = drawn_by(self.cell.seed, Purpose.NEGATIVES, epoch, places.start // len(places))
        labels_N = torch.cat([seen.labels_N for seen in batches if seen.labels_N is not None])
        seen = StepInput((), draw, epoch=batches[0].epoch, labels_N=labels_N)
        compared = self.method.compare_encoded(self.online.witness, seen, encoded)
        self._add(step, compared, seen, 1)
        pass_on(self.method, self.online, batches, encoded)

    def _seen(self, step: int, epoch: int, index: int) -> StepInput:
        """Return one batch of an epoch."""
        batch = self.batches.batch(epoch, index)
        draw = drawn_by(self.cell.seed, Purpose.NEGATIVES, epoch, index)
        done = step / self.steps_an_epoch  # epochs
        return StepInput(batch.views, draw, batch.rows, done, batch.mixes, batch.labels)

    def _add(self, step: int, compared: ComparedBatch, seen: StepInput, shares: int) -> None:
        """Add the gradients of what is compared, one of so many shares of a step."""
        assert isinstance(self.method, Method)
        losses = [self.method.objective(pair) for pair in compared.pairs]
        loss = torch.cat(losses).mean() * compared.towers  # mutual-information, Eq. 3: a sum
        self.losses.add(step, loss)
        (loss / shares).backward()
        meant = sum(map(len, losses)) // compared.towers * shares
        self.probes.add(compared.pairs, losses, meant)
        self.method.remember(compared, seen)
        if self.head is not None and seen.labels_N is not None:
            self.head.step(compared.features, seen.labels_N)

    def _add_own(self, method: OwnMethod, moment: Moment, place: int, seen: StepInput) -> None:
        """Add the gradients of one batch of a method that makes its step itself."""
        images = {"labels_N": seen.labels_N, "rows_N": seen.rows_N}
        stepped = method.step(self.online, seen.views, moment, place, **images)
        self.losses.add(moment.step, stepped.loss)
        (stepped.loss / self.shares).backward()
        self.probes.add_loss(stepped.loss, stepped.quantities, len(seen.views[0]))
        if self.head is not None and seen.labels_N is not None:
            self.head.step(stepped.features, seen.labels_N)

    def _moment(self, step: int, epoch: int) -> Moment:
        return Moment(step, self.steps, epoch, self.cell.epochs)

    def _decay(self, step: int) -> None:
        """Set the weight decay of a step, where it changes and for what is not exempt from it."""
        start, end = self.cell.weight_decay, self.cell.weight_decay_end
        if end is not None:
            for group in self.optimiser.param_groups:
                if group["weight_decay"]:
                    group["weight_decay"] = by_cosine(step, start, end, steps=self.steps)

    def momentum(self, step: int) -> float | None:
        """Return the target network's momentum at a step; None without such a network."""
        beta, how = self.cell.momentum, self.cell.momentum_schedule
        if beta is None:
            return None
        return momentum_at(step, momentum=beta, steps=self.steps, schedule=how)

    def parts(self) -> dict[str, Any]:
        """Return all objects with state, by name."""
        return super().parts() | self.method.modules | ({"head": self.head} if self.head else {})


def train(
    training: Trainable,
    folder: CellFolder,
    heartbeat: Callable[[], None] = lambda: None,
    *,
    watch: Watch | None = None,
    ranks: Ranks = ALONE,
) -> None:
    """Train to the end, from the checkpoint if there is one.

    The history gets a record after every epoch. Checkpoints are written every BENCH_CHECKPOINT_S
    seconds, after any step, and when the process is asked to stop.

    Args:
        training: training state of the cell.
        folder: folder of the checkpoint and history.
        heartbeat: function to call after every step.
        watch: function that returns monitored metrics, called every `knn_every_epochs` epochs if
            set.
        ranks: the processes that train together. Only the first writes and monitors. It writes a
            checkpoint if the heartbeat interrupts all ranks.

    Raises:
        Diverged: a loss is not finite.
        Interrupted: the process was asked to stop.
    """
    begun = _resume(training, folder, ranks)
    between, saved_at = seconds_between_checkpoints(), time.monotonic()
    training.online.train()
    with listening() as must_stop:
        for step in range(begun, training.steps):
            training.step(step)
            done = step + 1
            if done % training.steps_an_epoch == 0:
                _record(training, folder, watch, done, ranks)
            due = time.monotonic() - saved_at >= between and done != training.steps
            if due and ranks.first:
                _save(training, folder, done)
                saved_at = time.monotonic()
            try:
                heartbeat()  # in which several ranks agree to stop
                if not ranks.many and must_stop():
                    end_if_stopped()
            except Interrupted:
                if ranks.first:
                    _save(training, folder, done)
                raise


def _save(training: Trainable, folder: CellFolder, done: int) -> None:
    """Write a checkpoint, if the training has not diverged."""
    training.losses.check()
    save_checkpoint(folder, done, training.state())


def _record(
    training: Trainable, folder: CellFolder, watch: Watch | None, done: int, ranks: Ranks
) -> None:
    """Write an epoch's line; the sums of the last epoch are kept."""
    training.losses.check()
    epoch = done // training.steps_an_epoch
    every = training.cell.knn_every_epochs if watch else 0
    line = {"step": done, "epoch": epoch, "lr": training.rate(done - 1), **training.probes.line()}
    if fault := divergence(line, done):
        raise fault
    if watch and every and (epoch % every == 0 or epoch == training.cell.epochs):
        line |= ranks.first_does(lambda: watch(training.online))
        if training.plateau is not None:
            training.plateau.update(line["knn_top1"])
    if ranks.first:
        folder.append_history(line)
    if done != training.steps:
        training.probes.reset()


def _resume(training: Trainable, folder: CellFolder, ranks: Ranks) -> int:
    """Load the checkpoint, which the first rank has read; return its step, 0 for none."""
    device = "cpu" if ranks.many else training.device
    saved = ranks.first_does(lambda: _checkpoint(training, folder, device))
    if saved is None:
        return 0
    training.load(saved["state"])
    return saved["step"]


def _checkpoint(training: Trainable, folder: CellFolder, device: str) -> Checkpoint | None:
    """Return the checkpoint; None if its history is missing or it is of other images."""
    saved = load_checkpoint(folder, device)
    step = saved["step"] if saved else 0
    lines = [line for line in folder.history() if line["step"] <= step]
    known = saved is not None and saved["state"].get("images") == training.fingerprint
    if saved is None or not known or len(lines) != step // training.steps_an_epoch:
        folder.rewind_history(0)
        return None
    folder.rewind_history(step)
    return saved
