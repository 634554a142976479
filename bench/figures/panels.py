"""A suite's figure: one panel a value of a setting, saved as SVG and PNG."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from bench.analysis.frame import Done, history_frame
from bench.config.cells import CELLS
from bench.config.suite import Figure, Suite
from bench.figures.curves import (
    draw_distribution,
    draw_history,
    draw_lines,
    draw_scatter,
    ordered,
)
from bench.figures.style import look
from bench.published.reader import Paper

PANEL_IN = 2.4
PANELS_A_ROW = 5
CHARACTER_IN = 0.075  # of a legend, with its line: a width that no font quite has
KEY_CHARACTERS = 8  # as wide as a legend's line and the gap behind
LINE_IN = 0.19  # height of a legend's line
SYMLOG_FROM = 0.1  # an axis that holds 0 is linear up to here


def draw_figure(figure: Figure, suite: Suite, done: Done, paper: Paper) -> Canvas | None:
    """Return the figure, or None if none of the results it needs is there."""
    own = [(c, f) for c, f in done if all(c.settings.get(k) == v for k, v in figure.where.items())]
    with look():
        if figure.draw == "scatter":
            return _scatter(figure, own)
        if figure.draw == "distribution":
            return _distribution(figure, own)
        frame = history_frame(own) if figure.draw == "history" else _wide(own)
        if frame.empty or figure.y not in frame or figure.x not in frame:
            return None
        frame = frame[frame[figure.y].notna()]
        if frame.empty:
            return None
        return _curves(figure, suite, frame, paper)


def save(canvas: Canvas, stem: Path) -> list[Path]:
    """Write the figure as SVG and PNG, the same bytes for the same figure; return the files."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_suffix(".svg"), stem.with_suffix(".png")]
    with look():
        for path, metadata in zip(paths, ({"Date": None}, {"Software": None}), strict=True):
            canvas.savefig(path, bbox_inches="tight", metadata=metadata)
    return paths


def _wide(done: Done) -> pd.DataFrame:
    """Return a row a cell: settings and metrics; a metric never hides a setting."""
    return pd.DataFrame([finished.metrics | cell.settings for cell, finished in done])


def _curves(figure: Figure, suite: Suite, frame: pd.DataFrame, paper: Paper) -> Canvas:
    told = [name for name in (figure.by, figure.panels) if name]
    frame = frame.assign(**{name: frame[name].map(_named) for name in told})
    values = ordered(frame[figure.panels]) if figure.panels else [None]
    canvas, axes = _grid(values, figure)
    printed = _published(figure, suite, paper)
    names = ordered(frame[figure.by]) if figure.by else None
    at = set(frame[figure.x]) | (set() if printed is None else set(printed[figure.x]))
    for value, ax in zip(values, axes, strict=True):
        part = frame if value is None else frame[frame[figure.panels] == value]
        shown = None
        if printed is not None:
            shown = printed if value is None else printed[printed[figure.panels] == value]
        if figure.draw == "history":
            draw_history(part, ax, x=figure.x, y=figure.y, by=figure.by, names=names)
        else:
            draw_lines(
                part, ax, x=figure.x, y=figure.y, by=figure.by, names=names, published=shown,
                reference=figure.reference,
            )  # fmt: skip
        _scale_axis(ax, figure, ordered(at))
        if figure.draw == "history":
            ax.xaxis.set_major_locator(mpl.ticker.MaxNLocator(nbins=5, integer=True))
    axes[0].set_ylabel(figure.y_label)
    _legend(canvas, axes, always=figure.by is not None)
    return canvas


def _named(value: Any) -> Any:
    """Return the value of a setting; one that has no meaning for a cell gets a name too."""
    return "-" if value is None or value != value else value


def _scale_axis(ax: Axes, figure: Figure, ticks: list[float]) -> None:
    ax.set_xlabel(figure.x_label)
    if not figure.log_x:
        return
    if min(ticks) > 0:
        ax.set_xscale("log", base=2)
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks], rotation=45 if len(ticks) > 5 else 0)
        ax.minorticks_off()
    else:
        ax.set_xscale("symlog", linthresh=SYMLOG_FROM)
        ax.xaxis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g"))


