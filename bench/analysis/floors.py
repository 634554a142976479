"""What a metric gives without learning: from raw pixels and from a network before training."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from bench.errors import PublishedError
from bench.files.yaml_file import load_yaml
from bench.record import Record
from bench.suites.checks import Where

FLOORS = Path(__file__).parent / "floors.yaml"


class Floor(Record):
    """What a metric gives without learning, and where it ends; in percent."""

    raw: float | None = None
    untrained: float | None = None
    ceiling: float = 100.0

    def record(self) -> dict[str, float | None]:
        """Return the columns of `bench claims --json`."""
        return {"raw": self.raw, "untrained": self.untrained, "ceiling": self.ceiling}

    @property
    def told(self) -> str:
        """The numbers in words."""
        parts = [("raw pixels", self.raw), ("untrained network", self.untrained)]
        known = [f"{name} {value:g}" for name, value in parts if value is not None]
        return ", ".join([*known, f"at most {self.ceiling:g}"])


class _Row(Record):
    where: Where
    floors: dict[str, Floor]
    why: str


_TABLE: TypeAdapter[list[_Row]] = TypeAdapter(list[_Row])


@cache
def _shipped() -> list[_Row]:
    return _TABLE.validate_python(load_yaml(FLOORS, PublishedError))


def floor_of(cells: Sequence[dict[str, Any]], metric: str) -> Floor | None:
    """Return what is known of a metric for cells with these settings; None where they differ."""
    rows = [row for row in _shipped() if metric in row.floors]
    fitting = [
        row
        for row in rows
        if cells and all(c.get(k) == v for c in cells for k, v in row.where.items())
    ]
    return fitting[-1].floors[metric] if fitting else None
