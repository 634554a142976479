"""Users' own objectives and methods: `NAME.yaml` declares one, `NAME.py` has its code.

An objective is a function; a method is a class `Method`, a module whose `step` returns the loss.
Reading the files does not run code: Python is only parsed and hashed. Workers run code only from
folders that the user trusts, or from bench.
"""

import ast
import hashlib
import keyword
import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import BeforeValidator, Field, NonNegativeFloat, PositiveInt, ValidationError

from bench.errors import BenchError, SuiteError, choices
from bench.files.validation_errors import explain
from bench.files.yaml_file import load_yaml
from bench.record import Record

SHIPPED = Path(__file__).parent / "losses" / "files"
"""The folder of bench's own objectives, whose code may always be run."""
TRUST = "BENCH_TRUST"
"""The environment variable with the folders whose code may be run; child processes inherit it."""
GIVEN = (
    "query_ND", "key_ND", "pos_N", "neg_NK", "queued_KD", "correlation_DD", "labels_N", "tau",
    "epoch", "generator", "state",
)  # fmt: skip
"""What a function may take beside its own parameters, by name."""
BEGINNING = ("feature_dim", "tau", "generator")
"""Arguments that `begin`, which makes the state, may take besides the parameters."""
BEGIN, UPDATE = "begin", "update"
"""Functions that a file may have besides its objective: one makes a state, one updates it."""
METHOD, STEP, MAKE, AFTER = "Method", "step", "__init__", "after_step"
"""The class of a method, and its functions; `after_step` follows the optimiser's step."""
_TIME = ("online", "step", "steps", "epoch", "epochs", "tau")
OF_METHOD = {
    STEP: ("views", "labels_N", "rows_N", *_TIME),
    MAKE: ("online", "feature_dim", "batch_size", "images", "tau"),
    AFTER: _TIME,
}
"""What each function of a method may take beside the parameters."""
SHIPPED_METHODS = Path(__file__).parent / "methods" / "files"
"""The folder of bench's own methods in files, whose code may always be run."""
_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
_TYPES: dict[str, tuple[type, ...]] = {
    "float": (float, int), "int": (int,), "bool": (bool,), "text": (str,),
}  # fmt: skip
_WORDS = {"float": "a number", "int": "a whole number", "bool": "true or false", "text": "text"}
_BOUNDS = {
    "above": lambda value, bound: value > bound,
    "at_least": lambda value, bound: value >= bound,
    "below": lambda value, bound: value < bound,
    "at_most": lambda value, bound: value <= bound,
}
Value = bool | int | float | str


class Parameter(Record):
    """A number or text that suites set and an objective's function takes."""

    type: Literal["float", "int", "bool", "text"]
    default: Value | None = None  # null: a suite has to say it
    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None
    values: Annotated[list[Value], Field(min_length=1)] | None = None  # all that are allowed

    @property
    def rule(self) -> str:
        """The allowed values, as text."""
        if self.values is not None:
            return f"one of {', '.join(map(str, self.values))}"
        bounds = [f"{n.replace('_', ' ')} {self._bound(n):g}" for n in self._bounds()]
        return " ".join([_WORDS[self.type], " and ".join(bounds)]).strip()

    def read(self, value: Any) -> Value:
        """Return an allowed value; integers become floats if the type is float.

        Raises:
            ValueError: the value is not allowed.
        """
        is_typed = isinstance(value, _TYPES[self.type])
        is_typed &= self.type == "bool" or not isinstance(value, bool)
        if not is_typed or not self._allows(value):
            raise ValueError(f"found {value!r}, expected {self.rule}")
        return float(value) if self.type == "float" else value

    def _allows(self, value: Any) -> bool:
        listed = self.values is None or value in self.values
        return listed and all(_BOUNDS[n](value, self._bound(n)) for n in self._bounds())

    def _bounds(self) -> list[str]:
        return [name for name in _BOUNDS if getattr(self, name) is not None]

    def _bound(self, name: str) -> float:
        return float(getattr(self, name))


class Learned(Record):
    """A tensor that is trained with the network, with its initial values."""

    shape: list[PositiveInt | str] = []  # sizes: numbers, `feature_dim`, or `int` parameters
    start: float = 0.0  # the mean of its first values
    std: NonNegativeFloat = 0.0  # their spread: Gaussian draws from the cell's seed


