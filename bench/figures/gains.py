"""A figure of gains: how far cells lie above a baseline, against what the baseline measured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure as Canvas

from bench.analysis.compared_effects import measured_effects
from bench.analysis.measured import Measured
from bench.analysis.statistics import Interval, t_interval
from bench.cells.cell import Cell
from bench.figures.frames import chosen_by, label_of, line_column
from bench.figures.kinds import line_label
from bench.figures.layout import Place, add_legend, make_canvas, seeds_text
from bench.figures.marks import ordered
from bench.figures.style import GREY, styles
from bench.suites.figure import Figure


@dataclass(frozen=True)
class Gain:
    """One group of cells over its baseline."""

    line: Any  # of the settings that tell lines apart
    across: Interval  # of the baseline's cells
    gain: Interval  # with the uncorrected 95 % interval that pages have elsewhere


def gains(figure: Figure, measured: Measured) -> list[Gain]:
    """Return the gains that a figure draws.

    Args:
        figure: its `baseline` names the settings of the cells that a gain is taken over; the other
            values of the same settings are the other sides.
        measured: the cells of a suite at a scale, and the finished ones among them.
    """
    within = chosen_by(figure, measured.cells)
    cells = {cell.id: cell for cell in measured.cells if within(cell)}
    found = []
    for side in _sides(figure, list(cells.values())):
        for effect in measured_effects(figure.y, side, figure.baseline, measured):
            if effect.estimate is None or not cells.keys() >= set(effect.cells):
                continue
            base = [c for c in map(cells.__getitem__, effect.cells) if _is_in(c, figure.baseline)]
            values = [measured.metrics.get(cell.id, {}).get(figure.x) for cell in base]
            told = [value for value in values if value is not None]
            if told:
                line = label_of(figure.line_names, effect.settings | side)
                found.append(Gain(line, t_interval(told), effect.estimate.interval()))
    return found


def _sides(figure: Figure, cells: Sequence[Cell]) -> Iterator[dict[str, Any]]:
    """Yield the settings of each side that a gain is of."""
    names = list(figure.baseline)
    values = dict.fromkeys(tuple(cell.known.get(name) for name in names) for cell in cells)
    for value in values:
        if value != tuple(figure.baseline.values()):
            yield dict(zip(names, value, strict=True))


def _is_in(cell: Cell, settings: dict[str, Any]) -> bool:
    return all(cell.known.get(name) == value for name, value in settings.items())


def draw_gains(figure: Figure, found: Sequence[Gain]) -> Canvas:
    """Return the figure of gains, one or more: a point each, with both intervals."""
    canvas, (ax,) = make_canvas([Place("", figure.y_label, "")], figure.x_label)
    ax.axhline(0, color=GREY, lw=0.8, zorder=1)
    lines = ordered(gain.line for gain in found)
    for line, style in styles(lines).items():
        points = [gain for gain in found if gain.line == line]
        across, up = [gain.across for gain in points], [gain.gain for gain in points]
        ax.errorbar(
            [i.mean for i in across], [i.mean for i in up], xerr=_bars(across), yerr=_bars(up),
            color=style.colour, marker=style.marker, ls="", ms=4, elinewidth=0.7, capsize=1.5,
            label=line_label(line_column(figure), line),
        )  # fmt: skip
    add_legend(
        canvas,
        [ax],
        "difference of means, mean of the baseline:\n95 % intervals over seeds "
        f"({seeds_text(gain.gain.n for gain in found)})",
    )
    return canvas


def _bars(intervals: Sequence[Interval]) -> list[list[float]]:
    """Return how far each interval reaches below and above its mean; a single seed has none."""
    return [
        [0.0 if i.low is None else i.mean - i.low for i in intervals],
        [0.0 if i.high is None else i.high - i.mean for i in intervals],
    ]
