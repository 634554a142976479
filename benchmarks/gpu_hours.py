"""Predict the GPU-hours of every scale `gpu`, in the table of GPU.md; nothing is measured here.

One published time stands behind all of them: a ResNet-18 trains on CIFAR-10 with 32.3 PFLOP in
7 minutes on an A100 (README of github.com/KellerJordan/cifar10-airbench, "standard ResNet-18
training"). In float32 half of that speed is assumed, and 7 ms of the host for every step, shared by
the cells that stand side by side on the GPU. `bench plan --probe` times the machine at hand.

    python -m benchmarks.gpu_hours [--to GPU.md]     # prints the table, or writes it into the page
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.analysis.compare import compare
from bench.cells.architectures import multiply_adds
from bench.cells.baseline import without_baselines
from bench.cells.cell import Cell
from bench.cells.dataset_sizes import size_of
from bench.cells.pretrain import Pretrain
from bench.cells.supervised import Supervised
from bench.papers.reader import load_paper
from bench.suites.expand import expand
from bench.suites.load import load_suite, suite_paths
from bench.suites.suite import Suite

SUITES = Path(__file__).parents[1] / "suites"
FLOPS = 32.3e15 / (7 * 60)  # a second, in bf16
IN_FLOAT32 = 0.5
STEP_S = 0.007
SIDE_BY_SIDE = 4  # cells on the GPU at once: `--jobs 4`
HEADS = (
    "suite", "data", "cells", "printed values", "claims", "hours, one seed", "hours, all seeds",
)  # fmt: skip


def hours_of(cells: Sequence[Cell]) -> float:
    """Return the predicted GPU-hours of image cells; a training that cells share counts once."""
    trainings = {cell.training_id or cell.id: cell for cell in cells}.values()
    device_s = sum(map(_training_s, trainings)) + sum(map(_evaluation_s, cells))
    host_s = sum(STEP_S * _steps(cell) for cell in trainings) / SIDE_BY_SIDE
    return (device_s + host_s) / 3600


def _training_s(cell: Cell) -> float:
    looks = 0.0
    if isinstance(cell, Pretrain) and cell.knn_every_epochs:
        looks = cell.epochs / cell.knn_every_epochs * _forward_of_all(cell)
    return (cell.multiply_adds + looks) / _multiply_adds_a_second(cell)


def _evaluation_s(cell: Cell) -> float:
    if isinstance(cell, Supervised):  # tested after every epoch
        size = size_of(cell.dataset)
        share = size.test / (size.train + size.test) if size else 0.0
        return cell.epochs * share * _forward_of_all(cell) / _multiply_adds_a_second(cell)
    return cell.work.own / (FLOPS * IN_FLOAT32 / 2)  # outside autocast


def _multiply_adds_a_second(cell: Cell) -> float:
    return FLOPS * (IN_FLOAT32 if cell.precision == "float32" else 1.0) / 2


def _forward_of_all(cell: Pretrain | Supervised) -> float:
    size = size_of(cell.dataset)
    images = size.train + size.test if size else 0
    return float(images * multiply_adds(cell.arch, cell.stem, cell.width, cell.image_size))


def _steps(cell: Cell) -> int:
    """Return how many batches a cell is trained on."""
    assert isinstance(cell, Pretrain | Supervised)
    size = size_of(cell.dataset)
    images = size.train if size else 0
    if size and isinstance(cell, Pretrain) and cell.pretrain_on != "train":
        images += size.unlabeled
    return cell.epochs * (images // cell.batch_size)


def rows() -> Iterator[list[str]]:
    """Yield the table's rows, the cheapest seed first."""
    found = []
    for name, path in suite_paths(SUITES).items():
        suite = load_suite(path)
        if suite.paper and "gpu" in suite.scales:
            cells = without_baselines(expand(suite, "gpu", path))
            one = [cell for cell in cells if cell.seed == cells[0].seed]
            found.append((hours_of(one), name, suite, cells))
    for hours, name, suite, cells in sorted(found, key=lambda row: row[:2]):
        data = "+".join(sorted({str(cell.settings["dataset"]) for cell in cells}))
        values, claims = printed_values(suite, cells), len(suite.claims)
        yield [
            name, data, str(len(cells)), str(values or "-"), str(claims or "-"), f"{hours:.2g}",
            f"{hours_of(cells):.2g}",
        ]  # fmt: skip


def printed_values(suite: Suite, cells: Sequence[Cell]) -> int:
    """Return how many printed values these cells are compared with."""
    compared = compare(suite, cells, [], load_paper(suite.paper or ""))
    return len(
        {
            (row.artifact, row.published.row)
            for row in compared
            if row.has_cells and row.comparable and row.published.value is not None
        }
    )


def table() -> str:
    """Return the table as Markdown."""
    lines = [HEADS, ["---"] * len(HEADS), *rows()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Print the table, or put it in the place of the one that ends a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, help="a page that ends with the table")
    page = parser.parse_args().to
    if page is None:
        print(table(), end="")
        return
    text, head = page.read_text(), f"| {' | '.join(HEADS)} |\n"
    page.write_text(text.partition(head)[0] + table())


if __name__ == "__main__":
    main()
