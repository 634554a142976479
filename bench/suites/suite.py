"""Records of a suite, with shared scales, assumptions and comparison blocks filled in.

`load.py` reads them from files. `expand.py` creates cells from them.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Tag,
    model_validator,
)
from pydantic_core.core_schema import CoreSchema, no_info_before_validator_function

from bench.cells.cell import LARGEST_SEED
from bench.record import Record
from bench.suites.checks import Check
from bench.suites.figure import Figure

ONLY_RUNS = (
    "this scale only checks that everything runs: it computes too little to judge a claim by"
)
PAPER = "paper"  # the scale that follows the paper, where a suite has it
LARGEST_WHOLE = 2**53  # of a setting: in JSON each reader takes it for the same number
Scalar = bool | int | float | str | None
Settings = dict[str, Scalar]
Axes = dict[str, Annotated[list[Scalar], Field(min_length=1)]]


def _check_seeds(seeds: list[int]) -> list[int]:
    ((seed, count),) = Counter(seeds).most_common(1)
    if count > 1:
        raise ValueError(f"the seed {seed} is listed twice")
    return seeds


def _check_figures(figures: list[Figure]) -> list[Figure]:
    """Refuse two figures of one name, which is that of their files."""
    for name, count in Counter(figure.name for figure in figures).items():
        if count > 1:
            raise ValueError(f"the name {name} is listed twice")
    return figures


def _check_one_form(points: list[Any]) -> list[Any]:
    if len({isinstance(entry, list) for entry in points}) > 1:
        raise ValueError(
            "the list mixes rows and lists of rows; give one list of rows, or several lists of rows"
        )
    return points


def _check_lists(row: dict[str, Any]) -> dict[str, Any]:
    for name, value in row.items():
        if value == []:
            raise ValueError(f"{name} has an empty list of values")
    return row


def refuse_columns(data: Any) -> Any:
    """Raise ValueError for the removed key `zip`.

    Raises:
        ValueError: the mapping has the key.
    """
    if isinstance(data, dict) and "zip" in data:
        raise ValueError(
            "the key `zip` no longer exists; use `points` with one row for each combination"
        )
    return data


def _with_both(check: Any) -> Any:
    """Return a check whose sides have the settings under `both` too."""
    if not (isinstance(check, dict) and isinstance(check.get("both"), dict)):
        return check
    shared = check["both"]
    sides = {key: check[key] for key in SIDES if isinstance(check.get(key), dict)}
    if not sides.keys() - {"where"}:
        raise ValueError(
            "both: this key holds settings that both sides of a check share, but this check has "
            "only one side; give `than`, or use `where` without `both`"
        )
    for key, side in sides.items():
        for name in shared.keys() & side.keys():
            raise ValueError(
                f"both.{name}: the setting is given under {key} too; remove one of the two"
            )
    rest = {key: value for key, value in check.items() if key != "both"}
    return rest | {"where": shared} | {key: shared | side for key, side in sides.items()}


@dataclass(frozen=True)
class OneOrMore:
    """Marker for a list that may be written as a single entry."""

    entry: type = dict

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return the schema of the list, which a single entry becomes first."""
        return no_info_before_validator_function(
            lambda given: [given] if isinstance(given, self.entry) else given, handler(source)
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the JSON schema of an entry or of the list."""
        several = handler(schema)
        return {"anyOf": [several["items"], several]}


Notes = Annotated[list[str], OneOrMore(str)]
SIDES = ("where", "than", "other", "other_than")
"""Keys of a check that choose cells."""
SuiteCheck = Annotated[Check, BeforeValidator(_with_both)]
PointRow = Annotated[
    dict[str, Scalar | list[Scalar]], Field(min_length=1), AfterValidator(_check_lists)
]
"""Settings of one cell; a list means one row for each of its values."""
Points = Annotated[
    list[
        Annotated[
            Annotated[PointRow, Tag("[row]")]
            | Annotated[Annotated[list[PointRow], Field(min_length=1)], Tag("[rows]")],
            Discriminator(lambda entry: "[rows]" if isinstance(entry, list) else "[row]"),
        ]
    ],
    Field(min_length=1),
    AfterValidator(_check_one_form),
]
"""A list of rows, or several such lists, which multiply."""
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]
Seeds = Annotated[list[Seed], Field(min_length=1), AfterValidator(_check_seeds)]
ProtocolKind = Literal["published", "reduced"]
Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=100)]  # of a file
Exclusions = Annotated[list[PointRow], Field(max_length=100)]


class Assumption(Record):
    """A setting that the paper leaves open: the chosen value and the reason."""

    value: Scalar  # the value chosen
    why: str  # the reason, shown on the page of the suite


class Block(Record):
    """One grid of a suite: common settings, axes and rows of settings.

    Without its own `grid`, `points` or `exclude`, those of the suite are used.
    """

    experiment: str | None = None  # if it differs from the suite's
    fixed: Settings = {}  # settings that its cells share, in addition to the suite's
    grid: Axes = {}  # settings whose values multiply
    points: Points | None = None  # rows of settings that vary together
    exclude: Exclusions = []  # combinations that are left out

    _no_columns = model_validator(mode="before")(refuse_columns)


class StandIn(Record):
    """Metrics that replace the paper's at a scale where these have no headroom."""

    what: str  # what they are, shown behind the titles of tables and figures
    metrics: Annotated[dict[str, str], Field(min_length=1)]  # by the paper's metric
    why: str | None = None  # shown with the notes of suites that have claims on these metrics


class SharedScale(Record):
    """A named scale for many suites, independent of a suite's axes."""

    what: str
    protocol: ProtocolKind
    fixed: Settings = {}
    seeds: Seeds | None = None
    baselines: Settings | None = None  # of the training with labels; null: the scale has none
    stand_in: StandIn | None = None
    judged: bool = True  # false: it only checks that everything runs
    unjudged: str | None = None  # why no claim is judged though it computes enough
    why: dict[str, str] = {}  # reasons for settings


class Scale(SharedScale):
    """A size of the run, as changes to the suite.

    `shared` has the settings of the shared scale named by `like`. They replace fixed and assumed
    settings of the suite. They do not replace axes, settings in rows of `points`, or settings that
    this scale fixes. Settings that the experiment lacks are ignored.
    """

    like: str | None = None
    shared: Settings = {}
    grid: Axes = {}
    points: Points | None = None
    notes: Notes = []

    @property
    def no_verdict(self) -> str | None:
        """Reason why this scale gives no verdicts; None if it does."""
        return self.unjudged or (None if self.judged else ONLY_RUNS)


def _only_entry(columns: Any) -> Any:
    """Return the entry of a list of one: `columns` names one setting, `rows` lists several."""
    if not isinstance(columns, list):
        return columns
    if len(columns) != 1:
        raise ValueError(
            f"this key must name one setting, found {len(columns)}; name the other settings "
            "under rows"
        )
    return columns[0]


Column = Annotated[str | None, BeforeValidator(_only_entry)]


class Layout(Record):
    """Layout of the paper's table: settings of rows and the setting of columns."""

    rows: Annotated[list[str], OneOrMore(str)]  # settings
    columns: Column = None  # a setting
    baseline: Scalar = None  # a value of one of them: gains over it are shown


class RowsAndCells(Record):
    """Assignment of published rows to cells."""

    rows: dict[str, Scalar | list[Scalar]] = {}  # only the printed rows with these values
    where: Settings = {}  # only the cells with these settings
    gain_over: Settings = {}  # compare the metric less that of the cell that has these instead
    baseline: Settings = {}  # a row's effect is taken over the row whose cells have these instead
    unmatched: list[str] = []  # keys of the printed rows that name no setting of a cell


class Comparison(RowsAndCells):
    """How the published rows of an artifact correspond to cells.

    A published row and a cell match if all settings that both name are equal. Axes that the row
    does not name are interpretations, which are compared separately. Tolerances are in
    bench/papers/tolerances.yaml.
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
        """The axis over which the cells of a seed give one number, if any."""
        return self.argmax or self.std_over

    def key_path(self, key: str) -> str:
        """Return the key path of a key in the comparison, such as `where.dataset`."""
        return self.key_paths.get(key, f"{self.block}.{key}")


class TableBase(Record):
    """Selection and order of cells in a table."""

    rows: Annotated[
        list[str], Field(min_length=1), OneOrMore(str)
    ]  # settings; others that tell cells apart
    # follow them, so means are over seeds alone
    columns: Column = None  # a setting
    where: dict[str, Scalar] = {}  # only the cells with these settings
    baseline: Scalar = None  # a value of a row or column: gains over it are shown
    decimals: Annotated[int, Field(ge=0, le=6)] = 2  # digits after the point


class MeasuredTable(TableBase):
    """A table of measured values at any scale: means over seeds with intervals."""

    title: str  # with the unit
    metric: str  # of the cells' summaries


class SuiteBase(Record):
    """Keys of a suite file, except scales, claims, tables and comparisons."""

    name: Name  # the name of the file without its ending
    title: str  # one line that says what is measured
    paper: str | None = None  # the id of the paper; null: settings that no paper ran
    reproduces: list[str] = []  # the artifacts of the paper that the suite regenerates
    protocol: str | None = None  # the paper's protocol that `published` scales follow
    protocols: dict[str, str] = {}  # by artifact, where it has another protocol
    renamed: dict[str, str] = {}  # keys of the published facts, and the settings they mean here
    experiment: str  # the kind of cell, such as pretrain
    scale: str  # the default scale
    seeds: Seeds  # each combination of settings is computed with each of them
    fixed: Settings = {}  # settings that all cells share; a row of `points` may give another value
    grid: Axes = {}  # settings whose values multiply
    points: Points | None = None  # rows of settings that vary together; they multiply with `grid`
    exclude: Exclusions = []  # combinations that are left out: those with all values of an entry
    grids: list[Block] = []  # several grids in place of one
    figures: Annotated[
        list[Figure], OneOrMore(), AfterValidator(_check_figures)
    ] = []  # what the report draws
    notes: Notes = []  # shown on the page of the suite

    _no_columns = model_validator(mode="before")(refuse_columns)


class Suite(SuiteBase):
    """A named grid that reruns artifacts of one paper."""

    scales: dict[Name, Scale]
    assumed: dict[str, Assumption] = {}  # settings that the paper leaves open
    compare: list[Comparison] = []
    claims: dict[str, Annotated[list[Check], Field(min_length=1)]] = {}  # checks of each claim
    claim_notes: dict[str, list[str]] = {}  # what is to be known of a claim
    tables: list[MeasuredTable] = []  # what `bench show` and the report list

    def notes_at(self, scale: str) -> list[str]:
        """Return the notes on the suite and on one scale."""
        return [*self.notes, *self.scales[scale].notes]

    def all_notes(self) -> list[str]:
        """Return every note; notes on a scale or claim start with its name."""
        of_scales = [f"{n} scale: {note}" for n, s in self.scales.items() for note in s.notes]
        of_claims = [f"`{n}`: {note}" for n, notes in self.claim_notes.items() for note in notes]
        return [*self.notes, *of_scales, *of_claims]

    def notes_on(self, claim: str, scale: str) -> list[str]:
        """Return the notes on a claim, including those of the suite and scale that name it."""
        named = [note for note in self.notes_at(scale) if f"`{claim}`" in note]
        return [*self.claim_notes.get(claim, []), *named]


def point_lists(points: Points | None) -> list[list[PointRow]]:
    """Return the lists of rows; each cell has one row of each list."""
    lists = [entry for entry in points or [] if isinstance(entry, list)]
    rows = [entry for entry in points or [] if isinstance(entry, dict)]
    return lists + ([rows] if rows else [])


def rows_of(row: PointRow) -> Iterator[Settings]:
    """Yield the rows that a row with lists defines: one per combination of values."""
    values = [value if isinstance(value, list) else [value] for value in row.values()]
    return (dict(zip(row, choice, strict=True)) for choice in product(*values))


def axis_values(suite: Suite) -> dict[str, set[Scalar]]:
    """Return each value of a setting in the suite's own grids, including fixed ones.

    Scales may change these values.
    """
    values_of: dict[str, set[Scalar]] = {}
    blocks: list[Suite | Block] = [suite, *suite.grids]
    for block in blocks:
        points = [{name: value} for name, values in block.grid.items() for value in values]
        for rows in point_lists(block.points):
            points += (made := [point for row in rows for point in rows_of(row)])
            names = {name for point in made for name in point} - block.fixed.keys()
            points += [{name: None for name in names - point.keys()} for point in made]
        for settings in (block.fixed, *points):
            for name, value in settings.items():
                values_of.setdefault(name, set()).add(value)
    return values_of


def with_stand_ins(suite: Suite, scale: str) -> Suite:
    """Return the suite with the replaced metrics in tables and figures of a scale.

    Figures draw the replacement and tables show both metrics. A replacement is measured once, after
    training, so figures over training draw the paper's metric and say so in their titles. Checks
    keep the paper's metric; `analysis/claims.py` reports the metric that each check used.
    """
    stand_in = suite.scales[scale].stand_in
    if stand_in is None:
        return suite
    names = stand_in.metrics
    tables: list[MeasuredTable] = []
    for table in suite.tables:
        if new := _renamed(table.metric, names):
            title = f"{table.title}, {stand_in.what}"
            tables.append(table.model_copy(update=new | {"title": title}))
        tables.append(table)
    figures = [_figure(figure, names, stand_in.what) for figure in suite.figures]
    return suite.model_copy(update={"tables": tables, "figures": figures})


def _figure(figure: Figure, names: dict[str, str], what: str) -> Figure:
    """Return the figure with stand-ins; its published values stay those of the paper's metric."""
    if not any(q.y in names for q in figure.quantities):
        return figure
    if figure.kind.x == "record":
        return figure.model_copy(update={"title": f"{figure.title}, plain test images"})
    beside = [q.model_copy(update={"y": names.get(q.y, q.y)}) for q in figure.beside]
    changes = {"y": names.get(figure.y, figure.y), "beside": beside}
    printed = {"artifact_metric": figure.artifact_metric or figure.y}
    return figure.model_copy(update=changes | printed | {"title": f"{figure.title}, {what}"})


def _renamed(metric: str, names: dict[str, str]) -> dict[str, Any]:
    return {"metric": names[metric]} if metric in names else {}