def _published(figure: Figure, suite: Suite, paper: Paper) -> pd.DataFrame | None:
    if figure.artifact is None:
        return None
    ours = CELLS[suite.experiment].metrics
    rows = [
        {suite.renamed.get(k, k): v for k, v in value.settings.items()} | {"value": value.value}
        for value in paper.artifact(figure.artifact).values
        if value.value is not None and (value.metric == figure.y or value.metric not in ours)
    ]
    needed = [name for name in (figure.x, figure.by, figure.panels) if name]
    frame = pd.DataFrame([row for row in rows if all(name in row for name in needed)])
    return None if frame.empty else frame


def _scatter(figure: Figure, done: Done) -> Canvas | None:
    """Draw the arrays of the lowest seed, one panel a value of `panels`."""
    kept = [(c, f) for c, f in done if figure.y in f.arrays and figure.x in f.arrays]
    if not kept:
        return None
    seed = min(c.seed for c, _ in kept)
    chosen = sorted(
        (
            (c.settings[figure.panels] if figure.panels else None, f)
            for c, f in kept
            if c.seed == seed
        ),
        key=lambda pair: (pair[0] is not None, pair[0]),
    )
    canvas, axes = _grid([value for value, _ in chosen], figure)
    for (_, finished), ax in zip(chosen, axes, strict=True):
        draw_scatter(finished.arrays[figure.y], finished.arrays[figure.x], ax)
        ax.set(xticks=[], yticks=[])
    return canvas


def _distribution(figure: Figure, done: Done) -> Canvas | None:
    """Draw an array of shares, one outline a value of `by`."""
    shares: dict[Any, list[Any]] = {}
    for cell, finished in done:
        if figure.y in finished.arrays:
            name = cell.settings[figure.by] if figure.by else ""
            shares.setdefault(name, []).append(finished.arrays[figure.y])
    if not shares:
        return None
    canvas, axes = _grid([None], figure)
    names = ordered(shares)
    told = {name: f"{figure.by} = {name}" if figure.by else "measured" for name in names}
    draw_distribution({told[name]: shares[name] for name in names}, axes[0])
    axes[0].set(xlabel=figure.x_label, ylabel=figure.y_label)
    _legend(canvas, axes)
    return canvas


def _grid(values: Sequence[Any], figure: Figure) -> tuple[Canvas, list[Axes]]:
    columns = min(PANELS_A_ROW, len(values))
    rows = -(-len(values) // columns)
    width = PANEL_IN * columns if len(values) > 1 else 2 * PANEL_IN
    canvas = Canvas(figsize=(width, PANEL_IN * rows), layout="constrained")
    share: Callable[..., Any] = canvas.subplots
    axes = share(rows, columns, squeeze=False, sharey=True, sharex=figure.draw == "scatter").flat
    shown = list(axes)[: len(values)]
    for ax in list(axes)[len(values) :]:
        ax.remove()
    for value, ax in zip(values, shown, strict=True):
        if value is not None:
            told = f"{value:g}" if isinstance(value, int | float) else value
            ax.set_title(f"{figure.panels} = {told}")
    return canvas, shown


def _legend(canvas: Canvas, axes: Sequence[Axes], *, always: bool = False) -> None:
    handles: dict[str, Any] = {}
    for ax in axes:
        found, labels = ax.get_legend_handles_labels()
        handles |= dict(zip(labels, found, strict=True))
    if len(handles) > 1 or (always and handles):
        width, height = canvas.get_size_inches()
        longest = (max(map(len, handles)) + KEY_CHARACTERS) * CHARACTER_IN
        columns = max(1, min(5, len(handles), int(width / longest)))
        canvas.set_size_inches(width, height + LINE_IN * -(-len(handles) // columns))
        canvas.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns)
