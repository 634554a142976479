"""Image classifiers by cross-entropy and its relatives, tested after every epoch.

DCL, App. 7, Table 17; dual temperature, Sec. E, Table 2.
"""

from collections.abc import Sequence

from bench.config.environment import data_root
from bench.config.supervised import Supervised
from bench.data.images import DataError
from bench.errors import CellFailure, DataFailure
from bench.experiments.outcome import Outcome, Result
from bench.experiments.pretrain import deterministic
from bench.store.folder import CellFolder
from bench.train.loop import train
from bench.train.sources import open_source
from bench.train.supervised import SupervisedTraining


def run(cells: Sequence[Supervised], folders: Sequence[CellFolder], device: str) -> list[Outcome]:
    """Train each classifier; its history holds a line an epoch."""
    return [_outcome(cell, folder, device) for cell, folder in zip(cells, folders, strict=True)]


def _outcome(cell: Supervised, folder: CellFolder, device: str) -> Outcome:
    try:
        source = open_source(cell, data_root(), device)
        training = SupervisedTraining(cell, source, device)
        with deterministic(device):
            train(training, folder)
    except DataError as error:
        return DataFailure(str(error))
    except CellFailure as failure:
        return failure
    history = folder.history()
    metrics = {k: v for k, v in history[-1].items() if k in Supervised.metrics}
    metrics["test_top1_best"] = max(line["test_top1"] for line in history)
    metrics["q_b_first"] = history[0]["q_b"]
    return Result(metrics, origin={"dataset": source.meta.fingerprint})
