"""Expansion of a suite at a scale to validated cells.

`resolve` merges the settings of a grid with the scale's changes. `expand` forms the product of the
axes, selects cells and validates them.
"""

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, product
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import TypeAdapter, ValidationError

from bench.cells.baseline import BASELINES, Baseline
from bench.cells.cell import LARGEST_SEED, Cell
from bench.errors import BenchError, SuiteError, choices, collected, raise_all
from bench.files.validation_errors import explain
from bench.loss_files import Parameter
from bench.suites.baselines import baseline_cells
from bench.suites.facts import no_cell_has, typed
from bench.suites.own_files import (
    OwnLosses,
    check_own_losses,
    check_own_metrics,
    declared_beside,
    own_losses,
    own_metrics,
    setting_names,
    with_own_loss,
    with_own_metrics,
)
from bench.suites.presets import Preset, filled, load_presets
from bench.suites.shared import check_known, experiment_named, named
from bench.suites.suite import (
    LARGEST_WHOLE,
    Axes,
    Block,
    PointRow,
    Points,
    Scalar,
    Scale,
    Settings,
    Suite,
    point_lists,
    rows_of,
)
from bench.text import value_text

MOST_CELLS = 100_000  # of a suite at a scale
LONGEST_TEXT = 1000  # characters of a setting
_UNCOUNTED = 10**15
Placed = dict[str, tuple[Scalar, str]]  # setting -> its value and where in the file it stands
Point = dict[str, Any]
Rule = dict[str, frozenset[tuple[bool, Scalar]]]  # settings, each with the values that it takes


class GridAxis(NamedTuple):
    """One axis of a grid: values of a setting, or rows of a list; a cell has one of them."""

    place: str  # where in the file it stands
    points: list[Point]

    def names(self) -> dict[str, bool]:
        """Return the settings of the axis, each with whether every row has it."""
        names = dict.fromkeys(name for point in self.points for name in point)
        return {name: all(name in point for point in self.points) for name in names}


@dataclass(frozen=True)
class ResolvedGrid:
    """One grid of a suite at one scale: common settings, and axes to combine."""

    kind: type[Cell]
    fixed: Point
    axes: list[list[Point]]
    exclude: list[Rule]
    exclude_at: str  # where in the file those stand
    places: dict[str, str]  # where in the file each setting stands
    own: OwnLosses = field(default_factory=dict)  # objectives beside the suite
    declared: Mapping[str, Parameter] = field(default_factory=dict)  # of those and of metrics
    suites: Path = Path()  # its folder

    @property
    def names(self) -> list[str]:
        """Settings that its cells may have."""
        return setting_names(self.kind, self.declared)

    def points(self) -> Iterator[Point]:
        """Yield the settings of each non-excluded configuration, without experiment and seed."""
        for parts in product(*self.axes):
            point = dict(self.fixed)
            for part in parts:
                point.update(part)
            if not any(_matches(point, rule) for rule in self.exclude):
                yield point

    def filled_points(self, presets: Mapping[str, Preset]) -> Iterator[tuple[Point, Point]]:
        """Yield each point, and it with the settings of its preset and the defaults filled in."""
        fields = self.kind.model_fields.items()
        defaults = {name: field.default for name, field in fields if not field.is_required()}
        for point in self.points():
            try:
                whole = filled(point, presets) if self.kind.has_presets else point
            except ValueError:  # told when the cells are made
                whole = point
            yield point, defaults | whole

    def excludes(self, rule: Rule) -> bool:
        """Return whether the rule matches a configuration; a setting has one axis or is fixed."""
        rest = dict(rule)
        for points in self.axes:
            mine = {name: rest.pop(name) for name in GridAxis("", points).names() if name in rest}
            if not any(_matches(self.fixed | point, mine) for point in points):
                return False
        return _matches(self.fixed, rest)

    def cells(
        self, points: list[Point], seeds: Sequence[int], presets: Mapping[str, Preset]
    ) -> list[Cell]:
        """Return the validated cells of these configurations; seeds vary fastest.

        Args:
            points: settings of each configuration.
            seeds: seeds of every configuration.
            presets: presets by method name.

        Raises:
            ValueError: a configuration names an unknown preset.
            ValidationError: a setting is missing, has the wrong type, or does not fit the others.
        """
        experiment = get_args(self.kind.model_fields["experiment"].annotation)[0]
        if self.kind.has_presets:
            points = [filled(point, presets, self.places) for point in points]
            points = [with_own_loss(point, self.own, self.places) for point in points]
            beside, at = own_metrics(self.suites), self.places
            points = [with_own_metrics(point, beside, self.suites, at) for point in points]
        head, check = {"experiment": experiment}, _list_of(self.kind).validate_python
        odd = [s for s in seeds if type(s) is not int or not 0 <= s <= LARGEST_SEED]
        check([{**head, **point, "seed": s} for point in points[:1] for s in odd])
        firsts = [
            first
            for some in (points[:1], points[1:])  # mistakes in the first point come first
            for first in check([{**head, **point, "seed": seeds[0]} for point in some])
        ]
        check_own_losses(firsts, self.own)
        check_own_metrics(firsts, self.suites)
        return [first.with_seed(seed) for first in firsts for seed in seeds]

    def overridden(self, changes: Mapping[str, Sequence[Scalar]]) -> "ResolvedGrid":
        """Return the grid with these values for settings that its cells have.

        Args:
            changes: values by setting. Several values form an axis. Existing axes are replaced.

        Raises:
            SuiteError: rows of points set this setting together with others that are not changed.
        """
        taken = {k: list(v) for k, v in changes.items() if k in self.names}
        axes = []
        for points in self.axes:
            names = GridAxis("", points).names()
            given = [name for name in names if name in taken]
            rest = " and ".join(name for name in names if name not in taken)
            if given and rest:
                raise SuiteError(
                    f"--set {given[0]}: the suite varies this setting together with {rest}, so "
                    f"set {rest} too"
                )
            axes += [] if given else [points]
        return replace(
            self,
            fixed=self.fixed | {name: values[0] for name, values in taken.items()},
            axes=axes + [[{name: value} for value in values] for name, values in taken.items()],
            places=self.places | {name: f"--set {name}" for name in taken},
        )


