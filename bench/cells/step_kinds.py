"""Which cells the step of static shapes (BENCH_STEP=graph) can train, and why not the others."""

from collections.abc import Iterable

from bench.cells.cell import Cell


def why_no_graph(cell: Cell, *, streamed: bool) -> str | None:
    """Return in one line why a step of a cell cannot be recorded; None where it can be.

    Experiments that train no network on images have no such step and are passed over.

    Args:
        cell: the cell.
        streamed: whether its images are decoded while it trains.
    """
    settings = cell.settings
    if cell.experiment == "supervised":
        return "classifiers (experiment supervised) support only the plain step"
    if "loss" not in settings or "method" not in settings:
        return None
    if settings["loss"] == "directpred" or settings.get("positive_gradient") == "predictor":
        return (
            f"method '{settings['method']}' takes the eigenvectors of a matrix in each step, which "
            "the host has to wait for"
        )
    if streamed:
        return f"data set '{settings['dataset']}' is decoded on the host while the network trains"
    return None


def without_graph(cells: Iterable[tuple[Cell, bool]]) -> dict[str, int]:
    """Return why steps of cells cannot be recorded, and of how many cells each.

    Args:
        cells: each with whether its images are decoded while it trains.
    """
    counts: dict[str, int] = {}
    for cell, streamed in cells:
        if (why := why_no_graph(cell, streamed=streamed)) is not None:
            counts[why] = counts.get(why, 0) + 1
    return counts
