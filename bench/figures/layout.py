"""Canvas of a figure: panels, axes, ticks, legends and output files."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.text import Text
from matplotlib.ticker import LogFormatter

from bench.figures.style import COLUMN_IN, TEXT_IN, look
from bench.text import plain_text

PANELS_A_ROW = 3
PANEL_IN = TEXT_IN / PANELS_A_ROW  # width and height
HEIGHT_IN = 2.5  # of a figure of one panel
CHARACTER_IN = 0.058  # of a legend, with its line: a width that no font quite has
MOST_COLUMNS = 5  # of a legend
KEY_CHARACTERS = 8  # as wide as a legend's line and the gap behind
LINE_IN = 0.16  # height of a legend's line
AXIS_SHARE = 0.75  # of a panel's width that its axis has
TICK_CHARACTER_IN = 0.06
GAP_IN = 0.08  # between ticks' labels
TURNED_IN = 0.13  # from tick to tick where labels are turned
TURNED = 45  # degrees
FEW = 5  # ticks of an axis of steps
PERCENT = (-2.0, 102.0)  # an accuracy's axis: intervals may go beyond, accuracies do not
PUBLISHED = "published"  # in the names of what is printed
BY_OTHERS = "by others"  # of other projects' numbers
SYMLOG_FROM = 0.1  # a logarithmic axis that holds 0 is linear up to here
SYMLOG_SHARE = 0.4  # how wide that part is, of a factor of ten

METADATA: dict[str, dict[str, Any]] = {  # without dates and versions
    "svg": {"Date": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


@dataclass(frozen=True)
class PanelPlace:
    """Position of one panel's lines and their axis."""

    title: str
    y_label: str
    group: str  # panels of a group share the axis upwards


