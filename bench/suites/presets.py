"""Presets of methods: the value of every setting and its source.

Presets are YAML files: those of the five papers in `methods/*.yaml`, those of other papers in
`since/*.yaml`, those of installed plug-ins in folders registered as `bench.methods`, and users' own
in `<suites>/methods/*.yaml`. If a loss is in a file, its parameters are settings, too. A suite may
override any setting. The preset's name is only a label; cell ids omit it.
"""

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from bench.cells.axes import ComparisonAxis, DataAndViews, Encoder, ObjectiveAxis, Optimisation
from bench.cells.losses import LOSS_OPTIONS, kappa_of
from bench.cells.rules import BELONGS, DRAWN, WITH_GRADIENT
from bench.errors import SuiteError, choices
from bench.files.yaml_file import load_yaml, plugin_folders
from bench.loss_files import SHIPPED_METHODS, LossFile, MethodDeclaration, read_loss_file
from bench.papers.reader import load_paper
from bench.record import Record
from bench.suites.facts import agrees
from bench.suites.own_files import OwnLosses, invalid_losses, own_losses, shipped
from bench.suites.shared import read_entries, read_folder
from bench.suites.suite import Scalar

COORDINATES: dict[str, FieldInfo] = {
    name: field
    for axis in (DataAndViews, Encoder, ComparisonAxis, ObjectiveAxis, Optimisation)
    for name, field in axis.model_fields.items()
}
"""Settings that a preset may fill in."""
STATING = ("paper", "code")
"""Sources of a value: the paper, and the code that its authors released or name."""
_HERE = Path(__file__).parent
OWN_STEP = {"target": "own", "negatives": "none", "neighbours": "none", "symmetric": True}
"""Settings of every method with its own code."""
_KEYS = ("ours", "source", *STATING, "why")


class Times(str):
    """A multiple of another setting of the same cell, as text: `0.08 feature_dim`."""

    @classmethod
    def read(cls, value: Any) -> Any:
        """Return the value, as `Times` if it is a number before a setting's name."""
        number, _, name = str(value).partition(" ")
        try:
            float(number)
        except ValueError:
            return value
        return cls(value) if name in COORDINATES else value

    @property
    def number(self) -> float:
        """The factor: 0.08 for `0.08 feature_dim`."""
        return float(self.partition(" ")[0])

    def of(self, settings: Mapping[str, Any]) -> float:
        """Return the product.

        Raises:
            ValueError: the other setting is missing or not a number.
        """
        name = self.partition(" ")[2]
        other = settings.get(name)
        if isinstance(other, bool) or not isinstance(other, int | float):
            raise ValueError(f"the value '{self}' needs {name} to be a number, found {other}")
        return float(f"{self.number * other:.12g}")  # 5.12, whatever its last bits


class Coordinate(NamedTuple):
    """Value of one setting, its source, and the values that sources state."""

    value: Scalar
    source: str
    stated: Mapping[str, Any] = {}  # of `STATING`, those that state it; a list: any of its values
    why: str | None = None  # why the value is not one that is stated


class Preset(NamedTuple):
    """A published method as settings."""

    what: str
    coordinates: dict[str, Coordinate]
    like: str | None = None  # the preset that it was written as a change of
    family: str = ""  # the name of its file
    named: tuple[str, ...] = ()  # the settings that it names itself, the rest is taken from `like`
    recorded: tuple[str, ...] = ()  # `paper/protocol`: recorded facts that speak of it
    collapses: str | None = None  # why its outputs may become alike, as the suite `collapse` shows
    suites: Path | None = None  # the folder of suites that its own file is below

    @property
    def settings(self) -> dict[str, Scalar]:
        """The values without their sources."""
        return {name: coordinate.value for name, coordinate in self.coordinates.items()}


class _Written(Record):
    """A preset as its file has it."""

    what: str
    like: str | None = None  # another preset: what is not listed is taken from it
    recorded: list[str] = []  # `paper/protocol`; not taken from `like`
    collapses: str | None = None  # why its outputs may become alike; not taken from `like`
    coordinates: dict[str, Any]  # see `read_coordinate`


