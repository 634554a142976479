"""Definition of a figure in a suite file: its axes, lines and cells.

`bench/figures` draws figures, with one class of `kinds.py` per kind. `validate.py` checks the names
in the definition.
"""

from typing import Annotated, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from bench.errors import choices
from bench.record import Record

Value = bool | int | float | str | None
Chosen = dict[str, Value | list[Value]]  # of a list: any of its values
NameOrNames = str | Annotated[list[str], Field(min_length=1)]
FigureName = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=100)]


class FigureKind(NamedTuple):
    """What a kind of figure reads, and its additional keys."""

    x: Literal["setting", "metric", "either", "record", "array"]  # what x names; a record is of a
    # history, either a setting or a metric
    keys: tuple[str, ...] = ()
    one_seed: bool = False  # it shows the lowest seed alone


KINDS = {
    "lines": FigureKind(
        "setting",
        ("beside", "twin", "ribbon", "series", "reference", "artifact", "log_x", "log_y"),
    ),
    "history": FigureKind("record", ("beside", "twin", "ribbon", "log_y")),
    "points": FigureKind("metric"),
    "gains": FigureKind("either", ("baseline", "question", "log_x")),
    "scatter": FigureKind("array", ("noise",), one_seed=True),
    "distribution": FigureKind("array", ("log_y",)),
}


def _known(name: str) -> str:
    if name not in KINDS:
        raise ValueError(f"found '{name}'. {choices(name, list(KINDS))}")
    return name


DrawnAs = Annotated[str, AfterValidator(_known), Field(json_schema_extra={"enum": list(KINDS)})]


class DrawnCells(Record):
    """Selection of the drawn cells."""

    where: Chosen = {}  # only cells with these settings
    largest: list[str] = []  # of those, only cells in which these settings are largest


class Series(DrawnCells):
    """One line of a figure whose lines are not distinguished by a setting."""

    label: str
    x: str | None = None  # the setting along the axis, where it is another one than the figure's


class Quantity(Record):
    """A metric with its axis."""

    y: str
    y_label: str
    ribbon: str | None = None  # a metric: the line is drawn as mean ± it


class Figure(DrawnCells, Quantity):
    """Definition of a figure."""

    name: FigureName
    title: str
    draw: DrawnAs
    # y: a metric; for scatter an array of points; for distribution one of shares in bins of [0, 1]
    x: str  # a setting; for history `step`, `epoch` or a metric; for points a metric; for scatter
    # the array of labels; for distribution the bins' unit; for gains a setting, or a metric of
    # the baseline
    x_label: str
    by: NameOrNames | None = None  # one line per value; several settings: per combination of values
    series: list[Series] = []  # in place of `by`
    panels: NameOrNames | None = None  # one panel per value of this setting or of these
    beside: list[Quantity] = []  # further quantities, each in a panel of its own
    twin: Quantity | None = None  # a second quantity, on an axis at the right
    artifact: NameOrNames | None = None  # whose printed values are drawn
    artifact_rows: Chosen = {}  # only printed rows that have these values or do not name them
    artifact_metric: str | None = None  # of the printed values, where it is another one than y
    log_x: bool = False
    log_y: bool = False
    reference: str | None = None  # a setting or metric drawn dashed
    baseline: dict[str, Value] = {}  # of gains: settings of the cells that y's gain is taken over
    question: str | None = None  # of gains: whose published effects and others' are drawn
    noise: str | None = None  # of a scatter, a setting: U(0, it) is added to each coordinate

    @property
    def quantities(self) -> list[Quantity]:
        """All drawn quantities, the figure's own first."""
        return [self, *self.beside, *([self.twin] if self.twin else [])]

    @property
    def line_names(self) -> list[str]:
        """Settings that distinguish lines."""
        return _listed(self.by)

    @property
    def panel_names(self) -> list[str]:
        """Settings that distinguish panels."""
        return _listed(self.panels)

    @property
    def columns(self) -> list[str]:
        """All metrics, settings and arrays that the figure reads."""
        up = [name for q in self.quantities for name in (q.y, q.ribbon)]
        across = [self.x, *(series.x for series in self.series)]
        names = [*self.line_names, *self.panel_names, self.reference]
        return list(dict.fromkeys(name for name in (*up, *across, *names) if name))

    @property
    def artifacts(self) -> list[str]:
        """Artifacts whose published values are drawn."""
        return _listed(self.artifact)

    @property
    def caption(self) -> str:
        """Caption: title and axes."""
        return f"{self.title}: {self.y_label or self.y} against {self.x_label or self.x}"

    @property
    def kind(self) -> FigureKind:
        """Definition of the figure's kind."""
        return KINDS[self.draw]

    @model_validator(mode="after")
    def _its_keys_agree(self) -> Self:
        at_odds = {
            "by and series": bool(self.by and self.series),
            "beside and panels": bool(self.beside and self.panels),
            "twin and by": bool(self.twin and self.by),
            "twin and series": bool(self.twin and self.series),
            "twin and beside": bool(self.twin and self.beside),
            "twin and panels": bool(self.twin and self.panels),
        }
        for what, both in at_odds.items():
            if both:
                raise ValueError(f"the keys {what} cannot be given together")
        for key in dict.fromkeys(key for kind in KINDS.values() for key in kind.keys):
            kinds = [name for name, kind in KINDS.items() if key in kind.keys]
            if getattr(self, key) and self.draw not in kinds:
                known = " or ".join(kinds)
                raise ValueError(
                    f"{key}: this key can be used only if `draw` is {known}, found '{self.draw}'"
                )
        if self.draw == "gains" and not self.baseline:
            raise ValueError(
                "draw: the kind of figure 'gains' needs the key `baseline`, which selects the "
                "cells that each gain is computed against"
            )
        return self


def _listed(names: NameOrNames | None) -> list[str]:
    if names is None:
        return []
    return [names] if isinstance(names, str) else names
