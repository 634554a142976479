"""InfoNCE and VINCE on two correlated scalars (mutual-information, App. E, Table 3).

Shapes: S stacked cells, B pairs of a batch, N samples (the bank), K negatives, D dimensions.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from bench.cells.toys import VinceGaussian
from bench.data.streams import Purpose, stream
from bench.data.toys import vince_mi, vince_pairs
from bench.experiments.outcome import Outcome, Result
from bench.losses import infonce, mi_lower_bound
from bench.networks.stacked import StackedMLP
from bench.results.folder import CellFolder
from bench.train.stack import StackState, shuffled, stacked, train_stack

FRESH = 1  # key of the samples that training never saw; the training samples have key 0


def run(
    cells: Sequence[VinceGaussian], folders: Sequence[CellFolder], device: str
) -> list[Outcome]:
    """Train the encoders, then estimate both bounds on training samples and on fresh ones.

    Args:
        cells: cells that may be stacked (equal `stack_key`).
        folders: their folders, in the same order.
        device: torch device.
    """
    encoders = GaussianEncoders(cells, device)
    per_epoch = encoders.steps_per_epoch
    failures = train_stack(
        encoders, folders, steps=cells[0].epochs * per_epoch, record_every=per_epoch
    )
    metrics = encoders.estimates()
    return [failure or Result(m) for failure, m in zip(failures, metrics, strict=True)]


class GaussianEncoders:
    """Encoders g_theta (of x) and g_phi (of y) of a stack of cells, with banks and optimiser."""

    def __init__(self, cells: Sequence[VinceGaussian], device: str) -> None:
        """Draw data and weights from the seeds; the bank begins with the representations of y."""
        first = cells[0]
        self.cells, self.first, self.device = cells, first, device
        self.train_x, self.train_y = self.samples(0)
        widths = (1, *[first.hidden_units] * (first.layers - 1), first.embedding_dim)
        self.nets = [
            StackedMLP(
                widths,
                [stream(c.seed, Purpose.INIT, tower) for c in cells],
                pad=True,
                device=device,
            )
            for tower in ((0, 1) if first.towers == "two" else (0,))
        ]
        parameters = [p for net in self.nets for p in net.parameters()]
        self.adam = torch.optim.Adam(parameters, lr=first.lr, weight_decay=first.weight_decay)
        self.loss = torch.zeros(len(cells))
        with torch.no_grad():
            self.bank = self.embed(self.train_y, tower=1)
        rows = [(i,) for i in range(len(cells))]
        self.stack = StackState(self.adam, rows, bank=self.bank)

    @property
    def steps_per_epoch(self) -> int:
        """Batches per epoch; the last one may be smaller."""
        return -(-self.first.dataset_size // self.first.batch_size)

    def samples(self, key: int) -> tuple[Tensor, Tensor]:
        """Return X and Y of each cell, shape (S, N, 1) each."""
        drawn = [vince_pairs(stream(c.seed, Purpose.DATA, key), c.dataset_size) for c in self.cells]
        x, y = (stacked(values, self.device) for values in zip(*drawn, strict=True))
        return x, y

    def embed(self, values: Tensor, tower: int) -> Tensor:
        """Return the representations of x (tower 0) or y (tower 1), shape (S, B, D)."""
        out = self.nets[tower % len(self.nets)](values)
        return torch.nn.functional.normalize(out, dim=-1) if self.first.normalised else out

    def step(self, step: int) -> None:
        """Do one step of Adam on the mean loss of each cell and update the bank."""
        rows_SB = self.batch(step)
        pick = rows_SB[..., None]
        query = self.embed(self.train_x.gather(1, pick), tower=0)
        if self.first.negatives_from == "encoder":  # all of them at once: cheaper than the drawn
            keys = self.embed(self.train_y, tower=1)
            key = keys.gather(1, pick.expand(-1, -1, keys.shape[-1]))
        else:
            keys, key = self.bank, self.embed(self.train_y.gather(1, pick), tower=1)
        loss_S = self.losses(query, key, rows_SB, keys, Purpose.TRAIN, step).mean(dim=1)
        self.adam.zero_grad()
        loss_S.sum().backward()  # cells share no parameter: each gets its own gradient
        self.adam.step()
        self.loss = loss_S.detach()
        with torch.no_grad():
            wide = pick.expand(-1, -1, self.bank.shape[-1])
            rate = self.first.bank_rate
            self.bank.scatter_(
                1, wide, rate * self.bank.gather(1, wide) + (1 - rate) * key.detach()
            )

    def batch(self, step: int) -> Tensor:
        """Return the sample indices of a step's batch for each cell, shape (S, B)."""
        epoch, index = divmod(step, self.steps_per_epoch)
        size, samples = self.first.batch_size, self.first.dataset_size
        batch = slice(index * size, (index + 1) * size)
        return stacked(shuffled((c.seed for c in self.cells), samples, epoch, batch), self.device)

    def losses(
        self,
        query: Tensor,
        key: Tensor,
        rows_SB: Tensor,
        keys_SND: Tensor,
        purpose: Purpose,
        step: int,
        *,
        restricted: bool = True,
    ) -> Tensor:
        """Return InfoNCE of each pair with random negatives, shape (S, B), in nats.

        The bank, or in evaluation the representations, is sorted by L2 distance to the
        representation of y_1, excluding its own entry. K negatives are drawn independently from the
        nearest `valid_percent` (from all entries if not `restricted`), because q_T in Cor. 4.1.1 is
        a product of independent distributions.

        Args:
            query: representations of x, unit-free, shape (S, B, D).
            key: representations of the paired y, shape (S, B, D).
            rows_SB: sample indices of the pairs, int64, shape (S, B).
            keys_SND: representations of all y, or the bank: the source of negatives.
            purpose: TRAIN sorts the bank, EVALUATE sorts the keys.
            step: together with the purpose, identifies the random stream of negatives.
            restricted: whether negatives come only from the nearest `valid_percent`.
        """
        ranked = self.bank if purpose == Purpose.TRAIN else keys_SND
        sims = []
        for i, cell in enumerate(self.cells):
            share = cell.valid_percent if restricted else 100.0
            eligible = nearest(ranked[i], key[i].detach(), rows_SB[i], share)
            generator = stream(cell.seed, Purpose.NEGATIVES, purpose, step)
            shape = (eligible.shape[0], cell.K)
            drawn = torch.from_numpy(generator.integers(eligible.shape[1], size=shape))
            negatives = keys_SND[i][eligible.gather(1, drawn.to(self.device))]
            sims.append(torch.einsum("bd,bkd->bk", query[i], negatives))
        return infonce((query * key).sum(-1), torch.stack(sims), tau=self.first.tau)

    def measure(self) -> list[dict[str, float]]:
        """Return the last step's bound, log(1 + K) - loss, in nats."""
        bound = mi_lower_bound(self.loss, candidates=1 + self.first.K)
        return [{"mi_lower_bound": value} for value in bound.tolist()]

    @torch.no_grad()
    def estimates(self) -> list[dict[str, float]]:
        """Return the bounds of the trained encoders in nats, averaged over `eval_repeats` draws.

        `vince_bound_*` draws negatives as in training, `infonce_bound_*` from all entries.
        `*_train` uses the training samples, `*_fresh` equally many new ones.
        """
        metrics: list[dict[str, float]] = [{"mi_true": vince_mi()} for _ in self.cells]
        rows = torch.arange(self.first.dataset_size, device=self.device).expand(len(self.cells), -1)
        for name, key in (("train", 0), ("fresh", FRESH)):
            x, y = (self.train_x, self.train_y) if key == 0 else self.samples(key)
            query, keys = self.embed(x, tower=0), self.embed(y, tower=1)
            for bound, restricted in (("vince", True), ("infonce", False)):
                losses = [
                    self.losses(
                        query, keys, rows, keys, Purpose.EVALUATE, repeat, restricted=restricted
                    ).mean(dim=1)
                    for repeat in range(self.first.eval_repeats)
                ]
                mean = mi_lower_bound(
                    torch.stack(losses).double().mean(dim=0), candidates=1 + self.first.K
                )
                for cell_metrics, value in zip(metrics, mean.tolist(), strict=True):
                    cell_metrics[f"{bound}_bound_{name}"] = value
        return metrics


def nearest(bank_ND: Tensor, centre_BD: Tensor, own_B: Tensor, percent: float) -> Tensor:
    """Return the indices of the bank rows nearest to each centre, unsorted, excluding its own row.

    Args:
        bank_ND: the bank.
        centre_BD: the representations from which distances are measured.
        own_B: the bank row of each centre.
        percent: percentage of the N - 1 other rows to return, rounded.

    Returns:
        Row indices, shape (B, eligible).
    """
    rows = bank_ND.shape[0]
    eligible = max(1, round(percent / 100 * (rows - 1)))
    if eligible == rows - 1:
        others = torch.arange(rows - 1, device=bank_ND.device).expand(len(own_B), -1)
        return others + (others >= own_B[:, None])
    distance_BN = torch.cdist(centre_BD, bank_ND)
    distance_BN.scatter_(1, own_B[:, None], torch.inf)
    return distance_BN.topk(eligible, dim=1, largest=False, sorted=False).indices
