"""What a cell asks of its data set that the data set does not have, as far as its size is known.

All but a K that makes negatives repeat end a run with reason `data`; here they are known before.
"""

from bench.cells.cell import Cell


def too_much(cell: Cell) -> str | None:
    """Return the first setting that is above what the data set allows, in one line; None: none is.

    Data sets of unknown size, such as folders of images, are passed over.
    """
    demands = cell.asked_of_data()
    return next((f"{d.setting} {d.value}: {d.limit}" for d in demands if d.value > d.most), None)
