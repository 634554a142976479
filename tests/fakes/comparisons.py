"""Shipped suites compared with the papers on made-up measurements."""

from typing import Any

from bench.analysis.compare import Compared, compare
from bench.papers.reader import load_paper
from bench.results.reader import Finished
from bench.suites.expand import expand
from bench.suites.load import load_suite
from bench.suites.validate import check_suite
from tests.fakes.paths import SUITES


def compared(name: str, scale: str, metric: Any, seeds: int = 3, **update: Any) -> list[Compared]:
    path = SUITES / f"{name}.yaml"
    suite = load_suite(path).model_copy(update=update)
    cells = expand(suite, scale, path, seeds=range(seeds))
    done = [(cell, Finished(metric(cell), {})) for cell in cells]
    return compare(suite, cells, done, check_suite(suite, path))


def printed_value(cell: Any) -> float:
    """Return what Table 9 prints for a cell, looked up without the code under test."""
    for value in load_paper("eqco").artifact("table-9").values:
        row = value.row_settings
        if (row["mi_true"], row["loss"], row["K"]) == (cell.mi_true, cell.loss, cell.K):
            assert value.value is not None
            return value.value
    raise AssertionError(cell)
