"""A suite's grids with settings that a command line gives in their place."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bench.errors import SuiteError, choices
from bench.suites.resolve import Grid, check_sizes
from bench.suites.suite import Scalar


def overridden(grids: Sequence[Grid], changes: Mapping[str, Sequence[Scalar]]) -> list[Grid]:
    """Return grids whose cells have these values, wherever they have the setting.

    Args:
        grids: of a suite at a scale.
        changes: values by setting, of which several multiply the cells. An axis is replaced.

    Raises:
        SuiteError: no cell has the setting, it is coupled with an axis that is not given too, or a
            value is larger than any setting.
    """
    known = sorted({name for grid in grids for name in grid.kind.setting_names()})
    for name, values in changes.items():
        if name not in known:
            raise SuiteError(f"--set {name}: unknown setting. {choices(name, known)}")
        check_sizes(values, f"--set {name}")
    return [_changed(grid, changes) for grid in grids]


def _changed(grid: Grid, changes: Mapping[str, Sequence[Scalar]]) -> Grid:
    taken = {k: list(v) for k, v in changes.items() if k in grid.kind.setting_names()}
    axes = []
    for points in grid.axes:
        named = list(points[0])
        given = [name for name in named if name in taken]
        if not given:
            axes.append(points)
        elif len(given) < len(named):
            rest = " and ".join(name for name in named if name not in taken)
            raise SuiteError(f"--set {given[0]}: the suite couples it with {rest}; set them too")
    return replace(
        grid,
        fixed=grid.fixed | {name: values[0] for name, values in taken.items()},
        axes=axes + [[{name: value} for value in values] for name, values in taken.items()],
        places=grid.places | {name: f"--set {name}" for name in taken},
    )
