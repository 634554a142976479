"""Training state of a classifier on an encoder, for the loop of `pretrain`.

Shapes: N images of a batch, C classes.
"""

import hashlib
from collections.abc import Iterable
from copy import copy

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from bench.cells.finetune import FineTune
from bench.cells.view_recipes import WARPS
from bench.data.labelled import Rows
from bench.data.streams import Purpose, stream
from bench.data.views import make_views
from bench.evaluate.features import accuracy, extract
from bench.losses.classification import cross_entropy
from bench.methods.online_network import Online, copied_backbone
from bench.networks.encoder import PartlyStill, initialise
from bench.train.batches import Batches, DrawnBy
from bench.train.optimisers import learning_rate, make_optimiser
from bench.train.sources import ImageSource
from bench.train.trainable import EpochMeans, FiniteLosses, Trainable

PER_IMAGE = ("train_loss", "train_top1")


class Tuned(PartlyStill):
    """An encoder with a linear classifier, partly trained."""

    def __init__(self, backbone: nn.Module, classifier: nn.Linear, layers: str) -> None:
        """Name what learns: `all`, `last-stage` (of a residual network) or `head`."""
        super().__init__()
        self.backbone, self.classifier = backbone, classifier
        self.keep_still(standing_still(backbone, layers))

    def forward(self, images: Tensor) -> Tensor:
        """Return logits (N, C) of images (N, 3, H, W)."""
        logits: Tensor = self.classifier(self.backbone(images))
        return logits


def standing_still(backbone: nn.Module, layers: str) -> Iterable[nn.Module]:
    """Return the frozen modules of an encoder."""
    if layers == "all":
        return []
    if layers == "head":
        return [backbone]
    stages = [name for name, _ in backbone.named_children() if name.startswith("layer")]
    return [module for name, module in backbone.named_children() if name != stages[-1]]


class FineTuning(Trainable):
    """Training state of a classifier on a copy of an encoder."""

    cell: FineTune
    online: Tuned
    probes: EpochMeans

    def __init__(
        self, cell: FineTune, source: ImageSource, rows: Rows, device: str, encoder: Online | None
    ) -> None:
        """Put a classifier on an encoder, drawn from the cell's seed.

        Args:
            cell: whose protocol is followed.
            source: the cell's images.
            rows: of its training part that have a label.
            device: cpu or cuda.
            encoder: what was trained, which stays as it is; None: from scratch.
        """
        self.cell, self.device = cell, device
        self.labelled = hashlib.sha256(rows.tobytes()).hexdigest()[:16]  # names the rows
        self.fingerprint = f"{source.meta.fingerprint} {self.labelled}"
        self.losses = FiniteLosses(device, at_once=device == "cpu")
        self.source = copy(source)
        self.source.views = make_views(cell.tune_views, size=cell.image_size).first()
        size = min(cell.tune_batch_size, len(rows))
        steps = DrawnBy(cell.seed, size, size)
        self.batches = Batches(steps, self.source, rows=rows)
        self.steps_an_epoch = self.batches.per_epoch
        self.steps = cell.tune_epochs * self.steps_an_epoch
        self.online = network(cell, source.meta.classes, encoder).to(device)
        self.online.to(memory_format=torch.channels_last)
        self.optimiser = optimiser(cell, self.online)
        self.probes = EpochMeans(PER_IMAGE).to(device)

    def step(self, step: int) -> None:
        """Do one optimiser step on the mean cross-entropy of a batch.

        Raises:
            Diverged: the loss is checked immediately and not finite. The weights are unchanged.
        """
        batch = self.batches.batch(*divmod(step, self.steps_an_epoch))
        with torch.autocast(self.device, torch.bfloat16, enabled=self.cell.precision == "bf16"):
            logits_NC = self.online(batch.views[0])
        loss_N = cross_entropy(logits_NC.float(), batch.labels, tau=1.0)
        loss = loss_N.mean()
        self.descend(step, loss)
        with torch.no_grad():
            right_N = 100.0 * (logits_NC.argmax(dim=1) == batch.labels)
            self.probes.add(torch.stack([loss_N, right_N]))

    def rate(self, step: int) -> float:
        """Return the classifier's learning rate at a step."""
        return learning_rate(
            step,
            lr=self.cell.tune_lr,
            steps=self.steps,
            warmup_steps=self.cell.tune_warmup_epochs * self.steps_an_epoch,
            schedule=self.cell.tune_lr_schedule,
        )

    def accuracies(self) -> dict[str, float]:
        """Return the accuracies on the test part and on warped test images, in percent."""
        labels = self.source.labels["test"]
        labels = labels[labels >= 0]
        top = accuracy(extract(self.online, self.source.plain("test")), labels)
        metrics = {"finetune_top1": top.top1, "finetune_top5": top.top5}
        if self.cell.test_warp != "none":
            by = WARPS[self.cell.test_warp]
            scores = extract(self.online, self.source.warped(by))
            top = accuracy(scores, labels.repeat(by.draws))
            metrics |= {"warped_finetune_top1": top.top1, "warped_finetune_top5": top.top5}
        return metrics


def network(cell: FineTune, classes: int, encoder: Online | None) -> Tuned:
    """Return the encoder, trained or from scratch, with a new linear classifier.

    Batch norm uses the statistics of the whole batch, even if the pretraining split it.

    Args:
        cell: cell that defines the network.
        classes: number of classes of the data set.
        encoder: the trained encoder; None means from scratch.
    """
    backbone = copied_backbone(cell.trained, encoder)
    linear = nn.Linear(backbone.feature_dim, classes, device="meta")
    initialise(linear, stream(cell.seed, Purpose.INIT, 1))
    return Tuned(backbone, linear, cell.tune_layers)


def optimiser(cell: FineTune, online: Tuned) -> Optimizer:
    """Return the optimiser: `tune_lr` for the classifier, a separate rate for the encoder."""
    made = make_optimiser(
        online.classifier.named_parameters(),
        optimizer=cell.tune_optimizer,
        lr=cell.tune_lr,
        momentum=cell.tune_momentum,
        weight_decay=cell.tune_weight_decay,
        exempt=False,
    )
    learning = [weight for weight in online.backbone.parameters() if weight.requires_grad]
    if learning:
        share = (cell.tune_backbone_lr or cell.tune_lr) / cell.tune_lr
        made.add_param_group({"params": learning, "lr": cell.tune_lr * share, "lr_share": share})
    return made