def load_presets(suites: Path) -> Mapping[str, Preset]:
    """Return all presets by name: those of papers, plug-ins and `methods/` next to suites.

    Args:
        suites: the folder of suite files.

    Raises:
        SuiteError: a file is invalid.
    """
    own, invalid = own_losses(suites), invalid_losses(suites)

    def add(path: Path, known: dict[str, Preset]) -> None:
        if path.stem not in invalid:
            _add(path, known, own=own)

    return read_folder(suites / "methods", _installed_presets(), add)


@cache
def paper_presets() -> Mapping[str, Preset]:
    """Return the presets of the papers by name."""
    return read_folder(_HERE / "methods", {}, partial(_add, of_paper=True))


@cache
def shipped_presets() -> Mapping[str, Preset]:
    """Return bench's own presets by name: those of the papers, and those of other papers."""
    return read_folder(_HERE / "since", paper_presets(), partial(_add, of_paper=True))


@cache
def _installed_presets() -> Mapping[str, Preset]:
    """Return bench's own presets and those of installed plug-ins by name."""
    add = partial(_add, of_paper=True)
    known = read_folder(SHIPPED_METHODS, shipped_presets(), add)
    for folder in plugin_folders("bench.methods"):
        known = read_folder(folder.path, known, _add)
    return known


def _add(
    path: Path, known: dict[str, Preset], *, own: OwnLosses | None = None, of_paper: bool = False
) -> None:
    """Add a file's presets; each may build on those before it, in the files before it too.

    Args:
        path: the file.
        known: presets by name; its own are added.
        own: objectives and methods in files, by name; None: bench's alone.
        of_paper: whether `[value, source]` says that a paper states the value.
    """
    for name, method in _entries(path, known).items():
        if method.like is not None and method.like not in known:
            allowed = choices(method.like, list(known))
            raise SuiteError(
                f"{path}: {name}.like: no method '{method.like}' is defined before this "
                f"one. {allowed}"
            )
        base = known[method.like].coordinates if method.like else {}
        loss = _loss_of(method.coordinates, base)
        file = (shipped() if own is None else own).get(str(loss))
        stated = {
            key: read_coordinate(
                key, pair, f"{path}: {name}.coordinates.{key}", of_paper=of_paper, file=file
            )
            for key, pair in method.coordinates.items()
        }
        if "loss" in base and base["loss"].value != loss:
            base = {key: coordinate for key, coordinate in base.items() if key in COORDINATES}
        merged = {**base, **stated}
        values = {key: coordinate.value for key, coordinate in merged.items()}
        kept = {k: c for k, c in merged.items() if k in stated or not _is_stale(k, values)}
        known[name] = Preset(
            method.what,
            kept,
            method.like,
            path.stem,
            tuple(stated),
            tuple(method.recorded),
            method.collapses,
            None if of_paper else path.parent.parent,
        )


def _loss_of(written: Mapping[str, Any], base: Mapping[str, Coordinate]) -> Any:
    """Return the loss of a preset, not yet checked."""
    loss = written.get("loss", [base["loss"].value] if "loss" in base else [None])
    return loss.get("ours") if isinstance(loss, dict) else next(iter(loss), None)


def _entries(path: Path, known: Mapping[str, Preset]) -> dict[str, _Written]:
    """Return the presets of a file by name: one, where a method's code lies next to it."""
    if not path.with_suffix(".py").exists():
        data = load_yaml(path, SuiteError)
        if isinstance(data, dict) and "version" in data:
            code = path.with_suffix(".py")
            raise SuiteError(f"{code}: this file does not exist, but must hold the class of {path}")
        return read_entries(path, _Written, known, "method")
    declared = read_loss_file(path, method=True).declared
    assert isinstance(declared, MethodDeclaration)
    if path.stem in known:
        raise SuiteError(f"{path}: a method of this name already exists; choose a different name")
    written = declared.model_dump(include=set(_Written.model_fields))
    own = OWN_STEP | {"loss": path.stem}
    for name in declared.coordinates:
        if name in own:
            raise SuiteError(
                f"{path}: coordinates.{name}: the code of the method determines this "
                "setting; leave it out"
            )
    own_code = {name: {"ours": value, "source": "its own code"} for name, value in own.items()}
    written["coordinates"] = own_code | declared.coordinates
    return {path.stem: _Written.model_validate(written)}


