"""A suite's figure: one panel a value of a setting, saved as SVG, PNG and PDF."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from bench.cells import CELLS
from bench.cells.cell import Cell
from bench.figures.curves import (
    MOST_BANDS,
    draw_distribution,
    draw_history,
    draw_lines,
    draw_points,
    draw_scatter,
    ordered,
)
from bench.figures.style import COLUMN_IN, TEXT_IN, look
from bench.papers.reader import Paper
from bench.results.reader import Done
from bench.suites.suite import Figure, Suite

PANELS_A_ROW = 3
PANEL_IN = TEXT_IN / PANELS_A_ROW  # width and height
HEIGHT_IN = 2.5  # of a figure of one panel
CHARACTER_IN = 0.058  # of a legend, with its line: a width that no font quite has
KEY_CHARACTERS = 8  # as wide as a legend's line and the gap behind
LINE_IN = 0.16  # height of a legend's line
PERCENT = (-2.0, 102.0)  # an accuracy's axis: intervals may go beyond, accuracies do not
SYMLOG_FROM = 0.1  # an axis that holds 0 is linear up to here
METADATA: dict[str, dict[str, Any]] = {  # without dates and versions
    "svg": {"Date": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def draw_figure(
    figure: Figure, suite: Suite, cells: Sequence[Cell], done: Done, paper: Paper
) -> Canvas | None:
    """Return the figure, or None if none of the results it needs is there.

    Lines have gaps where cells are missing that would measure something.
    """
    own = [(c, f) for c, f in done if _belongs(c, figure)]
    with look():
        if figure.draw == "scatter":
            return _scatter(figure, own)
        if figure.draw == "distribution":
            return _distribution(figure, own)
        frame = _frame(figure, own)
        frame = frame[frame[figure.y].notna() & frame[figure.x].notna()]
        if frame.empty:
            return None
        if figure.draw == "lines":
            known = {c.id for c, _ in done}
            planned = [c for c in cells if c.id not in known and _belongs(c, figure)]
            gaps = [c.settings | {figure.y: None} for c in planned if figure.y in c.metrics]
            frame = pd.DataFrame([*frame.to_dict("records"), *gaps])
        return _curves(figure, suite, frame, paper)


def can_be_drawn(figure: Figure, done: Done) -> bool:
    """Whether the results hold what the figure needs."""
    own = [(c.settings, f) for c, f in done if _belongs(c, figure)]
    if figure.draw in ("scatter", "distribution"):
        arrays = {figure.y, figure.x} if figure.draw == "scatter" else {figure.y}
        return any(arrays <= set(f.arrays) for _, f in own)
    if figure.draw == "history":
        return any(_has(line | settings, figure) for settings, f in own for line in f.history)
    return any(_has(f.metrics | settings, figure) for settings, f in own)


def _has(known: dict[str, Any], figure: Figure) -> bool:
    return known.get(figure.y) is not None and known.get(figure.x) is not None


def _belongs(cell: Cell, figure: Figure) -> bool:
    settings = cell.settings if figure.where else {}
    return all(settings.get(k) == v for k, v in figure.where.items())


def save(canvas: Canvas, stem: Path, formats: Sequence[str] = ("svg", "png")) -> list[Path]:
    """Write the figure, the same bytes for the same figure; return the files."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    with look():
        canvas.draw_without_rendering()  # places everything once, not once a file
        canvas.set_layout_engine("none")
        for kind in formats:
            canvas.savefig(stem.with_suffix(f".{kind}"), metadata=METADATA[kind])
    return [stem.with_suffix(f".{kind}") for kind in formats]


def _frame(figure: Figure, done: Done) -> pd.DataFrame:
    """Return what the figure needs: a row a cell, or one a line of its history.

    A metric never hides a setting.
    """
    asked = (figure.x, figure.y, figure.by, figure.panels, figure.reference, figure.ribbon, "seed")
    names = list(dict.fromkeys(name for name in asked if name))
    rows: list[dict[str, Any]] = []
    for cell, finished in done:
        settings = cell.settings
        own = {name: settings[name] for name in names if name in settings}
        point = json.dumps(settings | {"seed": 0}) if figure.draw == "points" else ""
        lines = finished.history if figure.draw == "history" else [finished.metrics]
        rows += [{n: own.get(n, line.get(n)) for n in names} | {"point": point} for line in lines]
    return pd.DataFrame(rows, columns=[*names, "point"])


