"""A suite as records, shared scales and comparison blocks filled in.

How a file may write it stands in `suite_file.py`; grids become cells in `resolve.py`.
"""

from collections import Counter
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from bench.record import Record
from bench.suites.checks import Check
from bench.suites.figure import Figure

LARGEST_WHOLE = 2**53  # of a setting or a seed: in JSON each reader takes it for the same number
Scalar = bool | int | float | str | None
Settings = dict[str, Scalar]
Axes = dict[str, Annotated[list[Scalar], Field(min_length=1)]]


def _check_one_length(group: Axes) -> Axes:
    lengths = {name: len(values) for name, values in group.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise ValueError(f"coupled axes need equally many values; {told}")
    return group


def _check_seeds(seeds: list[int]) -> list[int]:
    ((seed, count),) = Counter(seeds).most_common(1)
    if count > 1:
        raise ValueError(f"{seed} twice")
    return seeds


Coupled = Annotated[Axes, AfterValidator(_check_one_length)]
Seed = Annotated[int, Field(ge=0, le=LARGEST_WHOLE)]
Seeds = Annotated[list[Seed], Field(min_length=1), AfterValidator(_check_seeds)]
Protocol = Literal["published", "reduced"]
Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=100)]  # of a file
Exclusions = Annotated[list[dict[str, Scalar | list[Scalar]]], Field(max_length=100)]


class Assumption(Record):
    """A setting that the paper leaves open: the value chosen here, and why."""

    value: Scalar
    why: str


class Block(Record):
    """One grid of a suite: settings that stay, axes that multiply, axes that go together.

    Where it gives no `grid`, `zip` or `exclude` of its own, the suite's stand.
    """

    experiment: str | None = None
    fixed: Settings = {}
    grid: Axes = {}
    zip: list[Coupled] = []
    exclude: Exclusions = []


class StandIn(Record):
    """Metrics that a scale judges in place of the paper's, where those have no room there."""

    what: str  # they are, behind the titles of tables and figures
    metrics: Annotated[dict[str, str], Field(min_length=1)]  # the paper's -> the one judged


class SharedScale(Record):
    """A scale that many suites take by its name; it knows nothing of a suite's axes."""

    what: str
    protocol: Protocol
    fixed: Settings = {}
    seeds: Seeds | None = None
    baselines: Settings | None = None  # of the training with labels; null: the scale has none
    stand_in: StandIn | None = None


class Scale(Record):
    """The same suite at another size, as what it changes.

    `shared` holds the settings of the shared scale that `like` names. They replace the suite's
    own, fixed or assumed, but not an axis (of the suite or of this scale), nor what this scale
    fixes itself; a setting that the experiment does not have is passed over.
    """

    what: str
    protocol: Protocol
    like: str | None = None
    shared: Settings = {}
    fixed: Settings = {}
    grid: Axes = {}
    zip: list[Coupled] = []
    seeds: Seeds | None = None
    baselines: Settings | None = None
    stand_in: StandIn | None = None


class Layout(Record):
    """How the paper prints the table: which settings are rows and which one is the column."""

    rows: list[str]
    columns: str | None = None
    baseline: Scalar = None  # a value of one of them: what the others gain over it is told


class RowsAndCells(Record):
    """Which printed rows are compared with which cells."""

    rows: dict[str, Scalar | list[Scalar]] = {}  # only the printed rows with these values
    where: Settings = {}  # only the cells with these settings
    gain_over: Settings = {}  # compare the metric less that of the cell that has these instead
    baseline: Settings = {}  # a row's effect is taken over the row whose cells have these instead
    unmatched: list[str] = []  # keys of the printed rows that name no setting of a cell


class Comparison(RowsAndCells):
    """How the printed rows of an artifact map on cells.

    A printed row and a cell belong together where every setting that both name is equal. Axes
    that the row does not name are readings, each compared by itself. How far off still counts as
    the same stands in bench/papers/tolerances.yaml.
    """

    artifact: str
    metric: str  # of the cells' summaries
    reading: str | None = None  # what the metric means, where the paper allows several
    argmax: str | None = None  # compare the value of this axis at which the metric is largest
    std_over: str | None = None  # compare the metric's standard deviation over this axis
    layout: Layout | None = None
    block: str = "compare"  # where in the file its block stands
    key_paths: dict[str, str] = {}  # of keys that stand elsewhere in the file than in `block`

    @property
    def over(self) -> str | None:
        """The axis over which a seed's cells give one number, if any."""
        return self.argmax or self.std_over

    def key_path(self, key: str) -> str:
        """Return where in the file a key of the comparison stands, such as `where.dataset`."""
        return self.key_paths.get(key, f"{self.block}.{key}")


class MeasuredTable(Record):
    """A table of what was measured, at any scale: means over seeds with their intervals."""

    title: str
    metric: str
    rows: Annotated[list[str], Field(min_length=1)]  # settings
    columns: str | None = None
    where: dict[str, Scalar] = {}
    baseline: Scalar = None  # a value of a row or column: what the others gain over it is told
    decimals: Annotated[int, Field(ge=0, le=6)] = 2


class SuiteBase(Record):
    """What a suite says in its file as it means it: everything but scales and comparisons."""

    name: Name
    title: str
    paper: str | None = None  # null: settings that no paper ran
    reproduces: list[str] = []
    protocol: str | None = None  # the paper's protocol that `published` scales follow
    protocols: dict[str, str] = {}  # artifact -> its protocol, where it is another one
    renamed: dict[str, str] = {}  # keys of the published facts -> the settings they mean here
    experiment: str
    scale: str  # the default
    seeds: Seeds
    fixed: Settings = {}
    assumed: dict[str, Assumption] = {}
    grid: Axes = {}
    zip: list[Coupled] = []
    exclude: Exclusions = []
    grids: list[Block] = []
    claims: dict[str, Annotated[list[Check], Field(min_length=1)]] = {}
    tables: list[MeasuredTable] = []
    figures: list[Figure] = []
    notes: list[str] = []

    @model_validator(mode="after")
    def _its_parts_agree(self) -> Self:
        if (self.paper is None) == bool(self.reproduces or self.claims):
            raise ValueError(
                "reproduces: a suite with a paper names artifacts or claims, one without neither"
            )
        return self


class Suite(SuiteBase):
    """A named grid that regenerates artifacts of one paper."""

    scales: dict[Name, Scale]
    compare: list[Comparison] = []
