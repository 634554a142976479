"""The frozen record every piece of configuration is made of."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, NonNegativeInt

NUMBERS_A_LINE = 16  # float32 numbers in a cache line of 64 bytes

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


class Record(BaseModel):
    """A frozen, fully typed piece of configuration; unknown keys and NaN are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Cell(Record, ABC):
    """One point of a grid with one seed; two cells that may differ in result differ in a field.

    A cell holds science alone. Paths, devices, worker counts and launcher options never enter it,
    since its id is a hash of every field.
    """

    experiment: str
    version: int
    precision: Literal["float32"] = "float32"
    seed: NonNegativeInt

    metrics: ClassVar[tuple[str, ...]] = ()
    """What a finished cell's summary holds."""
    exact: ClassVar[frozenset[str]] = frozenset()
    """Metrics that a formula gives, where seeds that agree prove something."""
    stacks_over: ClassVar[frozenset[str]] = frozenset()
    """Fields in which cells may differ and still train as one stacked batch."""
    stack_limit: ClassVar[int] = 1
    """The largest stack that pays."""
    one_valued: ClassVar[frozenset[str]] = frozenset({"experiment", "version", "precision"})
    """Fields that cannot tell two cells of this kind apart."""
    shares_work: ClassVar[bool] = False
    """Whether cells of one stack share work that is then done once."""

    @cached_property
    def id(self) -> str:
        """16 hex digits over every field, defaults included."""
        return identity(self.model_dump(mode="json"))

    @property
    def former_ids(self) -> list[str]:
        """The ids that this cell had under earlier versions of its experiment."""
        fields = self.model_dump(mode="json")
        return [identity(fields | {"version": v}) for v in range(1, self.version)]

    @property
    def settings(self) -> dict[str, Any]:
        """Every field that a suite may set to several values."""
        return {k: v for k, v in self.model_dump().items() if k not in self.one_valued}

    def step_of(self, metric: str) -> float | None:
        """Return the smallest step in which a metric moves: 0 of exact ones; None: not known."""
        return 0.0 if metric in self.exact else None

    @property
    def blocks(self) -> tuple[int, ...]:
        """How many numbers one cell fills in each tensor of a stack."""
        return ()

    @property
    def stack_key(self) -> str:
        """Cells with equal keys may be stacked.

        A cell gets the same bits in any stack only if its part of every tensor fills whole cache
        lines, for matrix products and vectorised functions round by alignment. Other cells are
        computed alone.
        """
        aligned = all(numbers % NUMBERS_A_LINE == 0 for numbers in self.blocks)
        return self.model_dump_json(exclude=set(self.stacks_over)) if aligned else self.id

    @property
    @abstractmethod
    def multiply_adds(self) -> float:
        """Multiply-adds of the whole cell: the unit in which run times are predicted."""

    @classmethod
    def setting_names(cls) -> list[str]:
        """Return the names a suite may set, the seed left out (it has a key of its own)."""
        return [k for k in cls.model_fields if k not in ("experiment", "version", "seed")]


def varied_settings(cells: Sequence[Cell]) -> list[str]:
    """Return the settings that tell the cells apart, the seed left out."""
    seen: dict[str, set[Any]] = {}
    for cell in cells:
        for name, value in cell.settings.items():
            seen.setdefault(name, set()).add(value)
    return [name for name, values in seen.items() if len(values) > 1 and name != "seed"]


def identity(fields: dict[str, Any]) -> str:
    """Return 16 hex digits of the SHA-256 of the canonical JSON of `fields`."""
    return hashlib.sha256(_CANONICAL.encode(fields).encode()).hexdigest()[:16]
