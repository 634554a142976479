"""Accuracies of trivial baselines and supervised training, with the evaluations of `pretrain`."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from bench.cells.axes import ACCURACIES
from bench.cells.baseline import NETWORK, TRAINING, Baseline
from bench.cells.supervised import Supervised
from bench.data.streams import Purpose, stream
from bench.experiments.encoder_folder import Frozen
from bench.experiments.evaluations import Evaluator
from bench.experiments.outcome import Clock, Outcome, Result, Spent, one_by_one
from bench.experiments.timing import deterministic, seconds_of, steps_s
from bench.networks.encoder import make_encoder
from bench.results.folder import CellFolder, Folders
from bench.train.loop import train
from bench.train.sources import ImageSource, open_source
from bench.train.supervised import SupervisedTraining


def run(cells: Sequence[Baseline], folders: Folders, device: str) -> list[Outcome]:
    """Evaluate each baseline; the history of supervised training has one record per epoch."""
    return one_by_one(_result, cells, folders, device)


def probe(cell: Baseline, data: Path, device: str, clock: Clock) -> Spent:
    """Time the evaluations (of the untrained network, if labels are used) and some training steps.

    Raises:
        CellFailure: the cell cannot be evaluated.
    """
    source = open_source(cell, data, device)
    evaluator = Evaluator([cell], source)
    if fault := evaluator.fault(cell):
        raise fault
    network = Frozen(nothing_learned(cell, device))
    seconds = seconds_of(lambda: _accuracies(cell, evaluator, network), clock)
    if cell.baseline == "labels":
        seconds += steps_s(SupervisedTraining(_classifier(cell), source, device), clock)
    return Spent(0.0, seconds)


def _accuracies(cell: Baseline, evaluator: Evaluator, network: Frozen) -> dict[str, float]:
    metrics: dict[str, float] = {}
    for name in ACCURACIES:
        metrics |= evaluator.evaluate(name, cell, network)
    return metrics


def _result(cell: Baseline, folder: CellFolder, data: Path, device: str) -> Result:
    source = open_source(cell, data, device)
    evaluator = Evaluator([cell], source)
    if fault := evaluator.fault(cell):
        raise fault
    with deterministic(device):
        if cell.baseline == "labels":
            encoder = _trained_with_labels(cell, source, folder, device)
        else:
            encoder = nothing_learned(cell, device)
        metrics = _accuracies(cell, evaluator, Frozen(encoder))
    return Result(metrics, provenance={"dataset": source.meta.fingerprint})


def nothing_learned(cell: Baseline, device: str) -> nn.Module:
    """Return a function that computes features of images without training.

    For raw inputs, the features are all pixels of the normalised image. Otherwise they come from
    the initial encoder of a `pretrain` cell with the same seed.
    """
    if cell.baseline == "raw":
        return nn.Flatten()
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
        image_size=cell.image_size,
    )
    return encoder.to(device).to(memory_format=torch.channels_last)


def _trained_with_labels(
    cell: Baseline, source: ImageSource, folder: CellFolder, device: str
) -> nn.Module:
    """Return the encoder of a classifier that was trained by cross-entropy."""
    training = SupervisedTraining(_classifier(cell), source, device)
    train(training, folder)
    return training.online.get_submodule("backbone")


def _classifier(cell: Baseline) -> Supervised:
    """Return the cell of `supervised` with the network and the training of a baseline."""
    head = {"experiment": "supervised", "loss": "cross-entropy", "train_images": cell.train_images}
    names = ("dataset", "image_size", "seed", *NETWORK, *TRAINING)
    settings = {name: getattr(cell, name) for name in names}
    given = {name: value for name, value in settings.items() if value is not None}
    return Supervised.model_validate(head | given)