def _curves(figure: Figure, suite: Suite, frame: pd.DataFrame, paper: Paper) -> Canvas:
    told = [name for name in (figure.by, figure.panels) if name]
    frame = frame.assign(**{name: frame[name].map(_named) for name in told})
    have = frame[frame[figure.y].notna()]
    values = ordered(have[figure.panels]) if figure.panels else [None]
    canvas, axes = _grid(values, figure)
    printed = _published(figure, suite, paper)
    names = ordered(have[figure.by]) if figure.by else None
    at = set(have[figure.x]) | (set() if printed is None else set(printed[figure.x]))
    for value, ax in zip(values, axes, strict=True):
        part = frame if value is None else frame[frame[figure.panels] == value]
        shown = None
        if printed is not None:
            shown = printed if value is None else printed[printed[figure.panels] == value]
        axis: dict[str, Any] = {"x": figure.x, "y": figure.y, "by": figure.by}
        if figure.draw == "history":
            draw_history(part, ax, **axis, names=names, ribbon=figure.ribbon)
            ax.xaxis.set_major_locator(mpl.ticker.MaxNLocator(nbins=5, integer=True))
        elif figure.draw == "points":
            draw_points(part, ax, **axis, names=names)
        else:
            draw_lines(part, ax, **axis, names=names, published=shown, reference=figure.reference)
        if figure.log_x:
            _log_axis(ax, ordered(at))
    if figure.y.endswith("top1"):
        low, high = axes[0].get_ylim()
        axes[0].set_ylim(max(low, PERCENT[0]), min(high, PERCENT[1]))  # of all: they share it
    _legend(canvas, axes, _seeds(have, figure))
    return canvas


def _seeds(frame: pd.DataFrame, figure: Figure) -> str:
    """Return what an interval is, and of how many seeds."""
    place = ["point"] if figure.draw == "points" else [figure.x]
    keys = [*place, *(name for name in (figure.by, figure.panels) if name)]
    counts = frame.groupby(keys)["seed"].nunique() if "seed" in frame else pd.Series([1])
    n = _span(counts)
    if figure.draw == "history" and figure.by and frame[figure.by].nunique() > MOST_BANDS:
        return f"means over seeds ({n})"
    if figure.ribbon:
        return f"mean ± standard deviation, means over seeds ({n})"
    return f"mean and 95 % t-interval over seeds ({n})" if counts.max() > 1 else "one seed (n = 1)"


def _span(counts: Iterable[int]) -> str:
    low, *_, high = sorted([*counts] * 2)
    return f"n = {low}" if low == high else f"n = {low} to {high}"


def _named(value: Any) -> Any:
    """Return the value of a setting; one that has no meaning for a cell gets a name too."""
    return "-" if value is None or value != value else value


def _log_axis(ax: Axes, ticks: list[float]) -> None:
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
    draw_distribution({name: shares[name] for name in ordered(shares)}, axes[0], figure.by)
    counts = sorted({len(found) for found in shares.values()})
    _legend(
        canvas, axes, f"mean over seeds (n = {' to '.join(map(str, counts[:1] + counts[1:][-1:]))})"
    )
    return canvas


def _grid(values: Sequence[Any], figure: Figure) -> tuple[Canvas, list[Axes]]:
    rows = -(-len(values) // PANELS_A_ROW)
    columns = -(-len(values) // rows)
    size = (PANEL_IN * columns, PANEL_IN * rows) if len(values) > 1 else (COLUMN_IN, HEIGHT_IN)
    canvas = Canvas(figsize=size, layout="constrained")
    share: Callable[..., Any] = canvas.subplots
    grid = share(rows, columns, squeeze=False, sharey=True, sharex=figure.draw == "scatter")
    axes = list(grid.flat)
    shown = axes[: len(values)]
    for ax in axes[len(values) :]:
        ax.remove()
    for i, (value, ax) in enumerate(zip(values, shown, strict=True)):
        if value is not None:
            told = f"{value:g}" if isinstance(value, int | float) else value
            ax.set_title(f"{figure.panels} = {told}")
        if figure.draw != "scatter":
            ax.set_xlabel(figure.x_label)
            ax.set_ylabel(figure.y_label if i % columns == 0 else "")
    return canvas, shown


def _legend(canvas: Canvas, axes: Sequence[Axes], title: str) -> None:
    """Put what the lines are, and what their intervals are, below all panels."""
    handles: dict[str, Any] = {}
    for ax in axes:
        found, labels = ax.get_legend_handles_labels()
        handles |= dict(zip(labels, found, strict=True))
    width, height = canvas.get_size_inches()
    longest = (max(map(len, handles)) + KEY_CHARACTERS) * CHARACTER_IN
    columns = max(1, min(5, len(handles), int(width / longest)))
    canvas.set_size_inches(width, height + LINE_IN * (1 - (-len(handles) // columns)))
    canvas.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=columns, title=title
    )