def expand(
    suite: Suite,
    scale: str,
    path: Path,
    *,
    seeds: Sequence[int] | None = None,
    where: dict[str, list[Scalar]] | None = None,
    changes: dict[str, list[Scalar]] | None = None,
) -> list[Cell]:
    """Return the suite's cells at a scale, in file order; seeds vary fastest.

    Args:
        suite: the suite.
        scale: one of its scales.
        path: file of the suite, for error messages.
        seeds: seeds that replace those of the suite.
        where: allowed values by setting. `baseline` selects only kinds of baselines; null selects
            the other cells. For other settings, null selects configurations without this setting.
        changes: settings that replace the suite's. Changed cells have no baselines.

    Raises:
        SuiteError: a scale or setting is unknown, a value has the wrong type, or there are no cells
            or more than MOST_CELLS.
    """
    grids = _overridden(resolve(suite, scale, path), changes or {})
    chosen = named(scale, suite.scales, f"{path}", "scale")
    seeds = seeds or chosen.seeds or suite.seeds
    _check_count(grids, len(seeds), f"{path}: scale '{scale}'")
    rules = dict(where or {})
    has_baselines = chosen.baselines is not None and not changes
    kinds = rules.pop("baseline", None) if has_baselines else None
    presets = load_presets(path.parent)
    points_of = _chosen_points(grids, rules, presets)
    cells: list[Cell] = []
    with _without_garbage_collection():
        for grid, points in zip(grids, points_of, strict=True):
            try:
                cells += grid.cells(points, seeds, presets)
            except ValidationError as error:
                raise explain(SuiteError, error, path, grid.places) from None
            except ValueError as error:
                file = "" if str(error).startswith("--set ") else f"{path}: "
                raise SuiteError(f"{file}{error}") from None
    if len(grids) > 1 or changes:  # grids of one suite may overlap
        cells = list({cell.id: cell for cell in cells}.values())
    else:
        _check_distinct(cells, grids[0], path)
    if not cells:
        raise SuiteError(f"{path}: scale '{scale}': no cell remains after --where and exclude")
    baselines: list[Cell] = []
    if chosen.baselines is not None and not changes:
        asked = BASELINES if kinds is None else [kind for kind in kinds if kind is not None]
        baselines = _baselines(cells, chosen.baselines, asked, path, f"scales.{scale}.baselines")
    if kinds is not None and None not in kinds:
        return baselines
    return cells + baselines


