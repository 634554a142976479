"""One tidy table of what was measured: a row a cell and metric."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from bench.config.record import Cell
from bench.store.export import Finished, Results

Done = list[tuple[Cell, Finished]]


def finished_cells(cells: Sequence[Cell], results: Results) -> Done:
    """Return the cells that are done, with what is kept of them, in order."""
    found = [(cell, results.find(cell)) for cell in cells]
    return [(cell, finished) for cell, finished in found if finished is not None]


def tidy_frame(done: Done) -> pd.DataFrame:
    """Return the columns id, experiment, seed, one a setting, metric and value."""
    rows: list[dict[str, Any]] = [
        {
            "id": cell.id,
            "experiment": cell.experiment,
            **cell.settings,
            "metric": name,
            "value": value,
        }
        for cell, finished in done
        for name, value in finished.metrics.items()
    ]
    return pd.DataFrame(rows)


def history_frame(done: Done) -> pd.DataFrame:
    """Return the training histories: id, seed, one column a setting, step, one a metric."""
    return pd.DataFrame(
        [
            {"id": cell.id, **line, **cell.settings}  # a metric never hides a setting
            for cell, finished in done
            for line in finished.history
        ]
    )
