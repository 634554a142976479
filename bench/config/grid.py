"""Suite and scale -> cells: what each grid multiplies out to, checked and typed."""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from bench.config.cells import CELLS
from bench.config.explain import explain
from bench.config.record import Cell
from bench.config.suite import Block, Scalar, Scale, Suite
from bench.errors import SuiteError, choices

Point = dict[str, Any]


@dataclass(frozen=True)
class Grid:
    """One block of a suite at one scale: settings that stay, and axes as lists of points."""

    kind: type[Cell]
    fixed: Point
    axes: list[list[Point]]  # the product of these lists; a coupled group is one list
    exclude: list[dict[str, Any]]
    places: dict[str, str]  # where in the file each setting stands

    def points(self) -> Iterator[Point]:
        """Yield the settings of each point that is not excluded, without experiment and seed."""
        for parts in product(*self.axes):
            point = dict(self.fixed)
            for part in parts:
                point.update(part)
            if not any(_matches(point, rule) for rule in self.exclude):
                yield point

    def cells(self, points: list[Point], seeds: Sequence[int]) -> list[Cell]:
        """Return the validated cells of these points, seeds innermost."""
        experiment = get_args(self.kind.model_fields["experiment"].annotation)[0]
        head = {"experiment": experiment}
        settings = [{**head, **point, "seed": seed} for point in points for seed in seeds]
        return TypeAdapter(list[self.kind]).validate_python(settings)  # type: ignore[name-defined]

    @property
    def axis_names(self) -> list[str]:
        """The settings that this grid varies."""
        return [name for axis in self.axes for name in axis[0]]


def expand(
    suite: Suite,
    scale: str,
    path: Path,
    *,
    seeds: Sequence[int] | None = None,
    where: dict[str, list[Scalar]] | None = None,
) -> list[Cell]:
    """Return the suite's cells at a scale, in the order of the file, seeds innermost.

    Args:
        suite: the suite.
        scale: one of its scales.
        path: its file, for error lines.
        seeds: instead of the suite's own.
        where: only points whose settings have one of the values listed.

    Raises:
        SuiteError: an unknown scale or setting, a value of the wrong type, no cell at all.
    """
    grids = resolve(suite, scale, path)
    chosen = scale_of(suite, scale, path)
    seeds = seeds or chosen.seeds or suite.seeds
    rules = where or {}
    known = sorted({name for grid in grids for name in grid.kind.setting_names()})
    for name in rules:
        if name not in known:
            raise SuiteError(f"--where {name}: unknown setting. {choices(name, known)}")
    cells: list[Cell] = []
    with _without_garbage_collection():
        for grid in grids:
            points = [point for point in grid.points() if _matches(point, rules)]
            try:
                cells += grid.cells(points, seeds)
            except ValidationError as error:
                raise SuiteError(explain(error, path, grid.places)) from None
    if not cells:
        raise SuiteError(f"{path}: scale '{scale}': no cell is left by --where and exclude")
    if len(grids) > 1:  # grids of one suite may overlap
        cells = list({cell.id: cell for cell in cells}.values())
    return cells


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


def scale_of(suite: Suite, scale: str, path: Path) -> Scale:
    """Return the scale of that name."""
    if scale not in suite.scales:
        raise SuiteError(f"{path}: no scale '{scale}'. {choices(scale, list(suite.scales))}")
    return suite.scales[scale]


def resolve(suite: Suite, scale: str, path: Path) -> list[Grid]:
    """Return the suite's grids with the scale's changes applied."""
    chosen = scale_of(suite, scale, path)
    blocks = suite.grids or [Block(grid=suite.grid, zip=suite.zip, exclude=suite.exclude)]
    prefixes = [f"grids.{i}." for i in range(len(blocks))] if suite.grids else [""]
    kinds = [_kind(block.experiment or suite.experiment, path) for block in blocks]
    shared = _shared_settings(suite, path)
    _check_known(suite, chosen, scale, kinds, path)
    return [
        _grid(block, prefix, kind, shared, chosen, scale, path)
        for block, prefix, kind in zip(blocks, prefixes, kinds, strict=True)
    ]


def _kind(experiment: str, path: Path) -> type[Cell]:
    if experiment not in CELLS:
        known = choices(experiment, list(CELLS))
        raise SuiteError(f"{path}: experiment: unknown experiment '{experiment}'. {known}")
    return CELLS[experiment]


def _shared_settings(suite: Suite, path: Path) -> dict[str, tuple[Scalar, str]]:
    """Return the suite's own settings with their places; a setting stands in one place only."""
    shared: dict[str, tuple[Scalar, str]] = {k: (v, f"fixed.{k}") for k, v in suite.fixed.items()}
    for name, assumption in suite.assumed.items():
        if name in shared:
            raise SuiteError(f"{path}: assumed.{name}: stands under fixed too; keep one of them")
        shared[name] = (assumption.value, f"assumed.{name}.value")
    return shared


