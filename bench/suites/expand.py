"""Suite and scale -> cells: what each grid multiplies out to, checked and typed."""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path

from pydantic import ValidationError

from bench.cells.baseline import BASELINES, Baseline
from bench.cells.cell import Cell
from bench.errors import SuiteError, choices
from bench.files.validation_errors import explain
from bench.suites.baselines import baseline_cells
from bench.suites.overrides import overridden
from bench.suites.presets import load_presets
from bench.suites.resolve import Grid, Point, matches, resolve, scale_of
from bench.suites.suite import Scalar, Settings, Suite

MOST_CELLS = 100_000  # of a suite at a scale
_UNCOUNTED = 10**15


def expand(
    suite: Suite,
    scale: str,
    path: Path,
    *,
    seeds: Sequence[int] | None = None,
    where: dict[str, list[Scalar]] | None = None,
    changes: dict[str, list[Scalar]] | None = None,
) -> list[Cell]:
    """Return the suite's cells at a scale, in the order of the file, seeds innermost.

    Args:
        suite: the suite.
        scale: one of its scales.
        path: its file, for error lines.
        seeds: instead of the suite's own.
        where: only points whose settings have one of the values listed; `baseline` chooses kinds
            of baselines alone, null the cells that are none.
        changes: settings in place of the suite's; such cells have no baselines.

    Raises:
        SuiteError: an unknown scale or setting, a value of the wrong type, no cell at all, or more
            than MOST_CELLS.
    """
    grids = overridden(resolve(suite, scale, path), changes or {})
    chosen = scale_of(suite, scale, path)
    seeds = seeds or chosen.seeds or suite.seeds
    _check_count(grids, len(seeds), f"{path}: scale '{scale}'")
    rules = dict(where or {})
    has_baselines = chosen.baselines is not None and not changes
    kinds = rules.pop("baseline", None) if has_baselines else None
    known = sorted({name for grid in grids for name in grid.kind.setting_names()})
    for name in rules:
        if name not in known:
            raise SuiteError(f"--where {name}: unknown setting. {choices(name, known)}")
    _check_values(rules, [point for grid in grids for point in grid.points()])
    presets = load_presets(path.parent)
    cells: list[Cell] = []
    with _without_garbage_collection():
        for grid in grids:
            points = [point for point in grid.points() if matches(point, rules)]
            try:
                cells += grid.cells(points, seeds, presets)
            except ValidationError as error:
                raise SuiteError(explain(error, path, grid.places)) from None
            except ValueError as error:
                raise SuiteError(f"{path}: {error}") from None
    if not cells:
        raise SuiteError(f"{path}: scale '{scale}': no cell is left by --where and exclude")
    baselines: list[Cell] = []
    if chosen.baselines is not None and not changes:
        asked = BASELINES if kinds is None else [kind for kind in kinds if kind is not None]
        baselines = _baselines(cells, chosen.baselines, asked, path, f"scales.{scale}.baselines")
    if kinds is not None and None not in kinds:
        return baselines
    if len(grids) > 1 or changes:  # grids of one suite may overlap
        cells = list({cell.id: cell for cell in cells}.values())
    return cells + baselines


def _check_count(grids: Sequence[Grid], seeds: int, key_path: str) -> None:
    """Refuse more cells than MOST_CELLS, before any of them is made."""
    total = seeds * sum(prod(map(len, grid.axes)) for grid in grids)
    if total > MOST_CELLS:
        count = f"{total}" if total < _UNCOUNTED else f"more than {_UNCOUNTED:.0e}"
        raise SuiteError(
            f"{key_path}: {count} cells, excluded ones counted; at most {MOST_CELLS} are allowed"
        )


def _baselines(
    cells: list[Cell], settings: Settings, kinds: Sequence[Scalar], path: Path, key_path: str
) -> list[Cell]:
    """Return the baselines of cells, of these kinds."""
    for kind in kinds:
        if kind not in BASELINES:
            known = choices(str(kind), list(BASELINES))
            raise SuiteError(f"--where baseline: found '{kind}'. {known}")
    try:
        return list(baseline_cells(cells, settings, kinds))
    except ValidationError as error:
        places = {name: f"{key_path}.{name}" for name in Baseline.setting_names()}
        raise SuiteError(explain(error, path, places)) from None


def _check_values(rules: dict[str, list[Scalar]], points: list[Point]) -> None:
    """Refuse a chosen value that no cell has."""
    for name, wanted in rules.items():
        there = list(dict.fromkeys(point[name] for point in points if name in point))
        for value in wanted:
            if value not in there:
                known = ", ".join("null" if v is None else str(v) for v in there)
                is_their_text = isinstance(value, str) and value in map(str, there)
                found = repr(value) if is_their_text else value  # '8' is not 8
                raise SuiteError(
                    f"--where {name}: no cell has the value {found}. There are: {known}."
                    if there
                    else f"--where {name}: no cell sets it."
                )


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Keep the collector from walking 100,000 fresh records again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
