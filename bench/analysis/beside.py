"""Numbers of other projects next to published values, published effects and measured cells.

Verdicts do not use these numbers. `bench/suites/others.py` matches them with published values.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from bench.analysis.compare import Compared, pairings
from bench.analysis.compared_effects import ComparedEffect
from bench.cells.cell import Cell
from bench.papers.others import others
from bench.papers.reader import Paper
from bench.suites.checks import Exceeds, settings_words
from bench.suites.facts import facts
from bench.suites.metric_words import metric_words
from bench.suites.others import (
    ACCURACIES,
    Counterpart,
    EffectBeside,
    OtherRow,
    SourceEffect,
    effects_beside,
    identity_of,
    numbers_beside,
    source_effects,
)
from bench.suites.presets import paper_presets
from bench.suites.printed_effects import PrintedEffect, printed_effects
from bench.suites.protocol import stated_settings
from bench.suites.suite import Suite
from bench.text import counted

MOST_PLACES = 6  # of a line


def values_beside(suite: Suite, paper: Paper) -> dict[OtherRow, list[Counterpart]]:
    """Map each number of another project to the published values that it can be compared with.

    Args:
        suite: suite whose comparisons use the values.
        paper: the suite's paper.
    """
    found = numbers_beside(suite, paper).items()
    return {row: number.others for row, number in found if number.others}


def values_with_others(rows: Sequence[Compared], suite: Suite, paper: Paper) -> list[Compared]:
    """Return published values together with the numbers of other projects.

    Args:
        rows: the values. Gains and reductions over an axis have no numbers of other projects.
        suite: suite whose comparisons use the values.
        paper: the suite's paper.
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
    """Return effects; published ones include the effects that other projects measured.

    Args:
        rows: the effects.
        suite: suite whose comparisons name the baselines.
        paper: the suite's paper.
    """
    known: dict[str, tuple[EffectBeside, ...]] = {}  # several scales' effects have one printed

    def beside(printed: PrintedEffect) -> tuple[EffectBeside, ...]:
        key = repr((printed.comparison.artifact, printed.value.row, printed.settings, printed.over))
        if key not in known:
            known[key] = tuple(effects_beside(printed, suite, paper))
        return known[key]

    return [
        row if row.printed is None else replace(row, others=beside(row.printed)) for row in rows
    ]


class CellBeside(NamedTuple):
    """A cell of a published value and the numbers of other projects for this value."""

    metric: str
    cell: Cell
    others: list[Counterpart]


def cells_beside(suite: Suite, cells: Sequence[Cell], paper: Paper) -> list[CellBeside]:
    """Return one cell per published value that others measured on the cell's data set.

    Args:
        suite: suite whose comparisons use the values.
        cells: all cells of one scale, finished or not.
        paper: the suite's paper.
    """
    known, found = values_beside(suite, paper), []
    for pair in pairings(suite, cells, paper):
        numbers = known.get((pair.value.artifact, pair.value.row), [])
        if numbers and pair.cells and not (pair.comparison.gain_over or pair.comparison.over):
            cell = pair.cells[0]
            alike = [o for o in numbers if o.row.dataset == facts(cell).get("dataset")]
            found.append(CellBeside(pair.comparison.metric, cell, alike))
    return [one for one in found if one.others]


def pair_effects(first: str, second: str) -> list[SourceEffect]:
    """Return the difference between two methods or two losses in other projects' numbers.

    Args:
        first: a method or a loss. A method uses the loss of its preset.
        second: another method or loss, of the same kind as `first`.
    """
    presets = paper_presets()
    pairs = {(str(row.settings["method"]), str(row.settings["loss"])) for row in others()}
    of_presets = {
        (m, loss) for m, loss in pairs if m in presets and presets[m].settings.get("loss") == loss
    }
    found: list[SourceEffect] = []
    for setting, objectives in (("method", of_presets), ("loss", pairs)):
        check = Exceeds(
            check="exceeds", metric=ACCURACIES[0], where={setting: first}, than={setting: second}
        )
        found += source_effects(check, objectives)
    return found


def published_lines(
    first: str, second: str, suites: Iterable[Suite], papers: Mapping[str, Paper]
) -> list[str]:
    """Return one line with the published differences between two methods or two losses.

    Args:
        first: the first method or loss.
        second: the second method or loss.
        suites: suites of papers. Their comparisons assign published rows to methods and losses.
        papers: the papers of the suites, by id.
    """
    places: dict[tuple[str, str], list[PrintedEffect]] = {}
    for suite in suites:
        paper = papers[str(suite.paper)]
        for effect in _printed_pair(first, second, suite, paper):
            statements = stated_settings(suite, paper, paper.artifact(effect.value.artifact))
            data = identity_of(effect.settings, suite, statements)["dataset"]
            place = ", ".join(filter(None, (data, metric_words(effect.comparison.metric))))
            places.setdefault((paper.id, place), []).append(effect)
    words = []
    for (name, place), found in places.items():
        low, *_, high = sorted([*found, *found], key=lambda effect: effect.number)
        sizes = dict.fromkeys(f"{e.number:+.{e.decimals}f}" for e in (low, high))
        words.append((f"{first} - {second} (paper {name})", place, " to ".join(sizes)))
    return lines_by_artifact(words, "Published")


