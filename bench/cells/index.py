"""Cells looked up by some of their settings, without a look at every cell each time."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from bench.cells.cell import Cell

Values = tuple[Hashable, ...]


class CellIndex:
    """The cells of a suite at a scale, found by any choice of their settings."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        """Name the cells; a choice of settings is indexed when it is first asked for."""
        self.cells = list(cells)
        self._by_names: dict[tuple[str, ...], dict[Values, list[Cell]]] = {}

    def where(self, wanted: Mapping[str, Any]) -> list[Cell]:
        """Return the cells that have these settings (`experiment` among them), in order.

        A cell without a setting of this name is not among them, whatever the value.
        """
        names = tuple(sorted(wanted))
        if names not in self._by_names:
            self._by_names[names] = self._grouped(names)
        return list(self._by_names[names].get(_values(wanted, names), ()))

    def _grouped(self, names: tuple[str, ...]) -> dict[Values, list[Cell]]:
        groups: dict[Values, list[Cell]] = {}
        wanted = set(names)
        for cell in self.cells:
            known = cell.known
            if known.keys() >= wanted:
                groups.setdefault(_values(known, names), []).append(cell)
        return groups


def _values(known: Mapping[str, Any], names: tuple[str, ...]) -> Values:
    """Return the values of some settings; lists, which have no hash, by what they look like."""
    values = tuple([known[name] for name in names])
    try:
        hash(values)
    except TypeError:
        return tuple([v if isinstance(v, Hashable) else repr(v) for v in values])
    return values
