"""A forest plot: effects below each other, published, by other projects and measured here."""

from collections.abc import Sequence
from itertools import accumulate
from textwrap import wrap

from matplotlib.figure import Figure as Canvas

from bench.analysis.questions import HERE, OTHERS, PUBLISHED, EffectRow
from bench.figures.layout import Place, add_legend, make_canvas
from bench.figures.style import GREY, TEXT_IN, look

LINE_IN = 0.13  # height of a line of an effect's name
MOST_CHARACTERS = 62  # of such a line
FRAME_IN = 1.2  # of what is around them
LABELS = {
    PUBLISHED: ("published", "o", "none"),
    OTHERS: ("by others (filled: it counts)", "^", "none"),
    HERE: ("measured here, 95 % interval", "D", GREY),
}
"""In the legend, the marker and its filling, by kind of effect."""


def draw_forest(rows: Sequence[EffectRow]) -> Canvas:
    """Return the plot of effects that share a unit, one or more, each with its data set.

    Args:
        rows: in the order from top to bottom.
    """
    with look():
        names = [_name(row) for row in rows]
        heights = [name.count("\n") + 1.5 for name in names]  # in lines
        places = [
            end - height / 2 for end, height in zip(accumulate(heights), heights, strict=True)
        ]
        size = TEXT_IN, FRAME_IN + LINE_IN * sum(heights)
        canvas, (ax,) = make_canvas([Place("", "", "")], f"effect ({rows[0].unit})", size=size)
        ax.axvline(0, color=GREY, lw=0.8, zorder=1)
        for kind, (label, marker, filling) in LABELS.items():
            for at, row in zip(places, rows, strict=True):
                if row.kind != kind:
                    continue
                ends = [row.effect if end is None else end for end in (row.low, row.high)]
                ax.errorbar(
                    row.effect, at, xerr=[[row.effect - ends[0]], [ends[1] - row.effect]], ls="",
                    color=GREY, marker=marker, ms=4.5, capsize=2, lw=1,
                    mfc=GREY if kind == OTHERS and row.says else filling, mew=0.8, label=label,
                )  # fmt: skip
                label = "_"
        ax.set_yticks(places, names)
        ax.set_ylim(sum(heights), 0)
        add_legend(
            canvas, [ax], "differences of means", order=[label for label, *_ in LABELS.values()]
        )
    return canvas


def _name(row: EffectRow) -> str:
    """Return who measured an effect, on which data and metric, and what is compared, in lines."""
    what, _, settings = row.what.partition(" (")
    texts = [f"{row.who}, {row.short_data}, {row.metric}: {what}", settings.removesuffix(")")]
    return "\n".join(line for text in texts for line in wrap(text, MOST_CHARACTERS))
