"""Comparison of two results folders: which cells changed, how much, and what explains it.

A cell that both folders have is either bitwise equal or moved. A group contains cells with equal
settings and several seeds. A paired t-test over the shared seeds decides whether the group's mean
moved beyond noise. With fewer than two shared seeds, Welch's test compares the means over each
side's own seeds. The Benjamini-Hochberg procedure limits the false discovery rate to 5 % over all
groups and metrics. A single seed never shows a change. Differences in provenance, such as another
processor, may explain why two results of one cell differ.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import isclose
from typing import Any

import numpy as np

from bench.analysis.statistics import LEVEL, Estimate, estimate
from bench.cells import CELLS
from bench.cells.cell import Cell
from bench.errors import StoreError
from bench.record import Json
from bench.results.export_tables import history_entry
from bench.results.reader import Finished, Results

ROUNDING = 1e-6  # numbers nearer than this, relatively, differ by the rounding of float32 alone
BySeed = dict[int, float]
PROCESSOR = "machine.processor"
MODEL = "machine.processor_model"
HARDWARE = (MODEL, "machine.cpu_capability")
CUDA = ("cuda.runtime", "cuda.cudnn", "cuda.driver")
RECORDED_LATER = (
    *HARDWARE, *CUDA, "packages.torchvision", "packages.faiss-cpu", "packages.pycocotools",
)  # fmt: skip
"""Older results lack them."""
CAUSES = (
    "python", "device", "device_name", "dataset", "evaluated_on", PROCESSOR, "code.commit",
    *HARDWARE, *CUDA,
)  # fmt: skip
"""Versions of these are in the provenance, next to the packages."""
OTHER_MODEL = "processors with the same name can compute different results, which may be the reason"


@dataclass
class SeedGroup:
    """One metric of cells that differ only in the seed, in both folders."""

    experiment: str
    settings: Json
    metric: str
    here: BySeed = field(default_factory=dict)
    there: BySeed = field(default_factory=dict)

    @property
    def compared(self) -> tuple[BySeed, BySeed]:
        """The numbers of the shared seeds in both folders, or of all seeds if too few are shared.

        One shared seed is too few if each side has two seeds of its own.
        """
        sides = (self.here, self.there)
        shared = self.here.keys() & self.there.keys()
        if not shared or (len(shared) == 1 and min(map(len, sides)) > 1):
            return sides
        here, there = ({seed: side[seed] for seed in side if seed in shared} for side in sides)
        return here, there

    @property
    def moved(self) -> Estimate | None:
        """Difference of the means, there minus here; None with too few seeds."""
        here, there = self.compared
        return estimate(there, here)


@dataclass
class Moved:
    """Result of comparing two results folders."""

    same: int = 0  # cells that both have, equal to the bit
    cells: list[Json] = field(default_factory=list)  # those that are not
    only_here: int = 0
    only_there: int = 0
    groups: list[Json] = field(default_factory=list)  # whose means differ
    tests: int = 0  # means compared

    @property
    def beyond_noise(self) -> int:
        """Number of groups that moved by more than seed noise."""
        return sum(bool(group["beyond_noise"]) for group in self.groups)

    def record(self) -> Json:
        """Return the document of `bench compare A B --json`.

        {"same": bitwise equal cells, "moved": [{"id", "experiment", "seed", "metrics":
         {name: [here, there]}, "history": differs, "arrays": [names that differ],
         "versions": {what: [here, there]} of those that differ, "same_model": both record one
         model of processor}],
         "only_here": cells, "only_there": cells,
         "metrics": [{"metric", "moved": cells, "largest_difference"}],
         "groups": [{"experiment", "settings", "metric", "n_here", "n_there": seeds compared,
         "here", "there": their means, "difference": there - here, "low", "high": its 95 %
         interval, "p_value": of the difference being 0, "beyond_noise", "corrected": it would be
         beyond noise if it were the only test}], "beyond_noise": groups, "tests": means compared}
        """
        return {
            "same": self.same,
            "moved": self.cells,
            "only_here": self.only_here,
            "only_there": self.only_there,
            "metrics": _by_metric(self.cells),
            "groups": self.groups,
            "beyond_noise": self.beyond_noise,
            "tests": self.tests,
        }


def moved(here: Results, there: Results, only: Iterable[tuple[str, str]] | None = None) -> Moved:
    """Return the differences between two results folders or folders of exported tables.

    Args:
        here: the first folder.
        there: the second folder.
        only: the cells to compare, as (experiment, id); default: all cells of either folder.
    """
    drift = Moved()
    groups: dict[tuple[str, str, str], SeedGroup] = {}
    for kind, name in _either(here, there) if only is None else only:
        mine, theirs = here.kept(kind, name), there.kept(kind, name)
        if mine is None and theirs is None:
            continue
        fields = (here if mine is not None else there).fields(kind, name)
        if mine is None:
            drift.only_there += 1
        elif theirs is None:
            drift.only_here += 1
        else:
            _compare_cell(drift, kind, name, fields, mine, theirs)
        _add(groups, kind, fields or {"id": name}, mine, theirs)
    _judge(drift, list(groups.values()))
    return drift


def differing(mine: Finished, theirs: Finished) -> Json:
    """Return the metrics, history and arrays of a cell that are not bitwise equal."""
    names = sorted(mine.metrics.keys() | theirs.metrics.keys())
    values = {n: [mine.metrics.get(n), theirs.metrics.get(n)] for n in names}
    return {
        "metrics": {n: pair for n, pair in values.items() if pair[0] != pair[1]},
        "history": _other_history(mine, theirs),
        "arrays": _other_arrays(mine, theirs),
    }


def _other_arrays(mine: Finished, theirs: Finished) -> list[str]:
    """Return the names of arrays that differ; next to a table's, of arrays that both have."""
    here, there = mine.arrays, theirs.arrays
    of_table = mine.of_table or theirs.of_table
    names = here.keys() & there.keys() if of_table else here.keys() | there.keys()
    return [name for name in sorted(names) if not _same(here.get(name), there.get(name))]