def _learned(value: Any) -> Any:
    if isinstance(value, Mapping | Learned):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"found {value!r}, expected a number or a mapping")
    return {"start": value}


class Declaration(Record):
    """Content of a YAML declaration."""

    what: Annotated[str, Field(min_length=1)]  # one line, with the source of the equation
    version: PositiveInt  # raised by whoever changes what the numbers mean
    parameters: dict[str, Parameter] = {}
    learned: dict[str, Annotated[Learned, BeforeValidator(_learned)]] = {}  # by name; or a number


class MetricDeclaration(Record):
    """Content of a metric's YAML file, which is optional."""

    what: Annotated[str, Field(min_length=1)]
    version: PositiveInt
    parameters: dict[str, Parameter] = {}

    @property
    def learned(self) -> dict[str, Learned]:
        """Empty: a method's module has its own parameters, and a metric has none."""
        return {}


class MethodDeclaration(MetricDeclaration):
    """Content of a method's YAML file, which is also a preset with the file's name."""

    quantities: list[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]] = []
    """Names of the numbers that `step` returns besides the loss, which are recorded."""
    like: str | None = None  # the other keys: as of any preset
    recorded: list[str] = []
    collapses: str | None = None
    coordinates: dict[str, Any] = {}


class LossFile(NamedTuple):
    """An objective or a method, from its two files."""

    path: Path  # of the declaration
    declared: Declaration | MethodDeclaration
    source: bytes  # of the Python file
    arguments: tuple[str, ...]  # of the function, or of a method's `step`
    hooks: Mapping[str, tuple[str, ...]]  # the arguments of the other functions that are there

    @property
    def is_method(self) -> bool:
        """Whether it is a method, which performs complete steps."""
        return isinstance(self.declared, MethodDeclaration)

    @property
    def name(self) -> str:
        """Name in suites."""
        return self.path.stem

    @property
    def function(self) -> str:
        """Name of the function."""
        return function_name(self.path)

    @property
    def code(self) -> Path:
        """Path of the Python file."""
        return self.path.with_suffix(".py")

    @property
    def identity(self) -> str:
        """The declaration's version, and a hash of everything that affects results."""
        learned = self.declared.model_dump_json(include={"learned"})
        digest = hashlib.sha256(learned.encode() + b"\n" + self.source).hexdigest()
        return f"{self.declared.version}-{digest[:16]}"


def check_ending(path: Path) -> None:
    """Reject a declaration that ends in .yml: only .yaml is recognised.

    Raises:
        SuiteError: the file ends in .yml.
    """
    if path.suffix != ".yaml":
        raise SuiteError(
            f"{path}: the name of this file must end in .yaml: rename the file {path.stem}.yaml"
        )


def function_name(path: Path) -> str:
    """Return the name of a declaration's function."""
    return path.stem.replace("-", "_")


def read_loss_file(path: Path, *, method: bool | None = None) -> LossFile:
    """Return an objective or a method without running its code.

    Args:
        path: path of the declaration.
        method: whether it must be a method; None allows both.

    Raises:
        SuiteError: one of the two files is invalid; the message describes the first error.
    """
    name = function_name(path)
    check_ending(path)
    if not _NAME.fullmatch(path.stem) or keyword.iskeyword(name):
        raise SuiteError(f"{path}: '{path.stem}' is not a valid name; use a-z, 0-9, - and _")
    code = path.with_suffix(".py")
    module, source = parsed(code, f"; this file must hold the function that {path} declares")
    classes = [n for n in module.body if isinstance(n, ast.ClassDef) and n.name == METHOD]
    if method is None:
        method = bool(classes)
    main, known = (STEP, OF_METHOD) if method else (name, _known(name))
    given = {n for names in known.values() for n in names}
    declared: Declaration | MethodDeclaration
    if method:
        declared = declaration(path, MethodDeclaration, given)
    else:
        declared = declaration(path, Declaration, given)
    if method and not classes:
        raise SuiteError(f"{code}: the file must define a class '{METHOD}'")
    functions = functions_of(classes[0] if method else module)
    if main not in functions:
        where = (
            f"the class {METHOD} must define the function"
            if method
            else "the file must define the function"
        )
        there = f"; it defines {', '.join(functions)}" if functions else ""
        raise SuiteError(f"{code}: {where} '{main}'{there}")
    arguments = {k: arguments_of(functions[k], code, skip=method) for k in known if k in functions}
    if not method:
        _check_state(arguments, code)
    check_arguments(arguments, known, main, declared, path)
    of = {k: tuple(names) for k, names in arguments.items()}
    return LossFile(path, declared, source, of.pop(main), of)


