"""Training state of an image and a text encoder, by contrast.

Shapes: B pairs of a batch, D dimensions.
"""

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from bench.cells.image_text import LEAST_TAU, ImageText
from bench.data.scenes import LENGTH, VOCABULARY, CaptionedSet, Pairs
from bench.data.shapes import SIDE
from bench.data.streams import Purpose, stream
from bench.losses import dcl, infonce
from bench.losses.bounds import q_b
from bench.methods.negatives import off_diagonal
from bench.networks.hugging_face import make_clip
from bench.train.optimisers import optimiser_of
from bench.train.trainable import EpochMeans, FiniteLosses, Trainable

if TYPE_CHECKING:
    from transformers import CLIPModel

OBJECTIVES = {"infonce": infonce, "dcl": dcl}


class ImageTextTraining(Trainable):
    """Both encoders, which learn to tell the pairs of a batch apart (arXiv:2103.00020, Fig. 3)."""

    cell: ImageText
    online: "CLIPModel"
    probes: EpochMeans

    def __init__(self, cell: ImageText, pairs: CaptionedSet, device: str) -> None:
        """Initialise from the cell's seed."""
        self.cell, self.device, self.train_pairs = cell, device, pairs.train
        self.fingerprint = pairs.fingerprint
        self.losses = FiniteLosses(device, at_once=device == "cpu")
        self.steps_an_epoch = len(pairs.train.words) // cell.batch_size
        self.steps = cell.epochs * self.steps_an_epoch
        draw = stream(cell.seed, Purpose.INIT, 0)
        sizes = {"side": SIDE, "words": len(VOCABULARY), "length": LENGTH}
        self.online = make_clip(cell.arch, **sizes, draw=draw).to(device)
        with torch.no_grad():
            self.online.logit_scale.fill_(-math.log(cell.tau))
        self.online.logit_scale.requires_grad_(cell.learned_tau)
        self.optimiser = optimiser_of(cell, self.online)
        self.probes = EpochMeans(("train_loss", "train_top1", "q_b"), self._tau).to(device)

    def step(self, step: int) -> None:
        """Do one optimiser step.

        Raises:
            Diverged: the loss is checked immediately and not finite. The weights are unchanged.
        """
        epoch, index = divmod(step, self.steps_an_epoch)
        order = stream(self.cell.seed, Purpose.ORDER, epoch).permutation(
            len(self.train_pairs.words)
        )
        size = self.cell.batch_size
        rows = torch.from_numpy(order[index * size : (index + 1) * size])
        image_BD, text_BD = embedded(self.online, self.train_pairs.of(rows), self.device)
        loss, watched = self.loss(image_BD, text_BD)
        self.descend(step, loss)
        with torch.no_grad():
            self.online.logit_scale.clamp_(max=-math.log(LEAST_TAU))
        self.probes.add(watched)

    def loss(self, image_BD: Tensor, text_BD: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss in nats, and monitored quantities of each query.

        Args:
            image_BD: unit vectors of the pictures.
            text_BD: unit vectors of their captions.
        """
        logits_BB = self.online.logit_scale.exp() * image_BD @ text_BD.T
        pos_N = logits_BB.diagonal().repeat(2)
        neg_NK = torch.cat([off_diagonal(logits_BB), off_diagonal(logits_BB.T)])
        losses_N = OBJECTIVES[self.cell.loss](pos_N, neg_NK, tau=1.0)
        with torch.no_grad():
            right_N = 100.0 * (pos_N > neg_NK.amax(dim=1))
            watched = torch.stack([losses_N.detach(), right_N, q_b(pos_N, neg_NK, tau=1.0)])
        return losses_N.mean(), watched

    def _tau(self) -> dict[str, float]:
        return {"tau_end": math.exp(-self.online.logit_scale.item())}


def embedded(network: "CLIPModel", pairs: Pairs, device: str) -> tuple[Tensor, Tensor]:
    """Return the unit vectors of pictures and of captions, two tensors (P, D)."""
    pixels = pairs.pixels.to(device).float() / 127.5 - 1
    out = network(input_ids=pairs.words.to(device), pixel_values=pixels)
    return out.image_embeds, out.text_embeds