def resolve(suite: Suite, scale: str, path: Path) -> list[ResolvedGrid]:
    """Return the suite's grids with the scale's changes applied.

    Raises:
        SuiteError: a scale, experiment or setting is unknown, or a setting occurs twice.
    """
    chosen = named(scale, suite.scales, f"{path}", "scale")
    blocks = suite.grids or [Block()]
    kinds = [experiment_named(block.experiment or suite.experiment, path) for block in blocks]
    declared = declared_beside(path.parent, own := own_losses(path.parent))
    shared = _shared_settings(suite, path)
    prefix = f"scales.{scale}."
    changes = _axes(chosen.grid, chosen.points, f"{prefix}grid", f"{prefix}points", path)
    known = list(dict.fromkeys(name for kind in kinds for name in setting_names(kind, declared)))
    given = [("fixed", [*suite.fixed]), ("assumed", [*suite.assumed])]
    given += [(f"{prefix}fixed", [*chosen.fixed]), *((a.place, [*a.names()]) for a in changes)]
    faults = _unknown(given, known, path)
    grids = []
    for i, (block, kind) in enumerate(zip(blocks, kinds, strict=True)):
        names = setting_names(kind, declared)
        with collected(faults):
            fixed, axes = _block_settings(suite, block, f"grids.{i}.", names, shared, path)
        if faults:
            continue
        for axis in sorted(changes, key=_is_of_grid):  # rows first
            axes = _replaced(axes, axis, names, path)
        whole = {name for axis in axes for name, always in axis.names().items() if always}
        fixed |= _scale_settings(chosen, prefix, names, whole, path)
        fixed = {name: placed for name, placed in fixed.items() if name not in whole}
        _check_values(fixed, axes, path)
        grids.append(
            ResolvedGrid(
                kind=kind,
                fixed={name: value for name, (value, _) in fixed.items()},
                axes=[axis.points for axis in axes],
                exclude=[_rule(rule) for rule in _given(suite, block, "exclude")],
                exclude_at=f"grids.{i}." * ("exclude" in block.model_fields_set) + "exclude",
                places={name: place for name, (_, place) in fixed.items()}
                | {name: f"{axis.place}.{name}" for axis in axes for name in axis.names()},
                own=own,
                declared=declared,
                suites=path.parent,
            )
        )
    raise_all(faults, SuiteError)
    return grids


def _unknown(
    given: Iterable[tuple[str, list[str]]], known: list[str], path: Path
) -> list[BenchError]:
    """Return an error for each unknown setting at these places of a file."""
    faults: list[BenchError] = []
    for place, settings in given:
        with collected(faults):
            check_known(settings, known, f"{path}: {place}")
    return faults


def check_exclusions(suite: Suite, path: Path) -> None:
    """Check that each entry of `exclude` matches a configuration at some scale.

    Raises:
        SuiteError: an entry matches nothing.
    """
    if not suite.exclude and not any(block.exclude for block in suite.grids):
        return
    left_out = dict[str, bool]()
    for grid in chain.from_iterable(resolve(suite, scale, path) for scale in suite.scales):
        for i, rule in enumerate(grid.exclude):
            place = f"{grid.exclude_at}.{i}"
            left_out[place] = left_out.get(place, False) or grid.excludes(rule)
    for place, any_point in left_out.items():
        if not any_point:
            raise SuiteError(
                f"{path}: {place}: this entry excludes nothing, because no configuration has "
                "its values"
            )


def check_sizes(values: Sequence[Scalar], key_path: str) -> None:
    """Check that integers and texts are within limits.

    Raises:
        SuiteError: an integer exceeds LARGEST_WHOLE, or a text is longer than LONGEST_TEXT.
    """
    for value in values:
        if isinstance(value, int) and abs(value) > LARGEST_WHOLE:
            raise SuiteError(
                f"{key_path}: the whole number exceeds {LARGEST_WHOLE}, the largest allowed"
            )
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            raise SuiteError(f"{key_path}: the text has more than {LONGEST_TEXT} characters")


@cache
def _list_of(kind: type[Cell]) -> TypeAdapter[list[Cell]]:
    return TypeAdapter(list[kind])  # type: ignore[valid-type]


def _rule(settings: Mapping[str, Scalar | list[Scalar]]) -> Rule:
    listed = {name: v if isinstance(v, list) else [v] for name, v in settings.items()}
    return {name: frozenset(map(typed, values)) for name, values in listed.items()}


def _matches(point: Point, rule: Rule) -> bool:
    """Return whether the point has one of the values of every setting of the rule."""
    return all(typed(point.get(name)) in allowed for name, allowed in rule.items())


def _shared_settings(suite: Suite, path: Path) -> Placed:
    """Return the suite's own settings; a setting stands in one place only."""
    shared: Placed = {k: (v, f"fixed.{k}") for k, v in suite.fixed.items()}
    for name, assumption in suite.assumed.items():
        if name in shared:
            raise SuiteError(
                f"{path}: assumed.{name}: the setting is given under fixed too; remove one "
                "of the two"
            )
        shared[name] = (assumption.value, f"assumed.{name}.value")
    return shared


