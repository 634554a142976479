"""Users' own objectives, methods and metrics as settings of cells; their code does not run here.

The files are in bench, or in folders next to the suites: `losses/`, `methods/`, and `evaluations/`
and `records/` for metrics. In suites, a method is used like an objective: `loss` is its name, and
`method` is the preset with the same name in its file.
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
from bench.loss_files import (
    SHIPPED,
    SHIPPED_METHODS,
    UPDATE,
    LossFile,
    MethodDeclaration,
    Parameter,
    Value,
    read_loss_file,
)
from bench.metric_files import (
    FOLDERS,
    declared_parameters,
    metric_files,
    read_metric_file,
    read_metric_files,
)
from bench.record import Record

FOLDER, METHODS = "losses", "methods"
"""Folders next to the suites."""
OwnLosses = Mapping[str, LossFile]
"""Objectives and methods by name."""
NOT_RECORDED = ("step", "epoch", "lr")
"""Keys of a history's lines besides metrics, which no quantity of a method may have."""
TAKEN = "bench already uses this name; choose a different name"
OwnMetrics = Mapping[str, tuple[Mapping[str, Path], Mapping[str, Parameter]]]
"""Metric files by name, and all their parameters, for each setting that names a file."""


@cache
def shipped_losses() -> OwnLosses:
    """Return bench's own objectives in files, by name."""
    return {file.name: file for file in map(read_loss_file, yaml_files(SHIPPED))}


def own_losses(suites: Path) -> OwnLosses:
    """Return objectives and methods in files by name: bench's, then valid ones next to suites."""
    return _read(suites)[0]


def invalid_losses(suites: Path) -> dict[str, SuiteError]:
    """Return the error of each invalid objective or method next to suites, by name."""
    return _read(suites)[1]


def invalid_files(suites: Path) -> list[SuiteError]:
    """Return the errors of all invalid objectives, methods and metrics next to suites."""
    metrics = [fault for setting in FOLDERS for fault in read_metric_files(suites, setting)[1]]
    return [*invalid_losses(suites).values(), *metrics]


def check_named(suite: Record, suites: Path) -> None:
    """Check that a suite names no invalid objective or method.

    Args:
        suite: the suite.
        suites: its folder.

    Raises:
        SuiteError: the error of the invalid file.
    """
    if faults := invalid_losses(suites):
        used = faults.keys() & _texts(suite.model_dump(mode="json", exclude={"notes", "claims"}))
        for name in sorted(used):
            raise faults[name]


def _texts(data: Any) -> set[str]:
    """Return all texts in plain data, at any depth."""
    if isinstance(data, dict | list):
        parts = data.values() if isinstance(data, dict) else data
        return set[str]().union(*map(_texts, parts))
    return {data} if isinstance(data, str) else set()


def _read(suites: Path) -> tuple[dict[str, LossFile], dict[str, SuiteError]]:
    found, faults = dict(shipped()), dict[str, SuiteError]()
    for folder in (suites / FOLDER, suites / METHODS):
        for code in sorted(folder.glob("[a-z]*.py")):
            if not any(code.with_suffix(ending).exists() for ending in (".yaml", ".yml")):
                fault = SuiteError(f"{code}: its declaration {code.stem}.yaml is missing")
                faults[code.stem] = fault
    files = [(path, False) for path in yaml_files(suites / FOLDER)]
    files += [(path, True) for path in method_files(suites / METHODS)]
    for path, is_method in files:
        try:
            _add(read_loss_file(path, method=is_method), found)
        except SuiteError as fault:
            faults[path.stem] = fault
    return found, faults


@cache
def shipped_methods() -> OwnLosses:
    """Return the methods in files of bench, by name."""
    found: dict[str, LossFile] = {}
    for path in method_files(SHIPPED_METHODS):
        _add(read_loss_file(path, method=True), found)
    return found


@cache
def shipped() -> OwnLosses:
    """Return bench's own objectives and methods in files, by name."""
    return {**shipped_losses(), **shipped_methods()}


def method_files(folder: Path) -> list[Path]:
    """Return the declarations in a folder: YAML files with a Python file of the same name."""
    return [path for path in yaml_files(folder) if path.with_suffix(".py").exists()]


def _add(file: LossFile, found: dict[str, LossFile]) -> None:
    path = file.path
    if file.name in LOSSES or (path.parent != SHIPPED_METHODS and file.name in shipped()):
        raise SuiteError(f"{path}: bench already has a loss '{file.name}'; choose a different name")
    if file.name in found:
        raise SuiteError(
            f"{path}: {found[file.name].path} has the same name; choose a different name"
        )
    declared = file.declared
    quantities = declared.quantities if isinstance(declared, MethodDeclaration) else []
    for name in declared.parameters:
        if _is_used(name):
            raise SuiteError(f"{path}: parameters.{name}: {TAKEN}")
    for name in quantities:
        if name in NOT_RECORDED or _is_used(name):
            raise SuiteError(f"{path}: quantities: {name}: {TAKEN}")
        if name in declared.parameters:
            raise SuiteError(
                f"{path}: quantities: {name}: the name is also a parameter; rename one of the two"
            )
    found[file.name] = file


def _is_used(name: str) -> bool:
    """Whether it is a setting or metric of bench, or could be a parameter of a user's metric."""
    used = hasattr(Pretrain, name) or name in (*Pretrain.model_fields, *Pretrain.metrics)
    return used or name.startswith(tuple(f"{setting}_" for setting in FOLDERS))


def quantities_of(kinds: Iterable[type[Cell]], own: OwnLosses) -> list[str]:
    """Return the quantities that methods record, if cells of these kinds may have a method."""
    trains = any(issubclass(kind, EncoderCell) for kind in kinds)
    files = [file.declared for file in own.values() if trains]
    return [q for one in files if isinstance(one, MethodDeclaration) for q in one.quantities]


