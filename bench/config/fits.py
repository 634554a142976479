"""What a cell asks of its data set that the data set does not have, as far as its size is known.

All but a K that makes negatives repeat end a run with reason `data`; here they are told before.
"""

from bench.config.pretrain import Pretrain
from bench.config.record import Cell
from bench.config.sizes import SIZES, images_there
from bench.config.supervised import Supervised


def too_much(cell: Cell) -> str | None:
    """Return the first setting that is above what there is, in one line; None if none is.

    Data sets of unknown size, such as folders of images, are passed over.
    """
    if not isinstance(cell, Pretrain | Supervised):
        return None
    there = images_there(cell.dataset, cell.pretrain_on)
    if there is None:
        return None
    images = there if cell.train_images is None else cell.train_images
    if images > there:
        return f"train_images {images}: {cell.dataset} has {there} to train on"
    of = f"{cell.dataset} has {there}" if images == there else f"train_images is {images}"
    for name, asked, most in _asked(cell, images):
        if asked > most:
            return f"{name} {asked}: {of}"
    if isinstance(cell, Pretrain) and cell.count > images:  # fails nowhere
        return f"K {cell.count}: {of}, so negatives repeat"
    return None


def _asked(cell: Pretrain | Supervised, images: int) -> list[tuple[str, int, int]]:
    """Return settings, their values and the most that these training images allow."""
    asked = [("batch_size", cell.batch_size, images), ("N", cell.N, images)]
    if isinstance(cell, Pretrain):
        labelled = min(images, SIZES[cell.dataset].train)
        asked += [("knn_k", cell.knn_k, labelled), ("weights_K", cell.weights_K or 0, images)]
        if cell.negatives == "bank":
            nearest = cell.drawn == "nearest"
            asked.append(("K", cell.count if nearest else 0, images - 1))
            asked.append(("clusters", cell.clusters or 0, images - 1))
    return asked
