"""Output of `bench plan`."""

import sys
from collections.abc import Sequence
from typing import Any, TextIO

from bench.cells.groups import without_followers
from bench.cli.terminal import listed, print_line, print_rows
from bench.launch.progress import duration
from bench.record import Json
from bench.report.tables import Entry
from bench.suites.recipe import recipe_text
from bench.text import counted, value_text

MOST_SHOWN = 12  # cells and recipes that are listed one by one

MANY = 100  # hours, which are rounded to whole ones
LEAST = 0.01  # hours that are reported


def print_plan(record: Json) -> None:
    """Print the prediction, the grid's axes and, if there are few, its cells."""
    cells = record["cells"]
    print_line(f"{record['title']} ({record['protocol']}: {record['what']})")
    if not cells:
        print_line("no cells in this part: there are fewer trainings than parts")
        return
    points = _points(cells)
    names = _telling_axes(points, len(cells))
    for name in names:
        axes_of = points if name != "seed" else [c["axes"] for c in cells]
        print_line(f"  {name}: {listed(_values_of(name, axes_of))}")
    if len(cells) <= MOST_SHOWN:
        rows = [
            [Entry(c["id"]), Entry(c["state"]), *(Entry(_axis_text(c["axes"][n])) for n in names)]
            for c in cells
        ]
        print_rows("", ["id", "state", *names], rows)
    _print_recipes(record)
    _print_kinds(record["predicted"])
    if all(cell["state"] == "done" for cell in cells):
        print(f"All {counted(len(cells), 'cell')} are finished; nothing to run.")
    else:
        total = _prediction_text(record["predicted"])
        print_line(
            f"{counted(len(cells), 'cell')}, {record['missing']} to run{_failed_text(record)}. "
            f"{total}".rstrip()
        )
    if "limited" in record:
        print_limited(record["limited"], file=sys.stdout)


def _print_recipes(record: Json) -> None:
    """Print how the cells are trained, and in what this deviates from the paper."""
    recipes = record["recipes"]
    for recipe in recipes[:MOST_SHOWN]:
        print_line(f"recipe: {recipe_text(recipe)}", indent="  ")
    if len(recipes) > MOST_SHOWN:
        print_line(f"and {len(recipes) - MOST_SHOWN} more recipes: --json has all", indent="  ")
    for line in record["views"]:
        print_line(line, indent="  ")
    if record["deviations"]:
        print("Deviations from the paper, those first that may matter most:")
        for deviation in record["deviations"]:
            print_line(deviation, indent="  ")


def _points(cells: Sequence[Json]) -> list[Json]:
    """Return the axes of each point, with one of its seeds."""
    found = dict[tuple[Any, ...], Json]()
    for axes in (cell["axes"] for cell in cells):
        found.setdefault(tuple([v for name, v in axes.items() if name != "seed"]), axes)
    return list(found.values())


def _values_of(name: str, points: Sequence[Json]) -> list[str]:
    """Return the values of an axis in words; baselines have their kind alone."""
    axes_of = (a for a in points if (name == "baseline") == bool(a.get("baseline")))
    return list(dict.fromkeys(_axis_text(axes[name]) for axes in axes_of))


def _axis_text(value: Any) -> str:
    return value_text(value, null="null")


def _telling_axes(points: Sequence[Json], cells: int) -> list[str]:
    """Return the axes that tell cells apart, without those that follow from the others."""
    axes = [{name: v for name, v in point.items() if name != "seed"} for point in points]
    return without_followers(axes, nulls_tell=False) + ["seed"] * (len(points) < cells)


def _print_kinds(p: Json) -> None:
    """Print what is predicted of each kind of cell."""
    work = "GPU time" if p["gpus"] else "core time"
    heads = ["kind", "cells", "each", work, "memory", f"on {counted(p['slots'], 'worker')}", "from"]
    rows = [
        [
            k["kind"], str(k["cells"]), _time(k["cell_s"]), _time(k["core_s"]), _memory(k) or "?",
            _time(k["wall_s"]), k["message"],
        ]
        for k in p["by_kind"]
    ]  # fmt: skip
    if rows:
        print_rows("to run", heads, rows)


def _time(seconds: float | None) -> str:
    return "?" if seconds is None else duration(seconds)


def _memory(p: Json) -> str:
    """Return the peak of memory; empty if it is not known."""
    peaks = {"": p["peak_memory_gb"], "GPU ": p["device_peak_gb"]}
    return ", ".join(f"{of}{gb:.1f} GB" for of, gb in peaks.items() if gb is not None)


def _hours(p: Json, gpus: int) -> str:
    """Return the work in core-hours or GPU-hours."""
    hours = p["core_s"] / 3600
    text = f"{hours:,.0f}" if hours >= MANY else f"{hours:.3g}"
    return f"{text if hours >= LEAST else f'less than {LEAST}'} {'GPU' if gpus else 'core'}-hours"


def _failed_text(record: Json) -> str:
    """Return how many cells failed before; empty where none did."""
    if not record["failed"]:
        return ""
    return f", {record['failed']} failed (`bench run` with `--retry-failed` tries them again)"


def _prediction_text(p: Json) -> str:
    """Return the total in words; empty if nothing is left to run."""
    if not p["by_kind"]:
        return ""
    known, unknown, cells = p["known"], p["cells_unknown"], sum(k["cells"] for k in p["by_kind"])
    if not unknown:
        memory = f"{_memory(p)} per worker" if _memory(p) else "memory not known"
        workers = counted(p["slots"], "worker")
        return f"Predicted: {_time(p['wall_s'])} on {workers}, {_hours(p, p['gpus'])}, {memory}."
    rest = f" The other {cells - unknown}: {_hours(known, p['gpus'])}." if unknown < cells else ""
    of = "these" if unknown == cells else f"{unknown} of them"
    return f"The time of {of} is not known (`?`): --probe times a few steps.{rest}"


def print_limited(limited: Json, file: TextIO | None = None) -> None:
    """Print the cells that fit into a limit of hours."""
    of = limited["of"]
    if of == "core-hours":
        of = "core-hours (no GPU is used: --limit-gpu-hours limits them)"
    lines = [
        f"Within {limited['limit_hours']:g} {of}: {limited['cells']} of {limited['of_cells']} "
        f"cells, {limited['hours']:.3g} hours."
    ]
    for claim in limited["claims"]:
        name, seeds, most = claim["claim"], claim["seeds"], claim["of_seeds"]
        if seeds:
            alone = "; one seed gives no interval" if len(seeds) == 1 else ""
            which = f"{len(seeds)} of {most} seeds ({', '.join(map(str, seeds))}{alone})"
            lines.append(f"  testable: {name}: {which}")
        else:
            lines.append(f"  not testable{'' if most else ' at this scale'}: {name}")
    print("\n".join(lines), file=file or sys.stderr)
