"""Running launchers: what each has in its queue, as it tells other processes."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.results.owner import Owner
from bench.results.records import LaunchRecord, read_records


@dataclass(frozen=True)
class Launch:
    """A running `bench run`: its announcement and the folder of its workers' logs."""

    path: Path
    owner: Owner
    retry_before: float  # failures older than this are tried again
    since: float  # from when on killed workers count

    @property
    def name(self) -> str:
        """12 hex digits."""
        return self.path.stem

    @property
    def logs(self) -> Path:
        """Where its workers write."""
        return self.path.with_suffix("")

    def is_alive(self) -> bool:
        """Whether the launcher still runs."""
        return self.path.exists() and self.owner.is_alive(self.path)


def announced(folder: Path) -> Iterator[tuple[Path, Owner, dict[str, Any]]]:
    """Yield file, process and record of each launcher; damaged ones are reported and left out."""
    for path, record in read_records(
        folder.glob("*.json"), LaunchRecord, "a launch", "it is left out"
    ):
        yield path, Owner.of(record["owner"]), record
