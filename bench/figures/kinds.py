"""Kinds of figures, one class each; gains are in `gains.py`.

A new kind needs a class here, named by `draw` in suites, and an entry in `KINDS` of
`suites/figure.py`, which defines its x axis and its keys.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from bench.cells.cell import Cell
from bench.figures.frames import FAILED, chosen_by, label_of, panel_title
from bench.figures.layout import (
    BY_OTHERS,
    PanelPlace,
    add_legend,
    make_canvas,
    seeds_text,
)
from bench.figures.marks import (
    LEAST_SEEDS,
    SEED_ALPHA,
    WIDTHS,
    bars,
    draw_seeds,
    draw_unnamed,
    interval_drawn,
    named_lines,
    ordered,
    summarise,
    widths_apart,
)
from bench.figures.style import GREY, Style, styles
from bench.results.reader import Done
from bench.results.tables import Arrays
from bench.suites.figure import Figure

MARKS = 8  # on a line over training, so that it is known without its colour
UNKNOWN = "?"  # the line of a printed value whose paper does not say which line it is of
BAND_ALPHA = 0.15
CROSS_HEIGHT = 0.03  # of an axis, from one line's crosses to the next
MOST_CLASSES = 100  # of a scatter
PLANE = 2  # axes
REAL = "biuf"  # kinds of numpy's types
KEY_SCALE = 3  # of a scatter's points in its legend


def line_label(by: str | None, name: Any) -> str:
    """Return the legend label of a line."""
    if by is None:
        return "measured"
    if not isinstance(name, str):
        return f"{by} = {name:g}"
    return f"{by} = {name}" if name.startswith("_") else name  # which no legend would show


KINDS: dict[str, type["Curves"] | type["OfCells"]] = {}
"""The classes by the value of `draw` in a suite."""


DrawnByName = dict[Any, tuple[pd.DataFrame, Style]]
"""Rows and style of each line that has a name."""


@dataclass(frozen=True, kw_only=True)
class Curves(ABC):
    """Figures of metrics, with one line or one kind of points per value of `by`.

    Lines are means over seeds with their 95 % t-intervals.
    """

    x: str  # column across
    y: str  # column of the metric
    by: str | None = None  # column that distinguishes lines; None: there is one
    names: Sequence[Any] | None = None  # of all lines of the figure, so panels share their styles
    ribbon: str | None = None  # a standard deviation: bars are mean ± its mean over seeds
    reference: str | None = None  # column drawn dashed: grey if it is the same for all lines
    most_intervals: ClassVar[float] = inf  # more lines than these are drawn without intervals

    def __init_subclass__(cls, draw: str) -> None:
        """Register the kind by the word of a suite's `draw`."""
        KINDS[draw] = cls

    def draw(self, frame: pd.DataFrame, ax: Axes) -> Axes:
        """Draw the lines; if there are many, only some have labels.

        Args:
            frame: one row per cell or history record, with the columns x, y, by and `seed`.
            ax: axes to draw on.
        """
        names = self._names(frame)
        looks, named = styles(names), named_lines(names)
        every = {name: self._rows(frame, name) for name in named}
        lines = {n: (rows, looks[n]) for n, rows in every.items() if rows[self.y].notna().any()}
        self._draw(lines, ax)
        if self.reference:
            self._draw_reference(self.reference, frame, lines, ax)
        if self.by and len(named) < len(names):
            rows = frame[~frame[self.by].isin(named)]
            draw_unnamed(rows, ax, x=self.x, y=self.y, by=self.by, looks=looks)
        if FAILED in frame:
            self._draw_failed(frame[frame[FAILED].notna()], looks, ax, lines)
        return ax

    def _draw_failed(
        self, frame: pd.DataFrame, looks: Mapping[Any, Style], ax: Axes, lines: DrawnByName
    ) -> None:
        """Mark where cells failed: crosses at the lower edge, those of a line above another's."""
        for name in ordered(frame[self.by]) if self.by else [""]:
            label = "_failed" if name in lines else f"{line_label(self.by, name)} (failed)"
            at = ordered(self._rows(frame, name)[self.x])
            height = CROSS_HEIGHT * (1 + list(looks).index(name))
            ax.plot(
                at, [height] * len(at), ls="", marker="x", ms=4, mew=1, color=looks[name].colour,
                transform=ax.get_xaxis_transform(), zorder=5, label=label,
            )  # fmt: skip

    @abstractmethod
    def _draw(self, lines: DrawnByName, ax: Axes) -> None:
        """Draw the named lines."""

    def _draw_reference(
        self, reference: str, frame: pd.DataFrame, lines: DrawnByName, ax: Axes
    ) -> None:
        """Draw the reference of each line in its colour; once, in grey, where all share it."""
        shared = frame.groupby(self.x)[reference].nunique().max() == 1
        one = {reference: (frame, Style(GREY, "", ""))}
        for label, (rows, style) in (one if shared else lines).items():
            dashed = summarise(rows, self.x, reference)
            told = label if shared else None
            ax.plot(dashed[self.x], dashed["mean"], color=style.colour, ls="--", lw=0.9, label=told)

    def draw_printed(self, points: pd.DataFrame, ax: Axes, *, joined: bool = False) -> Axes:
        """Draw published values as open markers; grey if the paper does not name the line.

        Args:
            points: one row per published value, with the columns x, by and value.
            ax: axes to draw on.
            joined: whether to connect them by a thin line.
        """
        looks = styles(self._names(points))
        if self.by is not None:
            looks[UNKNOWN] = Style(GREY, "o", "")
        for name, style in looks.items():
            rows = self._rows(points, name).sort_values(self.x)
            if rows.empty:
                continue
            label = "line not stated" if name == UNKNOWN else line_label(self.by, name)
            ax.plot(
                rows[self.x], rows["value"], ls="-" if joined and name != UNKNOWN else "", lw=0.7,
                marker=style.marker, ms=5 if joined else 8, mfc="none", color=style.colour,
                label=f"{label} (published)" if self.by else "published", zorder=4, clip_on=False,
            )  # fmt: skip
        return ax

    def draw_others(self, points: pd.DataFrame, ax: Axes) -> Axes:
        """Draw other projects' numbers as open triangles in the colours of their lines.

        Args:
            points: one row per number, with the columns x, by and value.
            ax: axes to draw on.
        """
        for name, style in styles(self._names(points)).items():
            rows = self._rows(points, name)
            if not rows.empty:
                label = f"{line_label(self.by, name)} ({BY_OTHERS})" if self.by else BY_OTHERS
                ax.plot(
                    rows[self.x], rows["value"], ls="", marker="^", ms=4.5, mfc="none", mew=0.7,
                    color=style.colour, label=label, zorder=3.5, clip_on=False,
                )  # fmt: skip
        return ax

    def _names(self, frame: pd.DataFrame) -> Sequence[Any]:
        return self.names or (ordered(frame[self.by]) if self.by else [""])

    def _rows(self, frame: pd.DataFrame, name: Any) -> pd.DataFrame:
        return frame[frame[self.by] == name] if self.by else frame

    def _line(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the mean along x with the ends of its bars."""
        line = summarise(rows, self.x, self.y)
        if self.ribbon is None:
            return interval_drawn(line, self.y)
        half = summarise(rows, self.x, self.ribbon)["mean"]
        return line.assign(low=line["mean"] - half, high=line["mean"] + half)


class Lines(Curves, draw="lines"):
    """A metric against a setting; lines have gaps at missing values (NaN)."""

    def _draw(self, lines: DrawnByName, ax: Axes) -> None:
        means = [self._line(rows) for rows, _ in lines.values()]
        widths = widths_apart([mean.set_index(self.x)["mean"] for mean in means])
        for (name, (rows, style)), line, width in zip(lines.items(), means, widths, strict=True):
            ax.errorbar(
                line[self.x], line["mean"], yerr=bars(line), color=style.colour,
                marker=style.marker, ms=width + 2.3, lw=width, elinewidth=WIDTHS[0], capsize=2,
                label=line_label(self.by, name), zorder=3,
            )  # fmt: skip
            if not self.ribbon:
                draw_seeds(rows, ax, x=self.x, y=self.y, style=style)


class History(Curves, draw="history"):
    """A metric during training, with intervals as bands and ribbons around groups of lines."""

    most_intervals = 4  # more of them hide each other

    def _draw(self, lines: DrawnByName, ax: Axes) -> None:
        banded = self.ribbon or len(self.names or lines) <= self.most_intervals
        for name, (rows, style) in lines.items():
            line = self._line(rows[rows[self.y].notna()])
            ax.plot(
                line[self.x], line["mean"], color=style.colour, lw=1.1, ls=style.dash, ms=3,
                marker=style.marker, markevery=max(1, len(line) // MARKS),
                label=line_label(self.by, name),
            )  # fmt: skip
            if banded:
                band = {"color": style.colour, "alpha": BAND_ALPHA, "lw": 0}
                ax.fill_between(line[self.x], line["low"], line["high"], **band)
            if banded and not self.ribbon and 1 < rows["seed"].nunique() < LEAST_SEEDS:
                for _, run in rows.groupby("seed"):
                    ax.plot(run[self.x], run[self.y], color=style.colour, lw=0.5, alpha=SEED_ALPHA)


class Points(Curves, draw="points"):
    """One metric against another, with one point per group of cells that differ only in the seed.

    The column `point` identifies the group of a row.
    """

    def _draw(self, lines: DrawnByName, ax: Axes) -> None:
        for name, (rows, style) in lines.items():
            across, up = (interval_drawn(summarise(rows, "point", m), m) for m in (self.x, self.y))
            ax.errorbar(
                across["mean"], up["mean"], xerr=bars(across), yerr=bars(up), color=style.colour,
                ls="", marker=style.marker, ms=4, elinewidth=0.7, capsize=1.5,
                label=line_label(self.by, name),
            )  # fmt: skip
            draw_seeds(rows, ax, x=self.x, y=self.y, style=style, group="point")


class OfCells(ABC):
    """Base class of figures that draw the whole canvas from finished cells."""

    def __init_subclass__(cls, draw: str | None = None) -> None:
        """Register the kind by the word of a suite's `draw`; None: it is a base of kinds."""
        if draw is not None:
            KINDS[draw] = cls

    @classmethod
    @abstractmethod
    def is_drawable(cls, figure: Figure, cells: Sequence[Cell], done: Done) -> bool:
        """Return whether the finished cells have the required results.

        Args:
            figure: definition of the figure.
            cells: all cells of the selection.
            done: the finished cells.
        """

    @classmethod
    @abstractmethod
    def canvas(cls, figure: Figure, cells: Sequence[Cell], done: Done) -> Canvas | None:
        """Return the figure; None if it is not drawable."""


class OfArrays(OfCells):
    """Base class of figures of stored arrays."""

    @classmethod
    def is_drawable(cls, figure: Figure, cells: Sequence[Cell], done: Done) -> bool:
        """Return whether any finished cell has the arrays."""
        return bool(cls.drawable(figure, cells, done))

    @classmethod
    def canvas(cls, figure: Figure, cells: Sequence[Cell], done: Done) -> Canvas | None:
        """Draw the arrays of the cells that have them."""
        kept = cls.drawable(figure, cells, done)
        return cls._canvas(figure, kept) if kept else None

    @classmethod
    def drawable(cls, figure: Figure, cells: Sequence[Cell], done: Done) -> Done:
        """Return the selected finished cells that have the arrays.

        Args:
            figure: definition of the figure.
            cells: all cells of the selection.
            done: the finished cells.
        """
        within = chosen_by(figure, cells or [cell for cell, _ in done])
        return [
            (cell, kept) for cell, kept in done if within(cell) and cls._fits(figure, kept.arrays)
        ]

    @classmethod
    @abstractmethod
    def _canvas(cls, figure: Figure, done: Done) -> Canvas:
        """Draw the arrays of cells that `drawable` returned, one or more."""

    @classmethod
    @abstractmethod
    def _fits(cls, figure: Figure, arrays: Arrays) -> bool:
        """Whether arrays, which may come from elsewhere, have the types and shapes needed."""


class Scatter(OfArrays, draw="scatter"):
    """Points in a plane, coloured by class, for the lowest seed; a panel per value of `panels`."""

    @classmethod
    def _canvas(cls, figure: Figure, done: Done) -> Canvas:
        """Draw a panel a value of `panels`."""
        seed = min(cell.seed for cell, _ in done)
        chosen = {
            label_of(figure.panel_names, cell.settings): (cell, kept)
            for cell, kept in done
            if cell.seed == seed
        }
        values = ordered(chosen)
        titles = [panel_title(figure, value) for value in values]
        # Noise makes one panel's points reach farther than another's: each has its own axes then.
        places = [
            PanelPlace(title, figure.y_label, title if figure.noise else "") for title in titles
        ]
        canvas, axes = make_canvas(places, figure.x_label, one_x=not figure.noise)
        for value, ax in zip(values, axes, strict=True):
            cell, kept = chosen[value]
            points = kept.arrays[figure.y]
            if figure.noise:
                noise = np.random.default_rng(0).random(points.shape)
                points = points + cell.settings[figure.noise] * noise
            cls.draw(points, kept.arrays[figure.x], ax)
            ax.set(xticks=[], yticks=[])
        add_legend(canvas, axes, f"one seed ({seed})", scale=KEY_SCALE)
        return canvas

    @staticmethod
    def draw(points: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], ax: Axes) -> Axes:
        """Draw 2-d points by class; vector files contain them as a bitmap, since there are many.

        Args:
            points: shape (n, 2).
            labels: class of each point, shape (n,).
            ax: axes to draw on.
        """
        names = {f"class {label}": label for label in sorted(set(labels.tolist()))}
        for name, style in styles(list(names)).items():
            chosen = points[labels == names[name]]
            ax.plot(
                chosen[:, 0], chosen[:, 1], ls="", marker=style.marker, ms=1.5, mew=0,
                color=style.colour, label=name, rasterized=True,
            )  # fmt: skip
        ax.set_aspect("equal")
        return ax

    @classmethod
    def _fits(cls, figure: Figure, arrays: Arrays) -> bool:
        points, labels = (_real(arrays, name) for name in (figure.y, figure.x))
        if points is None or labels is None or points.ndim != PLANE:
            return False
        is_plane = points.shape == (*labels.shape, PLANE)  # as many numbers a point as axes
        return is_plane and len(set(labels.tolist())) <= MOST_CLASSES


