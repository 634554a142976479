"""A method combines a target, negatives, neighbours and an objective; its name has no effect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from bench.cells.losses import LOSSES
from bench.cells.pretrain import Pretrain
from bench.data.draws import Draw
from bench.data.streams import Purpose, stream
from bench.data.views import CutMix, cutmix
from bench.experimental import ALONE, Ranks
from bench.methods.bank import Bank
from bench.methods.negatives import (
    Anchor,
    Memory,
    Negatives,
    Onlookers,
    QueueNegatives,
    Similarities,
)
from bench.methods.objectives import Objective, Pair, Previous, Samples, of_batch, of_queue
from bench.methods.online_network import Online, Projected
from bench.methods.own_loss import OwnLoss
from bench.methods.targets import Momentum, Shared, Target
from bench.methods.witness import Witness
from bench.networks.encoder import split_channels

KEPT = 1000  # the part of a draw that says which keys are remembered; parts below it are directions
GLOBAL = 2  # views whose outputs are keys; what comes after them are queries alone


class StepInput(NamedTuple):
    """Input of a method in one step."""

    views: Sequence[Tensor]  # of the same images, (N, 3, H, W) each; on several ranks, their rows
    draw: Draw  # which negatives, where not all are taken
    rows_N: Tensor | None = None  # which training images they are
    epoch: float = 0  # of the training, with the part of it that is done
    mixes: Sequence[CutMix] = ()  # for each view, what the online network sees in its place
    labels_N: Tensor | None = None


class Encoded(NamedTuple):
    """Outputs of the networks for a batch."""

    projected: list[Projected]  # by the online network, of what it saw
    keys: dict[int, Tensor]  # by a momentum network, of each view that it saw


class ComparedBatch(NamedTuple):
    """A batch after comparison, with its inputs and outputs."""

    pairs: list[Pair]  # one a direction
    keys: list[Tensor]  # of all views that keys were made of, (N, D) each
    projected: list[Projected]  # what the online network made of what it saw
    correlation_DD: Tensor | None  # of all outputs up to this batch, where the method needs it
    towers: int = 1  # how many of `projected` are of the same view

    @property
    def first(self) -> Projected:
        """Outputs of the online network for the first view."""
        return self.projected[0]

    @property
    def features(self) -> Tensor:
        """Backbone features of the first view; those of two towers are concatenated."""
        return torch.cat([p.features for p in self.projected[: self.towers]], dim=1)


@dataclass(frozen=True)
class Method:
    """A combination of choices on the axes of a method."""

    cell: Pretrain
    target: Target
    negatives: Negatives
    support: Memory | None  # of nearest neighbours (NNCLR)
    banks: nn.ModuleList | None  # one a tower
    previous: Previous | None
    objective: Objective
    ranks: Ranks = ALONE

    quantities: ClassVar[tuple[str, ...]] = ()
    """Quantities recorded besides those of every method: none."""

    @property
    def modules(self) -> dict[str, nn.Module]:
        """The modules with state besides the online network."""
        parts = {
            "target": self.target, "negatives": self.negatives, "support": self.support,
            "banks": self.banks, "previous": self.previous, "objective": self.objective,
        }  # fmt: skip
        return {name: part for name, part in parts.items() if isinstance(part, nn.Module)}

    def begin_epoch(self, epoch: int) -> None:
        """Recompute the clusters of the banks, if the method uses clusters."""
        if self.cell.clusters is None or epoch < self.cell.uniform_epochs:
            return
        for i, bank in enumerate(self.banks or []):
            assert isinstance(bank, Bank)
            if self.ranks.first:
                bank.fit_clusters(stream(self.cell.seed, Purpose.NEGATIVES, epoch, 0, 1 + i))
            self.ranks.first_has(bank.clusters)

    def compare(self, online: Online, seen: StepInput) -> ComparedBatch:
        """Return the similarities of each direction; no state is updated yet.

        There is no `simclr.py`. A method is a combination of settings of `Pretrain`, which its
        preset in `bench/suites/methods/` lists. The steps of SimCLR are: `project` encodes both
        views with `Online`. `Shared.keys` returns these projections as keys, with their gradient.
        `BatchNegatives.similarities` compares each query with its positive, the other view of its
        image, and with its negatives, both views of all other images. `make_objective` gives these
        similarities to `bench.losses.contrastive.infonce`. `Training.step` in `bench/train/loop.py`
        averages over both directions and updates the network. MoCo uses `Momentum` keys and
        `QueueNegatives` instead. DCL only has another loss.
        """
        return self.compare_encoded(online.witness, seen, self.encode(online, seen))

    def encode(self, online: Online, seen: StepInput) -> Encoded:
        """Return the networks' outputs for the views; batch norm updates its statistics."""
        projected = self.project(online, seen)
        if not isinstance(self.target, Momentum):
            return Encoded(projected, {})
        return Encoded(projected, {v: self.target.keys(seen.views[v]) for v in self._keyed()})

    def compare_encoded(self, witness: Witness, seen: StepInput, encoded: Encoded) -> ComparedBatch:
        """Return the similarities of each direction for encoded views."""
        projected = encoded.projected
        keys = encoded.keys or {v: self._key(projected[v]) for v in self._keyed()}
        samples = self._branch(projected, keys)
        F_DD = self.previous.with_batch(samples) if self.previous else None
        pairs = []
        for a in range(len(projected)) if self.cell.symmetric else (0,):
            query_ND = self._anchors(projected[a])
            key_ND = self._positive(keys, a, seen)
            anchor = Anchor(
                query_ND,
                key_ND,
                keys.get(a) if self.cell.negative_views == "both" else None,
                seen.draw.of(a),
                witness,
                self._bank(1 - a) if self.banks is not None else None,
                seen.rows_N,
                seen.epoch,
            )
            probed = query_ND if query_ND.requires_grad else key_ND
            similarities = self._similarities(anchor, samples, projected, a)
            own = self._samples(samples, key_ND, a, F_DD)
            queued_KD = self._queued()
            pairs.append(
                Pair(
                    query_ND, key_ND, probed, similarities, own, anchor.draw, seen.labels_N,
                    queued_KD, seen.epoch,
                )
            )  # fmt: skip
        towers = len(projected) if self.cell.colour == "lab" else 1
        return ComparedBatch(pairs, list(keys.values()), projected, F_DD, towers)

    def remember(self, compared: ComparedBatch, seen: StepInput) -> None:
        """Update memories with the batch's keys, after the backward pass."""
        if isinstance(self.objective, OwnLoss):
            self.objective.remember(compared.pairs)
        self.negatives.remember(compared.keys, seen.draw.of(KEPT))
        if self.support is not None:
            self.support.remember(compared.first.projection_ND, seen.draw.of(KEPT + 1))
        if self.previous is not None and compared.correlation_DD is not None:
            self.previous.remember(compared.correlation_DD)
        if self.banks is not None and seen.rows_N is not None:
            for tower, projected in enumerate(compared.projected):
                self._bank(tower).remember(seen.rows_N, projected.projection_ND.detach())

    def _keyed(self) -> Sequence[int]:
        """Return the views that keys are made of."""
        if self.banks is not None:
            return ()
        both_views = self.cell.negative_views == "both"
        return range(GLOBAL) if self.cell.symmetric or both_views else (1,)

    def project(self, online: Online, seen: StepInput) -> list[Projected]:
        """Return the online network's outputs for the views that it needs."""
        views = list(seen.views)
        if self.cell.colour == "lab":
            return [online(part, i) for i, part in enumerate(split_channels(views[0]))]
        if seen.mixes:
            whole = map(self.ranks.whole, views)  # partners are anywhere in the batch
            mixed = [cutmix(view, mix) for view, mix in zip(whole, seen.mixes, strict=True)]
            views = [self.ranks.own(view) for view in mixed]
        if self.banks is not None or (
            isinstance(self.target, Momentum) and not self.cell.symmetric
        ):
            return [online(views[0])]
        if self.cell.bn_over == "each-view":
            return [online(view) for view in views]
        if self.cell.bn_groups == 1:
            both = online(torch.cat(views), blocks=len(views))
        else:  # a group is of neighbours among all views: each rank takes a stretch of them
            both = online(self.ranks.own(torch.cat([self.ranks.whole(view) for view in views])))
        halves = zip(*(part.chunk(len(views)) for part in both), strict=True)
        return [Projected(*half) for half in halves]

    def _key(self, projected: Projected) -> Tensor:
        """Return the keys that the online network itself makes of a view."""
        if self.support is not None:
            return _node(projected.prediction_ND)
        assert isinstance(self.target, Shared)
        return self.target.keys(projected.projection_ND)

    def _positive(self, keys: Mapping[int, Tensor], a: int, seen: StepInput) -> Tensor:
        """Return the key of each query of a view: the other view's, or a local view's mean of both.

        A mixed image has the keys of its two images mixed in the same shares (`cutmix-rule`).
        """
        if self.banks is not None:
            assert seen.rows_N is not None
            return self._bank(1 - a).of(seen.rows_N)
        key_ND = keys[1 - a] if a < GLOBAL else (keys[0] + keys[1]) / 2
        if not seen.mixes:
            return key_ND
        share_N1 = seen.mixes[a].share_N.to(key_ND)[:, None]
        partner_N = seen.mixes[a].partner_N.to(key_ND.device)
        return share_N1 * key_ND + (1 - share_N1) * key_ND[partner_N]

    def _branch(self, projected: list[Projected], keys: Mapping[int, Tensor]) -> dict[int, Tensor]:
        """Return the outputs, by view, that negatives are taken from, without gradient."""
        if self.cell.negative_branch == "target":
            return {v: key.detach() for v, key in keys.items()}
        return {v: projected[v].projection_ND.detach() for v in range(GLOBAL)}

    def _similarities(
        self, anchor: Anchor, branch: Mapping[int, Tensor], projected: list[Projected], a: int
    ) -> Similarities:
        """Return the similarities of a view's queries; onlookers see outputs not yet normalised."""
        if isinstance(self.negatives, Onlookers):
            if self.cell.norm != "l2" and len(projected) > 1:
                both = projected[a].output_ND, projected[1 - a % GLOBAL].output_ND
                anchor = anchor._replace(query_ND=both[0], positive_ND=both[1])
            return self.negatives.similarities(anchor)
        if self.cell.negative_branch == "target" or a >= GLOBAL:
            return self.negatives.similarities(anchor)
        view_ND = branch[a] if self.cell.negative_views == "both" else None
        similarities = self.negatives.similarities(
            anchor._replace(positive_ND=branch[1 - a], own_ND=view_ND)
        )
        return similarities._replace(
            pos_N=anchor.witness.pairs(anchor.query_ND, anchor.positive_ND)
        )

    def _samples(
        self, branch: Mapping[int, Tensor], key_ND: Tensor, a: int, F_DD: Tensor | None
    ) -> Samples:
        """Return the sample set of an objective over features, where it has one."""
        if F_DD is not None:
            return Samples(correlation_DD=F_DD)
        if isinstance(self.objective, OwnLoss):
            sees = self.objective.takes("correlation_DD")
        else:
            sees = "correlation_DD" in LOSSES[self.cell.loss].sees
        if not sees:
            return Samples()
        if isinstance(self.negatives, QueueNegatives):
            return of_queue(key_ND, self.negatives.memory)
        return of_batch(branch, a % GLOBAL, both_views=self.cell.negative_views == "both")

    def _queued(self) -> Tensor | None:
        """Return the keys of the queue, for an objective of the user that takes them."""
        if not (isinstance(self.objective, OwnLoss) and self.objective.takes("queued_KD")):
            return None
        assert isinstance(self.negatives, QueueNegatives)
        return self.negatives.memory.content()

    @property
    def trained(self) -> list[tuple[str, nn.Parameter]]:
        """Additional parameters trained like the network's weights: none."""
        return []

    @property
    def learned(self) -> list[nn.Parameter]:
        """Learned parameters of the objective."""
        return list(self.objective.parameters()) if isinstance(self.objective, OwnLoss) else []

    def _bank(self, tower: int) -> Bank:
        """Return the bank of a tower's outputs; with one tower there is one bank."""
        assert self.banks is not None
        bank = self.banks[tower % len(self.banks)]
        assert isinstance(bank, Bank)
        return bank

    def _anchors(self, projected: Projected) -> Tensor:
        """Return the queries as tensors of their own, so that gradients through keys stay apart."""
        if self.support is None:
            return _node(projected.prediction_ND)
        with torch.no_grad():
            nearest = (projected.projection_ND @ self.support.content().T).argmax(dim=1)
            return self.support.content()[nearest]


def _node(values: Tensor) -> Tensor:
    copy = values.view_as(values)
    if copy.requires_grad:
        copy.retain_grad()
    return copy