def make_canvas(
    places: Sequence[PanelPlace],
    x_label: str,
    *,
    one_x: bool = False,
    a_row: int = PANELS_A_ROW,
    size: tuple[float, float] | None = None,
) -> tuple[Canvas, list[Axes]]:
    """Return a canvas with axes for each panel.

    Args:
        places: positions of the panels, in order.
        x_label: label of the horizontal axis of all panels.
        one_x: whether panels also share the horizontal axis.
        a_row: maximum number of panels per row.
        size: width and height of a panel in inches; None means the size on pages.
    """
    rows = -(-len(places) // a_row)
    columns = -(-len(places) // rows)
    width, height = size or ((PANEL_IN, PANEL_IN) if len(places) > 1 else (COLUMN_IN, HEIGHT_IN))
    canvas = Canvas(figsize=(width * columns, height * rows), layout="constrained")
    grid: Any = canvas.subplots(rows, columns, squeeze=False, sharex=one_x)
    axes = list(grid.flat)
    for ax in axes[len(places) :]:
        ax.remove()
    first: dict[str, Axes] = {}
    for i, (panel, ax) in enumerate(zip(places, axes, strict=False)):
        ax.set_title(panel.title)
        ax.set_xlabel(x_label)
        ax.tick_params(labelbottom=True)
        begins_row, begins_group = i % columns == 0, panel.group not in first
        if begins_group:
            first[panel.group] = ax
        else:
            ax.sharey(first[panel.group])
        if begins_row or begins_group or places[i - 1].group != panel.group:
            ax.set_ylabel(panel.y_label)
        else:
            ax.tick_params(labelleft=False)
    return canvas, axes[: len(places)]


def place_ticks(ax: Axes, values: Sequence[float], *, log: bool) -> None:
    """Put ticks at the drawn values, omitting those whose labels would overlap.

    Args:
        ax: axes with all lines.
        values: values on the horizontal axis, in order.
        log: whether the axis is logarithmic. If it contains 0, it is linear near 0.
    """
    if log and min(values) > 0:
        ax.set_xscale("log", base=2)
    elif log:
        ax.set_xscale("symlog", linthresh=SYMLOG_FROM, linscale=SYMLOG_SHARE)
    spec = ax.get_subplotspec()
    columns = spec.get_gridspec().ncols if spec else 1
    width_in = AXIS_SHARE * (COLUMN_IN if columns == 1 else PANEL_IN)
    labels = [f"{value:g}" for value in values]
    at = _along(ax, values) * width_in
    flat = [len(label) * TICK_CHARACTER_IN + GAP_IN for label in labels]
    kept, turned = _apart(at, flat), False
    if len(kept) < len(values):
        kept, turned = _apart(at, [TURNED_IN] * len(values)), True
    ax.set_xticks(
        [values[i] for i in kept], [labels[i] for i in kept], rotation=TURNED if turned else 0
    )
    ax.minorticks_off()


def _along(ax: Axes, values: Sequence[float]) -> np.ndarray[Any, Any]:
    """Return where values lie on the axis, from 0 to 1."""
    low, high = ax.transScale.transform(np.array([(v, 1.0) for v in (ax.get_xlim())]))[:, 0]
    at = ax.transScale.transform(np.array([(value, 1.0) for value in values]))[:, 0]
    return np.asarray((at - low) / (high - low))


def _apart(at: np.ndarray[Any, Any], widths: Sequence[float]) -> list[int]:
    """Return which ticks are kept: the last, and from the first on those that leave room."""
    kept: list[int] = []
    last = len(at) - 1
    for i in range(len(at)):
        room_before = not kept or at[i] - at[kept[-1]] >= (widths[i] + widths[kept[-1]]) / 2
        room_behind = i == last or at[last] - at[i] >= (widths[i] + widths[last]) / 2
        if room_before and room_behind:
            kept.append(i)
    return kept


def limit_percent(ax: Axes) -> None:
    """Limit an accuracy's axis to 0 to 100 %."""
    low, high = ax.get_ylim()
    ax.set_ylim(max(low, PERCENT[0]), min(high, PERCENT[1]))


def widen(ax: Axes, like: Axes) -> None:
    """Make a vertical axis span at least as much as `like`, so slopes are comparable."""
    (low, high), (first, last) = ax.get_ylim(), like.get_ylim()
    more = max(0.0, (last - first) - (high - low)) / 2
    ax.set_ylim(low - more, high + more)


def few_ticks(ax: Axes, steps: Sequence[float] | None = None) -> None:
    """Put a few integer ticks on the horizontal axis; every step if there are few."""
    if steps is not None and len(steps) <= FEW:
        ax.set_xticks(steps, [f"{step:g}" for step in steps])
    else:
        whole = steps is not None
        ax.xaxis.set_major_locator(mpl.ticker.MaxNLocator(FEW if whole else FEW - 1, integer=whole))


def add_legend(
    canvas: Canvas,
    axes: Sequence[Axes],
    title: str,
    *,
    order: Sequence[str] = (),
    scale: float = 1,
) -> None:
    """Add a legend below all panels that describes lines and intervals.

    Args:
        canvas: the canvas; its height grows by the legend's lines after the first.
        axes: axes with the lines.
        title: description of the intervals; may have several lines.
        order: order of labels. Other labels follow, published ones last.
        scale: size factor of markers in the legend.
    """
    handles: dict[str, Any] = {}
    for ax in axes:
        artists, labels = ax.get_legend_handles_labels()
        handles |= dict(zip(labels, artists, strict=True))
    handles = {label: handles[label] for label in order if label in handles} | dict(
        sorted(handles.items(), key=lambda named: PUBLISHED in named[0])
    )
    width, height = canvas.get_size_inches()
    widths = [(len(label) + KEY_CHARACTERS) * CHARACTER_IN for label in handles]
    fitting = len(handles) if sum(widths) <= width else int(width / max(widths))
    columns = max(1, min(MOST_COLUMNS, len(handles), fitting))
    lines = -(-len(handles) // columns) + title.count("\n")
    canvas.set_size_inches(width, height + LINE_IN * (lines - 1))
    canvas.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=columns, title=title,
        markerscale=scale,
    )  # fmt: skip


def add_notes(canvas: Canvas, notes: Sequence[str]) -> None:
    """Add lines above the legend; the canvas grows by them."""
    width, height = canvas.get_size_inches()
    lines = [line for note in notes for line in _wrapped(note, width)]
    if lines and canvas.legends:
        title = canvas.legends[0].get_title()
        title.set_text("\n".join([title.get_text(), *lines]))
        canvas.set_size_inches(width, height + LINE_IN * len(lines))


def _wrapped(text: str, width: float) -> list[str]:
    return wrap(text, int(width / CHARACTER_IN), break_on_hyphens=False)


def sources_text(numbers: Iterable[tuple[str, str]], width: float) -> str:
    """Return the sources of other projects' numbers by data set, as lines of a legend title.

    Args:
        numbers: data set and source of each number; empty gives no line.
        width: width of the figure, in inches.
    """
    sources: dict[str, list[str]] = {}
    for data, source in dict.fromkeys(numbers):
        sources.setdefault(data, []).append(source)
    if not sources:
        return ""
    text = "; ".join(f"{data}: {', '.join(of)}" for data, of in sources.items())
    return "".join(f"\n{line}" for line in _wrapped(f"{BY_OTHERS}, {text}", width))


def seeds_text(counts: Iterable[int]) -> str:
    """Return the number of seeds per mean as text: `n = 3`, `n = 1 to 3`."""
    low, *_, high = sorted([*counts] * 2)
    return f"n = {low}" if low == high else f"n = {low} to {high}"


def save(canvas: Canvas, stem: Path, formats: Sequence[str] = ("svg", "png")) -> list[Path]:
    """Write the figure reproducibly, byte for byte; return the files.

    Args:
        canvas: the figure.
        stem: path without suffix.
        formats: file suffixes: svg, png, pdf.
    """
    stem.parent.mkdir(parents=True, exist_ok=True)
    with look():
        make_plain(canvas)
        canvas.draw_without_rendering()  # places everything once, not once a file
        canvas.set_layout_engine("none")
        files = [stem.with_name(f"{stem.name}.{kind}") for kind in formats]  # names may have dots
        for kind, file in zip(formats, files, strict=True):
            canvas.savefig(file, metadata=METADATA[kind])
    return files


def make_plain(canvas: Canvas) -> None:
    """Show dollar signs literally in all texts, and replace characters that pages cannot show.

    Powers of ten on a logarithmic axis stay unchanged.
    """
    powers = {
        id(label)
        for ax in canvas.axes
        for axis in (ax.xaxis, ax.yaxis)
        if isinstance(axis.get_major_formatter(), LogFormatter)
        for label in axis.get_ticklabels(which="both")
    }
    for text in canvas.findobj(Text):
        if isinstance(text, Text) and id(text) not in powers:
            text.set_parse_math(False)
            text.set_text("\n".join(map(plain_text, text.get_text().split("\n"))))