def _other_history(mine: Finished, theirs: Finished) -> bool:
    """Whether histories differ; next to a table's, in the metrics and digits that both have."""
    here, there = mine.history, theirs.history
    if mine.of_table or theirs.of_table:
        if not here or not there:
            return False
        both = set(here[0]) & set(there[0])
        here, there = (
            [{k: json.loads(history_entry(k, r[k])) for k in both & set(r)} for r in lines]
            for lines in (here, there)
        )
    return here != there


def _same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return False
    return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())


def _either(here: Results, there: Results) -> Iterator[tuple[str, str]]:
    for kind in CELLS:
        for name in dict.fromkeys([*here.names(kind), *there.names(kind)]):
            yield kind, name


def _compare_cell(
    drift: Moved, kind: str, name: str, fields: Json, mine: Finished, theirs: Finished
) -> None:
    parts = differing(mine, theirs)
    if any(parts.values()):
        seed = fields.get("seed")
        parts["versions"] = other_versions(mine.provenance, theirs.provenance)
        parts["same_model"] = same_model(mine.provenance, theirs.provenance)
        drift.cells.append({"id": name, "experiment": kind, "seed": seed} | parts)
    else:
        drift.same += 1


def _add(
    groups: dict[tuple[str, str, str], SeedGroup],
    kind: str,
    fields: Json,
    mine: Finished | None,
    theirs: Finished | None,
) -> None:
    """Put a cell's metrics in their groups.

    Raises:
        StoreError: two cells of one side have one seed and equal settings.
    """
    settings = {k: v for k, v in fields.items() if k != "seed"}
    key, seed = json.dumps(settings, sort_keys=True), int(fields.get("seed", 0))
    for side, kept in (("here", mine), ("there", theirs)):
        for metric, value in kept.metrics.items() if kept else ():
            group = groups.setdefault((kind, key, metric), SeedGroup(kind, settings, metric))
            numbers: BySeed = getattr(group, side)
            if seed in numbers:
                raise StoreError(
                    f"{kind}: two cells have the same seed {seed} and the same settings {key}"
                )
            numbers[seed] = value


def _judge(drift: Moved, groups: list[SeedGroup]) -> None:
    """Fill in the groups whose means differ, and which of them moved beyond noise."""
    both = [g for g in groups if g.here and g.there]
    steps = _steps(both)
    moves = [(group, group.moved) for group in both]
    p_values = [
        1.0
        if move is None or _is_rounding(group)
        else move.p_value(steps[group.metric, group.experiment])
        for group, move in moves
    ]
    tested = [p for (_, move), p in zip(moves, p_values, strict=True) if move is not None]
    limit, drift.tests = _limit(tested), len(tested)
    for (group, move), p_value in zip(moves, p_values, strict=True):
        sides = group.compared
        here, there = (float(np.mean([*side.values()])) for side in sides)
        if here == there:
            continue
        step = steps[group.metric, group.experiment]
        interval = move.with_step(step).interval(LEVEL) if move else None
        drift.groups.append(
            {
                "experiment": group.experiment,
                "settings": group.settings,
                "metric": group.metric,
                "n_here": len(sides[0]),
                "n_there": len(sides[1]),
                "here": here,
                "there": there,
                "difference": move.mean if move else there - here,
                "low": interval.low if interval else None,
                "high": interval.high if interval else None,
                "p_value": p_value if move else None,
                "beyond_noise": p_value <= limit,
                "corrected": limit < p_value <= 1 - LEVEL,
            }
        )
    drift.groups.sort(
        key=lambda g: (not g["beyond_noise"], g["p_value"] is None, g["p_value"] or 0)
    )


def _is_rounding(group: SeedGroup) -> bool:
    shared = [(group.here[s], group.there[s]) for s in group.here if s in group.there]
    return bool(shared) and all(isclose(a, b, rel_tol=ROUNDING) for a, b in shared)


def _limit(p_values: list[float]) -> float:
    """Return Benjamini and Hochberg's limit (J. R. Statist. Soc. B 57, 1995); -1: none is below."""
    bounds = [(1 - LEVEL) * (i + 1) / len(p_values) for i in range(len(p_values))]
    below = [p for p, bound in zip(sorted(p_values), bounds, strict=True) if p <= bound]
    return below[-1] if below else -1.0


