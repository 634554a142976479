"""Common style: fixed colours, markers and dashes by name, readable without colour."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import Any

import matplotlib as mpl
import seaborn as sns

from bench.cells.losses import LOSSES
from bench.errors import PublishedError
from bench.files.yaml_file import load_yaml
from bench.suites.presets import paper_presets

COLUMN_IN = 3.4  # width of a column in print; figures are drawn at the size they are printed in
TEXT_IN = 7.0  # of a page with two columns
GREY = "0.35"

# Told apart with deuteranopia and protanopia, and dark enough for lines on white: the first of
# seaborn's, whose others are too pale.
_BLUE, _, _GREEN, _ORANGE, *_ = sns.color_palette("colorblind").as_hex()
_PALETTE = (_BLUE, _ORANGE, _GREEN, "#a6489a", "#b8860b", "#4fa3d1", "#7b4b2a", "#5c5c5c")
_MARKERS = ("o", "D", "s", "^", "v", "P", "X", "<", ">", "h")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
FIRST = Path(__file__).parent / "first_names.yaml"  # these have their colours first

_RC: dict[Any, Any] = {
    "svg.hashsalt": "bench",  # the same figure is the same file
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "figure.dpi": 200,
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.title_fontsize": 7,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
}


@dataclass(frozen=True)
class Style:
    """Colour, marker and dashes of one line."""

    colour: Any
    marker: str
    dash: Any


@contextmanager
def look() -> Iterator[None]:
    """Context manager that applies the project's style."""
    with mpl.rc_context():
        mpl.rcdefaults()  # whatever a matplotlibrc of the user says
        mpl.rcParams.update(_RC)
        yield


def styles(names: Sequence[Any]) -> dict[Any, Style]:
    """Return the style of each name: fixed for words, a sequence for numbers.

    An unknown word, such as `eqco, alpha = 64`, gets the style of its first word. If a name drawn
    before it has the same colour, or one of at most ten words the same marker, it gets a free one.
    """
    words = [name for name in names if isinstance(name, str)]
    numbers = [name for name in names if not isinstance(name, str)]
    ramp = sns.color_palette("viridis", as_cmap=True)
    by_name: dict[Any, Style] = {}
    for name, index in _places_of(words).items():
        style, taken = _style(index), {other.marker for other in by_name.values()}
        if style.marker in taken and len(words) <= len(_MARKERS):
            style = replace(style, marker=next(m for m in _MARKERS if m not in taken))
        by_name[name] = style
    for i, name in enumerate(numbers):
        colour = ramp(0.85 * i / max(len(numbers) - 1, 1))  # the last of it is too pale
        by_name[name] = Style(colour, _MARKERS[i % len(_MARKERS)], _DASHES[i % len(_DASHES)])
    return {name: by_name[name] for name in names}


def _places_of(words: Sequence[str]) -> dict[str, int]:
    """Return the place of each word, known words first; colours differ while any is left."""
    places: dict[str, int] = {}
    for word in sorted(words, key=lambda word: word not in _places()):
        colours = {place % len(_PALETTE) for place in places.values()}
        if len(colours) == len(_PALETTE):
            colours = set()  # all are taken, so names differ in marker
        own = _places().get(word, _places().get(word.partition(",")[0]))
        tried = chain([] if own is None else [own], count(len(_places())))
        places[word] = next(
            p for p in tried if p not in places.values() and p % len(_PALETTE) not in colours
        )
    return places


def _style(index: int) -> Style:
    """Return the style at a place; no two of the first 80 places share colour and marker."""
    row, column = divmod(index, len(_PALETTE))
    marker = _MARKERS[(row + column) % len(_MARKERS)]
    return Style(_PALETTE[column], marker, _DASHES[(row + column) % len(_DASHES)])


@cache
def _places() -> dict[str, int]:
    """Return the place of every loss and method: it does not depend on what else is drawn."""
    first = [name for row in load_yaml(FIRST, PublishedError) for name in row]
    names = dict.fromkeys([*first, *LOSSES, *paper_presets()])
    return {"": 0} | {name: i for i, name in enumerate(names)}
