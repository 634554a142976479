"""Format of a paper's file: its records, and checks that report every error.

Files are in `data/`, in `papers/` next to a folder of suites, and in folders that installed
packages register as `bench.papers`. All have the same format.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import yaml
from pydantic import AfterValidator, ConfigDict, Field, GetCoreSchemaHandler, ValidationError
from pydantic_core import core_schema

from bench.errors import PublishedError, choices
from bench.files.validation_errors import complaints
from bench.files.yaml_file import Loader, construct_value, line_of, load_yaml
from bench.papers.tolerances import Tolerance
from bench.record import Record


class Printed(float):
    """A published number with its decimals: 0.20 differs from 0.2."""

    decimals: int = 0

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Return the schema of a number that keeps its decimals."""

        def read(value: Any, check: core_schema.ValidatorFunctionWrapHandler) -> Printed:
            number = check(value)
            return value if isinstance(value, cls) else cls(number)

        number = core_schema.float_schema(strict=True, allow_inf_nan=False)
        return core_schema.no_info_wrap_validator_function(read, number)


class PrintedLoader(Loader):
    """YAML loader that keeps the decimals of numbers."""


def _construct_printed(loader: Any, node: yaml.ScalarNode) -> Printed:
    number = Printed(construct_value(loader, node))
    if isfinite(number):
        number.decimals = max(0, -int(Decimal(node.value).as_tuple().exponent))
    return number


PrintedLoader.add_constructor("tag:yaml.org,2002:float", _construct_printed)


def _checked_id(text: str) -> str:
    """Refuse an id that could not be the name of a page."""
    if not re.fullmatch("[A-Za-z0-9]+([-.+][A-Za-z0-9]+)*", text):
        raise ValueError(f"found '{text}', expected letters and digits joined by hyphens or dots")
    return text


Id = Annotated[str, AfterValidator(_checked_id)]
PaperId = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=100)]
Text = Annotated[str, Field(min_length=1)]
Settings = dict[str, Any]  # a value, a list of allowed values, or bounds


class PaperHead(Record):
    """Identification of a paper."""

    id: PaperId  # the name of the file without its ending, with hyphens for underscores
    title: Text
    authors: Text
    year: Annotated[int, Field(ge=1900, le=2100)]
    venue: str | None = None
    arxiv: str | None = None
    released_code: dict[str, Any] | None = None
    note: str | None = None


class Case(Record):
    """Statements that apply only to some cells."""

    stated: Settings  # as `stated` of a protocol
    when: Settings = {}  # the settings of the cells that it is stated of


class Quoted(Record):
    """Source of a published number that the paper quotes from another publication."""

    source: str  # id of a file of `others/`
    at: int  # line of that source's file
    metric: str  # the source's, which may differ from the caption's
    value: float  # in percent; rounded or cut it is the printed one
    stated: bool = False  # whether the paper says so


class PrintedRow(Record):
    """One published number; all other keys are its settings."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Any]

    value: Printed | None  # null: printed, but not readable or only bounded
    std: Annotated[Printed, Field(ge=0)] | None = None  # the spread printed beside it
    metric: str | None = None  # in place of the artifact's
    unit: str | None = None  # in place of the artifact's
    source: str | None = None  # in place of the artifact's
    quoted_from: Quoted | None = None  # of a quoted number, where its source is known
    stated_gain: float | None = None  # printed in brackets behind the value
    value_at_least: float | None = None  # the bound, where only one is printed
    candidates: list[float] = []  # what a value that cannot be read may be
    note: str | None = None


class ArtifactEntry(Record):
    """A table, a figure, or a statement or number in the text."""

    id: Id
    kind: Literal["table", "figure", "text"]
    what: Text  # one line that says what it shows
    locator: Text  # where in the paper: `Table 1, Sec. 4`
    scale: str | None = None
    setting: Settings = {}  # what all rows share: settings, `metric` and `unit`
    cases: list[Case] = []
    source: str | None = "measured"  # by the authors, or quoted
    rows: list[PrintedRow] = []  # the printed numbers
    inferred: Settings = {}  # settings that follow from other places; not compared
    note: str | None = None


class ProtocolEntry(Record):
    """Statements of the paper on an experiment."""

    id: Id
    locator: Text
    stated: Settings  # by the names of settings; null: the paper does not say
    unstated: list[str] = []  # what it leaves open
    includes: list[str] = []  # protocols of the paper that hold here too
    cases: list[Case] = []
    source: str | None = None  # null: the paper
    used_by: list[str] = []
    note: str | None = None


class ClaimEntry(Record):
    """A testable claim, in our words."""

    id: Id
    locator: Text
    claim: Text
    test: Text  # how to check it
    note: str | None = None


class EquationEntry(Record):
    """An equation of the paper."""

    id: Id
    name: Text
    formula: str | None
    variant_of: str | None = None
    members: list[Any] = []
    note: str | None = None


class FigureEntry(Record):
    """A figure without printed values."""

    id: Id
    what: Text
    x: str | None = None
    y: str | None = None
    series: list[Any] = []
    known_points: list[Any] = []
    setting: Settings = {}
    note: str | None = None


class PaperFile(Record):
    """All recorded facts of one paper."""

    paper: PaperHead
    artifacts: list[ArtifactEntry] = []
    protocols: list[ProtocolEntry] = []
    claims: list[ClaimEntry] = []
    equations: list[EquationEntry] = []
    figures_without_numbers: list[FigureEntry] = []
    tolerances: dict[str, Tolerance] = {}  # by artifact, in place of the metric's


def paper_schema() -> dict[str, Any]:
    """Return the JSON schema of a paper's file."""
    return PaperFile.model_json_schema() | {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A paper of bench",
    }