def _known(name: str) -> dict[str, tuple[str, ...]]:
    """Return what the functions of an objective may take besides parameters."""
    return {name: GIVEN, BEGIN: BEGINNING, UPDATE: GIVEN}


D = TypeVar("D", Declaration, MetricDeclaration, MethodDeclaration)


def declaration(path: Path, kind: type[D], given: Collection[str]) -> D:
    """Return the content of a YAML declaration; function arguments are checked elsewhere.

    Args:
        path: path of the file.
        kind: class of the declaration.
        given: arguments passed to its functions, which are not allowed as parameter names.

    Raises:
        SuiteError: the file is invalid; the message describes the first error.
    """
    try:
        declared = kind.model_validate(load_yaml(path, SuiteError))
    except ValidationError as error:
        raise explain(SuiteError, error, path, root=kind) from None
    _check_names(declared, given, path)
    _check_parameters(declared, path)
    return declared


def _check_names(
    declared: Declaration | MetricDeclaration, given: Collection[str], path: Path
) -> None:
    for key in ("parameters", "learned"):
        for name in getattr(declared, key):
            place = f"{path}: {key}.{name}"
            if not name.isidentifier() or keyword.iskeyword(name):
                raise SuiteError(f"{place}: '{name}' cannot be the name of a function's argument")
            if name in given:
                raise SuiteError(
                    f"{place}: bench passes its own {name} to the function, so the "
                    "YAML file must not declare this name; name it only in the function"
                )
            if name in declared.parameters and key == "learned":
                raise SuiteError(
                    f"{place}: a parameter of the loss already has this name; rename one of the two"
                )
    for name, learned in declared.learned.items():
        known = [k for k, parameter in declared.parameters.items() if parameter.type == "int"]
        for size in learned.shape:
            if isinstance(size, str) and size not in (allowed := ["feature_dim", *known]):
                rest = choices(size, allowed)
                raise SuiteError(f"{path}: learned.{name}.shape: unknown size '{size}'. {rest}")


def _check_parameters(declared: Declaration | MetricDeclaration, path: Path) -> None:
    for name, parameter in declared.parameters.items():
        place = f"{path}: parameters.{name}"
        numeric = parameter.type in ("float", "int")
        if not numeric and any(getattr(parameter, bound) is not None for bound in _BOUNDS):
            raise SuiteError(
                f"{place}: a parameter of type '{parameter.type}' cannot have bounds; list "
                "its allowed values under the key values"
            )
        for value in [*(parameter.values or []), parameter.default]:
            if value is not None:
                try:
                    parameter.read(value)
                except ValueError as fault:
                    raise SuiteError(f"{place}: {fault}") from None


def parsed(code: Path, what: str = "") -> tuple[ast.Module, bytes]:
    """Return the syntax tree and the bytes of a Python file, without running it.

    Args:
        code: path of the file.
        what: description of the file, for the message that it is missing.

    Raises:
        SuiteError: the file cannot be read.
    """
    try:
        source = code.read_bytes()
    except OSError as fault:
        raise SuiteError(f"{code}: {fault.strerror}{what}") from None
    try:
        return ast.parse(source, str(code)), source
    except SyntaxError as fault:
        line = fault.lineno or 1
        raise SuiteError(f"{code}:{line}: the code is not valid Python: {fault.msg}") from None
    except (RecursionError, MemoryError):
        raise SuiteError(f"{code}: the code is nested too deeply") from None
    except ValueError as fault:
        raise SuiteError(f"{code}: {fault}") from None


Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions_of(module: ast.Module | ast.ClassDef) -> dict[str, Function]:
    """Return the functions of a Python file, or of a class."""
    return {node.name: node for node in module.body if isinstance(node, Function)}