def declared_beside(suites: Path | None, own: OwnLosses) -> dict[str, Parameter]:
    """Return the parameters of objectives, methods and metrics, by setting name.

    Args:
        suites: the folder of suites, which may have metrics next to it; None without metrics.
        own: objectives and methods by name.

    Raises:
        SuiteError: the file of a metric is invalid.
    """
    known = {name: p for file in own.values() for name, p in file.declared.parameters.items()}
    if suites is None:
        return known
    for setting, folder in FOLDERS.items():
        declared = declared_parameters(suites, setting)
        for name in declared:
            if name in Pretrain.model_fields:
                short = name.removeprefix(f"{setting}_")
                raise SuiteError(f"{suites / folder}: parameters.{short}: {TAKEN}")
        known |= declared
    return known


def own_code(cells: Iterable[Cell]) -> dict[str, str]:
    """Return the user's own code in cells, `losses/NAME` and the like, each with its identity."""
    found = {}
    for cell in cells:
        for setting, folder in FOLDERS.items():
            if (name := getattr(cell, setting, None)) is not None:
                found[f"{folder}/{name}"] = str(getattr(cell, f"{setting}_file"))
        if isinstance(cell, EncoderCell) and (identity := cell.loss_file) is not None:
            ours = shipped().get(cell.loss)
            if ours is None or ours.identity != identity:
                found[f"{METHODS if cell.target == 'own' else FOLDER}/{cell.loss}"] = identity
    return dict(sorted(found.items()))


def setting_names(kind: type[Cell], declared: Iterable[str]) -> list[str]:
    """Return the settings that a suite may set for a kind of cell, including parameters."""
    more = declared if issubclass(kind, EncoderCell) else []
    return list(dict.fromkeys([*kind.setting_names(), *more]))


def schemas_of(declared: Mapping[str, Parameter]) -> dict[str, dict[str, str]]:
    """Return the JSON schema of each parameter."""
    types = {"float": "number", "int": "integer", "bool": "boolean", "text": "string"}
    return {name: {"type": types[parameter.type]} for name, parameter in declared.items()}


def with_own_loss(
    settings: Mapping[str, Any], own: OwnLosses, places: Mapping[str, str]
) -> dict[str, Any]:
    """Return the settings with all parameters of the objective, if it is in a file.

    Args:
        settings: settings of one cell.
        own: objectives by name.
        places: key path of each setting in the file.

    Raises:
        ValueError: a parameter is missing, not allowed or belongs to another objective, or the
            objective is unknown.
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
            raise ValueError(
                f"{places.get(name, name)}: loss '{loss}' has no parameter of this name"
            )
    rest = {k: v for k, v in settings.items() if k not in everyone}
    if file is None:
        return rest
    values = read_values(mine, given, f"loss '{loss}'", places)
    return rest | {"loss_file": file.identity} | values


def read_values(
    declared: Mapping[str, Parameter],
    given: Mapping[str, Any],
    who: str,
    places: Mapping[str, str],
) -> dict[str, Value]:
    """Return the value of each declared parameter, or its default.

    Raises:
        ValueError: a value is missing or not allowed.
    """
    values = {}
    for name, parameter in declared.items():
        value = given.get(name, parameter.default)
        if value is None:
            raise ValueError(f"{name} is missing: {who} needs it ({parameter.rule})")
        try:
            values[name] = parameter.read(value)
        except ValueError as fault:
            raise ValueError(f"{places.get(name, name)}: {fault}") from None
    return values


def check_own_losses(cells: Iterable[Cell], own: OwnLosses) -> None:
    """Check that cells have all arguments of their objectives' functions.

    Raises:
        ValueError: a cell lacks an argument.
    """
    for cell in cells:
        if isinstance(cell, EncoderCell) and cell.loss_file is not None:
            file = own[cell.loss]
            if file.is_method != (cell.target == "own"):
                raise ValueError(
                    "target 'own' and a loss that belongs to a method can be used only together, "
                    f"found target '{cell.target}' with loss '{cell.loss}'"
                )
            check_given(cell, f"loss '{cell.loss}'", [*file.arguments, *file.hooks.get(UPDATE, ())])


def check_given(cell: EncoderCell, who: str, arguments: Iterable[str]) -> None:
    """Check that a cell has all arguments of a function.

    Args:
        cell: the cell with the function.
        who: name of the function, for the message.
        arguments: arguments of the function.

    Raises:
        ValueError: the cell lacks an argument.
    """
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
            raise ValueError(f"{who} takes the argument {name}, which needs {what}")


def own_metrics(suites: Path) -> OwnMetrics:
    """Return the metrics next to suites."""
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
        SuiteError: the named file is invalid.
    """
    found = dict(settings)
    for setting, (files, declared) in own.items():
        file = None
        given = {k: found.pop(k) for k in declared if k in found}
        if (name := settings.get(setting)) is not None:
            place = f"{places.get(setting, setting)}: {setting} '{name}'"
            if not files:
                raise ValueError(
                    f"{place}: the file {suites / FOLDERS[setting]}/{name}.py does not exist"
                )
            if name not in files:
                raise ValueError(f"{place} is unknown. {choices(str(name), list(files))}")
            file = read_metric_file(files[name], setting)
            found[f"{setting}_file"] = file.identity
        mine = {f"{setting}_{k}": p for k, p in file.parameters.items()} if file else {}
        given = {k: value for k, value in given.items() if value is not None}
        for k in given:
            if k not in mine:
                why = (
                    f"{setting} '{name}' has no parameter of this name"
                    if name
                    else f"needs {setting}"
                )
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
