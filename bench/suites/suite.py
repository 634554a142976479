"""A suite as records, shared scales and comparison blocks filled in.

How a file may write it stands in `suite_file.py`; grids become cells in `resolve.py`.
"""

from collections import Counter
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from bench.record import Record
from bench.suites.checks import Check
from bench.suites.figure import Figure

ONLY_RUNS = (
    "this scale only checks that everything runs: it computes too little to judge a claim by"
)
LARGEST_WHOLE = 2**53  # of a setting or a seed: in JSON each reader takes it for the same number
Scalar = bool | int | float | str | None
Settings = dict[str, Scalar]
Axes = dict[str, Annotated[list[Scalar], Field(min_length=1)]]


def _check_one_length(group: Axes) -> Axes:
    lengths = {name: len(values) for name, values in group.items()}
    if len(set(lengths.values())) > 1:
        lengths_text = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise ValueError(f"coupled axes need equally many values; {lengths_text}")
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

    value: Scalar  # the value chosen
    why: str  # the reason, shown on the page of the suite


class Block(Record):
    """One grid of a suite: settings that stay, axes that multiply, axes that go together.

    Where it gives no `grid`, `zip` or `exclude` of its own, the suite's stand.
    """

    experiment: str | None = None  # where it is another one than the suite's
    fixed: Settings = {}  # settings that its cells share, beside those of the suite
    grid: Axes = {}  # axes that are multiplied
    zip: list[Coupled] = []  # groups of axes that vary together
    exclude: Exclusions = []  # points that are left out


class StandIn(Record):
    """Metrics that a scale judges in place of the paper's, where those have no room there."""

    what: str  # what they are, shown behind the titles of tables and figures
    metrics: Annotated[dict[str, str], Field(min_length=1)]  # by the paper's metric


class SharedScale(Record):
    """A scale that many suites take by its name; it knows nothing of a suite's axes."""

    what: str
    protocol: Protocol
    fixed: Settings = {}
    seeds: Seeds | None = None
    baselines: Settings | None = None  # of the training with labels; null: the scale has none
    stand_in: StandIn | None = None
    judged: bool = True  # false: it only checks that everything runs
    unjudged: str | None = None  # why no claim is judged though it computes enough


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
    judged: bool = True
    unjudged: str | None = None

    @property
    def no_verdict(self) -> str | None:
        """Why nothing is judged by what is measured at this scale; None: claims are."""
        return self.unjudged or (None if self.judged else ONLY_RUNS)


class Layout(Record):
    """How the paper prints the table: which settings are rows and which one is the column."""

    rows: list[str]  # settings
    columns: str | None = None  # a setting
    baseline: Scalar = None  # a value of one of them: gains over it are shown


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

    title: str  # with the unit
    metric: str  # of the cells' summaries
    rows: Annotated[list[str], Field(min_length=1)]  # settings
    columns: str | None = None  # a setting
    where: dict[str, Scalar] = {}  # only the cells with these settings
    baseline: Scalar = None  # a value of a row or column: gains over it are shown
    decimals: Annotated[int, Field(ge=0, le=6)] = 2  # digits after the point


class SuiteBase(Record):
    """What a suite says in its file as it means it: everything but scales and comparisons."""

    name: Name  # the name of the file without its ending
    title: str  # one line that says what is measured
    paper: str | None = None  # the id of the paper; null: settings that no paper ran
    reproduces: list[str] = []  # the artifacts of the paper that the suite regenerates
    protocol: str | None = None  # the paper's protocol that `published` scales follow
    protocols: dict[str, str] = {}  # by artifact, where it has another protocol
    renamed: dict[str, str] = {}  # keys of the published facts, and the settings they mean here
    experiment: str  # the kind of cell, such as pretrain
    scale: str  # the default scale
    seeds: Seeds  # each point of the grid is computed with each of them
    fixed: Settings = {}  # settings that all cells share
    assumed: dict[str, Assumption] = {}  # settings that the paper leaves open
    grid: Axes = {}  # axes that are multiplied
    zip: list[Coupled] = []  # groups of axes of equal length that vary together
    exclude: Exclusions = []  # points that are left out: those with all values of an entry
    grids: list[Block] = []  # several grids in place of one
    claims: dict[str, Annotated[list[Check], Field(min_length=1)]] = {}  # checks of each claim
    tables: list[MeasuredTable] = []  # what `bench show` and the report list
    figures: list[Figure] = []  # what the report draws
    notes: list[str] = []  # shown on the page of the suite

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

    def notes_on(self, claim: str, scale: str) -> list[str]:
        """Return the notes that name a claim, less those that speak of other scales alone."""
        others = tuple(f"{name} scale" for name in self.scales if name != scale)
        return [n for n in self.notes if f"`{claim}`" in n and not n.startswith(others)]
