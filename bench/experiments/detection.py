"""Detection with a trained encoder, or the same network from scratch, as backbone."""

from collections.abc import Sequence
from pathlib import Path

from bench.cells.detection import Detection
from bench.data.coco_folder import load_boxed
from bench.experimental import ALONE, Ranks
from bench.experiments import pretrain
from bench.experiments.outcome import Clock, Outcome, Result, Spent
from bench.experiments.timing import FEW, seconds_of, steps_s
from bench.methods.online_network import Online
from bench.results.folder import CellFolder, Folders
from bench.train.detection import Detecting
from bench.train.loop import train
from bench.train.sources import ImageSource


def run(
    cells: Sequence[Detection], folders: Folders, device: str, ranks: Ranks = ALONE
) -> list[Outcome]:
    """Train the shared encoder unless it exists, then a detector on each copy."""
    return pretrain.run_transfer(_result, cells, folders, device, ranks)


def probe(cell: Detection, data: Path, device: str, clock: Clock) -> Spent:
    """Time steps of the pretraining, if any, and of the detector, and the test."""
    shared = pretrain.shared_s(cell, data, device, clock)
    detecting = _detecting(cell, data, device, None)
    trained_s, test = steps_s(detecting, clock), detecting.images.test
    few = range(min(FEW, len(test.images)))
    tested_s = seconds_of(lambda: [detecting.found_on(test, row) for row in few], clock)
    return Spent(shared, trained_s + tested_s * len(test.images) / len(few))


def _detecting(cell: Detection, data: Path, device: str, online: Online | None) -> Detecting:
    images = load_boxed(cell.detect_dataset, data, cell.learns)
    return Detecting(cell, images, device, online)


def _result(
    cell: Detection,
    folder: CellFolder,
    data: Path,
    device: str,
    _source: ImageSource | None,
    online: Online | None,
) -> Result:
    detecting = _detecting(cell, data, device, online)
    train(detecting, folder)
    last = folder.history()[-1]
    metrics = detecting.precisions() | {"train_loss": last["train_loss"]}
    provenance = {"dataset": detecting.fingerprint, "learnt_images": len(detecting.rows)}
    return Result(metrics, provenance=provenance)
