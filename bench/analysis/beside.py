"""Numbers of other projects beside published values, published effects and measured cells.

They decide nothing: no verdict reads them. `bench/suites/others.py` says which belong together.
"""

from collections.abc import Sequence
from dataclasses import replace

from bench.analysis.compare import Compared
from bench.analysis.compared_effects import ComparedEffect
from bench.papers.reader import Paper
from bench.suites.others import (
    Counterpart,
    EffectBeside,
    SourceEffect,
    counterparts,
    effects_beside,
)
from bench.suites.printed_effects import PrintedEffect, printed_points
from bench.suites.suite import Suite
from bench.text import counted

Row = tuple[str, int]  # artifact and row of a published number


def values_beside(suite: Suite, paper: Paper) -> dict[Row, list[Counterpart]]:
    """Return the numbers of other projects beside each published value that has any.

    Args:
        suite: whose comparisons take the values.
        paper: the suite's.
    """
    found: dict[Row, list[Counterpart]] = {}
    for comparison, value in printed_points(suite, paper):
        if not comparison.gain_over and (value.artifact, value.row) not in found:
            others = counterparts(value, comparison, suite, paper)
            found[value.artifact, value.row] = others
    return {row: others for row, others in found.items() if others}


def values_with_others(rows: Sequence[Compared], suite: Suite, paper: Paper) -> list[Compared]:
    """Return published values with what other projects measured of each.

    Args:
        rows: the values; gains and what is reduced over an axis have none.
        suite: whose comparisons take the values.
        paper: the suite's.
    """
    known = values_beside(suite, paper)
    return [
        row
        if row.reduced
        else replace(row, others=tuple(known.get((row.artifact, row.published.row), ())))
        for row in rows
    ]


def effects_with_others(
    rows: Sequence[ComparedEffect], suite: Suite, paper: Paper
) -> list[ComparedEffect]:
    """Return effects with what other projects' numbers give for the published ones among them.

    Args:
        rows: the effects.
        suite: whose comparisons name their baselines.
        paper: the suite's.
    """
    known: dict[str, tuple[EffectBeside, ...]] = {}  # several scales' effects have one printed

    def others(printed: PrintedEffect) -> tuple[EffectBeside, ...]:
        key = repr((printed.comparison.artifact, printed.value.row, printed.settings, printed.over))
        if key not in known:
            known[key] = tuple(effects_beside(printed, suite, paper))
        return known[key]

    return [
        row if row.printed is None else replace(row, others=others(row.printed)) for row in rows
    ]


def numbers_words(others: Sequence[Counterpart]) -> str:
    """Return the numbers of other projects in short: `82.2 to 87.0 (2 projects)`."""
    return _range_words(
        [f"{value:.1f}" for value in sorted(other.row.value for other in others)],
        [other.row.source.project for other in others],
    )


def effects_words(others: Sequence[SourceEffect]) -> str:
    """Return effects and contrasts apart in short: `+6.3 (a/b); contrasts -0.8 to +2.0 (c/d)`."""
    parts = []
    for lead, found in (
        ("", [effect for effect in others if effect.is_effect]),
        ("contrast", [effect for effect in others if not effect.is_effect]),
    ):
        if found:
            sizes = [f"{value:+.1f}" for value in sorted(effect.value for effect in found)]
            words = _range_words(sizes, [effect.project for effect in found])
            parts.append(f"{lead}{'s' * (bool(lead) and len(found) > 1)} {words}".strip())
    return "; ".join(parts)


def _range_words(sizes: Sequence[str], projects: Sequence[str]) -> str:
    """Return the smallest and the largest of sorted numbers, and whose they are."""
    names = sorted(set(projects))
    whose = names[0] if len(names) == 1 else counted(len(names), "project")
    return f"{' to '.join(dict.fromkeys((sizes[0], sizes[-1])))} ({whose})"