class Fault(NamedTuple):
    """An error at a place in a file."""

    keys: tuple[int | str, ...]
    text: str

    def line(self, path: Path) -> str:
        """Return the error as a line: file, line number, key path and message."""
        key_path = f" {'.'.join(map(str, self.keys))}:" if self.keys else ""
        return f"{path}:{line_of(path, self.keys)}:{key_path} {self.text}"


def paper_name(path: Path) -> str:
    """Return the paper's id, from the name of its file."""
    return path.stem.replace("_", "-")


def read_file(path: Path) -> tuple[PaperFile | None, list[Fault]]:
    """Return the content of a file (or None and the reason) and its errors.

    Raises:
        PublishedError: the file is missing or not YAML.
    """
    data = load_yaml(path, PublishedError, PrintedLoader)
    try:
        file = PaperFile.model_validate(data)
    except ValidationError as error:
        return None, [Fault(*complaint) for complaint in complaints(error, PaperFile)]
    return file, list(_faults(file, path))


def _faults(file: PaperFile, path: Path) -> Iterator[Fault]:
    """Yield what contradicts itself within a file."""
    if file.paper.id != paper_name(path):
        expected = f"expected the file's name '{paper_name(path)}'"
        yield Fault(("paper", "id"), f"found '{file.paper.id}', {expected}.")
    for section in ("artifacts", "protocols", "claims", "equations", "figures_without_numbers"):
        yield from _ids_given_twice(section, getattr(file, section))
    yield from _rows_given_twice(file.artifacts)
    yield from _wrong_includes(file.protocols)
    known = [a.id for a in file.artifacts] + [f.id for f in file.figures_without_numbers]
    for name in file.tolerances:
        if name not in known:
            yield Fault(
                ("tolerances", name), f"the paper has no artifact '{name}'. {choices(name, known)}"
            )


def _ids_given_twice(section: str, entries: Sequence[Any]) -> Iterator[Fault]:
    first: dict[str, int] = {}
    for i, entry in enumerate(entries):
        if first.setdefault(entry.id, i) != i:
            there = f"{section}.{first[entry.id]}"
            yield Fault((section, i, "id"), f"the id '{entry.id}' is used by {there} too.")


def _rows_given_twice(artifacts: Sequence[ArtifactEntry]) -> Iterator[Fault]:
    """Yield rows that nothing tells from an earlier one."""
    for i, artifact in enumerate(artifacts):
        first: dict[str, int] = {}
        for k, row in enumerate(artifact.rows):
            settings = repr(sorted((name, repr(v)) for name, v in row.__pydantic_extra__.items()))
            if (there := first.setdefault(f"{row.metric} {settings}", k)) != k:
                text = (
                    f"this row has the same settings and metric as row {there}, so one cell has "
                    "two numbers."
                )
                yield Fault(("artifacts", i, "rows", k), text)


def _wrong_includes(protocols: Sequence[ProtocolEntry]) -> Iterator[Fault]:
    """Yield what is included and does not exist; where all of it does, the first circle."""
    known = {protocol.id: protocol.includes for protocol in protocols}
    ids = list(known)
    missing = [
        Fault(
            ("protocols", i, "includes", k),
            f"the paper has no protocol '{name}'. {choices(name, ids)}",
        )
        for i, protocol in enumerate(protocols)
        for k, name in enumerate(protocol.includes)
        if name not in known
    ]
    yield from missing
    try:
        TopologicalSorter(known).prepare()
    except CycleError as error:
        if not missing:
            yield Fault(("protocols",), f"includes: {' includes '.join(error.args[1][::-1])}.")
