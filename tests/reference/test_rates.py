"""Maps train each loss at the learning rate that is best in their search, and by nothing else."""

from collections import defaultdict
from statistics import fmean
from typing import Any

import pytest

from bench.cells.cell import Cell
from bench.results.reader import Results
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.paths import REFERENCE, SUITES

POINT = ("optimizer", "batch_size", "tau", "loss")
METRIC = "warped_knn_top1"


def cells_of(suite: str) -> list[Cell]:
    path = SUITES / f"{suite}.yaml"
    return [c for c in expand(load_suite(path), "cpu", path) if c.known.get("loss") is not None]


def best_rates(suite: str) -> dict[tuple[Any, ...], float]:
    """Return the rate with the best mean over seeds at each point of a search."""
    accuracies: dict[tuple[Any, ...], dict[float, list[float]]] = defaultdict(dict)
    results = Results(REFERENCE)
    for cell in cells_of(suite):
        known, kept = cell.known, results.find(cell)
        assert kept is not None, f"{suite}: {cell.id} is not exported"
        rates = accuracies[tuple(known[name] for name in POINT)]
        rates.setdefault(known["base_lr"], []).append(kept.metrics[METRIC])
    assert all(len(found) == 3 for found in accuracies.values())
    return {p: max(found, key=lambda r: fmean(found[r])) for p, found in accuracies.items()}


@pytest.mark.parametrize(
    ("of", "search", "control"),
    [
        ("map-dcl", "search-map-dcl", "adam"),  # one rate for both losses
        ("map-temperature", "search-map-temperature", None),
    ],
)
def test_each_loss_has_the_rate_of_the_search(of: str, search: str, control: str | None) -> None:
    best = best_rates(search)
    cells = [cell for cell in cells_of(of) if cell.known["optimizer"] != control]
    assert len(cells) >= 100
    for cell in cells:
        point = {name: cell.known[name] for name in POINT}
        point["batch_size"] = max(point["batch_size"], 32)  # the arm with batch 8 has that of 32
        assert cell.known["base_lr"] == best[tuple(point.values())], cell.settings
