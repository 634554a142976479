"""Effect plots: published effects as open circles, measured ones with intervals, a line at 0.

Effects of other projects are open triangles. Contrasts, whose sides differ in further settings, are
not drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from bench.analysis.compared_effects import ComparedEffect, shown_effects, varied_settings
from bench.figures.layout import (
    BY_OTHERS,
    PANEL_IN,
    PUBLISHED,
    PanelPlace,
    add_legend,
    make_canvas,
    seeds_text,
    sources_text,
)
from bench.figures.marks import evenly
from bench.figures.style import COLUMN_IN, GREY, TEXT_IN, look, styles
from bench.suites.metric_words import metric_title
from bench.suites.others import SourceEffect
from bench.text import value_text

MOST_PANELS = 9  # over an axis; with more of them effects are named one by one
HEIGHT_IN = 2.6  # of a panel over an axis, with the legend
LINE_IN = 0.2  # height of a named effect
FRAME_IN = 1.3  # height of what is around a panel: title, axis and legend
SPREAD = 0.4  # of the distance between two places, which the scales at one place share
SCALES = ("paper", "gpu", "cifar", "cpu", "smoke", "quick")  # each looks the same in any figure
FAINT = 0.35  # of effects that are not judged
LONG_NAME = 36  # characters of a line
MOST_UPRIGHT = 24  # names of places along an axis: of more of them, some are written
MOST_LINES = 400  # with a name below each other: of more of them, some are written
MOST_LEVEL = 6  # names of places that are not turned


@dataclass
class EffectPanel:
    """Effects with a common effect axis, and their positions along the other axis."""

    title: str
    rows: list[ComparedEffect]
    names: list[str]  # of the rows' places
    places: list[str]  # in order


def draw_effects(effects: Sequence[ComparedEffect]) -> Canvas | None:
    """Return the figure of an artifact's effects at one or more scales; None if none is measured.

    If a setting has several numbers, there is one panel per contrast, with this setting as an axis.
    Otherwise, there is one panel per metric, with one line per effect.
    """
    rows = shown_effects(effects)
    if not rows:
        return None
    axis, panels = effect_panels(rows)
    scales = list(dict.fromkeys(effect.scale for effect in effects if effect.measured))
    with look():
        canvas, axes = _canvas(panels, axis)
        for panel, ax in zip(panels, axes, strict=True):
            draw_panel(panel, ax, scales, upright=axis is not None)
        n = seeds_text(row.measured.n for row in rows if row.measured)
        whose = [(one.dataset, one.source) for row in rows for one in _others(row)]
        title = f"measured: difference of means with 95 % interval, {n}"
        add_legend(canvas, axes, title + sources_text(whose, canvas.get_figwidth()))
    return canvas


def effect_panels(rows: Sequence[ComparedEffect]) -> tuple[str | None, list[EffectPanel]]:
    """Return the panels and the setting on their axis, or None for one line per effect."""
    axis = _axis(rows)
    panels = _panels(rows, axis)
    if axis and (len(panels) > MOST_PANELS or all(len(p.places) == 1 for p in panels)):
        axis = None
        panels = _panels(rows, axis)
    return axis, panels


def draw_panel(panel: EffectPanel, ax: Axes, scales: Sequence[str], *, upright: bool) -> Axes:
    """Draw the effects of a panel at their positions.

    Args:
        panel: the effects and their positions.
        ax: axes to draw on.
        scales: all scales in the figure. Scales at one position are drawn side by side.
        upright: whether effects are on the vertical axis.
    """
    (ax.axhline if upright else ax.axvline)(0, color=GREY, lw=0.8, zorder=1)
    at = [float(panel.places.index(name)) for name in panel.names]
    placed = list(zip(at, panel.rows, strict=True))
    printed = {(a, row.printed.number) for a, row in placed if row.printed}
    others = {(a, one.value) for a, row in placed for one in _others(row)}
    for numbers, label, marker in ((printed, PUBLISHED, "o"), (others, BY_OTHERS, "^")):
        if numbers:
            places, found = zip(*sorted(numbers), strict=True)
            _points(ax, places, found, upright=upright, marker=marker, ms=7, mfc="none", mec=GREY,
                    label=label, zorder=4)  # fmt: skip
    looks = styles(list(dict.fromkeys([*SCALES, *scales])))
    shifts = np.linspace(-SPREAD / 2, SPREAD / 2, len(scales)) if len(scales) > 1 else [0.0]
    for scale, shift in zip(scales, shifts, strict=True):
        points = [(a + shift, row) for a, row in placed if row.scale == scale]
        style = {"color": looks[scale].colour, "marker": looks[scale].marker}
        label = f"measured at scale {scale}"
        sound = [(a, row) for a, row in points if row.why is None]
        _intervals(ax, sound, upright=upright, label=label, **style)
        unsound = [(a, row) for a, row in points if row.why is not None]
        label += ", not judged"
        _intervals(ax, unsound, upright=upright, label=label, alpha=FAINT, **style)
    _name_places(ax, panel.places, upright=upright)
    labels = {
        f"scale {row.scale}: {metric_title(row.stand_in)}": 0
        for row in panel.rows
        if row.stand_in and row.measured
    }
    ax.set_title("\n".join([panel.title, *labels]))
    return ax


def _others(row: ComparedEffect) -> list[SourceEffect]:
    """Return the effects of other projects next to the published one of a row."""
    return [one.effect for one in row.others if row.printed and one.effect.is_effect]


def _intervals(
    ax: Axes, rows: Sequence[tuple[float, ComparedEffect]], *, upright: bool, **style: Any
) -> None:
    """Draw measured effects at their places; a single run has no bar."""
    measured = [(a, row.measured) for a, row in rows if row.measured]
    if measured:
        ends = [(m.mean if m.low is None else m.low, m.mean if m.high is None else m.high)
                for _, m in measured]  # fmt: skip
        means = np.array([m.mean for _, m in measured])
        bars = np.abs(np.transpose(ends) - means)
        _points(ax, [a for a, _ in measured], means, upright=upright, bars=bars, ms=4, capsize=2,
                lw=1.2, zorder=3, **style)  # fmt: skip


def _points(
    ax: Axes, at: Sequence[float], effects: Any, *, upright: bool, bars: Any = None, **style: Any
) -> None:
    if upright:
        ax.errorbar(at, effects, yerr=bars, ls="", **style)
    else:
        ax.errorbar(effects, at, xerr=bars, ls="", **style)


def _name_places(ax: Axes, places: Sequence[str], *, upright: bool) -> None:
    most = MOST_UPRIGHT if upright else MOST_LINES
    every = range(len(places))
    named = every if len(places) <= most else evenly(every, most // 2)
    names = [places[i] for i in named]
    if upright:
        turn = 45 if len(places) > MOST_LEVEL else 0
        ax.set_xticks(named, names, rotation=turn)
        ax.set_xlim(-0.6, len(places) - 0.4)
    else:
        ax.set_yticks(named, names)
        ax.set_ylim(len(places) - 0.4, -0.6)


def _axis(rows: Sequence[ComparedEffect]) -> str | None:
    """Return the setting with the most numbers; None if none has several."""
    values: dict[str, set[Any]] = {}
    for row in rows:
        for name, value in row.at.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                values.setdefault(name, set()).add(value)
    counts = {name: len(effects) for name, effects in values.items() if len(effects) > 1}
    return max(counts, key=lambda name: counts[name], default=None)


def _panels(rows: Sequence[ComparedEffect], axis: str | None) -> list[EffectPanel]:
    """Return a panel for each metric, over an axis for each contrast and other settings too."""
    settings = [name for name in varied_settings(rows) if name != axis]
    short = _short_contrasts(rows)
    several = len(set(short.values())) > 1
    panels: dict[str, EffectPanel] = {}
    for row in rows:
        words = [f"{n} {value_text(row.at[n])}" for n in settings if row.at.get(n) is not None]
        words = [*([short[row.contrast]] if several or (not axis and not words) else []), *words]
        metric = metric_title(row.metric)
        title = "\n".join([metric, ", ".join(words)]) if axis and words else metric
        name = value_text(row.at.get(axis), null="-") if axis else _broken(", ".join(words))
        panel = panels.setdefault(title, EffectPanel(title, [], [], []))
        panel.rows.append(row)
        panel.names.append(name)
    for panel in panels.values():
        of = dict(zip(panel.names, panel.rows, strict=True))
        panel.places = sorted(of, key=lambda n: _order(of[n], axis)) if axis else list(of)
    return list(panels.values())


def _broken(name: str) -> str:
    """Return a long name in two lines."""
    return name.replace(" over ", "\nover ", 1) if len(name) > LONG_NAME else name


def _order(row: ComparedEffect, axis: str | None) -> tuple[bool, Any]:
    value = row.at.get(axis) if axis else None
    return (value is None, value)


def _short_contrasts(rows: Sequence[ComparedEffect]) -> dict[str, str]:
    """Return each contrast without the setting's name where all are of one setting."""
    names = {name for row in rows for name in row.over}
    name = names.pop() if len(names) == 1 else ""
    return {row.contrast: row.contrast.removeprefix(f"{name} ") for row in rows}


def _canvas(panels: Sequence[EffectPanel], axis: str | None) -> tuple[Canvas, list[Axes]]:
    """Return a canvas: panels over an axis side by side, else below each other."""

    def label(panel: EffectPanel) -> str:
        percent = all("top1" in row.metric or "top5" in row.metric for row in panel.rows)
        return "effect (points)" if percent else "effect"

    if axis:
        places = [PanelPlace(panel.title, label(panel), "") for panel in panels]
        size = COLUMN_IN if len(places) == 1 else PANEL_IN, HEIGHT_IN
        return make_canvas(places, axis.replace("_", " "), size=size)
    places = [PanelPlace(panel.title, "", panel.title) for panel in panels]
    most = max(sum(name.count("\n") + 1 for name in panel.places) for panel in panels)
    size = TEXT_IN * 0.75, LINE_IN * min(most, MOST_LINES) + FRAME_IN
    canvas, axes = make_canvas(places, "", one_x=True, a_row=1, size=size)
    for panel, ax in zip(panels, axes, strict=True):
        ax.set_xlabel(label(panel))
    return canvas, axes
