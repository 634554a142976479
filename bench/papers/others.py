"""Results of other projects: YAML files under `others/` and their reader.

Each file describes one source: a public repository, a list of protocols and one row per number. A
row's settings are those of its protocol, overridden by its own keys. A setting that the source does
not state is absent. `docs/reference/others.md` describes the format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import ValidationError

from bench.errors import PublishedError, choices
from bench.files.validation_errors import explain
from bench.files.yaml_file import load_yaml
from bench.record import Record

OTHERS = Path(__file__).parent / "others"
NOISE = Path(__file__).parent / "noise.yaml"
UNKNOWN = "unknown"
_OF_ROW = {"protocol", "metric", "value", "std", "printed", "at", "commit", "note", "trial"}
"""Keys of a row that are not settings."""


class OtherProject(Record):
    """The source of measurements: a repository at a commit."""

    id: str
    what: str
    url: str
    commit: str
    path: str  # the file that the lines of rows are of
    retrieved_from: str
    licence: str
    note: str | None = None

    @property
    def project(self) -> str:
        """Owner and name of the repository, which may have several sources."""
        words = urlsplit(self.url).path.strip("/")
        return words or self.id

    def line(self, at: str, commit: str | None = None) -> str:
        """Return the URL of a line.

        Args:
            at: position as file:line.
            commit: commit of the line, if it differs from the source's commit.
        """
        path, _, line = at.rpartition(":")
        return f"{self.url.rstrip('/')}/blob/{commit or self.commit}/{path}#L{line}"


class OthersProtocol(Record):
    """Stated settings of a training, and how the source selected the reported number."""

    settings: dict[str, Any]
    selection: str  # best epoch on test, last epoch, unknown
    runs: int | Literal["unknown"]  # that a number is the mean of
    where: list[str]  # file:line that states it
    note: str | None = None


class _File(Record):
    source: OtherProject
    protocols: dict[str, OthersProtocol]
    rows: list[dict[str, Any]]


@dataclass(frozen=True)
class OthersRow:
    """One number that another project measured, in percent."""

    source: OtherProject
    position: int  # among the rows of its file, from 0
    protocol: OthersProtocol
    settings: dict[str, Any]  # method, loss, and what the source states
    metric: str
    value: float
    std: float | None
    printed: str | None  # as the source has it, where that is a fraction
    at: str  # file:line, or a thread
    commit: str
    trial: int | None
    note: str | None

    @property
    def dataset(self) -> str:
        """Data set of the number; for detection, the detector's data set."""
        return str(self.settings.get("detect_dataset", self.settings.get("dataset", UNKNOWN)))

    @property
    def link(self) -> str:
        """URL of the line or thread."""
        url = self.source.url.rstrip("/")
        if self.at.startswith("pull/"):
            return f"{url}/{self.at}"
        if "#" in self.at:
            repository, number = self.at.split("#", 1)
            return f"https://github.com/{repository}/issues/{number}"
        return self.source.line(self.at, self.commit)

    @property
    def runs_words(self) -> str:
        """Number of runs behind the number, as text."""
        runs = self.protocol.runs
        if self.trial is not None or runs == 1:
            return "1 run"
        return "runs unknown" if runs == UNKNOWN else f"mean of {runs} runs"

    def record(self) -> dict[str, Any]:
        """Return one row of `bench others --json`."""
        return {
            "source": self.source.id,
            "settings": self.settings,
            "data": self.dataset,
            "metric": self.metric,
            "value": self.value,
            "std": self.std,
            "selection": self.protocol.selection,
            "runs": self.protocol.runs if self.trial is None else 1,
            "at": self.at,
            "commit": self.commit,
            "link": self.link,
            "licence": self.source.licence,
            "note": self.note,
            "protocol_note": self.protocol.note,
        }


@cache
def others() -> list[OthersRow]:
    """Return all rows of all included sources, by source."""
    return [row for path in sorted(OTHERS.glob("*.yaml")) for row in read_source(path)]


def read_source(path: Path) -> list[OthersRow]:
    """Return the rows of one file.

    `bench/suites/others.py` checks its methods, metrics and settings.

    Raises:
        PublishedError: the file cannot be read, a row's protocol is unknown, or a value is not a
            percentage.
    """
    data = load_yaml(path, PublishedError)
    try:
        file = _File.model_validate(data)
    except ValidationError as error:
        raise explain(PublishedError, error, path, root=_File) from error
    return [_row(path, file, position) for position in range(len(file.rows))]


def _row(path: Path, file: _File, position: int) -> OthersRow:
    row, place = file.rows[position], f"{path}: rows.{position}"
    for key in ("method", "loss", "protocol", "metric", "value", "at"):
        if key not in row:
            raise PublishedError(f"{place}: {key} is missing")
    if row["protocol"] not in file.protocols:
        known = choices(str(row["protocol"]), list(file.protocols))
        raise PublishedError(f"{place}.protocol: there is no protocol '{row['protocol']}'. {known}")
    protocol = file.protocols[row["protocol"]]
    at = row["at"]
    return OthersRow(
        source=file.source,
        position=position,
        protocol=protocol,
        settings=protocol.settings | {k: v for k, v in row.items() if k not in _OF_ROW},
        metric=str(row["metric"]),
        value=_percent(row["value"], place),
        std=row.get("std"),
        printed=row.get("printed"),
        at=f"{file.source.path}:{at}" if isinstance(at, int) else str(at),
        commit=row.get("commit", file.source.commit),
        trial=row.get("trial"),
        note=row.get("note"),
    )


def _percent(value: object, place: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 100:  # type: ignore[operator]
        raise PublishedError(f"{place}.value: found {value!r}, expected a percentage, 0 to 100")
    if 0 < value < 1:  # type: ignore[operator]
        raise PublishedError(
            f"{place}.value: {value!r} looks like a fraction, expected a percentage, 0 to 100"
        )
    return float(value)  # type: ignore[arg-type]


@cache
def source_named(name: str) -> OtherProject:
    """Return a source by its id.

    Raises:
        PublishedError: the source does not exist.
    """
    found = {row.source.id: row.source for row in others()}
    if name not in found:
        raise PublishedError(f"there is no source '{name}'. {choices(name, list(found))}")
    return found[name]


@cache
def noise() -> dict[str, float]:
    """Return the standard deviation of a training's accuracy, in percentage points, by data set."""
    known = load_yaml(NOISE, PublishedError)
    return {dataset: float(entry["sd"]) for dataset, entry in known.items()}


def sources(rows: Sequence[OthersRow]) -> dict[str, list[OthersRow]]:
    """Return the rows by source."""
    found: dict[str, list[OthersRow]] = {}
    for row in rows:
        found.setdefault(row.source.id, []).append(row)
    return found
