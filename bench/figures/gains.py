"""Figures of gains: lead of cells over a baseline, against a setting or a metric."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from bench.analysis.compared_effects import measured_effects
from bench.analysis.measured import Measured
from bench.analysis.questions import OTHERS, PUBLISHED, EffectRow, findings
from bench.analysis.statistics import Interval, t_interval
from bench.cells.cell import Cell
from bench.figures.frames import chosen_by, label_of, line_column, panel_title
from bench.figures.kinds import OfCells, line_label
from bench.figures.layout import (
    BY_OTHERS,
    PanelPlace,
    add_legend,
    make_canvas,
    place_ticks,
    seeds_text,
    sources_text,
)
from bench.figures.marks import ordered
from bench.figures.style import GREY, Style, styles
from bench.papers.questions import question_named
from bench.results.reader import Done
from bench.suites.figure import DrawnCells, Figure
from bench.suites.load import load_suite
from bench.suites.shipped import shipped_suites

DASHES = ("--", ":", "-.", (0, (6, 2, 1, 2, 1, 2)))  # of published effects
TRIANGLES = "^v<>"  # of effects of other projects, one for each metric


@dataclass(frozen=True)
class Gain:
    """Lead of one group of cells over its baseline."""

    line: Any  # of the settings that tell lines apart
    panel: Any  # of those that tell panels apart
    across: Interval  # of the baseline's cells; of a setting its value
    gain: Interval  # with the uncorrected 95 % interval that pages have elsewhere

    @property
    def is_at_setting(self) -> bool:
        """Whether its position is a setting, which does not vary over seeds, and not a metric."""
        return self.across.n == 0


class Gains(OfCells, draw="gains"):
    """Figure of leads over a baseline, against a setting or a metric of the baseline.

    Effects for the figure's question are drawn in panels with their settings: published effects as
    dashed lines, those of other projects as open triangles, one shape for each metric.
    """

    @classmethod
    def is_drawable(cls, figure: Figure, cells: Sequence[Cell], done: Done) -> bool:
        """Whether any gain can be estimated."""
        return bool(cls.found(figure, Measured(cells, done)))

    @classmethod
    def canvas(cls, figure: Figure, cells: Sequence[Cell], done: Done) -> Canvas | None:
        """Draw one point per gain, with both intervals."""
        found = cls.found(figure, Measured(cells, done))
        return cls._canvas(figure, found) if found else None

    @staticmethod
    def found(figure: Figure, measured: Measured) -> list[Gain]:
        """Return the gains of a figure.

        Args:
            figure: definition of the figure. Its `baseline` gives the settings of the baseline
                cells. Cells with other values of these settings are compared with them.
            measured: all cells of a suite at a scale and the metrics of the finished ones.
        """
        within = chosen_by(figure, measured.cells)
        is_base = chosen_by(DrawnCells(where=dict(figure.baseline)), [])
        cells = {cell.id: cell for cell in measured.cells if within(cell)}
        found = []
        for side in _sides(figure, list(cells.values())):
            for effect in measured_effects(figure.y, side, figure.baseline, measured):
                if effect.estimate is None or not cells.keys() >= set(effect.cells):
                    continue
                base = [cells[name] for name in effect.cells if is_base(cells[name])]
                across = _across(figure.x, base, measured)
                if across is not None:
                    settings = effect.settings | side
                    line = label_of(figure.line_names, settings)
                    panel = label_of(figure.panel_names, settings)
                    found.append(Gain(line, panel, across, effect.estimate.interval()))
        return found

    @staticmethod
    def _canvas(figure: Figure, found: Sequence[Gain]) -> Canvas:
        panels = ordered(gain.panel for gain in found)
        titles = [panel_title(figure, panel) for panel in panels]
        canvas, axes = make_canvas(
            [PanelPlace(title, figure.y_label, "") for title in titles], figure.x_label
        )
        looks = styles(ordered(gain.line for gain in found))
        beside = _beside(figure.question) if figure.question else []
        metrics = dict.fromkeys(row.metric for row in beside if row.kind == OTHERS)
        shapes = dict(zip(metrics, cycle(TRIANGLES), strict=False))
        drawn: list[EffectRow] = []
        for panel, ax in zip(panels, axes, strict=True):
            _draw_gains(figure, [gain for gain in found if gain.panel == panel], looks, ax)
            here = [row for row in beside if _is_of(row, figure, panel)]
            drawn += _draw_beside(figure.x, here, shapes, ax)
        baseline = "" if found[0].is_at_setting else ", mean of the baseline"
        n = seeds_text(gain.gain.n for gain in found)
        whose = [(row.data, row.who) for row in drawn if row.kind == OTHERS]
        add_legend(
            canvas,
            axes,
            f"difference of means{baseline}:\n95 % intervals over seeds ({n})"
            + sources_text(whose, canvas.get_figwidth()),
        )
        return canvas


def _across(x: str, base: Sequence[Cell], measured: Measured) -> Interval | None:
    """Return where a gain lies: at the baseline's setting, or at the mean of its metric."""
    if base[0].known.get(x) is not None:
        return Interval(0, float(base[0].known[x]), None, None, None)
    known = [measured.metrics.get(cell.id, {}).get(x) for cell in base]
    told = [value for value in known if value is not None]
    return t_interval(told) if told else None


