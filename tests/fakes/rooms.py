"""A small suite on digits whose scale has baselines, and results of it made by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.cells.baseline import Baseline
from bench.cells.cell import Cell
from bench.suites.suite import Settings
from tests.fakes.results import cells_of, finish
from tests.fakes.suites import DIGITS, REMOVED, SuiteData, changed

LABELS: Settings = {"views": "affine", "batch_size": 32, "optimizer": "sgd", "lr": 0.1,
                    "weight_decay": 0.0, "lr_schedule": "cosine"}  # fmt: skip
LEVELS = {"raw": 40.0, "untrained": 25.0, "labels": 70.0}
"""The accuracy of each kind of baseline."""
CHECK = {"check": "exceeds", "metric": "knn_top1", "where": {"loss": "dcl"},
         "than": {"loss": "infonce"}}  # fmt: skip

ROOMY: SuiteData = changed(
    DIGITS,
    {
        "name": "roomy",
        "title": "DCL against batch size, on digits",
        "paper": "dcl",
        "reproduces": ["table-1-cifar10"],
        "protocol": "small-scale-resnet18",
        "scales": {"tiny": {"what": "seconds", "protocol": "reduced", "baselines": LABELS}},
        "seeds": [0, 1, 2],
        "fixed.method": "simclr",
        "fixed.K": REMOVED,
        "fixed.bn_groups": REMOVED,
        "fixed.batch_size": REMOVED,
        "fixed.knn_k": 5,
        "grid": {"batch_size": [16, 32], "loss": ["infonce", "dcl"]},
        "compare": [
            {"artifact": "table-1-cifar10", "metric": "knn_top1", "unmatched": ["dataset"],
             "layout": {"rows": ["loss"], "columns": "batch_size"}},
            {"artifact": "text-4.2-gains-batch32-cifar", "metric": "knn_top1",
             "rows": {"metric": "knn_top1_gain", "dataset": "cifar10"}, "unmatched": ["dataset"],
             "where": {"loss": "dcl", "batch_size": 32}, "gain_over": {"loss": "infonce"}},
        ],
        "claims": {"small-batch-cifar-stl10": [CHECK]},
        "tables": [
            {"title": "kNN top-1 (%)", "metric": "knn_top1", "rows": ["loss"],
             "columns": "batch_size"},
            {"title": "q_B", "metric": "q_b", "rows": ["loss"], "columns": "batch_size"},
        ],
        "figures": [
            {"name": "knn", "title": "kNN top-1", "draw": "lines", "x": "batch_size",
             "y": "knn_top1", "by": "loss", "x_label": "batch size", "y_label": "kNN top-1 (%)"},
        ],
    },
)  # fmt: skip


def better(cell: Any) -> float:
    """Return an accuracy with DCL 5 points ahead, all above the floor; seeds are 0.2 apart."""
    return float(50 + 5 * (cell.loss == "dcl") + 0.2 * cell.seed)


def unlearned(cell: Any) -> float:
    """Return the same with InfoNCE below the floor at batch 16."""
    return 39.0 if (cell.loss, cell.batch_size) == ("infonce", 16) else better(cell)


def fill(
    root: Path,
    path: Path,
    accuracy: Callable[[Any], float] = better,
    keep: Callable[[Cell], bool] = lambda _: True,
) -> None:
    """Let the suite's cells be done in a results folder, those to keep."""

    def metrics(cell: Any) -> dict[str, float]:
        if isinstance(cell, Baseline):
            return {"knn_top1": LEVELS[cell.baseline]}
        return {"knn_top1": accuracy(cell), "q_b": 0.5 + 0.01 * cell.seed}

    root.mkdir(exist_ok=True)
    finish(root, [cell for cell in cells_of(path, "tiny") if keep(cell)], metrics)