def _given(suite: Suite, block: Block, key: str) -> Any:
    """Return the block's grid, points or exclude, or the suite's where the block gives none."""
    return getattr(block if key in block.model_fields_set else suite, key)


def _axes(
    grid: Axes, points: Points | None, at_grid: str, at_points: str, path: Path
) -> list[GridAxis]:
    """Return what multiplies: the settings of a grid, then each list of points."""
    axes = [GridAxis(at_grid, [{name: value} for value in values]) for name, values in grid.items()]
    lists = point_lists(points)
    for i, rows in enumerate(lists):
        place = f"{at_points}.{i}" if len(lists) > 1 else at_points
        axes.append(GridAxis(place, _multiplied(rows, f"{path}: {place}")))
    return axes


def _multiplied(rows: Sequence[PointRow], key_path: str) -> list[Point]:
    """Return the rows of a list, those with listed values multiplied out."""
    count = sum(prod(len(v) for v in row.values() if isinstance(v, list)) for row in rows)
    if count > MOST_CELLS:
        raise SuiteError(
            f"{key_path}: the list has {count} rows, but at most {MOST_CELLS} are allowed"
        )
    return [point for row in rows for point in rows_of(row)]


def _block_settings(
    suite: Suite, block: Block, prefix: str, names: list[str], shared: Placed, path: Path
) -> tuple[Placed, list[GridAxis]]:
    """Return a block's fixed settings and its axes, the suite's own settings filled in."""
    at = {key: f"{prefix * (key in block.model_fields_set)}{key}" for key in Block.model_fields}
    grid, points = _given(suite, block, "grid"), _given(suite, block, "points")
    axes = _axes(grid, points, at["grid"], at["points"], path)
    excluded = [name for rule in _given(suite, block, "exclude") for name in rule]
    for key_path, settings in [(f"{prefix}fixed", block.fixed), (at["exclude"], excluded)]:
        check_known(settings, names, f"{path}: {key_path}")
    fixed = {k: v for k, v in shared.items() if k in names}
    fixed |= {k: (v, f"{prefix}fixed.{k}") for k, v in block.fixed.items()}
    taken = dict[str, str]()
    for axis in axes:
        check_known(axis.names(), names, f"{path}: {axis.place}")
        for name, always in axis.names().items():
            other = taken.get(name) or (fixed[name][1] if always and name in fixed else None)
            if other:
                raise SuiteError(
                    f"{path}: {axis.place}.{name}: the setting is given as {other} too; remove "
                    "one of the two"
                )
            taken[name] = f"{axis.place}.{name}"
    return fixed, axes


def _is_of_grid(axis: GridAxis) -> bool:
    return axis.place.endswith("grid")


def _replaced(axes: list[GridAxis], new: GridAxis, names: list[str], path: Path) -> list[GridAxis]:
    """Return the axes with one of the scale instead of those that name its settings."""
    points = [{k: v for k, v in point.items() if k in names} for point in new.points]
    points = [point for point in points if point]
    given = GridAxis(new.place, points).names()
    hit = [i for i, axis in enumerate(axes) if given.keys() & axis.names().keys()]
    if not points:
        return axes
    if _is_of_grid(new):  # takes the place of an axis of one setting
        if hit and len(axes[hit[0]].names()) > 1:
            raise SuiteError(
                f"{path}: {new.place}.{next(iter(given))}: the setting is set together with "
                "other settings under points; change it there"
            )
        if hit:
            return [GridAxis(new.place, points) if i == hit[0] else a for i, a in enumerate(axes)]
    return [a for i, a in enumerate(axes) if i not in hit] + [GridAxis(new.place, points)]


def _scale_settings(
    chosen: Scale, prefix: str, names: list[str], whole: set[str], path: Path
) -> Placed:
    """Return the settings of the shared scale that are no axes, and the scale's own."""
    for name in chosen.fixed.keys() & whole:
        raise SuiteError(
            f"{path}: {prefix}fixed.{name}: the suite varies this setting, so give its values "
            "under grid or points, not under fixed"
        )
    at_shared = f"{prefix}like: {chosen.like}: fixed"
    placed = {k: (v, f"{at_shared}.{k}") for k, v in chosen.shared.items() if k not in whole}
    placed |= {k: (v, f"{prefix}fixed.{k}") for k, v in chosen.fixed.items()}
    return {name: value for name, value in placed.items() if name in names}


