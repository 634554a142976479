"""Negatives and close neighbours from a memory bank: uniform, BALL, RING, CAVE, LA, annealed."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from bench.cells.pretrain import Pretrain
from bench.data.draws import Draw
from bench.methods.bank import Bank
from bench.methods.bank_draws import (
    BLOCK_NUMBERS,
    Shares,
    annealed,
    count,
    draw_between,
    draw_from_cluster,
    draw_uniform,
    ranked,
    same_cluster,
)
from bench.methods.negatives import Anchor, Similarities

FIRST_BATCHES = 10  # assumed: "initial batches" in arXiv:1805.01978, Sec. 3.2


class BankNormaliser(nn.Module):
    """kappa of Z = kappa n: a constant, or the mean of e^{s / tau} over early negatives.

    The estimate follows arXiv:1805.01978, Sec. 3.2, without a gradient. During the first batches it
    is the running mean, including the current batch. Its state is in buffers, so checkpoints
    contain it.
    """

    total: Tensor
    batches: Tensor

    def __init__(self, kappa: float | None, tau: float) -> None:
        """Take kappa as it is; estimate it for None."""
        super().__init__()
        self.kappa, self.tau = kappa, tau
        self._seen: list[Tensor] = []
        self._estimate: float | None = None  # of all first batches, once it was read
        self.register_load_state_dict_post_hook(_forget_estimate)  # type: ignore[no-untyped-call]
        if kappa is None:
            self.register_buffer("total", torch.zeros((), dtype=torch.float64))
            self.register_buffer("batches", torch.tensor(0))

    @torch.no_grad()
    def of(self, neg_NK: Tensor) -> float:
        """Return kappa for queries with these similarities, which count in early batches."""
        if self.kappa is not None:
            return self.kappa
        if self._estimate is None and int(self.batches) == FIRST_BATCHES:
            self._estimate = float(self.total / FIRST_BATCHES)
        if self._estimate is not None:
            return self._estimate
        self._seen.append((neg_NK.double() / self.tau).exp().mean())
        return float((self.total + self._of_batch()) / (self.batches + 1))

    def remember(self) -> None:
        """Add the batch's mean, averaged over its directions, to the running mean."""
        if self._seen:
            self.total += self._of_batch()
            self.batches += 1
            self._seen.clear()

    def _of_batch(self) -> Tensor:
        return torch.stack(self._seen).mean()


def _forget_estimate(module: Any, _: Any) -> None:
    """Have the estimate read again from what was loaded."""
    module._estimate = None


