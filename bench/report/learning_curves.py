"""Learning curves on a page: losses and accuracies of its trainings by epoch."""

from collections.abc import Sequence

from bench.cells.baseline import without_baselines
from bench.cells.cell import Cell
from bench.cells.groups import telling_settings
from bench.results.reader import Done
from bench.suites.figure import Figure, Quantity
from bench.suites.metric_words import metric_title, unit_of_metric

RECORDED = ("train_loss", "loss", "knn_top1", "test_top1")
"""Quantities of a history that are drawn as learning curves."""
UNITS = {"points": " (%)", "nats": " (nats)"}


def learning_curves(figures: Sequence[Figure], done: Done) -> Figure | None:
    """Return the figure of learning curves; None if histories have nothing to show.

    Args:
        figures: figures of the suite. Metrics in them are not shown a second time.
        done: trainings, from `trainings`.
    """
    last = [kept.history[-1] for _, kept in done if kept.history]
    shown = {q.y for f in figures if f.kind.x == "record" for q in f.quantities}
    names = [n for n in RECORDED if n not in shown and any(n in record for record in last)]
    if not names:
        return None
    across = "epoch" if all("epoch" in record for record in last) else "step"
    first, *others = (Quantity(y=name, y_label=_label(name)) for name in names)
    return Figure(
        name="learning-curves",
        title="Learning curves",
        draw="history",
        x=across,
        x_label=across,
        by=telling_settings([cell for cell, _ in done]) or None,
        beside=others,
        **dict(first),
    )


def trainings(done: Done) -> Done:
    """Return one finished cell per training, without baselines."""
    cells: dict[str, Cell] = {}
    for cell in without_baselines([cell for cell, _ in done]):
        cells.setdefault(cell.training_id or cell.id, cell)
    ids = {cell.id for cell in cells.values()}
    return [(cell, kept) for cell, kept in done if cell.id in ids]


def _label(metric: str) -> str:
    return metric_title(metric) + UNITS.get(unit_of_metric(metric), "")
