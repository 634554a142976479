"""Reader of the published facts.

`Paper` has the content of a file (see `file.py`). `Paper.values` are its published numbers with
their settings.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from bench.errors import PublishedError, choices
from bench.files.yaml_file import plugin_folders, yaml_files
from bench.papers.file import (
    ArtifactEntry,
    Case,
    PaperFile,
    PrintedRow,
    Quoted,
    paper_name,
    read_file,
)
from bench.papers.tolerances import Tolerance
from bench.record import Record

DATA = Path(__file__).parent / "data"
NOT_COVERED = Path(__file__).parent / "not_covered.yaml"
"""Artifacts and claims without a suite, each with the reason."""
PAPERS = {paper_name(path): path for path in sorted(DATA.glob("*.yaml"))}
"""bench's own papers."""
QUOTED = "quoted"  # the source of a printed number that its authors have not measured


@dataclass(frozen=True)
class PublishedValue:
    """One published number with its place, settings and printed standard deviation."""

    paper: str
    artifact: str
    row: int  # position among the artifact's rows
    settings: dict[str, Any]  # the artifact's, overridden by the row's
    row_settings: dict[str, Any]  # the row's own: what tells it from its neighbours
    metric: str | None
    value: float | None  # None: printed, but not readable or only bounded
    std: float | None
    decimals: int
    unit: str | None
    source: str | None  # measured by the paper's authors, or quoted from others; None: not stated
    quoted_from: Quoted | None  # where that source is known
    note: str | None

    @property
    def is_quoted(self) -> bool:
        """Whether the number comes from another publication."""
        return self.source == QUOTED

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed digit: the maximum rounding error."""
        return float(0.5 * 10.0**-self.decimals)


@dataclass(frozen=True)
class Statement:
    """Settings that a paper states for cells with the settings in `when`."""

    stated: dict[str, Any]  # null: the paper does not say, whatever was stated before
    when: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Artifact:
    """A table, figure or published number of a paper."""

    id: str
    paper: str
    kind: str
    what: str
    locator: str
    setting: dict[str, Any]
    note: str | None
    values: list[PublishedValue] = field(repr=False)
    cases: list[Statement] = field(default_factory=list)  # what is stated of some cells alone

    @property
    def statements(self) -> list[Statement]:
        """All statements of the artifact on its cells; later ones override earlier ones."""
        return [Statement(self.setting), *self.cases]


@dataclass(frozen=True)
class Claim:
    """A testable claim of a paper, in our words; `test` says how to check it."""

    id: str
    paper: str
    locator: str
    claim: str
    test: str
    note: str | None = None


@dataclass(frozen=True)
class Protocol:
    """Settings of an experiment that a paper states or leaves open."""

    id: str
    paper: str
    locator: str
    stated: dict[str, Any]
    unstated: list[str]
    note: str | None = None
    includes: list[str] = field(default_factory=list)  # protocols of the paper that hold here too
    cases: list[Statement] = field(default_factory=list)  # what is stated of some cells alone
    source: str | None = None  # null: the paper


@dataclass(frozen=True)
class Paper:
    """All recorded facts of one paper."""

    id: str
    title: str
    authors: str
    year: int
    artifacts: dict[str, Artifact]
    claims: dict[str, Claim]
    protocols: dict[str, Protocol]
    equations: dict[str, dict[str, Any]]
    figures: dict[str, dict[str, Any]]
    tolerances: dict[str, Tolerance] = field(default_factory=dict)  # its own, by artifact
    arxiv: str | None = None  # its number there

    @property
    def address(self) -> str | None:
        """URL of the paper; None if its file gives none."""
        return f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else None

    @property
    def values(self) -> list[PublishedValue]:
        """All published numbers of the paper, in file order."""
        return [value for artifact in self.artifacts.values() for value in artifact.values]

    def artifact(self, name: str) -> Artifact:
        """Return an artifact by id; raise a PublishedError with near matches if unknown."""
        return _named(self.artifacts, name, f"paper '{self.id}' has no artifact")

    def claim(self, name: str) -> Claim:
        """Return a claim by id; raise a PublishedError with near matches if unknown."""
        return _named(self.claims, name, f"paper '{self.id}' has no claim")

    def protocol(self, name: str) -> Protocol:
        """Return a protocol by id; raise a PublishedError with near matches if unknown."""
        return _named(self.protocols, name, f"paper '{self.id}' has no protocol")

    def statements(self, protocol: str) -> list[Statement]:
        """Return all statements of a protocol, included protocols first; later ones override."""
        stated = self.protocol(protocol)
        included = [s for name in stated.includes for s in self.statements(name)]
        return [*included, Statement(stated.stated), *stated.cases]


NO_PAPER = Paper("", "", "", 0, {}, {}, {}, {}, {})
"""Protocol of suites that combine settings which no paper ran."""

EntryT = TypeVar("EntryT")


def _named(table: dict[str, EntryT], name: str, complaint: str) -> EntryT:
    if name not in table:
        raise PublishedError(f"{complaint} '{name}'. {choices(name, list(table))}")
    return table[name]


def paper_files(suites: Path | None = None) -> dict[str, Path]:
    """Return all paper files by name: bench's own, those of plug-ins, those next to suites.

    Args:
        suites: folder of suite files, which may have a folder `papers` next to it; None without
            suites.

    Raises:
        PublishedError: two files have the same name.
        SuiteError: a plug-in does not name a folder.
    """
    folders = [folder.path for folder in plugin_folders("bench.papers")]
    folders += [] if suites is None else [papers_folder(suites)]
    files = dict(PAPERS)
    for path in dict.fromkeys(path for folder in folders for path in yaml_files(folder)):
        check_name(path, files)
        files[paper_name(path)] = path
    return files


def papers_folder(suites: Path) -> Path:
    """Return the folder of papers next to a folder of suite files."""
    return Path(os.path.normpath(suites / ".." / "papers"))


def check_name(path: Path, files: Mapping[str, Path]) -> None:
    """Check that no other file has the same paper.

    Raises:
        PublishedError: two files have the same paper.
    """
    other = files.get(paper_name(path))
    if other is not None and other.resolve() != path.resolve():
        raise PublishedError(
            f"{path}: the name '{paper_name(path)}' is already taken by the paper {other}"
        )


def load_papers(suites: Path | None = None) -> dict[str, Paper]:
    """Return every paper by name.

    Args:
        suites: as for `paper_files`.

    Raises:
        PublishedError: a file is invalid, or two files have the same name.
    """
    return {name: read_paper(path) for name, path in paper_files(suites).items()}


def load_paper(name: str, suites: Path | None = None) -> Paper:
    """Return a paper by its id.

    Args:
        name: id of the paper.
        suites: as for `paper_files`.

    Raises:
        PublishedError: the paper does not exist, or its file is invalid.
    """
    files = paper_files(suites)
    if name not in files:
        raise PublishedError(f"there is no paper '{name}'. {choices(name, list(files))}")
    return read_paper(files[name])


def read_paper(path: Path) -> Paper:
    """Return the paper of a file.

    Raises:
        PublishedError: the file is invalid; the message has the first error and the number of
            others.
    """
    try:
        version = (path.resolve(), path.stat().st_mtime_ns)
    except OSError as fault:
        raise PublishedError(
            f"{path}: the file cannot be read ({fault.strerror or fault})"
        ) from fault
    if version not in _READ:
        _READ[version] = _read(path)
    return _READ[version]


_READ: dict[tuple[Path, int], Paper] = {}
"""Papers that were read, by file and its modification time."""


def _read(path: Path) -> Paper:
    file, faults = read_file(path)
    if file is None or faults:
        more = f" `bench papers --check {path}` lists {len(faults)} faults." if faults[1:] else ""
        raise PublishedError(f"{faults[0].line(path)}{more}")
    name = file.paper.id
    return Paper(
        id=name,
        title=file.paper.title,
        authors=file.paper.authors,
        year=file.paper.year,
        artifacts=_artifacts(file),
        claims={c.id: Claim(paper=name, **dict(c)) for c in file.claims},
        protocols={
            p.id: Protocol(paper=name, cases=_cases(p.cases), **_rest(p, "cases", "used_by"))
            for p in file.protocols
        },
        equations={e.id: e.model_dump() for e in file.equations},
        figures={f.id: f.model_dump() for f in file.figures_without_numbers},
        tolerances=file.tolerances,
        arxiv=file.paper.arxiv,
    )


def _rest(entry: Record, *without: str) -> dict[str, Any]:
    return {name: value for name, value in entry if name not in without}


def _cases(cases: list[Case]) -> list[Statement]:
    return [Statement(case.stated, case.when) for case in cases]


def _artifacts(file: PaperFile) -> dict[str, Artifact]:
    """Return the artifacts by id; figures whose points are not printed are artifacts too."""
    paper = file.paper.id
    artifacts = {a.id: _artifact(paper, a) for a in file.artifacts}
    for figure in file.figures_without_numbers:
        if figure.id not in artifacts:
            artifacts[figure.id] = Artifact(
                id=figure.id,
                paper=paper,
                kind="figure",
                what=figure.what,
                locator=figure.id.replace("-", " ").capitalize(),
                setting=figure.setting,
                note=figure.note,
                values=[],
            )
    return artifacts


def _artifact(paper: str, entry: ArtifactEntry) -> Artifact:
    return Artifact(
        paper=paper,
        values=[_value(paper, entry, i, row) for i, row in enumerate(entry.rows)],
        cases=_cases(entry.cases),
        **_rest(entry, "scale", "source", "rows", "inferred", "cases"),
    )


def _value(paper: str, artifact: ArtifactEntry, position: int, row: PrintedRow) -> PublishedValue:
    """Return a row with what its artifact says of all rows."""
    own = row.__pydantic_extra__
    shared = {k: v for k, v in artifact.setting.items() if k not in PrintedRow.model_fields}

    def said(key: str) -> Any:
        return getattr(row, key) if key in row.model_fields_set else artifact.setting.get(key)

    return PublishedValue(
        paper=paper,
        artifact=artifact.id,
        row=position,
        settings=shared | own,
        row_settings=own,
        metric=said("metric"),
        value=None if row.value is None else float(row.value),
        std=row.std,
        decimals=0 if row.value is None else row.value.decimals,
        unit=said("unit"),
        source=row.source if "source" in row.model_fields_set else artifact.source,
        quoted_from=row.quoted_from,
        note=row.note,
    )
