"""Users' metrics in `evaluations/` and `records/` next to the suites, as settings of cells."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bench.cells.cell import Cell
from bench.cells.pretrain import EncoderCell
from bench.errors import choices
from bench.loss_files import Parameter
from bench.metric_files import FOLDERS, declared_parameters, metric_files, read_metric_file
from bench.suites.own_losses import check_given, read_values

OwnMetrics = Mapping[str, tuple[Mapping[str, Path], Mapping[str, Parameter]]]
"""Metric files by name, and all their parameters, for each setting that names a file."""


def own_metrics(suites: Path) -> OwnMetrics:
    """Return the metrics next to suites.

    Raises:
        SuiteError: a file is invalid.
    """
    return {s: (metric_files(suites, s), declared_parameters(suites, s)) for s in FOLDERS}


def with_own_metrics(
    settings: Mapping[str, Any], own: OwnMetrics, suites: Path, places: Mapping[str, str]
) -> dict[str, Any]:
    """Return the settings with digests of named files, and with all parameters.

    Args:
        settings: settings of one cell.
        own: the metrics next to the suite.
        suites: the folder of the suite.
        places: key path of each setting in the file.

    Raises:
        ValueError: a named file does not exist, or a parameter is missing or not allowed.
        SuiteError: a file is invalid.
    """
    found = dict(settings)
    for setting, (files, declared) in own.items():
        file = None
        given = {k: found.pop(k) for k in declared if k in found}
        if (name := settings.get(setting)) is not None:
            place = f"{places.get(setting, setting)}: {setting} '{name}'"
            if not files:
                raise ValueError(f"{place}: there is no {suites / FOLDERS[setting]}/{name}.py")
            if name not in files:
                raise ValueError(f"{place} is unknown. {choices(str(name), list(files))}")
            file = read_metric_file(files[name], setting)
            found[f"{setting}_file"] = file.identity
        mine = {f"{setting}_{k}": p for k, p in file.parameters.items()} if file else {}
        given = {k: value for k, value in given.items() if value is not None}
        for k in given:
            if k not in mine:
                why = f"is no parameter of {setting} '{name}'" if name else f"needs {setting}"
                raise ValueError(f"{places.get(k, k)}: {why}")
        found |= read_values(mine, given, f"{setting} '{name}'", places)
    return found


def check_own_metrics(cells: Iterable[Cell], suites: Path) -> None:
    """Check that cells have all arguments of their records' functions.

    Raises:
        ValueError: a cell lacks an argument.
    """
    for cell in cells:
        if isinstance(cell, EncoderCell) and cell.record is not None:
            file = read_metric_file(metric_files(suites, "record")[cell.record], "record")
            check_given(cell, f"record '{cell.record}'", file.arguments)
