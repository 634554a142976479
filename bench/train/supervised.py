"""Training state of a supervised classifier, for the loop of `pretrain`.

Shapes: N images of a batch, C classes.
"""

from collections import OrderedDict
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from bench.cells.supervised import Supervised
from bench.data.labelled import with_noise
from bench.data.streams import Purpose, stream
from bench.errors import DataFailure
from bench.evaluate.features import accuracy, extract
from bench.losses.bounds import q_b
from bench.losses.classification import (
    cross_entropy,
    decoupled,
    dual_temperature_cross_entropy,
    one_against_rest,
)
from bench.networks.encoder import initialise, make_encoder
from bench.train.batches import Batches
from bench.train.optimisers import optimiser_of
from bench.train.sources import ImageSource
from bench.train.trainable import EpochMeans, FiniteLosses, Trainable

PER_IMAGE = ("train_loss", "train_top1", "q_b")


class SupervisedTraining(Trainable):
    """Training state of a supervised classifier."""

    cell: Supervised
    probes: EpochMeans

    def __init__(self, cell: Supervised, source: ImageSource, device: str) -> None:
        """Initialise from the cell's seed; the labels that are wrong come from it alone.

        Raises:
            DataFailure: a training image has no label.
        """
        self.cell, self.source, self.device = cell, source, device
        self.fingerprint = source.meta.fingerprint
        self.losses = FiniteLosses(device, at_once=device == "cpu")
        self.batches = Batches(cell, source)
        self.batches.labels = given_labels(cell, source)
        self.steps_an_epoch = self.batches.per_epoch
        self.steps = cell.epochs * self.steps_an_epoch
        self.online = classifier(cell, source.meta.classes).to(device)
        self.online.to(memory_format=torch.channels_last)
        self.objective = objective_of(cell)
        self.optimiser = optimiser_of(cell, self.online)
        self.probes = EpochMeans(PER_IMAGE, lambda: {"test_top1": self.test_top1()}).to(device)

    def step(self, step: int) -> None:
        """Do one optimiser step on the mean loss of a batch.

        Raises:
            Diverged: the loss is checked immediately and not finite. The weights are unchanged.
        """
        batch = self.batches.batch(*divmod(step, self.steps_an_epoch))
        logits_NC = self.online(batch.views[0])
        loss_N = self.objective(logits_NC, batch.labels)
        loss = loss_N.mean()
        self.descend(step, loss)
        with torch.no_grad():
            right_N = 100.0 * (logits_NC.argmax(dim=1) == batch.labels)
            q_N = q_b(*one_against_rest(logits_NC, batch.labels), tau=self.cell.tau)
            self.probes.add(torch.stack([loss_N, right_N, q_N]))

    def test_top1(self) -> float:
        """Return the accuracy on the test part, in percent."""
        labels = self.source.labels["test"]
        return accuracy(extract(self.online, self.source.plain("test")), labels[labels >= 0]).top1


def classifier(cell: Supervised, classes: int) -> nn.Sequential:
    """Return the cell's initial network: `backbone`, then the linear `classifier`."""
    backbone = make_encoder(
        cell.arch,
        stem=cell.stem,
        width=cell.width,
        bn_groups=1,
        generator=stream(cell.seed, Purpose.INIT, 0),
        image_size=cell.image_size,
    )
    linear = nn.Linear(backbone.feature_dim, classes, device="meta")
    initialise(linear, stream(cell.seed, Purpose.INIT, 1))
    return nn.Sequential(OrderedDict[str, nn.Module](backbone=backbone, classifier=linear))


def objective_of(cell: Supervised) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the cell's loss of logits (N, C) and labels (N,), in nats, shape (N,)."""
    if cell.tau_beta is not None:  # there with dual temperature alone
        return partial(dual_temperature_cross_entropy, tau=cell.tau, tau_beta=cell.tau_beta)
    return partial(cross_entropy if cell.loss == "cross-entropy" else decoupled, tau=cell.tau)


def given_labels(cell: Supervised, source: ImageSource) -> Tensor:
    """Return the training labels with the cell's label noise, int64.

    Raises:
        DataFailure: a training image has no label.
    """
    labels_n = source.labels["train"]
    if bool((labels_n < 0).any()):
        raise DataFailure(
            f"{cell.dataset}: a training image has no label, but a classifier needs labels"
        )
    return with_noise(
        labels_n,
        classes=source.meta.classes,
        noise=cell.label_noise,
        eta=cell.eta,
        generator=stream(cell.seed, Purpose.LABELS),
        dataset=cell.dataset,
    )