def _check_values(fixed: Placed, axes: list[GridAxis], path: Path) -> None:
    for value, where in fixed.values():
        check_sizes([value], f"{path}: {where}")
    for axis in axes:
        names, seen = axis.names(), set()
        for point in axis.points:
            for name, value in point.items():
                check_sizes([value], f"{path}: {axis.place}.{name}")
            whole = {k: point.get(k, fixed.get(k, (None, ""))[0]) for k in names}
            key = tuple(map(typed, whole.values()))
            if key in seen and _is_of_grid(axis):
                ((name, value),) = point.items()
                raise SuiteError(f"{path}: {axis.place}.{name}: the value {value!r} is given twice")
            if key in seen:
                raise SuiteError(f"{path}: {axis.place}: {value_text(point)} is given twice")
            seen.add(key)


def _check_distinct(cells: Sequence[Cell], grid: ResolvedGrid, path: Path) -> None:
    """Refuse two points that stand for one cell: a mean would count what was measured twice."""
    seen = set[str]()
    for cell in cells:
        if cell.id in seen:
            names = [name for points in grid.axes for name in GridAxis("", points).names()]
            twice = value_text({name: cell.settings.get(name) for name in names})
            raise SuiteError(f"{path}: two configurations give the same cell: {twice}")
        seen.add(cell.id)


def _overridden(
    grids: Sequence[ResolvedGrid], changes: Mapping[str, Sequence[Scalar]]
) -> list[ResolvedGrid]:
    """Return grids whose cells have these values, wherever they have the setting."""
    _check_asked(changes, "--set", grids)
    for name, values in changes.items():
        check_sizes(values, f"--set {name}")
    return [grid.overridden(changes) for grid in grids]


def _check_asked(names: Iterable[str], option: str, grids: Sequence[ResolvedGrid]) -> None:
    """Refuse a setting of the command line that no cell has."""
    known = sorted({name for grid in grids for name in grid.names})
    for name in names:
        if name == "seed":
            raise SuiteError(f"{option} seed: seeds are chosen by --seeds, such as --seeds 0-2")
        if name not in known:
            raise SuiteError(f"{option} {name}: unknown setting. {choices(name, known)}")


def _check_count(grids: Sequence[ResolvedGrid], seeds: int, key_path: str) -> None:
    """Refuse more cells than MOST_CELLS, before any of them is made."""
    total = seeds * sum(prod(map(len, grid.axes)) for grid in grids)
    if total > MOST_CELLS:
        count = f"{total}" if total < _UNCOUNTED else f"more than {_UNCOUNTED:.0e}"
        raise SuiteError(
            f"{key_path}: there are {count} cells (including excluded ones), but at "
            f"most {MOST_CELLS} are allowed"
        )


def _baselines(
    cells: list[Cell], settings: Settings, kinds: Sequence[Scalar], path: Path, key_path: str
) -> list[Cell]:
    """Return the baselines of cells, of these kinds."""
    for kind in kinds:
        if kind not in BASELINES:
            known = choices(str(kind), list(BASELINES))
            raise SuiteError(f"--where baseline: there is no baseline '{kind}'. {known}")
    try:
        return list(baseline_cells(cells, settings, kinds))
    except ValidationError as error:
        places = {name: f"{key_path}.{name}" for name in Baseline.setting_names()}
        raise explain(SuiteError, error, path, places) from None


def _chosen_points(
    grids: Sequence[ResolvedGrid], rules: dict[str, list[Scalar]], presets: Mapping[str, Preset]
) -> list[list[Point]]:
    """Return the points of each grid that the rules of `--where` choose.

    A point has the values of its preset and the defaults, too. It has null for each setting that
    the suite does not give.

    Raises:
        SuiteError: a setting is unknown, or no point has one of the values.
    """
    if not rules:
        return [list(grid.points()) for grid in grids]
    _check_asked(rules, "--where", grids)
    pairs = [list(grid.filled_points(presets)) for grid in grids]
    for name, wanted in rules.items():
        there = dict.fromkeys(typed(p.get(name)) for own in pairs for pair in own for p in pair)
        if there.keys() == {typed(None)} and None not in wanted:
            raise SuiteError(f"--where {name}: no cell has this setting.")
        for value in wanted:
            if typed(value) not in there:
                raise SuiteError(f"--where {name}: {no_cell_has(value, [v for _, v in there])}")
    chosen_by = _rule(rules).items()
    return [
        [
            point
            for point, whole in own
            if all({typed(point.get(k)), typed(whole.get(k))} & allowed for k, allowed in chosen_by)
        ]
        for own in pairs
    ]


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
