"""Agreement of a cell with the published protocol, computed setting by setting."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from bench.cells.cell import Cell
from bench.cells.linear_protocols import LINEAR_PROTOCOLS
from bench.errors import SuiteError
from bench.papers.reader import Artifact, Paper, Statement
from bench.papers.vocabulary import remark_keys
from bench.suites.facts import (
    NOT_USED,
    OF_EXPERIMENT,
    agrees,
    all_parts,
    facts,
    part_names,
    stated_text,
)
from bench.suites.suite import Suite

_OF_EVALUATIONS = {"linear": "linear", "knn_": "knn"}
"""Prefixes of the keys of an evaluation's protocol, and prefixes of its metrics."""


class Departure(NamedTuple):
    """A setting in which cells deviate from the paper's statement."""

    name: str
    mine: list[str]  # the values of cells; none where they have no such setting
    stated: str
    impossible: bool  # no cell can have it as stated

    @property
    def text(self) -> str:
        """The deviation, as text."""
        if not self.mine:
            return f"{self.name} = {self.stated} is published, but no cell has this setting"
        return f"{self.name} = {', '.join(self.mine)}, published {self.stated}"


def stated_settings(suite: Suite, paper: Paper, artifact: Artifact) -> list[Statement]:
    """Return the paper's statements on all rows of an artifact, with the suite's names.

    Later statements override earlier ones. Settings in the rows are omitted, because a cell matches
    a row only if it agrees with them.

    Args:
        suite: the suite, with its names of protocols.
        paper: the paper.
        artifact: table, figure or text of the paper.
    """
    name = suite.protocols.get(artifact.id, suite.protocol)
    statements = paper.statements(name) if name else []
    left_out = {key for value in artifact.values for key in value.row_settings}
    return [
        Statement(
            {suite.renamed.get(k, k): v for k, v in stated.items() if k not in left_out}, when
        )
        for stated, when in ((s.stated, s.when) for s in [*statements, *artifact.statements])
    ]


def stated_of(known: Mapping[str, Any], statements: Sequence[Statement]) -> dict[str, Any]:
    """Return the statements on a cell with these facts; later ones override earlier ones."""
    stated: dict[str, Any] = {}
    for statement in statements:
        if all(agrees(known.get(key), value) for key, value in statement.when.items()):
            stated |= statement.stated
    return stated


def stated_concerning(
    known: Mapping[str, Any], statements: Sequence[Statement], metric: str | None
) -> dict[str, Any]:
    """Return the statements that can differ, without remarks and other evaluations.

    Args:
        known: facts about a cell, or about a number of another project.
        statements: statements of the paper, see `stated_settings`.
        metric: the compared metric; None means any.
    """
    remarks = remark_keys()
    return {
        name: value
        for name, value in stated_of(known, statements).items()
        if value is not None and name not in remarks and _is_concerned(name, metric, known)
    }


def departures(
    cell: Cell, statements: Sequence[Statement], metric: str | None = None
) -> list[Departure]:
    """Return each stated setting in which the cell deviates.

    A stated setting that cells cannot have is also a deviation. Settings that are not stated, or
    stated as null, and remarks cannot deviate. `bench/suites/facts.py` describes the forms of
    stated values.

    Args:
        cell: the cell.
        statements: statements of the paper, see `stated_settings`.
        metric: the compared metric; protocols of other evaluations are ignored. None means all
            metrics of the cell.
    """
    known, result = facts(cell), []
    concerning = stated_concerning(known, statements, metric)
    if known.get("evaluated_on") is not None:  # papers evaluate on the data set that they train on
        concerning |= {"evaluated_on": NOT_USED}
    for name, value in concerning.items():
        if name not in known:
            result.append(Departure(name, [], stated_text(value), impossible=True))
        elif not agrees(known[name], value):
            joined_by = ", " if isinstance(known[name], tuple) else " or "
            mine, stated = [stated_text(known[name])], stated_text(value, joined_by)
            impossible = not _is_allowed(cell, name, value)
            result.append(Departure(name, mine, stated, impossible))
    return result


def check_scale(suite: Suite, scale: str, cells: Sequence[Cell], paper: Paper) -> None:
    """Check that a scale's declared protocol agrees with its cells.

    Stated settings that cells cannot have do not prevent `published`, because no suite could choose
    them. They still prevent comparisons of values, and pages and plans list them.

    Args:
        suite: the suite.
        scale: name of the scale.
        cells: its cells.
        paper: the paper with its protocols.

    Raises:
        SuiteError: `published` is declared, but every cell deviates in a setting that it could have
            as stated. Or `reduced` is declared, the paper names its data, and no cell deviates.
    """
    declared = suite.scales[scale].protocol
    stated = [
        (stated_settings(suite, paper, paper.artifact(name)), metric)
        for name in suite.reproduces
        for metric in _metrics_of(suite, name)
    ]
    if not stated:
        return
    faults = (departures(cell, s, metric) for cell in cells for s, metric in stated)  # one by one
    if declared == "published":
        if not all(any(not fault.impossible for fault in cell_faults) for cell_faults in faults):
            return
        texts = [fault.text for fault in departures(cells[0], *stated[0]) if not fault.impossible]
        raise SuiteError(
            f"{suite.name}: scales.{scale}.protocol: declared 'published', but {texts[0]}"
        )
    of_data = any("dataset" in statement.stated for s, _ in stated for statement in s)
    if of_data and not any(faults):
        raise SuiteError(
            f"{suite.name}: scales.{scale}.protocol: declared 'reduced', but every "
            "setting has the value that the paper states"
        )


def _metrics_of(suite: Suite, artifact: str) -> list[str | None]:
    """Return the metrics that are compared with an artifact; [None] where none is."""
    compared = [c.metric for c in suite.compare if c.artifact == artifact]
    return [*dict.fromkeys(compared)] or [None]


def _is_concerned(name: str, metric: str | None, known: Mapping[str, Any]) -> bool:
    """Whether a setting has to do with the metric, or with any evaluation of the cell."""
    for start, metrics in _OF_EVALUATIONS.items():
        if name.startswith(start):
            asked = metric is None or metric.startswith(metrics)
            return asked and (start != "linear" or known.get("linear") is not None)
    return True


def _is_allowed(cell: Cell, name: str, published: Any) -> bool:
    """Whether a cell of this kind could have a setting as stated."""
    if name in OF_EXPERIMENT.get(cell.experiment, {}):
        return False
    if name in part_names():
        return any(agrees(known.get(name), published) for known in all_parts())
    named = name in type(cell).model_fields and not isinstance(published, Mapping)
    values = published if isinstance(published, list) else [published]
    return not named or any(_is_valid(type(cell), name, value) for value in values)


@cache
def _is_valid(kind: type[Cell], name: str, value: Any) -> bool:
    if name == "linear" and value not in LINEAR_PROTOCOLS:
        return False
    field = kind.model_fields[name]
    typed: Any = Annotated[field.annotation, *(field.metadata or [None])]
    try:
        TypeAdapter(typed).validate_python(value, strict=True)
    except ValidationError:
        return False
    return True
