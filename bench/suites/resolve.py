"""Suite and scale -> grids: every setting in one place, axes replaced by the scale's."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, get_args

from pydantic import TypeAdapter

from bench.cells import CELLS
from bench.cells.cell import Cell
from bench.errors import SuiteError, choices
from bench.suites.presets import Preset, filled
from bench.suites.suite import LARGEST_WHOLE, Block, Exclusions, Scalar, Scale, Suite

Placed = dict[str, tuple[Scalar, str]]  # setting -> its value and where in the file it stands
Axis = tuple[str, dict[str, list[Scalar]]]  # place, and one axis or several coupled ones
Point = dict[str, Any]
_SEVERAL = (list, frozenset)
LONGEST_TEXT = 1000  # characters of a setting


@dataclass(frozen=True)
class Grid:
    """One block of a suite at one scale: settings that stay, and axes as lists of points."""

    kind: type[Cell]
    fixed: Point
    axes: list[list[Point]]  # the product of these lists; a coupled group is one list
    exclude: list[dict[str, Any]]  # settings, each with a value or a set of them
    places: dict[str, str]  # where in the file each setting stands

    def points(self) -> Iterator[Point]:
        """Yield the settings of each point that is not excluded, without experiment and seed."""
        for parts in product(*self.axes):
            point = dict(self.fixed)
            for part in parts:
                point.update(part)
            if not any(matches(point, rule) for rule in self.exclude):
                yield point

    def cells(
        self, points: list[Point], seeds: Sequence[int], presets: Mapping[str, Preset]
    ) -> list[Cell]:
        """Return the validated cells of these points, seeds innermost.

        Args:
            points: settings of each point.
            seeds: the seeds, of each point the same.
            presets: what each method stands for.

        Raises:
            ValueError: a point names no preset.
            ValidationError: a setting is missing, of another type, or does not fit the others.
        """
        experiment = get_args(self.kind.model_fields["experiment"].annotation)[0]
        if self.kind.has_presets:
            points = [filled(point, presets) for point in points]
        head = {"experiment": experiment}
        settings = [{**head, **point, "seed": seed} for point in points for seed in seeds]
        return list(_list_of(self.kind).validate_python(settings))


@cache
def _list_of(kind: type[Cell]) -> TypeAdapter[list[Cell]]:
    return TypeAdapter(list[kind])  # type: ignore[valid-type]


def matches(point: Point, rule: dict[str, Any]) -> bool:
    """Return whether every setting of the rule has the point's value, or lists it."""
    return all(
        name in point
        and (point[name] in allowed if isinstance(allowed, _SEVERAL) else point[name] == allowed)
        for name, allowed in rule.items()
    )


def scale_of(suite: Suite, scale: str, path: Path) -> Scale:
    """Return the scale of that name.

    Args:
        suite: the suite.
        scale: name of the scale.
        path: the suite's file, for messages.

    Raises:
        SuiteError: the suite has no such scale.
    """
    if scale not in suite.scales:
        raise SuiteError(f"{path}: no scale '{scale}'. {choices(scale, list(suite.scales))}")
    return suite.scales[scale]


def resolve(suite: Suite, scale: str, path: Path) -> list[Grid]:
    """Return the suite's grids with the scale's changes applied.

    Args:
        suite: the suite.
        scale: name of the scale.
        path: the suite's file, for messages.

    Raises:
        SuiteError: an unknown scale, experiment or setting, or a setting that stands twice.
    """
    chosen = scale_of(suite, scale, path)
    blocks = suite.grids or [Block()]
    kinds = [_kind(block.experiment or suite.experiment, path) for block in blocks]
    shared = _shared_settings(suite, path)
    change = {
        f"scales.{scale}.fixed": chosen.fixed,
        f"scales.{scale}.grid": chosen.grid,
    } | {f"scales.{scale}.zip.{i}": group for i, group in enumerate(chosen.zip)}
    known = list(dict.fromkeys(name for kind in kinds for name in kind.setting_names()))
    for key_path, settings in ({"fixed": suite.fixed, "assumed": suite.assumed} | change).items():
        _check_known(settings, key_path, known, path)
    grids = []
    for i, (block, kind) in enumerate(zip(blocks, kinds, strict=True)):
        fixed, axes = _block_settings(suite, block, f"grids.{i}.", kind, shared, path)
        exclude = _given(suite, block, "exclude")
        grids.append(_changed(kind, fixed, axes, exclude, chosen, scale, path))
    return grids


def _kind(experiment: str, path: Path) -> type[Cell]:
    if experiment not in CELLS:
        known = choices(experiment, list(CELLS))
        raise SuiteError(f"{path}: experiment: unknown experiment '{experiment}'. {known}")
    return CELLS[experiment]


def _check_known(settings: Any, key_path: str, known: list[str], path: Path) -> None:
    for name in settings:
        if name not in known:
            raise SuiteError(f"{path}: {key_path}.{name}: unknown key. {choices(name, known)}")


def _shared_settings(suite: Suite, path: Path) -> Placed:
    """Return the suite's own settings; a setting stands in one place only."""
    shared: Placed = {k: (v, f"fixed.{k}") for k, v in suite.fixed.items()}
    for name, assumption in suite.assumed.items():
        if name in shared:
            raise SuiteError(f"{path}: assumed.{name}: stands under fixed too; keep one of them")
        shared[name] = (assumption.value, f"assumed.{name}.value")
    return shared


