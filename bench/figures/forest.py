"""A forest plot: effects below each other, published, by other projects and measured here."""

from collections.abc import Sequence

from matplotlib.figure import Figure as Canvas

from bench.analysis.questions import HERE, OTHERS, PUBLISHED, EffectRow
from bench.figures.layout import Place, add_legend, make_canvas
from bench.figures.style import GREY, TEXT_IN, look

LINE_IN = 0.19  # height of an effect
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
        size = TEXT_IN, FRAME_IN + LINE_IN * len(rows)
        canvas, (ax,) = make_canvas([Place("", "", "")], f"effect ({rows[0].unit})", size=size)
        ax.axvline(0, color=GREY, lw=0.8, zorder=1)
        for kind, (label, marker, filling) in LABELS.items():
            for at, row in enumerate(rows):
                if row.kind != kind:
                    continue
                ends = [row.effect if end is None else end for end in (row.low, row.high)]
                ax.errorbar(
                    row.effect, at, xerr=[[row.effect - ends[0]], [ends[1] - row.effect]], ls="",
                    color=GREY, marker=marker, ms=4.5, capsize=2, lw=1,
                    mfc=GREY if kind == OTHERS and row.says else filling, label=label,
                )  # fmt: skip
                label = "_"
        ax.set_yticks(
            range(len(rows)), [f"{row.what} ({row.short_data}, {row.who})" for row in rows]
        )
        ax.set_ylim(len(rows) - 0.4, -0.6)
        add_legend(
            canvas, [ax], "one row an effect", order=[label for label, *_ in LABELS.values()]
        )
    return canvas
