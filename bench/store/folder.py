"""The folder of one cell: the names of its files, what is in them, and how they are written."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.config.record import Cell
from bench.errors import StoreError
from bench.store.attempts import Attempt, begin_attempt, last_attempt
from bench.store.files import read_json, sync_folder, to_json, to_npz, write_whole
from bench.store.owner import Owner

if TYPE_CHECKING:
    import numpy as np


class CellFolder:
    """One cell on disk."""

    def __init__(self, path: Path) -> None:
        """Name the folder; nothing is read or written yet."""
        self.path = path

    @property
    def cell_file(self) -> Path:
        """The resolved cell."""
        return self.path / "cell.json"

    @property
    def attempts(self) -> Path:
        """The records of executions."""
        return self.path / "attempts"

    @property
    def history_file(self) -> Path:
        """Metrics while it trained, one JSON object a line."""
        return self.path / "history.jsonl"

    @property
    def checkpoint_file(self) -> Path:
        """Where to go on."""
        return self.path / "checkpoint.pt"

    @property
    def arrays_file(self) -> Path:
        """Arrays worth keeping."""
        return self.path / "arrays.npz"

    @property
    def provenance_file(self) -> Path:
        """Where the result comes from."""
        return self.path / "provenance.json"

    @property
    def summary_file(self) -> Path:
        """The metrics; that it exists is what "done" means."""
        return self.path / "summary.json"

    @property
    def is_done(self) -> bool:
        """Whether the cell has its result."""
        return self.summary_file.exists()

    def claim(
        self, cell: Cell, owner: Owner, launch: str, *, retry_before: float = 0.0
    ) -> Attempt | None:
        """Begin an attempt at the cell; None if it is done, failed, or a living process holds it.

        Failures that ended before `retry_before` are tried again.
        """
        if self.is_done:
            return None
        attempt = begin_attempt(self.attempts, owner, launch, retry_before=retry_before)
        if attempt is None:
            return None
        if self.is_done:  # finished between the look and the claim
            attempt.end("done")
            return None
        for leftover in self.path.glob(".*"):  # half-written files of a killed owner
            leftover.unlink()
        if not self.cell_file.exists():
            write_whole(self.cell_file, to_json(cell.model_dump(mode="json")))
        return attempt

    def last_attempt(self) -> Attempt | None:
        """Return the latest attempt."""
        return last_attempt(self.attempts)

    def finish(
        self,
        metrics: dict[str, float],
        arrays: dict[str, np.ndarray[Any, Any]],
        provenance: dict[str, Any],
    ) -> None:
        """Write the result; the summary comes last, and with it the cell is done."""
        if arrays:
            write_whole(self.arrays_file, to_npz(arrays))
        write_whole(self.provenance_file, to_json(provenance))
        write_whole(self.summary_file, to_json({"metrics": metrics}))
        sync_folder(self.path)
        self.checkpoint_file.unlink(missing_ok=True)

    def metrics(self) -> dict[str, float] | None:
        """Return the metrics of the summary; None if the cell is not done."""
        summary = read_json(self.summary_file)
        if summary is None:
            return None
        metrics = summary.get("metrics") if isinstance(summary, dict) else None
        if not isinstance(metrics, dict) or not all(map(_is_finite, metrics.values())):
            raise StoreError(
                f"{self.summary_file}: holds no finite metrics; remove {self.path} to have it "
                "computed again"
            )
        return metrics

    def provenance(self) -> dict[str, Any]:
        """Return where the result comes from; empty if the cell is not done."""
        return read_json(self.provenance_file) or {}

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the arrays kept; empty if there are none."""
        if not self.arrays_file.exists():
            return {}
        import numpy as np

        with np.load(self.arrays_file, allow_pickle=False) as archive:
            return dict(archive)

    def append_history(self, line: dict[str, float]) -> None:
        """Add one record of metrics; `step` is among them."""
        with self.history_file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, sort_keys=True) + "\n")

    def history(self) -> list[dict[str, float]]:
        """Return the records so far, up to the first line that is torn."""
        try:
            text = self.history_file.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return []
        records = []
        for line in text.splitlines(keepends=True):
            try:
                record = json.loads(line) if line.endswith("\n") else None
            except ValueError:
                break
            if not isinstance(record, dict) or "step" not in record:
                break
            records.append(record)
        return records

    def rewind_history(self, step: int) -> None:
        """Forget what was recorded after `step`: training goes on from there."""
        kept = [line for line in self.history() if line["step"] <= step]
        text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in kept)
        write_whole(self.history_file, text.encode())

    def copy_history(self, other: CellFolder) -> None:
        """Take over what another folder recorded."""
        if other.history_file.exists():
            write_whole(self.history_file, other.history_file.read_bytes())

    def write_traceback(self, attempt: Attempt, lines: Iterable[str]) -> Path:
        """Keep the traceback of a failed attempt; return its file."""
        path = attempt.path.with_suffix(".log")
        write_whole(path, "".join(lines).encode())
        return path


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
