"""Predict the GPU-hours of every scale `gpu`, in the table of GPU.md; nothing is measured here.

The model of `bench plan --on a100` stands behind all of them (bench/estimate/devices.yaml: one
published time, and speeds as printed), the host's time of a step shared by the cells that stand
side by side on the GPU. `bench plan --probe` times the machine at hand.

    python -m benchmarks.gpu_hours [--to GPU.md]     # prints the table, or writes it into the page
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.analysis.compare import compare
from bench.cells.baseline import without_baselines
from bench.cells.cell import Cell
from bench.cells.costs import Terms
from bench.estimate.devices import devices
from bench.papers.reader import load_paper
from bench.suites.expand import expand
from bench.suites.load import load_suite, suite_paths
from bench.suites.suite import Suite

SUITES = Path(__file__).parents[1] / "suites"
DEVICE = "a100"
SIDE_BY_SIDE = 4  # cells on the GPU at once: `--jobs 4`
HEADS = (
    "suite", "data", "cells", "printed values", "claims", "hours, one seed", "hours, all seeds",
)  # fmt: skip


def hours_of(cells: Sequence[Cell]) -> float:
    """Return the predicted GPU-hours of image cells; a training that cells share counts once."""
    trainings = {cell.training_id: cell.costs.shared for cell in cells if cell.training_id}
    terms = [*trainings.values(), *(cell.costs.own for cell in cells)]
    return sum(map(_seconds, terms)) / 3600


def _seconds(terms: Terms) -> float:
    """Return the seconds of a part of a cell, of its host's steps its share."""
    own = terms | {"steps": terms.get("steps", 0.0) / SIDE_BY_SIDE}
    return devices()[DEVICE].seconds(own)


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
