"""Effects of shipped suites on made-up measurements."""

from collections.abc import Callable
from typing import Any

from bench.analysis.compared_effects import ComparedEffect, compare_effects
from bench.cells.baseline import without_baselines
from bench.results.reader import Finished
from bench.suites.expand import expand
from bench.suites.load import load_suite
from bench.suites.validate import check_suite
from tests.fakes.paths import SUITES

Made = Callable[[Any], dict[str, float] | None]


def effects(name: str, scale: str, metric: Made, **update: Any) -> list[ComparedEffect]:
    """Return a suite's effects at a scale; cells with None are not finished."""
    path = SUITES / f"{name}.yaml"
    suite = load_suite(path).model_copy(update=update)
    cells = without_baselines(expand(suite, scale, path))
    made = [(cell, metric(cell)) for cell in cells]
    done = [(cell, Finished(metrics, {})) for cell, metrics in made if metrics is not None]
    return compare_effects(suite, scale, cells, done, check_suite(suite, path))


def of_artifact(
    rows: list[ComparedEffect], artifact: str, metric: str | None = None
) -> list[ComparedEffect]:
    own = [row for row in rows if row.artifact == artifact]
    return [row for row in own if metric in (None, row.metric)]


NOISE = {
    "infonce": (0.3, -0.1, 0.2, -0.4, 0.0, 0.1),
    "dcl": (-0.5, 0.4, 0.1, 0.2, -0.2, 0.3),
}
"""Of the seeds of two losses: added to what a cell has without it."""


def accuracy(cell: Any) -> float:
    """Return 60 % with InfoNCE; with DCL more by 8 points at batch 16, by half that at 32, ..."""
    gain = 128 / cell.batch_size if cell.loss == "dcl" else 0.0
    return 60.0 + gain + NOISE[cell.loss][cell.seed]