def _printed_pair(first: str, second: str, suite: Suite, paper: Paper) -> list[PrintedEffect]:
    """Return the printed differences of two methods or losses that a suite compares."""
    found: list[PrintedEffect] = []
    for setting in ("method", "loss"):
        compare = [
            c.model_copy(update={"baseline": c.baseline | {setting: second}}) for c in suite.compare
        ]
        effects = printed_effects(suite.model_copy(update={"compare": compare}), paper)
        pair = first, second
        found += [e for e in effects if (e.of.get(setting), e.over.get(setting)) == pair]
    return [e for e in found if not e.comparison.metric.startswith("params")]  # these are counted


def pair_lines(first: str, second: str, effects: Sequence[SourceEffect]) -> list[str]:
    """Return one line per data set and metric with other projects' results for two methods.

    Args:
        first: the first method or loss.
        second: the second method or loss.
        effects: result of `pair_effects`.
    """
    places: dict[str, list[SourceEffect]] = {}
    for effect in effects:
        places.setdefault(f"{effect.dataset}, {metric_words(effect.metric)}", []).append(effect)
    return lines_by_artifact(
        [(f"{first} - {second}", place, effects_words(found)) for place, found in places.items()]
    )


def numbers_words(numbers: Sequence[Counterpart]) -> str:
    """Return the range of other projects' numbers as text: `82.2 to 87.0 (2 projects)`."""
    return _range_words(
        [f"{value:.1f}" for value in sorted(other.row.value for other in numbers)],
        [other.row.source.project for other in numbers],
    )


def effects_words(effects: Sequence[SourceEffect]) -> str:
    """Return effects and contrasts as text: `+6.3 (a/b); contrasts -0.8 to +2.0 (c/d)`."""
    parts = []
    for lead, found in (
        ("", [effect for effect in effects if effect.is_effect]),
        ("contrast", [effect for effect in effects if not effect.is_effect]),
    ):
        if found:
            sizes = [f"{value:+.1f}" for value in sorted(effect.value for effect in found)]
            words = _range_words(sizes, [effect.project for effect in found])
            parts.append(f"{lead}{'s' * (bool(lead) and len(found) > 1)} {words}".strip())
    return "; ".join(parts)


def value_lines(rows: Sequence[Compared]) -> list[str]:
    """Return one line for each artifact with a value that other projects measured."""
    places = [
        (
            f"{row.published.paper}/{row.artifact}",
            f"{settings_words(row.row)}, {metric_words(row.metric)}",
            numbers_words(row.others),
        )
        for row in rows
        if row.others
    ]
    return lines_by_artifact(places)


def effect_lines(rows: Sequence[ComparedEffect]) -> list[str]:
    """Return one line for each artifact with an effect that other projects measured."""
    places = [
        (
            f"{row.paper}/{row.artifact}",
            ", ".join(
                filter(None, (row.contrast, settings_words(row.at), metric_words(row.metric)))
            ),
            effects_words([one.effect for one in row.others]),
        )
        for row in rows
        if row.others and not row.on_other_data
    ]
    return lines_by_artifact(places)


def lines_by_artifact(
    places: Sequence[tuple[str, str, str]], whose: str = "By others"
) -> list[str]:
    """Return one line per artifact that lists its places without repetition.

    Args:
        places: tuples of artifact, place and text.
        whose: text at the start of each line.
    """
    by_artifact: dict[str, list[str]] = {}
    for artifact, place, words in dict.fromkeys(places):
        by_artifact.setdefault(artifact, []).append(f"{place}: {words}" if place else words)
    return [
        f"{whose}, {artifact}: {'; '.join(parts[:MOST_PLACES])}"
        + (f"; and {len(parts) - MOST_PLACES} more" if len(parts) > MOST_PLACES else "")
        for artifact, parts in by_artifact.items()
    ]


def _range_words(sizes: Sequence[str], projects: Sequence[str]) -> str:
    """Return the smallest and the largest of sorted numbers, and whose they are."""
    names = sorted(set(projects))
    whose = names[0] if len(names) == 1 else counted(len(names), "project")
    return f"{' to '.join(dict.fromkeys((sizes[0], sizes[-1])))} ({whose})"