def _steps(groups: list[SeedGroup]) -> dict[tuple[str, str], float]:
    """Return the step of each metric: that of the cells, else the least gap between its values."""
    values: dict[tuple[str, str], set[float]] = {}
    steps: dict[tuple[str, str], float] = {}
    for group in groups:
        key = group.metric, group.experiment
        values.setdefault(key, set()).update(group.here.values(), group.there.values())
        step = _step_of_cells(group)
        if step is not None:
            steps[key] = max(step, steps.get(key, 0.0))
    for key, numbers in values.items():
        gaps = np.diff(sorted(numbers))
        steps.setdefault(key, float(gaps.min()) if len(gaps) else 0.0)
    return steps


def _step_of_cells(group: SeedGroup) -> float | None:
    try:
        return CELLS[group.experiment].model_construct(**group.settings).step_of(group.metric)
    except AttributeError:  # a cell of another version, without the setting that says it
        return None


def _by_metric(cells: list[Json]) -> list[Json]:
    sizes: dict[str, list[float]] = {}
    for cell in cells:
        for name, (here, there) in cell["metrics"].items():
            both = here is not None and there is not None
            sizes.setdefault(name, []).append(abs(there - here) if both else 0.0)
    return [
        {"metric": name, "moved": len(differences), "largest_difference": max(differences)}
        for name, differences in sizes.items()
    ]


def other_versions(mine: Json, theirs: Json) -> Json:
    """Return the differences in provenance that may change a number.

    Args:
        mine: flat provenance of one result. Keys with the prefix `trained.` describe the encoder.
        theirs: flat provenance of the other result.
    """
    names = sorted(n for n in mine.keys() | theirs.keys() if _is_cause(_plain(n)))
    return {
        n: [mine.get(n), theirs.get(n)]
        for n in names
        if mine.get(n) != theirs.get(n) and not _is_unknown(n, mine, theirs)
    }


def same_model(mine: Json, theirs: Json) -> bool:
    """Return whether both results, and their encoders, used the same processor model.

    Args:
        mine: flat provenance of one result.
        theirs: flat provenance of the other result.
    """
    names = {MODEL}
    if any(n.startswith("trained.") for n in (*mine, *theirs)):
        names.add(f"trained.{MODEL}")
    return all(mine.get(n) is not None and mine.get(n) == theirs.get(n) for n in names)


def only_model(versions: Json) -> bool:
    """Return whether the only difference is the processor model, not its name.

    Args:
        versions: result of `other_versions`.
    """
    return bool(versions) and all(_plain(name) in HARDWARE for name in versions)


def tells_processors(versions: Json) -> bool:
    """Return whether the names or models of the processors are known to differ.

    Args:
        versions: result of `other_versions`.
    """
    return any(_plain(name) in (PROCESSOR, MODEL) for name in versions)


def _plain(name: str) -> str:
    return name.removeprefix("trained.")


def _is_cause(name: str) -> bool:
    return name in CAUSES or name.startswith("packages.")


def _is_unknown(name: str, mine: Json, theirs: Json) -> bool:
    """Whether one side was written before the name was recorded: that is no difference."""
    lacks = mine.get(name) is None or theirs.get(name) is None
    return lacks and _plain(name) in RECORDED_LATER


def verified(
    cell: Cell, then: Finished, now: Finished | None, *, of_table: bool, error: str | None = None
) -> Json:
    """Return the row of `bench verify --json`.

        {"id", "experiment", "seed", "same": bitwise equal, "largest_difference": of any metric,
         "metrics": {name: {"then", "now", "difference"}} of those that differ, "history": whether
         it differs, "arrays": [names of those that differ], "versions": {what: [then, now]} of
         those that differ, "same_model": both record one model of processor, "only_metrics": a
         table's row says no more, "error": why it failed}

    Args:
        cell: the cell.
        then: the stored result.
        now: the recomputed result; None if the cell failed.
        of_table: whether `then` is a row of an exported table. Histories and arrays are then not
            compared.
        error: why the cell failed.
    """
    nothing: Json = {"metrics": {}, "history": False, "arrays": []}
    parts = nothing if now is None else differing(then, now)
    if of_table:
        parts |= {"history": False, "arrays": []}
    metrics = {
        name: {"then": a, "now": b, "difference": None if a is None or b is None else b - a}
        for name, (a, b) in parts["metrics"].items()
    }
    sizes = [abs(m["difference"]) for m in metrics.values() if m["difference"] is not None]
    return {
        "id": cell.id,
        "experiment": cell.experiment,
        "seed": cell.seed,
        "same": now is not None and not any(parts.values()),
        "largest_difference": max(sizes, default=0.0),
        "metrics": metrics,
        "history": parts["history"],
        "arrays": parts["arrays"],
        "versions": {} if now is None else other_versions(then.provenance, now.provenance),
        "same_model": now is not None and same_model(then.provenance, now.provenance),
        "only_metrics": of_table,
        "error": error,
    }
