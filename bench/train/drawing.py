"""What the host draws for a step, as named tensors, and the batches that they stand for.

The names of batch i of a step begin with `i.`; `step`, `rate` and `momentum` are the step's own.
"""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from bench.cells.pretrain import Pretrain
from bench.data.draws import Draw, drawn_by, key_tensor
from bench.data.streams import Purpose
from bench.data.views import CutMix, ViewParameters, numbers_of, with_numbers
from bench.train.batches import Batch, Batches
from bench.train.sources import InMemory, Rows

Numbers = dict[str, Tensor]


class Drawing:
    """The numbers of every step of a training: a function of seed, epoch and place alone."""

    def __init__(self, cell: Pretrain, batches: Batches, source: InMemory) -> None:
        """Draw for this cell's batches.

        Args:
            cell: the cell.
            batches: say which images are shown when.
            source: the images.
        """
        self.cell, self.batches, self.source = cell, batches, source
        self.shares = cell.N // cell.batch_size
        self.steps_an_epoch = batches.per_epoch // self.shares
        self._epoch, self._order = -1, list[Rows]()
        self._like = self._views(0, 0)

    def numbers(self, step: int) -> Numbers:
        """Return the numbers of a step's batches, on the CPU."""
        epoch, index = divmod(step, self.steps_an_epoch)
        tensors: Numbers = {}
        for share in range(self.shares):
            drawn = self._of_batch(epoch, index * self.shares + share)
            tensors |= {f"{share}.{name}": tensor for name, tensor in drawn.items()}
        return tensors

    def shown(self, numbers: Mapping[str, Tensor]) -> Iterator[tuple[Batch, Draw]]:
        """Yield the batches of a step, and which negatives, from its numbers on the device."""
        for share in range(self.shares):
            start = f"{share}."
            chosen = {k.removeprefix(start): v for k, v in numbers.items() if k.startswith(start)}
            rows, draw = chosen.pop("rows"), Draw(chosen.pop("negatives"))
            mixes: list[CutMix] = []
            while f"mix{len(mixes)}.box_N4" in chosen:
                view = f"mix{len(mixes)}."
                mixes.append(CutMix(*(chosen.pop(view + name) for name in CutMix._fields)))
            views = self.source.shown("train", rows, with_numbers(self._like, chosen))
            yield Batch(views, self.batches.labels[rows], rows, tuple(mixes)), draw

    def _of_batch(self, epoch: int, index: int) -> Numbers:
        if epoch != self._epoch:
            self._epoch, self._order = epoch, self.batches.order(epoch)
        draw = drawn_by(self.cell.seed, Purpose.NEGATIVES, epoch, index)
        numbers = {"rows": torch.from_numpy(self._order[index]), "negatives": key_tensor(draw)}
        for i, mix in enumerate(self.batches.mixes(epoch, index)):
            numbers |= {f"mix{i}.{name}": part for name, part in mix._asdict().items()}
        return numbers | numbers_of(self._views(epoch, index))

    def _views(self, epoch: int, index: int) -> ViewParameters:
        rng = self.batches.numbers(epoch, index)
        return self.source.drawn("train", rng, self.cell.batch_size)
