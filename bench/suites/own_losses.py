"""Objectives in files, bench's and those in `losses/` beside the suites, as settings of cells.

None of their code is run.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from bench.cells.cell import Cell
from bench.cells.losses import LOSSES
from bench.cells.pretrain import EncoderCell, Pretrain
from bench.errors import SuiteError, choices
from bench.files.yaml_file import yaml_files
from bench.loss_files import SHIPPED, UPDATE, LossFile, read_loss_file

FOLDER = "losses"
"""The folder beside the suites."""
OwnLosses = Mapping[str, LossFile]
"""Objectives by name."""


@cache
def shipped_losses() -> OwnLosses:
    """Return bench's own objectives in files, by name."""
    return {file.name: file for file in map(read_loss_file, yaml_files(SHIPPED))}


def own_losses(suites: Path) -> OwnLosses:
    """Return the objectives in files by name: bench's, then those beside the suites.

    Raises:
        SuiteError: in one line with its place, what is wrong with a file.
    """
    found = dict(shipped_losses())
    for path in yaml_files(suites / FOLDER):
        file = read_loss_file(path)
        if file.name in (*LOSSES, *shipped_losses()):
            raise SuiteError(f"{path}: bench has a loss '{file.name}'; choose another name")
        for name in file.declared.parameters:
            if hasattr(Pretrain, name) or name in (*Pretrain.model_fields, *Pretrain.metrics):
                raise SuiteError(
                    f"{path}: parameters.{name}: bench calls something else so; choose another name"
                )
        found[file.name] = file
    return found


def setting_names(kind: type[Cell], own: OwnLosses) -> list[str]:
    """Return the settings that a suite may give cells of a kind, parameters of objectives too."""
    declared = [name for file in own.values() for name in file.declared.parameters]
    more = declared if issubclass(kind, EncoderCell) else []
    return list(dict.fromkeys([*kind.setting_names(), *more]))


def schemas_of(own: OwnLosses) -> dict[str, dict[str, str]]:
    """Return the JSON schema of each parameter."""
    types = {"float": "number", "int": "integer", "bool": "boolean", "text": "string"}
    return {
        name: {"type": types[parameter.type]}
        for file in own.values()
        for name, parameter in file.declared.parameters.items()
    }


def with_own_loss(
    settings: Mapping[str, Any], own: OwnLosses, places: Mapping[str, str]
) -> dict[str, Any]:
    """Return the settings with all parameters of the objective, where it is one of these.

    Args:
        settings: of one cell.
        own: the objectives.
        places: where in the file each setting stands.

    Raises:
        ValueError: a parameter is missing, not allowed, or that of another objective; or there is
            no such objective.
    """
    loss = settings.get("loss")
    file = own.get(str(loss))
    if file is None and own and loss is not None and loss not in LOSSES:
        known = choices(str(loss), [*own, *LOSSES])
        raise ValueError(f"{places.get('loss', 'loss')}: loss '{loss}' is unknown. {known}")
    mine = file.declared.parameters if file else {}
    everyone = {name for other in own.values() for name in other.declared.parameters}
    given = {k: v for k, v in settings.items() if k in everyone and v is not None}
    for name in given:
        if name not in mine:
            raise ValueError(f"{places.get(name, name)}: is no parameter of loss '{loss}'")
    rest = {k: v for k, v in settings.items() if k not in everyone}
    if file is None:
        return rest
    values = {}
    for name, parameter in mine.items():
        value = given.get(name, parameter.default)
        if value is None:
            raise ValueError(f"{name} is missing: loss '{loss}' needs it ({parameter.rule})")
        try:
            values[name] = parameter.read(value)
        except ValueError as fault:
            raise ValueError(f"{places.get(name, name)}: {fault}") from None
    return rest | {"loss_file": file.identity} | values


def check_own_losses(cells: Iterable[Cell], own: OwnLosses) -> None:
    """Check that cells have what the functions of their objectives take.

    Raises:
        ValueError: the first that does not, in one line.
    """
    for cell in cells:
        if isinstance(cell, EncoderCell) and cell.loss_file is not None:
            file = own[cell.loss]
            _check_given(cell, [*file.arguments, *file.hooks.get(UPDATE, ())])


def _check_given(cell: EncoderCell, arguments: Iterable[str]) -> None:
    compared = cell.negatives in ("batch", "queue") and cell.norm == "l2"
    with_all = cell.negatives == "batch" and cell.symmetric and cell.K is None
    similarities = "negatives 'batch' or 'queue', and norm 'l2'"
    needed = {
        "tau": (cell.tau is not None, "the setting tau"),
        "pos_N": (compared, similarities),
        "neg_NK": (compared, similarities),
        "queued_KD": (cell.negatives == "queue", "negatives 'queue'"),
        "correlation_DD": (
            cell.negatives == "previous" or with_all,
            "negatives 'previous', or 'batch' with K null and symmetric",
        ),
        "labels_N": (cell.pretrain_on == "train", "pretrain_on 'train'"),
    }
    for name in arguments:
        there, what = needed.get(name, (True, ""))
        if not there:
            raise ValueError(f"loss '{cell.loss}' takes {name}: it needs {what}")
