"""Base class of cells: a frozen record with an id computed from its fields."""

import hashlib
import json
import math
from abc import ABC
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache, cached_property
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BaseModel, Field, model_validator

from bench.cells.datasets import Demand
from bench.record import Record

LARGEST_SEED = 2**32 - 1  # one word of a SeedSequence; larger ones take the word of another key
LARGEST_FLOAT = (2 - 2**-23) * 2.0**127  # of float32, in which cells compute
T = TypeVar("T")
NUMBERS_A_LINE = 16  # float32 numbers in a cache line of 64 bytes

_OF_POINT = "of_point"  # what cells share that differ in their seeds alone
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
SIZE_WORDS = {
    "baseline": "{}", "detector": "{}", "neck": "{}", "arch": "{}", "stem": "{}", "precision": "{}",
    "width": "width {}", "image_size": "{} px", "shorter_side": "{} px", "batch_size": "batch {}",
    "detect_batch_size": "batch {}", "witness": "witness {}",
}  # fmt: skip
USUAL_SIZES = (None, "float32", "dot")
"""Values of sizes that a kind does not name."""
NOT_SET = ("experiment", "version", "loss_file", "evaluate_file", "record_file")
"""Fields that a suite cannot set."""
LEAST_CUT = 2  # of a setting that is cut: a standard deviation needs two