class Distribution(OfArrays, draw="distribution"):
    """Histograms over [0, 1] as densities: means over seeds, one line per value of `by`."""

    @classmethod
    def drawable(cls, figure: Figure, cells: Sequence[Cell], done: Done) -> Done:
        """Return the cells whose arrays have the most common number of bins."""
        drawable = super().drawable(figure, cells, done)
        counts = Counter(len(kept.arrays[figure.y]) for _, kept in drawable).most_common(1)
        return [
            (cell, kept) for cell, kept in drawable if len(kept.arrays[figure.y]) == counts[0][0]
        ]

    @classmethod
    def _canvas(cls, figure: Figure, done: Done) -> Canvas:
        """Draw all outlines in one panel."""
        shares: dict[Any, list[Any]] = {}
        for cell, kept in done:
            name = label_of(figure.line_names, cell.settings) if figure.by else ""
            shares.setdefault(name, []).append(kept.arrays[figure.y])
        canvas, axes = make_canvas([PanelPlace("", figure.y_label, "")], figure.x_label)
        by = figure.line_names[0] if len(figure.line_names) == 1 else None
        cls.draw({name: shares[name] for name in ordered(shares)}, axes[0], by)
        if figure.log_y:
            axes[0].set_yscale("log")
        add_legend(canvas, axes, f"mean over seeds ({seeds_text(map(len, shares.values()))})")
        return canvas

    @staticmethod
    def draw(
        shares: Mapping[Any, Sequence[np.ndarray[Any, Any]]], ax: Axes, by: str | None = None
    ) -> Axes:
        """Draw densities over equal bins of [0, 1], means over seeds.

        Args:
            shares: share of each bin for each seed, with sum 1, by the value of `by`.
            ax: axes to draw on.
            by: the setting that distinguishes outlines.
        """
        for (name, curves), style in zip(shares.items(), styles([*shares]).values(), strict=True):
            mean = np.mean(curves, axis=0)
            ax.stairs(
                mean * len(mean), np.linspace(0, 1, len(mean) + 1), color=style.colour, lw=1.2,
                ls=style.dash, label=line_label(by, name),
            )  # fmt: skip
        return ax

    @classmethod
    def _fits(cls, figure: Figure, arrays: Arrays) -> bool:
        shares = _real(arrays, figure.y)
        return shares is not None and shares.ndim == 1


def _real(arrays: Arrays, name: str) -> np.ndarray[Any, Any] | None:
    """Return an array of numbers that is not empty; None if there is no such one."""
    array = arrays.get(name)
    return None if array is None or array.dtype.kind not in REAL or not array.size else array
