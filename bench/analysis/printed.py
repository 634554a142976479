"""Judge the papers' published numbers with the checks of claims, as if they were measured.

    python -m bench.analysis.printed [SUITES]

writes the results into the file that the verdicts on claims use (`make printed`). Run it after a
change to a check, a comparison or a published value.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from bench.analysis.claims import Judged, judge_claims
from bench.analysis.compare import cells_of_value
from bench.cells.cell import Cell
from bench.cells.groups import CellIndex
from bench.files.atomic import write_whole
from bench.papers.printed_checks import PRINTED
from bench.papers.reader import Paper, load_paper
from bench.results.reader import Finished
from bench.suites.checks import Check
from bench.suites.expand import expand
from bench.suites.load import load_suite, suite_paths
from bench.suites.suite import Suite

HEAD = """\
# What the checks of the claims give on the papers' printed numbers, in the unit of the metric: of
# each check the effect of the group nearest to the threshold, and how many groups there are.
# Written by `make printed`.

"""
SEEDS = (0, 1, 2)  # of cells that printed numbers stand for
DECIMALS = 3  # of an effect
NOISE = 1e-4  # of a printed number from seed to seed; of one below 1 this share of it
Numbers = dict[str, dict[str, float]]  # by cell id and metric
Shift = Callable[[Check, Cell], float]


def printed_numbers(suite: Suite, cells: Sequence[Cell], paper: Paper) -> Numbers:
    """Return the published numbers that belong to cells, without gains and reductions.

    If a number is printed twice, the suite's first comparison counts.

    Args:
        suite: the suite, with its comparisons.
        cells: all cells of the selection.
        paper: the paper with the published values.
    """
    numbers, index = Numbers(), CellIndex(cells)
    for comparison in suite.compare:
        if comparison.gain_over or comparison.over is not None:
            continue
        for value in paper.artifact(comparison.artifact).values:
            for cell in cells_of_value(value, comparison, suite, index):
                if value.value is not None:
                    numbers.setdefault(cell.id, {}).setdefault(comparison.metric, value.value)
    return numbers


def judge_printed(
    suite: Suite, scale: str, cells: Sequence[Cell], paper: Paper, shift: Shift | None = None
) -> list[Judged]:
    """Return the suite's checks, judged on the published numbers with small noise added.

    Each check is judged separately, using only cells with a published value of its metric.

    Args:
        suite: the suite.
        scale: a scale that follows the published protocol.
        cells: the cells of the scale, with three seeds.
        paper: the suite's paper.
        shift: number to add to the value of a cell, to simulate a different truth.
    """
    numbers, draw = printed_numbers(suite, cells, paper), np.random.default_rng(0)
    rows: list[Judged] = []
    for claim, checks in suite.claims.items():
        for check in checks:
            names = set(check.metrics)
            done = []
            for cell in cells:
                printed = numbers.get(cell.id, {})
                if names <= printed.keys() and check.at is None:
                    noisy = {
                        m: v + NOISE * min(1, abs(v)) * draw.normal() for m, v in printed.items()
                    }
                    noisy[check.metric] += shift(check, cell) if shift else 0.0
                    done.append((cell, Finished(noisy, {})))
            alone: Any = suite.model_copy(update={"name": "", "claims": {claim: [check]}})
            rows += judge_claims(alone, scale, [cell for cell, _ in done], done, paper)
    return rows


def reached(checks: Sequence[Judged]) -> list[Judged]:
    """Return the checks that decide a claim and have published numbers."""
    return [judged for judged in checks if judged.counts and judged.effect is not None]


def published_scales(folder: Path) -> Iterator[tuple[Suite, str, list[Cell]]]:
    """Yield suites with claims and comparisons, at each published scale, with three seeds."""
    for path in suite_paths(folder).values():
        suite = load_suite(path)
        for scale, of in suite.scales.items():
            if of.protocol == "published" and suite.claims and suite.compare:
                yield suite, scale, expand(suite, scale, path, seeds=SEEDS)


def printed_text(folder: Path) -> str:
    """Return the text of the file: of each check, the first published scale that has an effect.

    Args:
        folder: the folder of suites.
    """
    found: dict[str, dict[str, list[Judged]]] = {}
    for suite, scale, cells in published_scales(folder):
        judged = judge_printed(suite, scale, cells, load_paper(str(suite.paper), folder))
        claims = found.setdefault(suite.name, {})
        for claim in suite.claims:
            rows = [j for j in judged if j.claim.id == claim]
            claims[claim] = list(map(_first, claims.get(claim, rows), rows))
    text = {
        suite: {c: [_entry(j) for j in rows] for c, rows in claims.items() if reached(rows)}
        for suite, claims in found.items()
    }
    filled = {name: claims for name, claims in text.items() if claims}
    return HEAD + yaml.safe_dump(filled, default_flow_style=None)


def _first(a: Judged, b: Judged) -> Judged:
    """Return of one check at two scales the first that has an effect."""
    return a if a.effect is not None else b


def _entry(judged: Judged) -> dict[str, float | int] | None:
    if judged.effect is None:
        return None
    return {"effect": round(judged.effect.mean, DECIMALS), "groups": judged.groups}


if __name__ == "__main__":
    write_whole(PRINTED, printed_text(Path(*(sys.argv[1:] or ["suites"]))).encode())
