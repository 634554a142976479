"""Fine-tuning of a trained encoder with labels, and of the same network from scratch."""

from collections.abc import Sequence
from pathlib import Path

from bench.cells.finetune import FineTune
from bench.data.catalogue import published_list
from bench.data.labelled import Rows, listed_rows, stratified_rows
from bench.errors import DataFailure
from bench.experimental import ALONE, Ranks
from bench.experiments import pretrain
from bench.experiments.outcome import Clock, Outcome, Result, Spent
from bench.experiments.timing import (
    BACKWARD_TOO,
    forward_s,
    seconds_unless_long,
    steps_s,
)
from bench.methods.online_network import Online
from bench.results.folder import CellFolder, Folders
from bench.train.finetune import FineTuning
from bench.train.loop import train
from bench.train.sources import ImageSource, OnDisk, open_source


def run(
    cells: Sequence[FineTune], folders: Folders, device: str, ranks: Ranks = ALONE
) -> list[Outcome]:
    """Train the shared encoder unless it exists, then fine-tune a copy for each cell."""
    return pretrain.run_transfer(_result, cells, folders, device, ranks)


def probe(cell: FineTune, data: Path, device: str, clock: Clock) -> Spent:
    """Time steps of the pretraining, if any, and of the fine-tuning, and the test."""
    shared = pretrain.shared_s(cell, data, device, clock)
    source = open_source(cell.trained, data, device)
    tuning = FineTuning(cell, source, labelled_rows(cell, source), device, None)
    image_s = forward_s(tuning.online, source, clock)
    expected_s = image_s * len(source.labels["test"])
    tested_s = seconds_unless_long(tuning.accuracies, clock, expected_s=expected_s)
    seconds = tested_s + steps_s(tuning, clock, BACKWARD_TOO * cell.tune_batch_size * image_s)
    return Spent(shared, seconds)


def labelled_rows(cell: FineTune, source: ImageSource) -> Rows:
    """Return the indices of labelled training images in this cell, in order.

    Raises:
        DataFailure: images have no classes, or a published list is missing or names unknown images.
    """
    if not source.meta.classes:
        raise DataFailure(
            f"the images of {cell.dataset} have no classes, which the experiment finetune needs"
        )
    if cell.labelled == "stratified":
        labels = source.labels["train"].cpu().numpy()
        return stratified_rows(labels, cell.label_fraction, cell.seed)
    if not isinstance(source, OnDisk):
        raise DataFailure(
            "the setting labelled = 'published' needs the images' file names, but "
            f"{cell.dataset} has no file names"
        )
    paths = source.paths["train"]
    path = published_list(paths[0].parents[2], cell.label_fraction)
    return listed_rows([image.name for image in paths], path)


def _result(
    cell: FineTune,
    folder: CellFolder,
    data: Path,
    device: str,
    source: ImageSource | None,
    online: Online | None,
) -> Result:
    source = source or open_source(cell.trained, data, device)
    rows = labelled_rows(cell, source)
    tuning = FineTuning(cell, source, rows, device, online)
    train(tuning, folder)
    last = folder.history()[-1]
    metrics = tuning.accuracies() | {k: v for k, v in last.items() if k in FineTune.metrics}
    provenance = {
        "dataset": source.meta.fingerprint,
        "labelled": tuning.labelled,
        "labelled_images": len(rows),
    }
    return Result(metrics, provenance=provenance)
