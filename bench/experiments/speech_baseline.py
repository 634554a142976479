"""Speech accuracies of trivial baselines and supervised training, evaluated like `speech`."""

from collections.abc import Sequence
from pathlib import Path

from bench.cells.speech import SpeechBaseline
from bench.experiments.outcome import Outcome, Result, one_by_one
from bench.experiments.speech import (
    accuracies,
    fingerprints,
    mel_statistics,
    open_sets,
    pooled_by,
    probe,
    untrained,
)
from bench.experiments.timing import deterministic
from bench.results.folder import CellFolder, Folders
from bench.train.loop import train
from bench.train.speech import LabelTraining

__all__ = ["probe", "run"]


def run(cells: Sequence[SpeechBaseline], folders: Folders, device: str) -> list[Outcome]:
    """Evaluate each baseline; the history of supervised training has one record per epoch."""
    return one_by_one(_result, cells, folders, device)


def _result(cell: SpeechBaseline, folder: CellFolder, data: Path, device: str) -> Result:
    corpora, watched = open_sets(cell, data), {}
    with deterministic(device):
        if cell.baseline == "raw":
            hear = mel_statistics(cell)
        elif cell.baseline == "untrained":
            hear = pooled_by(untrained(cell), cell, device)
        else:
            training = LabelTraining(cell, corpora[cell.recordings], device)
            train(training, folder)
            hear = pooled_by(training.online["encoder"], cell, device)
            watched = {"train_loss": folder.history()[-1]["train_loss"]}
        metrics = accuracies(cell, corpora, hear)
    return Result(watched | metrics, provenance=fingerprints(corpora))