class Cell(Record, ABC):
    """One configuration with one seed; cells with different results differ in a field.

    A cell contains only settings that affect results. It never contains paths, devices, worker
    counts or launcher options, because its id is a hash of every field.
    """

    experiment: str
    version: int
    precision: Literal["float32", "bf16"] = "float32"
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)]

    metrics: ClassVar[tuple[str, ...]] = ()
    """Metrics in a finished cell's summary."""
    of_history: ClassVar[tuple[str, ...]] = ()
    """Names that the cell's history records besides the metrics, `epoch` and `step`."""
    of_provenance: ClassVar[tuple[str, ...]] = ()
    """Metrics computed from a finished cell's provenance, only for checks of claims."""
    exact: ClassVar[frozenset[str]] = frozenset()
    """Metrics that a formula gives; for them, equal values over seeds are expected, not
    suspicious."""
    stacks_over: ClassVar[frozenset[str]] = frozenset()
    """Fields in which the cells of one stacked batch may differ."""
    stack_limit: ClassVar[int] = 1
    """Largest useful size of a stack."""
    one_valued: ClassVar[frozenset[str]] = frozenset({"experiment", "version", "precision"})
    """Fields that never distinguish two cells of this kind."""
    has_presets: ClassVar[bool] = False
    """Whether a suite may name a preset as `method`, which fills in settings that the suite
    omits."""
    sizes: ClassVar[tuple[str, ...]] = ()
    """Settings that distinguish kinds of cells in `bench plan`."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Packages that the experiment needs; the extra with the experiment's name installs them."""
    cuttable: ClassVar[tuple[str, ...]] = ()
    """Settings that the run time is proportional to, the number of steps first; a probe reduces
    them. None: a probe computes a whole cell, or the experiment's file has its own `probe`."""

    @model_validator(mode="before")
    @classmethod
    def _write_out(cls, settings: Any) -> Any:
        return cls.written_out(settings) if isinstance(settings, dict) else settings

    @classmethod
    def written_out(cls, settings: dict[str, Any]) -> dict[str, Any]:
        """Return unchecked settings together with those that follow from them."""
        return settings

    @model_validator(mode="after")
    def _fits_precision(self) -> Self:
        for name, value in vars(self).items():
            if isinstance(value, float) and abs(value) > LARGEST_FLOAT:
                raise ValueError(f"{name} is {value}, but the largest number in float32 is 3.4e38")
        return self

    @cached_property
    def id(self) -> str:
        """16 hexadecimal digits: hash of every field, defaults included."""
        return id_with_seed(self.canonical, self.seed)

    @property
    def identified(self) -> dict[str, Any]:
        """The fields that determine the id, including the seed."""
        return self.model_dump(mode="json")

    @property
    def canonical(self) -> tuple[str, str]:
        """Canonical JSON of these fields, split into the parts before and after the seed."""
        return self.once_a_point("canonical", lambda cell: around_seed(cell.identified))

    @property
    def but_seed(self) -> str:
        """Every field except the seed, as text; cells of one configuration have the same text."""
        return self.once_a_point("but_seed", lambda cell: cell.model_dump_json(exclude={"seed"}))

    def once_a_point(self, name: str, make: Callable[[Self], T]) -> T:
        """Return a value that does not depend on the seed, computed once per configuration.

        Args:
            name: name of the property.
            make: function that computes the value from a cell of the configuration.
        """
        shared: dict[str, T] = self.__dict__.setdefault(_OF_POINT, {})
        if name not in shared:
            shared[name] = make(self)
        return shared[name]

    @property
    def former_ids(self) -> list[str]:
        """Ids of this cell under earlier versions of its experiment."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        fields |= self.parameters
        earlier = (fields | {"version": v} for v in range(1, self.version))
        return [self.model_construct(**fields).id for fields in earlier]

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Every field that a suite may vary; the mapping is shared, so do not change it."""
        return {k: v for k, v in self.model_dump().items() if k not in self.one_valued}

    @property
    def parameters(self) -> dict[str, Any]:
        """Settings declared by the user's own objective."""
        return self.model_extra or {}

    @cached_property
    def known(self) -> dict[str, Any]:
        """The settings and the experiment, by which cells are selected."""
        return {"experiment": self.experiment} | self.settings

    def with_seed(self, seed: int) -> Self:
        """Return the cell with another seed, without validating it again."""
        if seed == self.seed:
            return self
        copied = copy(self)
        copied.__dict__ |= {"seed": seed, _OF_POINT: self.__dict__.setdefault(_OF_POINT, {})}
        object.__setattr__(copied, "__pydantic_fields_set__", self.__pydantic_fields_set__)
        return copied

    def step_of(self, metric: str) -> float | None:
        """Return the resolution of a metric: 0 if exact, None if unknown."""
        return 0.0 if metric in self.exact else None

    @property
    def blocks(self) -> tuple[int, ...]:
        """Number of elements of one cell in each tensor of a stack."""
        return ()

    @property
    def stack_key(self) -> str:
        """Key of a stack: cells with equal keys may be computed in one stack.

        Results are bitwise equal in every stack only if the cell's part of each tensor fills whole
        cache lines, because rounding depends on memory alignment. Other cells are computed alone.
        """
        aligned = all(numbers % NUMBERS_A_LINE == 0 for numbers in self.blocks)
        return self.model_dump_json(exclude=set(self.stacks_over)) if aligned else self.id

    @property
    def training_id(self) -> str | None:
        """Id of the training that cells share, which runs once; None if there is none."""
        return None

    @property
    def looks_at(self) -> tuple[str, ...]:
        """Names of the required image data sets."""
        return (vars(self)["dataset"],) if "dataset" in vars(self) else ()

    @property
    def own_epochs(self) -> int | None:
        """Epochs of the training recorded in the cell's own folder; None if there are none."""
        return vars(self).get("epochs") if self.training_id is None else None

    @property
    def batch_over_ranks(self) -> int | None:
        """Images per batch if several ranks compute the cell together.

        None if one rank computes the cell because it is too small to divide.
        """
        return None

    @property
    def evaluation_metrics(self) -> list[str]:
        """Metrics that a finished cell must have from its evaluations."""
        return []

    def lacking(self, metrics: Mapping[str, float]) -> list[str]:
        """Return the evaluation metrics that a finished cell lacks: they were added later."""
        return [name for name in self.evaluation_metrics if name not in metrics]

    def asked_of_data(self) -> list[Demand]:
        """Return the requirements of the settings on the data set; empty if its size is unknown."""
        return []

    @property
    def work(self) -> float:
        """Estimated cost of the cell itself: steps times all numeric sizes."""
        numbers = [getattr(self, name) for name in (*self.cuttable[:1], *self.sizes)]
        return math.prod(float(n) for n in numbers if isinstance(n, int | float))

    @property
    def training_work(self) -> float:
        """Estimated cost of the shared training; 0 without one."""
        return 0.0

    @property
    def kind(self) -> str:
        """The experiment and its sizes as text; cells of one kind take equal time per step."""
        return self.once_a_point("kind", type(self)._kind)

    def _kind(self) -> str:
        told = {n: vars(self).get(n) for n in self.sizes if n not in self.one_valued}
        return f"{self.experiment} {self.kind_of(told)}".strip()

    @classmethod
    def kind_of(cls, settings: Mapping[str, Any]) -> str:
        """Return the sizes among the settings as text."""
        values = {name: settings.get(name) for name in cls.sizes}
        known = {name: value for name, value in values.items() if value not in USUAL_SIZES}
        return " ".join(SIZE_WORDS.get(name, f"{name}={{}}").format(v) for name, v in known.items())

    def shortened(self, share: float) -> Self:
        """Return the cell with each cuttable setting multiplied by this share and rounded."""
        whole = {name: getattr(self, name) for name in self.cuttable}
        part = {k: min(value, max(LEAST_CUT, round(share * value))) for k, value in whole.items()}
        return type(self).model_validate(self.model_dump() | part)

    @classmethod
    def setting_names(cls) -> list[str]:
        """Return the names of settings that a suite may set, except the seed."""
        left_out = {*NOT_SET, "seed"}
        return [k for k in cls.model_fields if k not in left_out]