def elsewhere() -> dict[str, str]:
    """Return the methods of published rows without a preset, with the reason."""
    named: dict[str, str] = load_yaml(_HERE / "not_presets.yaml", SuiteError)
    return named


def filled(
    settings: dict[str, Any], known: Mapping[str, Preset], places: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the settings merged with the preset named by `method`; explicit ones override.

    If a setting overrides an axis of the preset, the preset's dependent settings are dropped.

    Args:
        settings: settings of one cell in a suite.
        known: presets by name.
        places: where each setting stands, for error messages.

    Raises:
        ValueError: the preset named by `method` does not exist.
    """
    method = settings.get("method")
    if method is None:
        raise ValueError(f"the setting method is missing. Allowed methods: {', '.join(known)}")
    if not isinstance(method, str) or method not in known:
        place = f"{places['method']}: " if places and "method" in places else ""
        more = choices(str(method), list(known), "bench methods")
        raise ValueError(f"{place}method '{method}' is unknown. {more}")
    preset: dict[str, Any] = known[method].settings
    loss = settings.get("loss", preset.get("loss"))
    if loss != preset.get("loss"):  # parameters are those of its file
        preset = {name: value for name, value in preset.items() if name in COORDINATES}
    options = LOSS_OPTIONS.get(str(loss), {})
    merged = (options | preset if loss == preset.get("loss") else preset | options) | settings
    for name in list(merged):
        if name not in settings and merged[name] is not None and _is_stale(name, merged):
            merged[name] = None
    merged |= {k: v for k, v in _followed(merged).items() if k not in settings}
    return resolved(merged)


def resolved(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with each `Times` replaced by its number.

    Raises:
        ValueError: as for `Times.of`.
    """
    return {k: v.of(settings) if isinstance(v, Times) else v for k, v in settings.items()}


def _is_stale(name: str, merged: dict[str, Any]) -> bool:
    """Return whether a preset's setting has no meaning any more with the others."""
    if name == "drawn":
        return merged["drawn"] not in DRAWN.get(str(merged.get("negatives")), ())
    tables = [BELONGS, WITH_GRADIENT] if merged.get("loss") == "gradient" else [BELONGS]
    return any(name in rules and not rules[name].has_meaning(merged) for rules in tables)


def _followed(merged: dict[str, Any]) -> dict[str, Any]:
    """Return settings that follow from the others, whatever a preset says of them."""
    settings: dict[str, Any] = {}
    if merged.get("kappa") is None and (kappa := kappa_of(merged)) is not None:
        settings["kappa"] = kappa
    if merged.get("target") != "momentum":
        settings["momentum_schedule"] = "fixed"
    if merged.get("anneal_epochs") is None and merged.get("inner_to_epoch") is None:
        settings["anneal_every"] = "epoch"
    if merged.get("target") == "bank":
        settings["symmetric"] = merged.get("colour") == "lab"
    stopped = merged.get("target") == "stop-gradient" or merged.get("cutmix") is True
    if stopped or merged.get("negatives") not in ("batch", "previous"):
        settings["negative_branch"] = "target"
    return settings


def stated_of(label: str, preset: Preset) -> dict[str, dict[str, Any]]:
    """Return the stated values of the preset's own settings, by source.

    Values in the preset's file come first. For other settings, the facts of the protocols listed in
    `recorded` are used. Protocols from released code count as `code`, all others as `paper`.
    Statements on some cells only apply if the preset has the settings in `when`.

    Raises:
        PublishedError: a paper or protocol in `recorded` does not exist.
        SuiteError: an entry of `recorded` is not `paper/protocol`.
    """
    facts = _recorded(label, preset)
    return {
        name: facts.get(name, {}) | dict(preset.coordinates[name].stated) for name in preset.named
    }


def _recorded(label: str, preset: Preset) -> dict[str, dict[str, Any]]:
    known = preset.settings | {"method": label}
    recorded: dict[str, dict[str, Any]] = {}
    for source in preset.recorded:
        paper_name, _, name = source.partition("/")
        if not name:
            raise SuiteError(f"{label}.recorded: found '{source}', expected 'paper/protocol'")
        paper = load_paper(paper_name, preset.suites)
        who = "code" if paper.protocol(name).source else "paper"
        for statement in paper.statements(name):
            if all(agrees(known.get(key), value) for key, value in statement.when.items()):
                for key, value in statement.stated.items():
                    if value is not None:
                        recorded.setdefault(key, {})[who] = value
    return recorded


def departs(value: Scalar, stated: Any) -> bool:
    """Return whether a value differs from the stated one; null states "not used"."""
    return value is not None if stated is None else not agrees(value, stated)


def read_coordinate(
    name: str,
    written: Any,
    key_path: str,
    *,
    of_paper: bool = True,
    file: LossFile | None = None,
) -> Coordinate:
    """Check a setting in a preset's file and return it.

    A value may be a number times another setting: `0.08 feature_dim`.

    The form is `[value, source]` or a mapping. With `[value, source]` in a file of the papers'
    methods, the paper states the value unless it is null. In a user's own file, no source states
    it. A mapping has `ours` and `source`, optional stated values `paper` and `code`, and `why` if
    one of these differs.

    Args:
        name: name of the setting.
        written: content of the file.
        key_path: file and key path, for messages.
        of_paper: whether the file is one of the papers' methods.
        file: file of the method's loss, if any; its parameters are settings, too.

    Raises:
        SuiteError: the setting is unknown, a value is not allowed, the source is missing, or `why`
            is missing or unnecessary.
    """
    known = [*COORDINATES, *(file.declared.parameters if file else ())]
    if name not in known:
        raise SuiteError(f"{key_path}: unknown key. {choices(name, known)}")
    if isinstance(written, dict):
        return _of_mapping(name, written, key_path, file)
    pair = written if isinstance(written, list) else [written]
    if len(pair) != 2 or not isinstance(pair[1], str):
        raise SuiteError(f"{key_path}: found {written!r}, expected [value, source]")
    value = _checked(name, pair[0], key_path, file)
    return Coordinate(value, pair[1], {"paper": value} if of_paper and value is not None else {})


def _of_mapping(
    name: str, written: dict[str, Any], key_path: str, file: LossFile | None
) -> Coordinate:
    for key in written:
        if key not in _KEYS:
            raise SuiteError(f"{key_path}: unknown key. {choices(str(key), list(_KEYS))}")
    missing = [key for key in ("ours", "source") if key not in written]
    if missing:
        raise SuiteError(f"{key_path}: {missing[0]} is missing.")
    for key in ("source", "why"):
        if key in written and not isinstance(written[key], str):
            raise SuiteError(f"{key_path}.{key}: found {written[key]!r}, expected text")
    ours = _checked(name, written["ours"], f"{key_path}.ours", file)
    stated = {}
    for key in (key for key in STATING if key in written):
        several = written[key] if isinstance(written[key], list) else [written[key]]
        values = [_checked(name, one, f"{key_path}.{key}", file) for one in several]
        stated[key] = values if isinstance(written[key], list) else values[0]
    different = [key for key, value in stated.items() if departs(ours, value)]
    if different and "why" not in written:
        raise SuiteError(
            f"{key_path}: our value differs from the value of the {different[0]}, so "
            "the key 'why' must give the reason"
        )
    if not different and "why" in written:
        raise SuiteError(f"{key_path}.why: our value equals the stated value, so leave 'why' out")
    return Coordinate(ours, written["source"], stated, written.get("why"))


def _checked(name: str, written: Any, key_path: str, file: LossFile | None) -> Any:
    """Return an allowed value; of a product only the factor is checked."""
    if file is not None and name in file.declared.parameters:
        try:
            return file.declared.parameters[name].read(written)
        except ValueError as fault:
            raise SuiteError(f"{key_path}: {fault}") from None
    if file is not None and (name, written) == ("loss", file.name):
        return written
    value = Times.read(written)
    try:
        number = value.number if isinstance(value, Times) else value
        _of_field(name).validate_python(number, strict=True)
    except ValidationError as error:
        message = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise SuiteError(f"{key_path}: found {value!r}: {message}") from None
    return value


@cache
def _of_field(name: str) -> TypeAdapter[Any]:
    field = COORDINATES[name]
    typed: Any = Annotated[field.annotation, *(field.metadata or [None])]
    return TypeAdapter(typed)