class BankNegatives(nn.Module):
    """Negatives from the entries of other images (mutual-information, Sec. 4)."""

    def __init__(self, cell: Pretrain) -> None:
        """Take the draws from the cell; the bank itself comes with each anchor."""
        super().__init__()
        assert cell.K is not None
        self.cell, self.K = cell, cell.K
        self.pairs_of_samples = cell.loss == "la" and cell.normaliser == "sampled"
        self.normaliser = None
        if cell.normaliser == "constant" and cell.tau is not None:
            self.normaliser = BankNormaliser(cell.kappa, cell.tau)

    def shares(self, epoch: float) -> Shares:
        """Return the shares of the ball and of the inner ball, with annealing if set.

        Args:
            epoch: progress of the training. Its fraction matters only for annealing per step.
        """
        cell = self.cell
        if cell.anneal_every == "epoch":
            epoch = int(epoch)
        outer, inner = cell.ball_share or 1.0, cell.inner_share or 0.0
        if cell.anneal_epochs is not None:
            outer = annealed(epoch, start=1.0, end=outer, from_epoch=0, to_epoch=cell.anneal_epochs)
        begin, end = cell.inner_from_epoch, cell.inner_to_epoch
        if begin is not None and end is not None:
            inner = annealed(epoch, start=0.0, end=inner, from_epoch=begin, to_epoch=end)
        return Shares(outer, inner)

    def similarities(self, anchor: Anchor) -> Similarities:
        """Return similarities like `Negatives`; the anchor needs a bank and rows.

        Raises:
            ValueError: the anchor has no bank or no rows.
        """
        bank, rows_N = anchor.bank, anchor.rows_N
        if bank is None or rows_N is None:
            raise ValueError("negatives 'bank' need a bank, and each query's row in the bank")
        chosen = self._chosen(anchor, bank, rows_N)

        def scores(index_NM: Tensor) -> Tensor:
            return anchor.witness.per_query(anchor.query_ND, bank.of(index_NM))

        neg_NK = scores(chosen.negatives_NK)
        pos_N = anchor.witness.pairs(anchor.query_ND, anchor.positive_ND)
        uniform = anchor.epoch < self.cell.uniform_epochs
        kappa = None
        if self.normaliser is not None and (uniform or self.cell.loss == "ir"):
            kappa = self.normaliser.of(neg_NK)
        if self.cell.own_entry == "if-near":
            return Similarities(pos_N, neg_NK, close_NK=chosen.allowed_NL, kappa=kappa)
        if chosen.allowed_NL is not None:
            near_NL: Tensor | None = neg_NK
        else:
            near_NL = None if chosen.near_NL is None else scores(chosen.near_NL)
        samples = None
        if self.pairs_of_samples and not uniform:
            n = len(bank.entries)
            both = anchor.draw.of(1), anchor.draw.of(2)
            pair = [scores(draw_uniform(n, rows_N, self.K, draw)) for draw in both]
            samples = torch.stack(pair)
        return Similarities(
            pos_N, neg_NK, near_NL, chosen.allowed_NL, globals_2NK=samples, kappa=kappa
        )

    def remember(self, keys: Sequence[Tensor], draw: Draw) -> None:
        """Update the normaliser; the method updates its banks itself."""
        if self.normaliser is not None:
            self.normaliser.remember()

    def _chosen(self, anchor: Anchor, bank: Bank, rows_N: Tensor) -> "BankRows":
        """Return who is compared with whom, in blocks, so that memory does not grow with n."""
        n = len(bank.entries)
        if anchor.epoch < self.cell.uniform_epochs:
            return BankRows(draw_uniform(n, rows_N, self.K, anchor.draw))
        shares = self.shares(anchor.epoch)
        centre_ND = bank.of(rows_N) if self.cell.centre == "entry" else anchor.query_ND.detach()
        size = max(1, BLOCK_NUMBERS // n)
        blocks = [
            self._block(bank, centre, rows, shares, anchor.draw.from_row(i * size))
            for i, (centre, rows) in enumerate(
                zip(centre_ND.split(size), rows_N.split(size), strict=True)
            )
        ]
        negatives, near, allowed = zip(*blocks, strict=True)
        return BankRows(torch.cat(negatives), _joined(near), _joined(allowed))

    def _block(
        self, bank: Bank, centre: Tensor, rows: Tensor, shares: Shares, draw: Draw
    ) -> "BankRows":
        """Return negatives and close neighbours of a block of queries."""
        n, K, drawn = len(bank.entries), self.K, self.cell.drawn
        inner, outer = count(shares.inner, n), count(shares.outer, n)
        hole = inner if drawn == "ring" else 0
        near = inner if self.cell.neighbours == "s-neighbourhood" else 0
        wide = drawn == "uniform" or (drawn == "ball" and outer == n - 1)
        ball = 0 if wide else K if drawn == "nearest" else max(outer, hole + 1)
        order = (
            ranked(bank.entries, centre, rows, min(max(ball, near), n - 1)) if ball + near else None
        )
        if order is None or wide:
            index = draw_uniform(n, rows, K, draw)
        elif drawn == "nearest":
            index = order[:, :K]
        else:
            kept = order[:, :ball]
            banned = same_cluster(bank, rows, kept) if drawn == "cave" else None
            index = draw_between(kept, hole, K, draw, banned_Nm=banned)
        L = self.cell.neighbour_count
        if self.cell.neighbours == "k-neighbourhood":
            if L is None:
                return BankRows(index, index, same_cluster(bank, rows, index))
            return BankRows(index, draw_from_cluster(bank, rows, L, draw.of(0)))
        if order is None or near == 0 or L is None:
            return BankRows(index)
        return BankRows(index, draw_between(order[:, :near], 0, L, draw.of(0), banned_Nm=None))


class BankRows(NamedTuple):
    """Indices of bank entries for each query."""

    negatives_NK: Tensor
    near_NL: Tensor | None = None  # close neighbours
    allowed_NL: Tensor | None = None  # which of them count; None: all


def _joined(parts: Sequence[Tensor | None]) -> Tensor | None:
    there = [part for part in parts if part is not None]
    return torch.cat(there) if there else None
