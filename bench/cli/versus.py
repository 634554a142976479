"""`bench versus`: compare two methods or losses over all suites that have both."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.analysis.beside import pair_effects, pair_lines, published_lines
from bench.analysis.measured import Measured
from bench.analysis.statistics import LEVEL
from bench.analysis.versus import SETTINGS, Lead, lead, setting_of
from bench.cells.baseline import without_baselines
from bench.cells.cell import Cell
from bench.cli.evidence import results_in
from bench.cli.options import AsJson, AtScale, answer, method_names, paper_names
from bench.cli.selection import check_scale_known, command_words, of_sound_suites
from bench.cli.terminal import print_line, print_rows
from bench.cli.workspace import Workspace, command_line
from bench.errors import BenchError, NothingMeasured, choices
from bench.papers.reader import load_paper, load_papers
from bench.record import Json
from bench.report.measured import shown_tables
from bench.suites.expand import expand
from bench.suites.load import known_suites, load_suite
from bench.suites.metric_words import metric_words, unit_of_metric
from bench.suites.suite import Suite, with_stand_ins
from bench.text import counted, number_words, value_text

MOST_NAMED = 3  # suites in a line


class NoSuiteHasBoth(BenchError):
    """Raised if no suite has cells of both methods or losses."""


MethodOrLoss = Annotated[
    str,
    typer.Argument(
        help="A method (`bench methods` lists them) or a loss.", autocompletion=method_names
    ),
]


def versus(
    context: typer.Context, first: MethodOrLoss, second: MethodOrLoss, scale: AtScale = None,
    paper: Annotated[
        str | None, typer.Option(help="Use only suites of this paper.", autocompletion=paper_names)
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Metric to compare; default: metrics of each suite's tables.")
    ] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Print the difference between two methods or losses in every suite with both.

    A difference is the mean over the configurations that the suite has of both. If other training
    settings differ too, such as the batch size, they are listed and the row is not counted.
    Hyperparameter searches on held-out training images are excluded. Smoke-test scales are excluded
    unless named.

    Exit status 3: nothing was measured here. Numbers of papers and other projects are still
    printed.
    """
    try:
        records = compare_methods(
            context.obj, first, second, scale=scale, paper=paper, metric=metric
        )
    except (NothingMeasured, NoSuiteHasBoth):
        if not as_json:
            print_elsewhere(context.obj, first, second, paper)
        raise
    answer(records, lambda _: print_versus(first, second, records), as_json)
    if not as_json:
        print_elsewhere(context.obj, first, second, paper)


def compare_methods(
    workspace: Workspace,
    first: str,
    second: str,
    *,
    scale: str | None = None,
    paper: str | None = None,
    metric: str | None = None,
) -> list[Json]:
    """Return one row per suite, scale and metric with finished cells of both.

    Args:
        workspace: folders of suites and results.
        first: a method or a loss.
        second: another method or loss, of the same kind as `first`.
        scale: restrict to this scale.
        paper: restrict to suites of this paper.
        metric: restrict to this metric; default: the metrics that each suite shows.

    Raises:
        BenchError: both methods are equal, or no suite has this scale, paper or metric.
        NoSuiteHasBoth: a name is unknown, or no suite has cells of both.
        NothingMeasured: suites have both, but no finished cell of both.
    """
    if first == second:
        raise BenchError(
            f"versus {first} {second}: name two different methods or two different losses."
        )
    if paper is not None:
        load_paper(paper, workspace.suites)
    check_scale_known(scale, workspace.suites)
    results = results_in(workspace)
    grids = _grids(workspace, scale, paper)
    having: list[tuple[Suite, str]] = []
    leads: list[tuple[Suite, str, Lead]] = []
    for suite, name, cells in grids:
        setting = setting_of(first, second, _without_searches(cells))
        if setting is None:
            continue
        having.append((suite, name))
        measured, own = Measured(cells, results.finished(cells)), _without_searches(cells)
        leads += [
            (suite, name, shown)
            for one in _metrics(suite, name, own, metric)
            if (shown := lead(measured, own, setting, first, second, one))
        ]
    if not having:
        raise NoSuiteHasBoth(_nobody_has(first, second, grids))
    if not leads:
        raise NothingMeasured(_nothing_measured(workspace, first, second, having, metric, grids))
    effects = pair_effects(first, second)
    return [
        _row(*one, _place_of_all_cells(one, leads))
        | {"others": [effect.record() for effect in effects if effect.metric == one[2].metric]}
        for one in leads
    ]


