"""Histories of finished cells for TensorBoard or Weights & Biases (optional packages)."""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.cells.cell import Cell
from bench.cells.groups import labels
from bench.environment import extra
from bench.results.reader import Done, Finished

NO_METRICS = ("step",)  # of a line of history

Write = Callable[[str, Cell, Finished, Path, str], None]


def export_histories(done: Done, folder: Path, tracker: str, project: str) -> int:
    """Write one run per finished cell with a history; return the number of runs.

    Args:
        done: the finished cells.
        folder: folder of the runs.
        tracker: `tensorboard` or `wandb`.
        project: name of the project: the suite and its scale.

    Raises:
        BenchError: the tracker's package is missing.
    """
    with_history = [(cell, kept) for cell, kept in done if kept.history]
    names = labels([cell for cell, _ in with_history])
    for name, (cell, kept) in zip(names, with_history, strict=True):
        TRACKERS[tracker](name, cell, kept, folder, project)
    return len(with_history)


def _tensorboard(name: str, cell: Cell, kept: Finished, folder: Path, project: str) -> None:
    """Write event files to `<folder>/<project>/<name> <cell>`; settings are hyperparameters."""
    writers = extra("tensorboard.summary.writer.event_file_writer", "--as tensorboard")
    events = extra("tensorboard.compat.proto.event_pb2", "--as tensorboard")
    summaries = extra("tensorboard.compat.proto.summary_pb2", "--as tensorboard")
    hyperparameters = extra("tensorboard.plugins.hparams.summary_v2", "--as tensorboard")
    began = float(kept.provenance.get("began") or time.time())
    path = folder / project / f"{re.sub('[^A-Za-z0-9_.-]+', '-', name)}-{cell.id}"
    for former in path.glob("events.out.tfevents.*"):  # of an export before: the same once more
        former.unlink()
    writer = writers.EventFileWriter(str(path))

    def add(step: int, summary: Any) -> None:
        writer.add_event(events.Event(wall_time=began, step=step, summary=summary))

    settings = {k: v for k, v in cell.settings.items() if isinstance(v, bool | int | float | str)}
    add(0, hyperparameters.hparams_pb(settings, trial_id=cell.id, start_time_secs=began))
    last = int(kept.history[-1]["step"])
    records = [(int(r["step"]), r) for r in kept.history]
    for step, record in [*records, (last, {f"final/{k}": v for k, v in kept.metrics.items()})]:
        values = [
            summaries.Summary.Value(tag=k, simple_value=v)
            for k, v in record.items()
            if k not in NO_METRICS
        ]
        add(step, summaries.Summary(value=values))
    writer.close()


def _wandb(name: str, cell: Cell, kept: Finished, folder: Path, project: str) -> None:
    """Write a run below `<folder>/wandb`, offline unless WANDB_MODE says otherwise."""
    wandb = extra("wandb", "--as wandb")
    folder.mkdir(parents=True, exist_ok=True)
    run = wandb.init(
        project=project,
        name=name,
        id=cell.id,
        dir=str(folder),
        config={"cell": cell.id, "experiment": cell.experiment, **cell.settings},
        mode=os.environ.get("WANDB_MODE", "offline"),
    )
    for record in kept.history:
        run.log({k: v for k, v in record.items() if k not in NO_METRICS}, step=int(record["step"]))
    run.summary.update(kept.metrics)
    run.finish()


TRACKERS: dict[str, Write] = {"tensorboard": _tensorboard, "wandb": _wandb}
