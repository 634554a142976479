"""Separation of two spirals after contrastive learning (mutual-information, App. G, Figure 6).

Shapes: S stacked cells, B images of a batch, N training points (the bank), K negatives.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bench.cells.toys import Spirals
from bench.data.streams import Purpose, stream
from bench.data.toys import two_spirals
from bench.evaluate.regression import logistic_top1
from bench.experiments.outcome import Outcome, Result
from bench.losses import infonce
from bench.networks.stacked import StackedMLP
from bench.results.folder import CellFolder
from bench.train.stack import StackState, shuffled, stacked, train_stack

RECORD_EVERY = 100
SHOWN = 1000  # test points whose representation is kept for the figure


def run(cells: Sequence[Spirals], folders: Sequence[CellFolder], device: str) -> list[Outcome]:
    """Train the encoders, then predict the spiral from their outputs by logistic regression."""
    encoders = SpiralEncoders(cells, device)
    failures = train_stack(encoders, folders, steps=cells[0].iterations, record_every=RECORD_EVERY)
    results = encoders.results([folder.history() for folder in folders])
    return [failure or result for failure, result in zip(failures, results, strict=True)]


class SpiralEncoders:
    """Encoders of a stack of cells, memory banks and optimiser; half the points are trained on."""

    def __init__(self, cells: Sequence[Spirals], device: str) -> None:
        """Draw points and weights from the seeds; the bank begins with the points' outputs."""
        first = cells[0]
        self.cells, self.first, self.device = cells, first, device
        drawn = [
            two_spirals(stream(c.seed, Purpose.DATA), c.points, turns=c.turns, arms=c.arms)
            for c in cells
        ]
        self.points = stacked((points for points, _ in drawn), device)
        self.labels = np.stack([label for _, label in drawn])
        self.train_count = first.points // 2
        self.eta = torch.tensor([c.eta for c in cells], device=device)[:, None, None]
        widths = (2, *[first.hidden_units] * (first.layers - 1), 2)
        inits = [stream(c.seed, Purpose.INIT) for c in cells]
        self.net = StackedMLP(widths, inits, device=device)
        self.sgd = torch.optim.SGD(
            self.net.parameters(),
            lr=first.lr,
            momentum=first.momentum,
            weight_decay=first.weight_decay,
        )
        self.loss = torch.zeros(len(cells))
        self.bank = self.points[:, : self.train_count].clone()
        with torch.no_grad():
            self.bank.copy_(self.embed(self.bank))
        self.stack = StackState(self.sgd, [(i,) for i in range(len(cells))], bank=self.bank)

    def embed(self, points: Tensor) -> Tensor:
        """Return the 2-d representations, shape (S, B, 2)."""
        out = self.net(points)
        return torch.nn.functional.normalize(out, dim=-1) if self.first.normalised else out

    def view(self, points: Tensor, step: int, which: int) -> Tensor:
        """Return the points with U(0, eta) added to each coordinate (App. G).

        Args:
            points: shape (..., 2).
            step: training step, which determines the noise.
            which: index of the view, 0 or 1.
        """
        shape = points.shape[1:]
        draws = (stream(c.seed, Purpose.TRAIN, step, which) for c in self.cells)
        noise = stacked((draw.random(shape, dtype=np.float32) for draw in draws), self.device)
        return points + self.eta * noise

    def step(self, step: int) -> None:
        """Do one step of SGD on the mean loss of each cell."""
        rows_SB = self.batch(step)
        batch = self.points.gather(1, rows_SB[..., None].expand(-1, -1, 2))
        by_bank = self.first.source == "bank"
        loss_S = (self._bank_loss if by_bank else self._batch_loss)(batch, rows_SB, step)
        self.sgd.zero_grad()
        loss_S.sum().backward()  # cells share no parameter: each gets its own gradient
        self.sgd.step()
        self.loss = loss_S.detach()

    def batch(self, step: int) -> Tensor:
        """Return the indices of a step's batch for each cell, (S, B), without repeats per epoch."""
        size = min(self.first.batch_size, self.train_count)
        epoch, index = divmod(step, self.train_count // size)
        batch = slice(index * size, (index + 1) * size)
        seeds = (cell.seed for cell in self.cells)
        return stacked(shuffled(seeds, self.train_count, epoch, batch), self.device)

    def _bank_loss(self, batch: Tensor, rows_SB: Tensor, step: int) -> Tensor:
        """Return InfoNCE of one view against the bank; positives and negatives are its entries.

        The K entries of a step are shared by its queries; a query's own entry is none of its
        negatives.
        """
        query = self.embed(self.view(batch, step, 0))
        entries = rows_SB[..., None].expand(-1, -1, 2)
        positive = self.bank.gather(1, entries)
        draws = (stream(c.seed, Purpose.NEGATIVES, step) for c in self.cells)
        drawn = (draw.choice(self.train_count, self.first.K, replace=False) for draw in draws)
        drawn_SK = stacked(drawn, self.device)
        negatives = self.bank.gather(1, drawn_SK[..., None].expand(-1, -1, 2))
        sim_SBK = query @ negatives.mT
        sim_SBK = sim_SBK.masked_fill(drawn_SK[:, None, :] == rows_SB[..., None], -torch.inf)
        loss = infonce((query * positive).sum(-1), sim_SBK, tau=self.first.tau).mean(dim=1)
        rate = self.first.bank_rate or 0.0
        self.bank.scatter_(1, entries, rate * positive + (1 - rate) * query.detach())
        return loss

    def _batch_loss(self, batch: Tensor, rows_SB: Tensor, step: int) -> Tensor:
        """Return InfoNCE of two views, each the other's positive, all other views negatives."""
        views = torch.cat([self.view(batch, step, 0), self.view(batch, step, 1)], dim=1)
        z = self.embed(views)
        count = rows_SB.shape[1]
        sim = z @ z.mT
        anchor = torch.arange(2 * count, device=self.device)
        partner = (anchor + count) % (2 * count)
        none = torch.zeros_like(sim[0], dtype=torch.bool)
        none[anchor, anchor] = True
        none[anchor, partner] = True
        positive = sim[:, anchor, partner]
        return infonce(positive, sim.masked_fill(none, -torch.inf), tau=self.first.tau).mean(dim=1)

    def measure(self) -> list[dict[str, float]]:
        """Return the last step's training loss in nats."""
        return [{"loss": value} for value in self.loss.tolist()]

    @torch.no_grad()
    def results(self, histories: list[list[dict[str, float]]]) -> list[Result]:
        """Return the transfer accuracy on noise-free test points and the final training loss."""
        z = self.embed(self.points).cpu().numpy()
        half = self.train_count
        out = []
        for i, history in enumerate(histories):
            y = self.labels[i]
            tail = [line["loss"] for line in history[-10:]]
            metrics = {
                "linear_top1": logistic_top1(z[i, :half], y[:half], z[i, half:], y[half:])
                if np.isfinite(z[i]).all()
                else float("nan"),
                "final_loss": float(np.mean(tail)) if tail else float("nan"),
            }
            shown = slice(half, half + SHOWN)
            arrays = {
                "representation": z[i, shown],
                "points": self.points[i, shown].cpu().numpy(),
                "label": y[shown],
            }
            out.append(Result(metrics, arrays))
        return out
