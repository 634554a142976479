"""Fine-tuning of a trained encoder on labels, and of the same network from scratch."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bench.cells.finetune import FineTune
from bench.data.label_lists import published_list
from bench.data.labelled import listed_rows, stratified_rows
from bench.errors import DataFailure
from bench.experimental import ALONE, Ranks
from bench.experiments import pretrain
from bench.experiments.deterministic import deterministic
from bench.experiments.encoder_folder import TrainedFolder
from bench.experiments.evaluations import Evaluator
from bench.experiments.outcome import Clock, Outcome, Result, Spent, attempted, one_by_one
from bench.experiments.timing import (
    BACKWARD_TOO,
    forward_s,
    seconds_unless_long,
    steps_s,
)
from bench.methods.online_network import Online
from bench.results.folder import CellFolder
from bench.results.folders import Folders
from bench.train.finetune import FineTuning, rows_of
from bench.train.loop import train
from bench.train.sources import OnDisk, Rows, Source, open_source


def run(
    cells: Sequence[FineTune], folders: Folders, device: str, ranks: Ranks = ALONE
) -> list[Outcome]:
    """Train the encoder that the cells share, unless it is there, and tune a copy for each.

    From scratch there is none, and each cell stands alone.

    Args:
        cells: which share an encoder, or one from scratch.
        folders: theirs.
        device: cpu or cuda.
        ranks: that train the encoder together; the first alone tunes it.
    """
    if cells[0].start == "scratch":
        return one_by_one(_from_scratch, cells, folders, device)
    folder_of = dict(zip((cell.id for cell in cells), folders, strict=True))

    def tuned(
        cell: FineTune, source: Source, home: TrainedFolder, _: Evaluator, online: Online
    ) -> Outcome:
        return attempted(partial(_tuned, cell, folder_of[cell.id], source, device, home, online))

    return pretrain.run_on_encoder(cells, folders, device, ranks, tuned, with_history=False)


def probe(cell: FineTune, data: Path, device: str, clock: Clock) -> Spent:
    """Time steps of the pretraining, if there is one, and of the tuning; and the test.

    Args:
        cell: what is timed; nothing of it is kept.
        data: the folder of data sets.
        device: cpu or cuda.
        clock: tells seconds.

    Raises:
        CellFailure, DataError: the cell could not be computed either.
    """
    shared = 0.0
    if cell.start == "pretrained":
        unasked: dict[str, Any] = {"linear": None, "few_shot": None, "weights_K": None}
        shared = pretrain.probe(cell.trained.model_copy(update=unasked), data, device, clock).shared
    source = open_source(cell, data, device)
    tuning = FineTuning(cell, source, labelled_rows(cell, source), device, None)
    image_s = forward_s(tuning.online, source, clock)
    expected_s = image_s * len(source.labels["test"])
    tested_s = seconds_unless_long(tuning.accuracies, clock, expected_s=expected_s)
    seconds = tested_s + steps_s(tuning, clock, BACKWARD_TOO * cell.tune_batch_size * image_s)
    return Spent(shared, seconds)


def labelled_rows(cell: FineTune, source: Source) -> Rows:
    """Return the rows of the source's training part that have a label in this cell, in order.

    Raises:
        DataFailure: a published list is not there or names other images.
    """
    if cell.labelled == "stratified":
        return stratified_rows(rows_of(source.labels["train"]), cell.label_fraction, cell.seed)
    if not isinstance(source, OnDisk):
        raise DataFailure(f"labelled 'published': {cell.dataset} has no file names")
    paths = source.paths["train"]
    path = published_list(paths[0].parents[2], cell.label_fraction)
    return listed_rows([image.name for image in paths], path)


def _from_scratch(cell: FineTune, folder: CellFolder, data: Path, device: str) -> Result:
    with deterministic(device):
        source = open_source(cell, data, device)
        return _result(cell, folder, source, device, None)


def _tuned(
    cell: FineTune,
    folder: CellFolder,
    source: Source,
    device: str,
    home: TrainedFolder,
    online: Online,
) -> Result:
    result = _result(cell, folder, source, device, online)
    named = {"encoder": home.path.name, "trained": home.provenance()}
    return replace(result, provenance=result.provenance | named)


def _result(
    cell: FineTune, folder: CellFolder, source: Source, device: str, online: Online | None
) -> Result:
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
