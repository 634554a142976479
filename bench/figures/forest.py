"""Forest plots of effects: published, by other projects and measured here."""

from collections.abc import Sequence
from itertools import accumulate
from textwrap import wrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from bench.analysis.questions import HERE, OTHERS, PUBLISHED, EffectRow, Findings
from bench.figures.layout import PanelPlace, add_legend, make_canvas
from bench.figures.style import GREY, TEXT_IN, look

LINE_IN = 0.13  # height of a line of an effect's name
MOST_CHARACTERS = 58  # of such a line
FRAME_IN = 1.2  # of what is around them
SPARE_IN = 0.15  # at the sides, because a browser's font can be wider than the figure's
OVERVIEW_IN = 4.6  # width of the plot on the first screen
OVERVIEW_CHARACTERS = 34  # of a line of a question there
POINTS = "points"
LABELS = {
    PUBLISHED: ("published", "o", "none"),
    OTHERS: ("by others (filled: the effect counts)", "^", "none"),
    HERE: ("measured here, 95 % interval", "D", GREY),
}
"""Label, marker and fill in the legend, by kind of effect."""
UNLEARNED = ("measured here, not above the trivial baseline", "D", "none")
"""The same for an effect of accuracies that support no conclusion."""


def draw_forest(rows: Sequence[EffectRow]) -> Canvas:
    """Return a plot of effects with the same unit, each with its data set.

    Args:
        rows: effects from top to bottom.
    """
    return _drawn([(_name(row), [row]) for row in rows], "differences of means", TEXT_IN)


def draw_overview(found: Sequence[Findings]) -> Canvas | None:
    """Return a plot with one line per question about accuracy differences.

    A line has the question's leading effects: one published, one measured here, and the counted
    ones of other projects.

    Args:
        found: findings of the questions, from top to bottom.
    """
    lines = []
    for one in found:
        if {row.unit for row in one.leading} == {POINTS}:
            name = "\n".join(wrap(one.question.question, OVERVIEW_CHARACTERS))
            lines.append((name, one.leading))
    title = (
        "for each question about accuracy: one published effect, one measured here,\n"
        "and all effects of other projects that count"
    )
    return _drawn(lines, title, OVERVIEW_IN) if lines else None


def _drawn(lines: Sequence[tuple[str, Sequence[EffectRow]]], title: str, width: float) -> Canvas:
    """Return the plot of lines with a name and effects, all in one unit."""
    with look():
        names = [name for name, _ in lines]
        heights = [name.count("\n") + 1.5 for name in names]  # in lines of text
        places = [
            end - height / 2 for end, height in zip(accumulate(heights), heights, strict=True)
        ]
        size, unit = (width, FRAME_IN + LINE_IN * sum(heights)), lines[0][1][0].unit
        canvas, (ax,) = make_canvas([PanelPlace("", "", "")], f"effect ({unit})", size=size)
        canvas.set_layout_engine("constrained", w_pad=SPARE_IN)
        ax.axvline(0, color=GREY, lw=0.8, zorder=1)
        named = set()
        for at, (_, rows) in zip(places, lines, strict=True):
            for row in rows:
                label, marker, filling = LABELS[row.kind] if row.is_learned else UNLEARNED
                counts = row.kind == OTHERS and row.says
                told = "_" if label in named else label
                _draw(ax, at, row, marker=marker, mfc=GREY if counts else filling, label=told)
                named.add(label)
        ax.set_yticks(places, names)
        ax.set_ylim(sum(heights), 0)
        add_legend(canvas, [ax], title, order=[look[0] for look in (*LABELS.values(), UNLEARNED)])
    return canvas


def _draw(ax: Axes, at: float, row: EffectRow, **style: Any) -> None:
    """Draw an effect at its height, with its interval if it has one."""
    reach = None
    if row.low is not None and row.high is not None:
        reach = [[row.effect - row.low], [row.high - row.effect]]
    ax.errorbar(
        row.effect, at, xerr=reach, ls="", color=GREY, ms=4.5, capsize=2, lw=1, mew=0.8, **style,
    )  # fmt: skip


def _name(row: EffectRow) -> str:
    """Return who measured an effect, on which data and metric, and what is compared, in lines."""
    source = ", ".join(filter(None, [row.who, row.short_data, row.metric]))
    text = f"{source}: {row.what}"
    return "\n".join(wrap(text, MOST_CHARACTERS, break_on_hyphens=False))