def _given(suite: Suite, block: Block, key: str) -> Any:
    """Return the block's grid, zip or exclude, or the suite's where the block gives none."""
    return getattr(block if key in block.model_fields_set else suite, key)


def _block_settings(
    suite: Suite, block: Block, prefix: str, kind: type[Cell], shared: Placed, path: Path
) -> tuple[Placed, list[Axis]]:
    """Return a block's fixed settings and its axes, the suite's own settings filled in."""
    names = kind.setting_names()
    at = {key: f"{prefix * (key in block.model_fields_set)}{key}" for key in Block.model_fields}
    grid, groups = _given(suite, block, "grid"), _given(suite, block, "zip")
    axes: list[Axis] = [(at["grid"], {name: values}) for name, values in grid.items()]
    axes += [(f"{at['zip']}.{i}", dict(group)) for i, group in enumerate(groups)]
    excluded = [name for rule in _given(suite, block, "exclude") for name in rule]
    for key_path, settings in [(f"{prefix}fixed", block.fixed), (at["exclude"], excluded)]:
        _check_known(settings, key_path, names, path)
    fixed = {k: v for k, v in shared.items() if k in names}
    fixed |= {k: (v, f"{prefix}fixed.{k}") for k, v in block.fixed.items()}
    taken = {name: key_path for name, (_, key_path) in fixed.items()}
    for key_path, group in axes:
        _check_known(group, key_path, names, path)
        for name in group:
            if name in taken:
                raise SuiteError(f"{path}: {key_path}.{name}: is {taken[name]} too; keep one")
            taken[name] = f"{key_path}.{name}"
    return fixed, axes


def _changed(
    kind: type[Cell],
    fixed: Placed,
    axes: list[Axis],
    exclude: Exclusions,
    chosen: Scale,
    scale: str,
    path: Path,
) -> Grid:
    """Return the grid with what the scale changes."""
    names = kind.setting_names()
    key_path = f"{path}: scales.{scale}"
    for i, group in enumerate(chosen.zip):  # in the place of every axis that it names
        replaced = {name: values for name, values in group.items() if name in names}
        axes = [axis for axis in axes if not replaced.keys() & axis[1].keys()]
        axes += [(f"scales.{scale}.zip.{i}", replaced)] if replaced else []
        fixed = {name: placed for name, placed in fixed.items() if name not in replaced}
    on_axes = {name for _, group in axes for name in group}
    fixed |= _of_shared_scale(chosen, scale, set(names) - on_axes)
    for name, value in chosen.fixed.items():
        if name in on_axes:
            raise SuiteError(f"{key_path}.fixed.{name}: is an axis; set it under grid")
        if name in names:
            fixed[name] = (value, f"scales.{scale}.fixed.{name}")
    for name, values in chosen.grid.items():
        if name not in names:
            continue
        hit = [group for _, group in axes if name in group]
        if hit and len(hit[0]) > 1:
            raise SuiteError(f"{key_path}.grid.{name}: is coupled with other axes by zip")
        changed: Axis = (f"scales.{scale}.grid", {name: values})
        axes = [changed if name in axis[1] else axis for axis in axes] if hit else [*axes, changed]
        fixed.pop(name, None)
    _check_values(fixed, axes, path)
    return Grid(
        kind=kind,
        fixed={name: value for name, (value, _) in fixed.items()},
        axes=[_points(group) for _, group in axes],
        exclude=[{k: _as_set(allowed) for k, allowed in rule.items()} for rule in exclude],
        places={name: key_path for name, (_, key_path) in fixed.items()}
        | {name: f"{where}.{name}" for where, group in axes for name in group},
    )


def _as_set(allowed: Scalar | list[Scalar]) -> Scalar | frozenset[Scalar]:
    return frozenset(allowed) if isinstance(allowed, list) else allowed


def _of_shared_scale(chosen: Scale, scale: str, free: set[str]) -> Placed:
    """Return what the scale takes from the shared one: settings of the cells that are no axes."""
    prefix = f"scales.{scale}.like: {chosen.like}: fixed"
    return {
        name: (value, f"{prefix}.{name}") for name, value in chosen.shared.items() if name in free
    }


def _points(group: dict[str, list[Scalar]]) -> list[Point]:
    return [dict(zip(group, values, strict=True)) for values in zip(*group.values(), strict=True)]


def _check_values(fixed: Placed, axes: list[Axis], path: Path) -> None:
    for value, where in fixed.values():
        check_sizes([value], f"{path}: {where}")
    for where, group in axes:
        for name, values in group.items():
            check_sizes(values, f"{path}: {where}.{name}")
        _check_distinct(_points(group), f"{path}: {where}.{'+'.join(group)}")


def check_sizes(values: Sequence[Scalar], key_path: str) -> None:
    """Refuse what no setting is as large as, and what no record can hold.

    Raises:
        SuiteError: a whole number beyond LARGEST_WHOLE, or a text longer than LONGEST_TEXT.
    """
    for value in values:
        if isinstance(value, int) and abs(value) > LARGEST_WHOLE:
            raise SuiteError(
                f"{key_path}: a whole number beyond {LARGEST_WHOLE}, the largest allowed"
            )
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            raise SuiteError(f"{key_path}: text of more than {LONGEST_TEXT} characters")


def _check_distinct(points: list[Point], key_path: str) -> None:
    seen = set()
    for point in points:
        key = tuple((type(v), v) for v in point.values())
        if key in seen:
            doubled = ", ".join(repr(value) for value in point.values())
            raise SuiteError(f"{key_path}: the value {doubled} twice")
        seen.add(key)
