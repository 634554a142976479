"""Which effects of an artifact are shown, in which order, and what tells them apart."""

from collections.abc import Iterable, Sequence
from math import inf

from bench.analysis.compared_effects import ComparedEffect


def shown_effects(effects: Iterable[ComparedEffect]) -> list[ComparedEffect]:
    """Return the measured effects of an artifact, and each printed one that no scale measures.

    Nothing where none is measured. Scales of one printed effect stand together.
    """
    groups: dict[tuple[str, str], list[ComparedEffect]] = {}
    for effect in effects:
        groups.setdefault((effect.metric, effect.contrast), []).append(effect)
    rows: list[ComparedEffect] = []
    for alike in groups.values():
        measured = [row for row in alike if row.measured]
        places = {_key(row) for row in measured}
        missing: dict[str, ComparedEffect] = {}
        for row in alike:
            if _key(row) not in places:
                missing.setdefault(_key(row), row)
        rows += _ordered([*measured, *missing.values()])
    return rows if any(row.measured for row in rows) else []


def varied_settings(rows: Sequence[ComparedEffect]) -> list[str]:
    """Return the settings that tell the rows apart."""
    names = dict.fromkeys(name for row in rows for name in row.at)
    known = {name: {repr(row.at[name]) for row in rows if name in row.at} for name in names}
    return [name for name, values in known.items() if len(values) > 1]


def _key(row: ComparedEffect) -> str:
    return repr(sorted(row.at.items()))


def _ordered(rows: Sequence[ComparedEffect]) -> list[ComparedEffect]:
    """Return the rows by their settings: numbers by size, words in their order."""
    names = varied_settings(rows)
    words = list(dict.fromkeys(repr(row.at.get(name)) for name in names for row in rows))

    def sort_key(row: ComparedEffect) -> list[tuple[float, int]]:
        values = [row.at.get(name) for name in names]
        return [
            (v, -1) if isinstance(v, int | float) else (inf, words.index(repr(v))) for v in values
        ]

    return sorted(rows, key=sort_key)