def arguments_of(function: Function, code: Path, *, skip: bool = False) -> dict[str, int]:
    """Return the arguments of a function with their lines.

    Raises:
        SuiteError: an argument cannot be passed by name, or the function is asynchronous.
    """
    if isinstance(function, ast.AsyncFunctionDef):
        raise SuiteError(
            f"{code}:{function.lineno}: {function.name} must be defined by 'def', not "
            "by 'async def'"
        )
    given = function.args
    if star := given.vararg or given.kwarg or next(iter(given.posonlyargs), None):
        raise SuiteError(
            f"{code}:{star.lineno}: {function.name} cannot take '{star.arg}' by name, "
            "but all arguments are passed by name"
        )
    if skip and [argument.arg for argument in given.args[:1]] != ["self"]:
        raise SuiteError(
            f"{code}:{function.lineno}: the first argument of {function.name} must be self"
        )
    named = [*given.args[skip:], *given.kwonlyargs]
    return {argument.arg: argument.lineno for argument in named}


def _check_state(arguments: Mapping[str, Mapping[str, int]], code: Path) -> None:
    for lines in arguments.values():
        if "state" in lines and BEGIN not in arguments:
            line = lines["state"]
            raise SuiteError(
                f"{code}:{line}: the argument `state` needs a function '{BEGIN}' that returns "
                "the first state"
            )
    if "state" not in arguments.get(UPDATE, {"state": 0}):
        raise SuiteError(
            f"{code}: {UPDATE} must take the argument `state`, because this function can "
            "change only the state"
        )


def check_arguments(
    arguments: Mapping[str, Mapping[str, int]],
    known: Mapping[str, tuple[str, ...]],
    main: str,
    declared: Declaration | MetricDeclaration,
    path: Path,
) -> None:
    """Check that every argument is provided, and that every declared name is used.

    Args:
        arguments: arguments of each function by name, with their lines.
        known: names passed to each function besides the declared ones.
        main: the function that takes the learned tensors.
        declared: content of the YAML file.
        path: path of the YAML file, which is next to the Python file.

    Raises:
        SuiteError: an argument is not provided, or a declared name is unused.
    """
    code = path.with_suffix(".py")
    for function, lines in arguments.items():
        may_take = [*declared.parameters, *known[function]]
        may_take += declared.learned if function != BEGIN else []
        for name, line in lines.items():
            if name not in may_take:
                rest = choices(name, may_take)
                if not path.exists():  # a metric without parameters needs none
                    rest += (
                        f" A parameter must be declared in {path.name}, but this file is missing."
                    )
                raise SuiteError(f"{code}:{line}: unknown argument '{name}'. {rest}")
    taken = {name for lines in arguments.values() for name in lines}
    taken |= {str(size) for one in declared.learned.values() for size in one.shape}
    who = METHOD if main == STEP and isinstance(declared, MethodDeclaration) else main
    for name in declared.parameters:
        if name not in taken:
            raise SuiteError(
                f"{path}: parameters.{name}: {who} in {code} does not take an argument of this name"
            )
    for name in declared.learned:
        if name not in arguments[main]:
            raise SuiteError(
                f"{path}: learned.{name}: {main} in {code} does not take an argument of this name"
            )


def trust(folders: Sequence[Path]) -> None:
    """Allow this process and its children to run the code in these folders.

    Raises:
        BenchError: a folder does not exist or is a file.
    """
    for folder in folders:
        if not folder.is_dir():
            is_file = f"this is a file, but only folders can be trusted: --trust {folder.parent}"
            what = is_file if folder.exists() else "this folder does not exist"
            raise BenchError(f"--trust {folder}: {what}")
    os.environ[TRUST] = os.pathsep.join(str(folder.absolute()) for folder in folders)


def trusted_folders() -> list[Path]:
    """Return the user's folders whose code may run."""
    return [Path(folder) for folder in os.environ.get(TRUST, "").split(os.pathsep) if folder]


def trusted(name: str, identity: str) -> LossFile | None:
    """Return an objective whose code may run; None if no trusted folder has it.

    Raises:
        SuiteError: a file with this name exists but is invalid.
    """
    for folder in (SHIPPED, SHIPPED_METHODS, *trusted_folders()):
        path = folder / f"{name}.yaml"
        if path.is_file() and (file := read_loss_file(path)).identity == identity:
            return file
    return None
