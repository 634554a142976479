"""Which settings tell cells apart, and how a cell is named by them."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.cells.cell import Cell, varied_settings
from bench.text import value_text

FIRST = ("method", "negatives", "loss")  # settings that name a cell best, kept where others follow
LONGEST = 48  # characters of a label


def telling_settings(cells: Sequence[Cell]) -> list[str]:
    """Return settings that tell cells apart, without those that follow from the others."""
    names = varied_settings(cells)
    points = [{n: cell.settings.get(n) for n in names} for cell in cells]
    return without_followers(points, nulls_tell=False)


def without_followers(points: Sequence[Mapping[str, Any]], *, nulls_tell: bool = True) -> list[str]:
    """Return the names of settings without those that follow from the others.

    Of two that follow from each other the one that comes first is kept: `FIRST`, then their order.

    Args:
        points: settings by name, the same names in each.
        nulls_tell: a null tells as much as a value; else a setting of `FIRST` is kept where it
            follows from nulls alone, so that a loss without an alpha is named.
    """
    names = [name for name in FIRST if name in points[0]]
    names += [name for name in points[0] if name not in names]
    for name in reversed(names[:]):
        rest = [other for other in names if other != name]
        if _follows(
            name, _known(rest, points) if name in FIRST and not nulls_tell else rest, points
        ):
            names = rest
    return names


def _known(names: Sequence[str], points: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the settings that have a value in every point."""
    return [name for name in names if all(p.get(name) is not None for p in points)]


def labels(cells: Sequence[Cell]) -> list[str]:
    """Return a short name for each cell: `dcl, batch_size 32, seed 0`.

    Cells are told apart among those of their experiment, which is named where there are several.
    """
    kinds = list(dict.fromkeys(cell.experiment for cell in cells))
    names = {k: telling_settings([c for c in cells if c.experiment == k]) for k in kinds}
    return [_label(cell, names[cell.experiment], alone=len(kinds) == 1) for cell in cells]


def _label(cell: Cell, names: Sequence[str], *, alone: bool) -> str:
    known = {n: cell.settings[n] for n in names if cell.settings.get(n) is not None}
    parts = [v if isinstance(v, str) else f"{n} {value_text(v)}" for n, v in known.items()]
    kind = [] if parts and alone else [cell.experiment]
    seed = f"seed {cell.seed}"
    text = ", ".join([*kind, *parts, seed])
    return text if len(text) <= LONGEST else f"{text[: LONGEST - len(seed) - 5]}..., {seed}"


def _follows(name: str, rest: Sequence[str], points: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a setting is a function of the others, over these points."""
    seen: dict[tuple[Any, ...], Any] = {}
    return all(
        seen.setdefault(tuple(p.get(n) for n in rest), p.get(name)) == p.get(name) for p in points
    )
