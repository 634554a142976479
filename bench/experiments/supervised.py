"""Image classifiers trained with cross-entropy or variants, tested after every epoch.

Sources: DCL, App. 7, Table 17; dual temperature, Sec. E, Table 2.
"""

from collections.abc import Sequence
from pathlib import Path

from bench.cells.supervised import Supervised
from bench.experiments.outcome import Clock, Outcome, Result, Spent, one_by_one
from bench.experiments.timing import (
    BACKWARD_TOO,
    deterministic,
    forward_s,
    seconds_unless_long,
    steps_s,
)
from bench.results.folder import CellFolder, Folders
from bench.train.loop import train
from bench.train.sources import open_source
from bench.train.supervised import SupervisedTraining


def run(cells: Sequence[Supervised], folders: Folders, device: str) -> list[Outcome]:
    """Train each classifier; its history has one record per epoch."""
    return one_by_one(_result, cells, folders, device)


def probe(cell: Supervised, data: Path, device: str, clock: Clock) -> Spent:
    """Time training steps and the test after each epoch."""
    source = open_source(cell, data, device)
    training = SupervisedTraining(cell, source, device)
    image_s = forward_s(training.online, source, clock)
    seconds = steps_s(training, clock, BACKWARD_TOO * cell.batch_size * image_s)
    expected_s = image_s * len(source.labels["test"])
    test_s = seconds_unless_long(training.test_top1, clock, expected_s=expected_s)
    return Spent(0.0, seconds + cell.epochs * test_s)


def _result(cell: Supervised, folder: CellFolder, data: Path, device: str) -> Result:
    source = open_source(cell, data, device)
    training = SupervisedTraining(cell, source, device)
    with deterministic(device):
        train(training, folder)
    history = folder.history()
    metrics = {k: v for k, v in history[-1].items() if k in Supervised.metrics}
    metrics["test_top1_best"] = max(line["test_top1"] for line in history)
    metrics["q_b_first"] = history[0]["q_b"]
    return Result(metrics, provenance={"dataset": source.meta.fingerprint})
