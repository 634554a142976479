"""Accuracies with nothing learned and with labels, by the evaluations of `pretrain`."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import nn

from bench.cells.baseline import NETWORK, TRAINING, Baseline
from bench.cells.supervised import Supervised
from bench.data.streams import Purpose, stream
from bench.errors import CellFailure, DataError, DataFailure
from bench.experiments.evaluations import Evaluator, Frozen
from bench.experiments.outcome import Clock, Outcome, Rates, Result
from bench.experiments.pretrain import deterministic
from bench.experiments.timing import seconds_of, steps_s
from bench.networks.encoder import make_encoder
from bench.results.folder import CellFolder
from bench.results.folders import Folders
from bench.train.loop import train
from bench.train.sources import Source, open_source
from bench.train.supervised import SupervisedTraining

ACCURACIES = ("knn", "linear", "few-shot", "warped-knn", "warped-linear", "warped-few-shot")
"""Evaluations that a baseline has."""


def run(cells: Sequence[Baseline], folders: Folders, device: str) -> list[Outcome]:
    """Evaluate each baseline; the history of a training with labels holds a line an epoch."""
    return [
        _outcome(cell, folder, folders.data, device)
        for cell, folder in zip(cells, folders, strict=True)
    ]


def probe(cell: Baseline, data: Path, device: str, clock: Clock) -> Rates:
    """Time the evaluations, with labels those of the untrained network, and steps beside them.

    Args:
        cell: what is timed; nothing of it is kept.
        data: the folder of data sets.
        device: cpu or cuda.
        clock: tells seconds.

    Raises:
        CellFailure, DataError: the cell could not be computed either.
    """
    source = open_source(cell, data, device)
    evaluator = Evaluator([cell], source)
    if fault := evaluator.fault(cell):
        raise fault
    encoder = _raw if cell.baseline == "raw" else _untrained
    network = Frozen(encoder(cell, source, CellFolder(data), device))
    seconds = seconds_of(lambda: _accuracies(cell, evaluator, network), clock)
    if cell.baseline == "labels":
        seconds += steps_s(SupervisedTraining(_classifier(cell), source, device), clock)
    return Rates(0.0, seconds / cell.multiply_adds)


def _accuracies(cell: Baseline, evaluator: Evaluator, network: Frozen) -> dict[str, float]:
    metrics: dict[str, float] = {}
    for name in ACCURACIES:
        metrics |= evaluator.evaluate(name, cell, network)
    return metrics


def _outcome(cell: Baseline, folder: CellFolder, data: Path, device: str) -> Outcome:
    try:
        source = open_source(cell, data, device)
        evaluator = Evaluator([cell], source)
        if fault := evaluator.fault(cell):
            return fault
        with deterministic(device):
            encoder = ENCODERS[cell.baseline](cell, source, folder, device)
            metrics = _accuracies(cell, evaluator, Frozen(encoder))
    except DataError as error:
        return DataFailure(str(error))
    except CellFailure as failure:
        return failure
    return Result(metrics, provenance={"dataset": source.meta.fingerprint})


def _raw(cell: Baseline, source: Source, folder: CellFolder, device: str) -> nn.Module:
    """Return what makes features of pixels as an encoder sees them: all of them, in a row."""
    return nn.Flatten()


def _untrained(cell: Baseline, source: Source, folder: CellFolder, device: str) -> nn.Module:
    """Return the encoder that a `pretrain` cell of the same seed begins with."""
    assert cell.arch is not None
    assert cell.stem is not None
    assert cell.width is not None
    encoder = make_encoder(
        cell.arch,
        stem=cell.stem,
        width=cell.width,
        bn_groups=1,
        generator=stream(cell.seed, Purpose.INIT, 0),
        zero_init_residual=cell.zero_init_residual,
    )
    return encoder.to(device).to(memory_format=torch.channels_last)


def _labels(cell: Baseline, source: Source, folder: CellFolder, device: str) -> nn.Module:
    """Return the encoder of a classifier that was trained by cross-entropy."""
    training = SupervisedTraining(_classifier(cell), source, device)
    train(training, folder)
    return training.online.get_submodule("backbone")


def _classifier(cell: Baseline) -> Supervised:
    """Return the cell of `supervised` with the network and the training of a baseline."""
    head = {"experiment": "supervised", "loss": "cross-entropy", "train_images": cell.train_images}
    names = ("dataset", "image_size", "seed", *NETWORK, *TRAINING)
    own = {name: getattr(cell, name) for name in names}
    given = {name: value for name, value in own.items() if value is not None}
    return Supervised.model_validate(head | given)


ENCODERS: dict[str, Callable[[Baseline, Source, CellFolder, str], nn.Module]] = {
    "raw": _raw,
    "untrained": _untrained,
    "labels": _labels,
}
"""What makes the encoder of a baseline."""