def _draw_gains(figure: Figure, gains: Sequence[Gain], looks: dict[Any, Style], ax: Axes) -> None:
    """Draw the gains of a panel; along a setting those of a line are joined."""
    ax.axhline(0, color=GREY, lw=0.8, zorder=1)
    of_setting = gains[0].is_at_setting
    for line, style in looks.items():
        points = sorted((g for g in gains if g.line == line), key=lambda g: g.across.mean)
        across, up = [gain.across for gain in points], [gain.gain for gain in points]
        if points:
            ax.errorbar(
                [i.mean for i in across], [i.mean for i in up],
                xerr=None if of_setting else _reaches(across), yerr=_reaches(up),
                color=style.colour, marker=style.marker, ms=4, ls="-" if of_setting else "",
                lw=0.9, elinewidth=0.7, capsize=1.5, label=line_label(line_column(figure), line),
            )  # fmt: skip
    if of_setting:
        place_ticks(ax, sorted({gain.across.mean for gain in gains}), log=figure.log_x)


def _beside(question: str) -> list[EffectRow]:
    """Return what the paper and other projects say of a question, in points."""
    asked = question_named(question)
    suite = load_suite(shipped_suites() / f"{asked.suite}.yaml")
    rows = findings(asked, [suite], ()).rows
    return [row for row in rows if row.unit == "points" and (row.says or row.kind == PUBLISHED)]


def _is_of(row: EffectRow, figure: Figure, panel: Any) -> bool:
    """Whether an effect has the settings of a panel; one that it does not name is no obstacle."""
    names = [name for name in figure.panel_names if name in row.settings]
    return not names or label_of(names, row.settings) == panel


def _draw_beside(
    x: str, rows: Sequence[EffectRow], shapes: dict[str, str], ax: Axes
) -> list[EffectRow]:
    """Draw published effects and those of other projects; return the ones that are drawn."""
    published = [row for row in rows if row.kind == PUBLISHED]
    placed = [row for row in rows if row.kind == OTHERS and row.settings.get(x) is not None]
    for row, dashes in zip(published, cycle(DASHES), strict=False):
        label = f"{PUBLISHED} ({row.data}, {row.metric}): {row.number}"
        ax.axhline(row.effect, color=GREY, lw=0.9, ls=dashes, zorder=1, label=label)
    for metric in dict.fromkeys(row.metric for row in placed):
        of_metric = [row for row in placed if row.metric == metric]
        ax.plot(
            [row.settings[x] for row in of_metric], [row.effect for row in of_metric], ls="",
            marker=shapes[metric], ms=5, mfc="none", color=GREY, zorder=4,
            label=f"{BY_OTHERS} ({metric})",
        )  # fmt: skip
    return [*published, *placed]


def _sides(figure: Figure, cells: Sequence[Cell]) -> Iterator[dict[str, Any]]:
    """Yield the settings of each side that a gain is of."""
    names = list(figure.baseline)
    values = dict.fromkeys(tuple(cell.known.get(name) for name in names) for cell in cells)
    for value in values:
        if value != tuple(figure.baseline.values()):
            yield dict(zip(names, value, strict=True))


def _reaches(intervals: Sequence[Interval]) -> list[list[float]]:
    """Return how far each interval reaches below and above its mean; a single seed has none."""
    return [
        [0.0 if i.low is None else i.mean - i.low for i in intervals],
        [0.0 if i.high is None else i.high - i.mean for i in intervals],
    ]
