"""How true the predictions of `bench plan` are: finished cells, left out and predicted.

Each cell is left out by itself, with those of its stack, whose time it shares; others of its kind
(network and batch) and its other seeds stay. The promise is a median error below 25 %. The spread
of equal cells, which differ in the seed alone, is what no prediction can beat: their machine did
other work. A cell of whose kind no other is left is not predicted, as in `bench plan`.

    python -m benchmarks.predictions [RESULTS ...]     # exit status 1 if the promise is broken

Without a folder it reads `results/reference`.
"""

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.cells import CELLS
from bench.errors import BenchError
from bench.estimate.history import Machine, Timing, finished_timings
from bench.estimate.predict import SecondsTable
from bench.results.store import Store
from bench.suites.expand import expand
from bench.suites.load import load_suite, suite_paths

ROOT = Path(__file__).parents[1]
MOST_ERROR = 0.25  # median
HEADS = ("scale", "experiment", "cells", "equal cells", "predicted", "?")


class Row(NamedTuple):
    """Errors of the cells of one scale and experiment; logarithms of predicted over measured."""

    scale: str
    experiment: str
    cells: int
    spread: list[float]  # logarithms of measured over the median of equal cells
    errors: list[float]
    unknown: int  # cells of whose kind there is no other


def timings_of(folders: Sequence[Path]) -> list[Timing]:
    """Return what the finished cells of some results folders took, each cell once."""
    found: dict[str, Timing] = {}
    for folder in folders:
        for experiment in CELLS:
            for timing in finished_timings(experiment, Store(folder), most=None):
                found.setdefault(timing.cell.id, timing)
    return [t for t in found.values() if measured_s(t) is not None]


def measured_s(timing: Timing) -> float | None:
    """Return what a cell and its training took; None where either is not known."""
    if timing.own_s is None or (timing.cell.training_id is not None and timing.shared_s is None):
        return None
    return timing.own_s + (timing.shared_s or 0.0)


def stack_of(timing: Timing) -> str:
    """Return what the cells of a stack have in common: they share its time to the bit."""
    return f"{timing.cell.kind} {timing.shared_s!r} {timing.own_s!r}"


def errors_of(timings: Sequence[Timing]) -> dict[str, float | None]:
    """Return ln(predicted / measured) of each cell, by its id; None where it is not predicted."""
    parts: dict[tuple[str, Machine], list[Timing]] = defaultdict(list)
    for timing in timings:
        parts[stack_of(timing), Machine(timing.device, timing.machine)].append(timing)
    found: dict[str, float | None] = {}
    for (name, machine), part in parts.items():
        rest = [t for t in timings if stack_of(t) != name]
        table = SecondsTable(Store(Path("none")), machine, rest)
        for timing in part:
            estimate, measured = table.estimate(timing.cell), measured_s(timing)
            if estimate.own_s is None or estimate.shared_s is None or measured is None:
                found[timing.cell.id] = None
            else:
                seconds = estimate.own_s + estimate.shared_s
                found[timing.cell.id] = math.log(seconds / measured)
    return found


def spreads(timings: Sequence[Timing]) -> dict[str, float]:
    """Return ln(measured / median) of each cell that has an equal one, by its id."""
    alike: dict[str, list[Timing]] = defaultdict(list)
    for timing in timings:
        alike[timing.cell.model_dump_json(exclude={"seed"})].append(timing)
    found: dict[str, float] = {}
    for group in alike.values():
        middle = median(measured_s(t) or 0.0 for t in group)
        if len(group) > 1:
            found |= {t.cell.id: math.log((measured_s(t) or 0.0) / middle) for t in group}
    return found


def rows(timings: Sequence[Timing], scales: Mapping[str, str]) -> Iterator[Row]:
    """Yield the errors by scale and experiment.

    Args:
        timings: of finished cells.
        scales: by the id of a cell.
    """
    spread, errors = spreads(timings), errors_of(timings)
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for timing in timings:
        key = scales.get(timing.cell.id, "-"), timing.cell.experiment
        groups[key].append(timing.cell.id)
    for (scale, experiment), ids in sorted(groups.items()):
        yield Row(
            scale, experiment, len(ids),
            [spread[i] for i in ids if i in spread],
            [error for i in ids if (error := errors[i]) is not None],
            sum(errors[i] is None for i in ids),
        )  # fmt: skip


def percent(errors: Sequence[float]) -> float | None:
    """Return the median relative error of logarithms of ratios."""
    return median(abs(math.expm1(e)) for e in errors) if errors else None


def broken(found: Sequence[Row]) -> list[str]:
    """Return which rows break the promise, each in a line."""
    lines = []
    for row in found:
        name, error = f"{row.scale} {row.experiment}", percent(row.errors)
        if error is not None and error > MOST_ERROR:
            lines.append(f"{name}: error {error:.0%}, promised {MOST_ERROR:.0%}")
    return lines


def table(found: Sequence[Row]) -> str:
    """Return the rows as Markdown, all cells together last."""
    total = Row(
        "all", "", sum(row.cells for row in found),
        [e for row in found for e in row.spread], [e for row in found for e in row.errors],
        sum(row.unknown for row in found),
    )  # fmt: skip
    lines = [HEADS, ("---",) * 2 + ("---:",) * 4]
    for row in (*found, total):
        spread, error = percent(row.spread), percent(row.errors)
        lines.append((
            row.scale, row.experiment, str(row.cells),
            "-" if spread is None else f"{spread:.0%}",
            "-" if error is None else f"{error:.0%}",
            str(row.unknown),
        ))  # fmt: skip
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def scales_of(suites: Path) -> dict[str, str]:
    """Return the first scale that each cell of the suites stands in, by its id."""
    found: dict[str, str] = {}
    for path in suite_paths(suites).values():
        suite = load_suite(path)
        for scale in suite.scales:
            for cell in expand(suite, scale, path):
                found.setdefault(cell.id, scale)
    return found


def main() -> None:
    """Print the table; end with status 1 if the promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="*", default=[ROOT / "results" / "reference"])
    folders = parser.parse_args().results
    timings = timings_of(folders)
    if not timings:
        raise BenchError(f"{', '.join(map(str, folders))}: no finished cell says what it took")
    found = list(rows(timings, scales_of(ROOT / "suites")))
    print(table(found), end="")
    if lines := broken(found):
        sys.exit("\n".join(lines))


if __name__ == "__main__":
    main()