def too_much(cell: Cell) -> str | None:
    """Return a message for the first setting above the data set's limit; None if all are within.

    Data sets of unknown size, such as image folders, are not checked.
    """
    return next((reason for _, reason in _unmet(cell)), None)


def impossible(cells: Iterable[Cell]) -> dict[str, int]:
    """Return one message on cells that their data sets cannot support, with counts."""
    found = per_point(cells, lambda cell: next((w for fails, w in _unmet(cell) if fails), None))
    return Counter(why for why in found if why is not None)


def per_point(cells: Iterable[Cell], of: Callable[[Cell], T]) -> Iterator[T]:
    """Yield a value for each cell, computed once per configuration because seeds do not matter."""
    found: dict[str, T] = {}
    for cell in cells:
        if cell.but_seed not in found:
            found[cell.but_seed] = of(cell)
        yield found[cell.but_seed]


def _unmet(cell: Cell) -> Iterable[tuple[bool, str]]:
    """Yield the settings that ask too much of the data set, and whether the cell fails by them."""
    for d in cell.asked_of_data():
        if d.value > d.most:
            yield d.fails, f"{d.setting} is {d.value}, but {d.limit}"


def varied_settings(cells: Sequence[Cell]) -> list[str]:
    """Return the settings that distinguish the cells, except the seed."""
    seen: dict[str, set[Any]] = {}
    for cell in {cell.but_seed: cell for cell in cells}.values():
        for name, value in cell.settings.items():
            seen.setdefault(name, set()).add(value)
    return [name for name, values in seen.items() if len(values) > 1 and name != "seed"]


def around_seed(fields: dict[str, Any]) -> tuple[str, str]:
    """Return the canonical JSON of the fields before and after the seed."""
    ordered = _CANONICAL.encode(fields | {"seed": [[]]})  # which no field is
    before, _, behind = ordered.partition('"seed":[[]]')
    return f'{before}"seed":', behind


def id_with_seed(canonical: tuple[str, str], seed: int) -> str:
    """Return the `identity` of fields that are given as the parts around the seed."""
    return digest(f"{canonical[0]}{seed}{canonical[1]}")


def identity(fields: dict[str, Any]) -> str:
    """Return 16 hexadecimal digits of the SHA-256 of the canonical JSON of `fields`."""
    return digest(_CANONICAL.encode(fields))


def digest(text: str) -> str:
    """Return 16 hexadecimal digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def later(default: Any = None) -> Any:
    """Declare a field that cell ids omit at its default, so existing ids stay valid."""
    return Field(default=default, json_schema_extra={"later": True})


@cache
def later_settings(kind: type[BaseModel]) -> dict[str, Any]:
    """Return the fields of a record declared with `later`, with their defaults."""
    return {
        name: field.default
        for name, field in kind.model_fields.items()
        if isinstance(field.json_schema_extra, dict) and field.json_schema_extra.get("later")
    }


def without_later(fields: Mapping[str, Any], kind: type[BaseModel]) -> dict[str, Any]:
    """Return the fields of a record except those declared with `later` at their defaults.

    Args:
        fields: values by name.
        kind: class of the record.
    """
    defaults = later_settings(kind)
    return {k: value for k, value in fields.items() if k not in defaults or value != defaults[k]}