Grids = list[tuple[Suite, str, list[Cell]]]


def _grids(workspace: Workspace, scale: str | None, paper: str | None) -> Grids:
    """Return the cells of every suite by scale, baselines left out."""

    def grids_of(path: Path) -> Grids:
        suite = load_suite(path)
        if paper not in (None, suite.paper):
            return []
        scales = suite.scales.items()
        names = [n for n, s in scales if n == scale or (scale is None and s.judged)]
        return [(suite, n, without_baselines(expand(suite, n, path))) for n in names]

    every = of_sound_suites(known_suites(workspace.suites).values(), grids_of)
    return list(chain.from_iterable(every))


def _without_searches(cells: Sequence[Cell]) -> list[Cell]:
    return [c for c in cells if c.settings.get("held_out") is None]


def _metrics(suite: Suite, scale: str, cells: Sequence[Cell], only: str | None) -> list[str]:
    known = {name for cell in cells for name in type(cell).metrics}
    if only is not None:
        return [only] if only in known else []
    tables = shown_tables(with_stand_ins(suite, scale), cells)
    return [name for name in dict.fromkeys(t.metric for t in tables) if name in known]


def _place_of_all_cells(
    one: tuple[Suite, str, Lead], leads: Sequence[tuple[Suite, str, Lead]]
) -> str | None:
    """Return the suite whose row has all cells of a row and more, or as many and stands before."""
    cells, before = one[2].cells, True
    for suite, _, other in leads:
        if other is one[2]:
            before = False
        elif other.metric == one[2].metric and (
            cells < other.cells or (cells == other.cells and before)
        ):
            return suite.name
    return None


def _row(suite: Suite, scale: str, shown: Lead, within: str | None) -> Json:
    difference = shown.difference
    return {
        "suite": suite.name,
        "scale": scale,
        "protocol": suite.scales[scale].protocol,
        "metric": shown.metric,
        "difference": difference.mean,
        "low": difference.low,
        "high": difference.high,
        "level": LEVEL,
        "n": difference.n,
        "groups": shown.groups,
        "left_out": shown.left_out,
        "sign": shown.sign,
        "cells": sorted(shown.cells),
        "unequal": [
            {"setting": u.setting, "first": list(u.first), "second": list(u.second)}
            for u in shown.unequal
        ],
        "within": within,
    }


def _nobody_has(first: str, second: str, grids: Grids) -> str:
    """Return why no suite has cells of both."""
    settings = [cell.settings for _, _, cells in grids for cell in cells]
    known = {name: dict.fromkeys(s[name] for s in settings if s.get(name)) for name in SETTINGS}
    everything = list(dict.fromkeys(value for values in known.values() for value in values))
    if not everything:
        return (
            f"versus {first} {second}: none of the selected suites has a setting `method` or `loss`"
        )
    for name in (first, second):
        if name not in everything:
            return f"'{name}' is not a method or loss of any suite. {choices(name, everything)}"
    kinds = {n: "method" if n in known["method"] else "loss" for n in (first, second)}
    if len(set(kinds.values())) == 2:
        kinds_text = " and ".join(f"{name} is a {kind}" for name, kind in kinds.items())
        return f"{kinds_text}, which cannot be compared: name two methods or two losses"
    return (
        f"no suite has cells of both {first} and {second}; `bench methods {first}` describes "
        f"{first}"
    )


def _nothing_measured(
    workspace: Workspace,
    first: str,
    second: str,
    having: Sequence[tuple[Suite, str]],
    metric: str | None,
    grids: Grids,
) -> str:
    """Return which suites would have an answer.

    Raises:
        BenchError: no cell has the metric.
    """
    known = list(dict.fromkeys(m for _, _, cells in grids for c in cells for m in type(c).metrics))
    if metric is not None and metric not in known:
        raise BenchError(f"--metric {metric}: no cell has this metric. {choices(metric, known)}")
    names = list(dict.fromkeys(suite.name for suite, _ in having))
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    suite, scale = next((pair for pair in having if pair[1] == "cpu"), having[0])
    return (
        f"no suite has finished cells of both {first} and {second}; suites that "
        f"compare {first} and {second}: {', '.join(names[:MOST_NAMED])}{more}; "
        f"`{command_line(workspace, 'run', command_words(suite.name, scale))}` "
        f"computes the cells of {suite.name}"
    )


