"""The one reader of the published facts.

`Paper` is a file of `data/`; `Paper.values` are its printed numbers with the settings that they
were printed for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml

from bench.errors import PublishedError, choices
from bench.files.yaml_file import Loader, construct_value, load_yaml

DATA = Path(__file__).parent / "data"
NOT_COVERED = Path(__file__).parent / "not_covered.yaml"
"""Artifacts and claims that no suite speaks of, and why."""
PAPERS = {path.stem.replace("_", "-"): path for path in sorted(DATA.glob("*.yaml"))}

_NOT_SETTINGS = {
    "value",
    "std",
    "note",
    "source",
    "unit",
    "candidates",
    "value_at_least",
    "metric",
    "stated_gain",
}


class Printed(float):
    """A number as printed, which knows its decimals: 0.20 is not 0.2."""

    decimals: int


class _PrintedLoader(Loader):
    """Keeps how many decimals a number was printed with."""


def _construct_printed(loader: Any, node: yaml.ScalarNode) -> Printed:
    number = Printed(construct_value(loader, node))
    exponent = Decimal(node.value).as_tuple().exponent
    number.decimals = max(0, -exponent) if isinstance(exponent, int) else 0
    return number


_PrintedLoader.add_constructor("tag:yaml.org,2002:float", _construct_printed)


@dataclass(frozen=True)
class PublishedValue:
    """One printed number: where, for which settings, with which spread."""

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
    source: str | None  # measured by the paper's authors, or quoted from others
    note: str | None

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed digit: what rounding may have hidden."""
        return float(0.5 * 10.0**-self.decimals)


@dataclass(frozen=True)
class Statement:
    """Settings that a paper states, of cells that have those of `when`."""

    stated: dict[str, Any]  # null: the paper does not say, whatever was stated before
    when: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Artifact:
    """A table, figure or printed number of a paper."""

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
        """All that the artifact states of its cells; later ones count."""
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
    """What a paper states of an experiment, and what it leaves open."""

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
    """Everything recorded of one paper."""

    id: str
    title: str
    authors: str
    year: int
    artifacts: dict[str, Artifact]
    claims: dict[str, Claim]
    protocols: dict[str, Protocol]
    equations: dict[str, dict[str, Any]]
    figures: dict[str, dict[str, Any]]

    @property
    def values(self) -> list[PublishedValue]:
        """Every printed number of the paper, in its order."""
        return [value for artifact in self.artifacts.values() for value in artifact.values]

    def artifact(self, name: str) -> Artifact:
        """Return an artifact by id, or raise a PublishedError that names the near ones."""
        return _named(self.artifacts, name, f"paper '{self.id}' has no artifact")

    def claim(self, name: str) -> Claim:
        """Return a claim by id, or raise a PublishedError that names the near ones."""
        return _named(self.claims, name, f"paper '{self.id}' has no claim")

    def protocol(self, name: str) -> Protocol:
        """Return a protocol by id, or raise a PublishedError that names the near ones."""
        return _named(self.protocols, name, f"paper '{self.id}' has no protocol")

    def statements(self, protocol: str) -> list[Statement]:
        """Return all that a protocol states, those that it includes first; later ones count."""
        stated = self.protocol(protocol)
        included = [s for name in stated.includes for s in self.statements(name)]
        return [*included, Statement(stated.stated), *stated.cases]


NO_PAPER = Paper("", "", "", 0, {}, {}, {}, {}, {})
"""Of suites that cross settings which no paper ran."""

Entry = TypeVar("Entry")


def _named(table: dict[str, Entry], name: str, complaint: str) -> Entry:
    if name not in table:
        raise PublishedError(f"{complaint} '{name}'. {choices(name, list(table))}")
    return table[name]


@cache
def load_paper(name: str) -> Paper:
    """Return what is recorded of a paper.

    Raises:
        PublishedError: no such paper.
    """
    if name not in PAPERS:
        raise PublishedError(f"no paper '{name}'. {choices(name, list(PAPERS))}")
    data = load_yaml(PAPERS[name], PublishedError, _PrintedLoader)
    head = data["paper"]
    return Paper(
        id=head["id"],
        title=head["title"],
        authors=head["authors"],
        year=head["year"],
        artifacts=_artifacts(head["id"], data),
        claims={c["id"]: Claim(paper=head["id"], **c) for c in data["claims"]},
        protocols={p["id"]: _protocol(head["id"], p) for p in data["protocols"]},
        equations={e["id"]: e for e in data["equations"]},
        figures={f["id"]: f for f in data["figures_without_numbers"]},
    )


def _protocol(paper: str, data: dict[str, Any]) -> Protocol:
    keys = ("id", "locator", "stated", "unstated", "note", "includes", "source")
    return Protocol(paper=paper, cases=_cases(data), **{k: data[k] for k in keys if k in data})


def _cases(data: dict[str, Any]) -> list[Statement]:
    return [Statement(**case) for case in data.get("cases", [])]


def _artifacts(paper: str, data: dict[str, Any]) -> dict[str, Artifact]:
    """Return the artifacts by id; figures whose points are not printed are artifacts too."""
    artifacts = {a["id"]: _artifact(paper, a) for a in data["artifacts"]}
    for figure in data["figures_without_numbers"]:
        if figure["id"] not in artifacts:
            note = figure.get("note")
            artifacts[figure["id"]] = Artifact(
                id=figure["id"],
                paper=paper,
                kind="figure",
                what=figure["what"],
                locator=figure["id"].replace("-", " ").capitalize(),
                setting=figure.get("setting", {}),
                note=note,
                values=[],
            )
    return artifacts


def _artifact(paper: str, data: dict[str, Any]) -> Artifact:
    return Artifact(
        id=data["id"],
        paper=paper,
        kind=data["kind"],
        what=data["what"],
        locator=data["locator"],
        setting=data["setting"],
        note=data["note"],
        values=[_value(paper, data, i, row) for i, row in enumerate(data["rows"])],
        cases=_cases(data),
    )


def _value(
    paper: str, artifact: dict[str, Any], position: int, row: dict[str, Any]
) -> PublishedValue:
    both = artifact["setting"] | row
    value = row["value"]
    return PublishedValue(
        paper=paper,
        artifact=artifact["id"],
        row=position,
        settings={k: v for k, v in both.items() if k not in _NOT_SETTINGS},
        row_settings={k: v for k, v in row.items() if k not in _NOT_SETTINGS},
        metric=both.get("metric"),
        value=None if value is None else float(value),
        std=row.get("std"),
        decimals=getattr(value, "decimals", 0),
        unit=both.get("unit"),
        source=row.get("source", artifact["source"]),
        note=row.get("note"),
    )