def _check_known(
    suite: Suite, chosen: Scale, scale: str, kinds: list[type[Cell]], path: Path
) -> None:
    """Every setting named outside the blocks must be known to the experiment of some block."""
    known = list(dict.fromkeys(name for kind in kinds for name in kind.setting_names()))
    places = {
        "fixed": suite.fixed,
        "assumed": suite.assumed,
        f"scales.{scale}.fixed": chosen.fixed,
        f"scales.{scale}.grid": chosen.grid,
    }
    for place, settings in places.items():
        for name in settings:
            if name not in known:
                raise SuiteError(f"{path}: {place}.{name}: unknown key. {choices(name, known)}")


def _grid(
    block: Block,
    prefix: str,
    kind: type[Cell],
    shared: dict[str, tuple[Scalar, str]],
    chosen: Scale,
    scale: str,
    path: Path,
) -> Grid:
    names = kind.setting_names()
    groups = [
        *((f"{prefix}grid", {name: values}) for name, values in block.grid.items()),
        *((f"{prefix}zip.{i}", group) for i, group in enumerate(block.zip)),
    ]
    fixed = {k: v for k, v in shared.items() if k in names}
    fixed |= {k: (v, f"{prefix}fixed.{k}") for k, v in block.fixed.items()}
    axes: list[tuple[str, dict[str, list[Scalar]]]] = []
    for place, group in groups:
        for name in group:
            if name in fixed:
                raise SuiteError(f"{path}: {place}.{name}: is {fixed[name][1]} too; keep one")
            fixed[name] = (None, f"{place}.{name}")  # taken: a second axis of that name is refused
        axes.append((place, dict(group)))
    for name, (_, place) in fixed.items():
        if name not in names:
            raise SuiteError(f"{path}: {place}: unknown key. {choices(name, names)}")
    varied = {name for _, group in axes for name in group}
    for name, value in chosen.fixed.items():
        if name in varied:
            raise SuiteError(f"{path}: scales.{scale}.fixed.{name}: is an axis; set it under grid")
        if name in names:
            fixed[name] = (value, f"scales.{scale}.fixed.{name}")
    axes = _override_axes(axes, chosen, scale, names, path)
    varied = {name for _, group in axes for name in group}
    for place, group in axes:
        _check_distinct(_points(group), f"{path}: {place}.{'+'.join(group)}")
    for rule in block.exclude:
        for name in rule:
            if name not in names:
                raise SuiteError(
                    f"{path}: {prefix}exclude.{name}: unknown key. {choices(name, names)}"
                )
    return Grid(
        kind=kind,
        fixed={k: v for k, (v, _) in fixed.items() if k not in varied},
        axes=[_points(group) for _, group in axes],
        exclude=[dict(rule) for rule in block.exclude],
        places={k: p for k, (_, p) in fixed.items()}
        | {name: f"{place}.{name}" for place, group in axes for name in group},
    )


def _override_axes(
    axes: list[tuple[str, dict[str, list[Scalar]]]],
    chosen: Scale,
    scale: str,
    names: list[str],
    path: Path,
) -> list[tuple[str, dict[str, list[Scalar]]]]:
    """Replace each axis that the scale names; a fixed setting named there becomes an axis."""
    place = f"scales.{scale}.grid"
    overrides = {k: v for k, v in chosen.grid.items() if k in names}
    changed = []
    for where, group in axes:
        hit = [name for name in group if name in overrides]
        if hit and len(group) > 1:
            raise SuiteError(f"{path}: {place}.{hit[0]}: is coupled with other axes by zip")
        changed.append((place, {hit[0]: overrides.pop(hit[0])}) if hit else (where, group))
    return changed + [(place, {name: values}) for name, values in overrides.items()]


def _points(group: dict[str, list[Scalar]]) -> list[Point]:
    return [dict(zip(group, values, strict=True)) for values in zip(*group.values(), strict=True)]


def _check_distinct(points: list[Point], place: str) -> None:
    keys = [tuple((type(v), v) for v in point.values()) for point in points]
    for i, key in enumerate(keys):
        if key in keys[:i]:
            doubled = ", ".join(repr(value) for value in points[i].values())
            raise SuiteError(f"{place}: the value {doubled} twice")


def _matches(point: Point, rule: dict[str, Any]) -> bool:
    """Whether every setting of the rule has the point's value, or holds it in its list."""
    return all(
        name in point
        and (point[name] in allowed if isinstance(allowed, list) else point[name] == allowed)
        for name, allowed in rule.items()
    )