def print_versus(first: str, second: str, records: Sequence[Json]) -> None:
    """Print the differences, and the number of suites in which each side is higher.

    Args:
        first: the first method or loss.
        second: the second one.
        records: the differences, first minus second.
    """
    level = f"{100 * records[0]['level']:.0f} %"
    print_line(
        f"{first} - {second}: mean difference over the configurations that a suite "
        f"has of both [{level} interval]"
    )
    rows = [
        [
            _place(r), metric_words(r["metric"]), _difference_words(r), r["n"], r["groups"],
            _decision(first, second, r),
        ]
        for r in records
    ]  # fmt: skip
    print_rows("", ["suite", "metric", "difference", "seeds", "configurations", "higher"], rows)
    for r in records:
        if n := r["left_out"]:
            print_line(
                f"{_place(r)}: {counted(n, 'configuration')} with unreliable numbers left out"
            )
    for line in dict.fromkeys(_unequal_words(r) for r in records if r["unequal"]):
        print_line(line)
    print_line(_tally(first, second, records))


def print_elsewhere(workspace: Workspace, first: str, second: str, paper: str | None) -> None:
    """Print the difference between two methods or losses in papers and other projects.

    Args:
        workspace: folders of suites, which assign published numbers to methods and losses.
        first: the first method or loss.
        second: the second one.
        paper: restrict to this paper; None means all.
    """
    suites = of_sound_suites(known_suites(workspace.suites).values(), load_suite)
    asked = [suite for suite in suites if suite.paper and paper in (None, suite.paper)]
    published = published_lines(first, second, asked, load_papers(workspace.suites))
    for line in [*published, *pair_lines(first, second, pair_effects(first, second))]:
        print_line(line)


def _tally(first: str, second: str, records: Sequence[Json]) -> str:
    """Return in how many rows each side is higher, of accuracies and of other metrics.

    Rows with other settings are left out, and those whose cells another row has too.
    """
    fair = [r for r in records if not r["unequal"]]
    equal = [r for r in fair if r["within"] is None]
    kinds = {
        "Accuracies": [r["sign"] for r in equal if _is_accuracy(r["metric"])],
        "Other metrics, where a higher value is not always better": [
            r["sign"] for r in equal if not _is_accuracy(r["metric"])
        ],
    }
    parts = [
        f"{kind}: {first} is higher in {counted(signs.count(1), 'row')}, {second} in "
        f"{signs.count(-1)}, and {signs.count(0)} are undecided."
        for kind, signs in kinds.items()
        if signs
    ]
    if left_out := len(records) - len(fair):
        parts.append(f"Not counted: {counted(left_out, 'row')} in which further settings differ.")
    if repeated := len(fair) - len(equal):
        others = ", ".join(dict.fromkeys(r["within"] for r in fair if r["within"]))
        verb = "repeats" if repeated == 1 else "repeat"
        parts.append(f"Not counted: {counted(repeated, 'row')} that {verb} the runs of {others}.")
    return " ".join(parts)


def _is_accuracy(metric: str) -> bool:
    return unit_of_metric(metric) == "points" or metric.startswith("ap_")


def _place(record: Json) -> str:
    return f"{record['suite']} at {record['scale']} ({record['protocol']})"


def _decision(first: str, second: str, record: Json) -> str:
    text = {1: first, -1: second, 0: "undecided"}[record["sign"]]
    return f"{text}, with other settings" if record["unequal"] else text


def _unequal_words(record: Json) -> str:
    """Return which settings make the two sides of a row unequal."""
    pairs = "; ".join(
        f"{u['setting']} {_values_text(u['first'])} / {_values_text(u['second'])}"
        for u in record["unequal"]
    )
    return f"{_place(record)}: further settings differ between the two sides: {pairs}"


def _values_text(values: Sequence[Any]) -> str:
    return ", ".join("none" if value is None else value_text(value) for value in values)


def _difference_words(record: Json) -> str:
    unit = unit_of_metric(record["metric"])
    words = number_words(record["difference"], record["low"], record["high"], threshold=0.0)
    return f"{words} {unit}".strip()
