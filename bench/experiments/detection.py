"""Detection: a trained encoder, or the same network from scratch, as a detector's backbone."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bench.cells.detection import MASK, Detection
from bench.data.load_boxed import load_boxed
from bench.experimental import ALONE, Ranks
from bench.experiments import pretrain
from bench.experiments.deterministic import deterministic
from bench.experiments.encoder_folder import TrainedFolder
from bench.experiments.evaluations import Evaluator
from bench.experiments.outcome import Clock, Outcome, Result, Spent, attempted, one_by_one
from bench.experiments.timing import FEW, seconds_of, steps_s
from bench.methods.online_network import Online
from bench.results.folder import CellFolder
from bench.results.folders import Folders
from bench.train.detection import Detecting
from bench.train.loop import train
from bench.train.sources import Source


def run(
    cells: Sequence[Detection], folders: Folders, device: str, ranks: Ranks = ALONE
) -> list[Outcome]:
    """Train the encoder that the cells share, unless it is there, and a detector on each copy.

    From scratch there is none, and each cell stands alone.

    Args:
        cells: which share an encoder, or one from scratch.
        folders: theirs.
        device: cpu or cuda.
        ranks: that train the encoder together; the first alone trains the detectors.
    """
    if cells[0].start == "scratch":
        return one_by_one(_from_scratch, cells, folders, device)
    own = dict(zip((cell.id for cell in cells), folders, strict=True))

    def detected(
        cell: Detection, source: Source, home: TrainedFolder, _: Evaluator, online: Online
    ) -> Outcome:
        named = {"encoder": home.path.name, "trained": home.provenance()}
        return attempted(
            partial(_detected, cell, own[cell.id], folders.data, device, online, named)
        )

    return pretrain.run_on_encoder(cells, folders, device, ranks, detected, with_history=False)


def probe(cell: Detection, data: Path, device: str, clock: Clock) -> Spent:
    """Time steps of the pretraining, if there is one, and of the detector's; and the test.

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
    detecting = _detecting(cell, data, device, None)
    trained_s, test = steps_s(detecting, clock), detecting.images.test
    few = range(min(FEW, len(test.images)))
    tested_s = seconds_of(lambda: [detecting.found_on(test, row) for row in few], clock)
    return Spent(shared, trained_s + tested_s * len(test.images) / len(few))


def _detecting(cell: Detection, data: Path, device: str, online: Online | None) -> Detecting:
    images = load_boxed(cell.detect_dataset, data, with_masks=cell.detector == MASK)
    return Detecting(cell, images, device, online)


def _from_scratch(cell: Detection, folder: CellFolder, data: Path, device: str) -> Result:
    with deterministic(device):
        return _result(cell, folder, data, device, None)


def _detected(
    cell: Detection,
    folder: CellFolder,
    data: Path,
    device: str,
    online: Online,
    named: dict[str, Any],
) -> Result:
    found = _result(cell, folder, data, device, online)
    return replace(found, provenance=found.provenance | named)


def _result(
    cell: Detection, folder: CellFolder, data: Path, device: str, online: Online | None
) -> Result:
    detecting = _detecting(cell, data, device, online)
    train(detecting, folder)
    last = folder.history()[-1]
    metrics = detecting.precisions() | {"train_loss": last["train_loss"]}
    provenance = {"dataset": detecting.fingerprint, "learnt_images": len(detecting.rows)}
    return Result(metrics, provenance=provenance)
