"""One look: colour-blind safe colours fixed by name, readable in print."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import seaborn as sns

_PALETTE = sns.color_palette("colorblind", 10)
# A name keeps its colour whatever else is drawn.
COLOURS: dict[str, Any] = {
    "infonce": _PALETTE[0],
    "eqco": _PALETTE[1],
    "vince": _PALETTE[2],
    "dcl": _PALETTE[3],
    "dclw": _PALETTE[4],
    "bank": _PALETTE[5],
    "batch": _PALETTE[6],
    "align-uniform": _PALETTE[8],
    "dual-temperature": _PALETTE[9],
}
MARKERS = {
    "infonce": "o", "eqco": "s", "vince": "^", "dcl": "D", "dclw": "v", "bank": "<", "batch": ">",
    "align-uniform": "P", "dual-temperature": "X",
}  # fmt: skip
GREY = "0.35"

_RC: dict[Any, Any] = {
    "svg.hashsalt": "bench",  # the same figure is the same file
    "svg.fonttype": "none",
    "figure.dpi": 150,
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "axes.axisbelow": True,
}


@contextmanager
def look() -> Iterator[None]:
    """Draw in the project's style within the block."""
    with mpl.rc_context(_RC):
        yield


def colours(names: Sequence[Any]) -> dict[Any, Any]:
    """Return a colour for each name: its own, else of a sequence (numbers) or a circle (words)."""
    known = {name: COLOURS[str(name)] for name in names if str(name) in COLOURS}
    others = [name for name in names if name not in known]
    words = known or any(isinstance(name, str) for name in others)
    palette = "husl" if words else "viridis"
    return known | dict(zip(others, sns.color_palette(palette, len(others)), strict=True))
