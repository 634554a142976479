"""Named parts that suites share: scales and sets of assumptions.

Both are YAML files: bench's own in `scales/*.yaml` and `assumed/*.yaml`, users' own in the folders
`scales` and `assumed` next to the suites. A suite uses an entry with `like: NAME` and adds its
changes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, NamedTuple, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from bench.cells import CELLS
from bench.cells.baseline import Baseline
from bench.cells.cell import Cell
from bench.cells.pretrain import SETTING_OF
from bench.errors import SuiteError, choices, raise_all
from bench.files.validation_errors import explain
from bench.files.yaml_file import load_yaml, yaml_files
from bench.record import Record
from bench.suites.suite import (
    Assumption,
    Notes,
    ProtocolKind,
    Seeds,
    Settings,
    SharedScale,
    StandIn,
    refuse_columns,
)

EntryT = TypeVar("EntryT", bound=BaseModel)
Built = TypeVar("Built")
OWN = {"baselines", "stand_in", "judged", "unjudged"}  # keys that null or false may set too
_HERE = Path(__file__).parent


class SharedScaleEntry(Record):
    """A shared scale in a file, complete or as changes to the one named by `like`.

    Its own keys override those of the other. `fixed` and `why` are merged setting by setting.
    """

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["like"]}, {"required": ["what", "protocol"]}]}
    )

    like: str | None = None  # the shared scale that this one begins with
    what: str | None = None  # one line that says what is run and how long it takes
    protocol: ProtocolKind | None = (
        None  # whether it follows the paper, so that values are compared
    )
    fixed: Settings = {}  # settings that replace the suite's
    why: dict[str, str] = {}  # reasons for settings, shown where a suite takes their values
    seeds: Seeds | None = None  # in place of the suite's
    baselines: Settings | None = None  # settings of training with labels; null: no baselines
    stand_in: StandIn | None = None  # metrics that are judged in place of the paper's
    judged: bool = True  # false: the scale only checks that everything runs; no claim is judged
    unjudged: str | None = None  # why no claim is judged at this scale though it computes enough

    _no_columns = model_validator(mode="before")(refuse_columns)

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        missing = [name for name in ("what", "protocol") if getattr(self, name) is None]
        if missing and self.like is None:
            raise ValueError(
                f"the scale lacks {' and '.join(missing)}; a scale needs the keys `what` and "
                "`protocol`, or the name of a shared scale under `like`"
            )
        return self

    def over(self, base: SharedScale | None) -> SharedScale:
        """Return the scale with the changes applied to `base`, or unchanged if `base` is None."""
        inherited = base.model_dump() if base else {}
        changes = self.model_dump(include={"what", "protocol", "seeds"}, exclude_none=True)
        reasons = {k: v for k, v in inherited.get("why", {}).items() if k not in self.fixed}
        changes["fixed"] = inherited.get("fixed", {}) | self.fixed
        changes["why"] = reasons | self.why
        given = OWN & self.model_fields_set  # else the base's
        return SharedScale.model_validate(inherited | changes | self.model_dump(include=given))


class Assumptions(NamedTuple):
    """Settings that a paper leaves open, and notes that apply wherever they are used."""

    settings: dict[str, Assumption]
    notes: list[str]


class AssumedEntry(Record):
    """Assumptions, in addition to those of the sets named by `like`."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Assumption]

    like: str | Annotated[list[str], Field(min_length=1)] | None = None  # one set, or several
    notes: Notes = []  # shown on the pages of all suites that take the set

    def own(self) -> dict[str, Assumption]:
        """Return the entry's own settings."""
        return dict(self.__pydantic_extra__)

    def shared(self, known: Mapping[str, Assumptions], key_path: str) -> Assumptions:
        """Return the settings of the sets named by `like`; later sets override earlier ones.

        Raises:
            SuiteError: a set does not exist; the message starts with `key_path`.
        """
        names = [self.like] if isinstance(self.like, str) else self.like or []
        sets = [named(name, known, f"{key_path}.like", "set of assumptions") for name in names]
        settings = {name: value for one in sets for name, value in one.settings.items()}
        return Assumptions(settings, list(dict.fromkeys(n for one in sets for n in one.notes)))


def load_shared_scales(suites: Path) -> Mapping[str, SharedScale]:
    """Return all shared scales by name: bench's own, then those next to the suites.

    Raises:
        SuiteError: a file is invalid.
    """
    return read_folder(suites / "scales", shipped_scales(), _add_scales)


def load_assumptions(suites: Path) -> Mapping[str, Assumptions]:
    """Return all sets of assumptions by name: bench's own, then those next to the suites.

    Raises:
        SuiteError: a file is invalid.
    """
    return read_folder(suites / "assumed", shipped_assumptions(), _add_assumptions)


@cache
def shipped_scales() -> Mapping[str, SharedScale]:
    """Return bench's own shared scales by name."""
    return read_folder(_HERE / "scales", {}, _add_scales)


@cache
def shipped_assumptions() -> Mapping[str, Assumptions]:
    """Return bench's own sets of assumptions by name."""
    return read_folder(_HERE / "assumed", {}, _add_assumptions)


def named(name: str, known: Mapping[str, Built], key_path: str, noun: str) -> Built:
    """Return the entry with this name.

    Raises:
        SuiteError: the entry does not exist; the message starts with `key_path`.
    """
    if name not in known:
        raise SuiteError(f"{key_path}: there is no {noun} '{name}'. {choices(name, list(known))}")
    return known[name]


def read_folder(
    folder: Path, before: Mapping[str, Built], add: Callable[[Path, dict[str, Built]], None]
) -> Mapping[str, Built]:
    """Return the known entries with those of a folder's YAML files added, in file order.

    Args:
        folder: the folder, which may be missing.
        before: entries known before.
        add: function that adds the content of a file, which may refer to entries known by then.

    Raises:
        SuiteError: a file is invalid.
    """
    known = dict(before)
    for path in yaml_files(folder):
        add(path, known)
    return known


def read_entries(
    path: Path, kind: type[EntryT], known: Mapping[str, object], noun: str
) -> dict[str, EntryT]:
    """Return the entries of a file by name.

    Raises:
        SuiteError: the file is invalid, or a name already exists.
    """
    data = load_yaml(path, SuiteError)
    try:
        entries = TypeAdapter(dict[str, kind]).validate_python(data)  # type: ignore[valid-type]
    except ValidationError as error:
        raise explain(SuiteError, error, path, root=kind) from None
    for name in entries:
        if name in known:
            raise SuiteError(f"{path}: {name}: a {noun} of this name already exists")
    return entries


def _add_scales(path: Path, known: dict[str, SharedScale]) -> None:
    for name, entry in read_entries(path, SharedScaleEntry, known, "shared scale").items():
        for place, key, allowed in _settings_in(entry):
            check_known([key], allowed, f"{path}: {name}.{place}")
        if entry.like is None:
            base = None
        else:
            base = named(entry.like, known, f"{path}: {name}.like", "shared scale")
        known[name] = entry.over(base)


def _add_assumptions(path: Path, known: dict[str, Assumptions]) -> None:
    for name, entry in read_entries(path, AssumedEntry, known, "set of assumptions").items():
        check_known(entry.own(), _any_setting(), f"{path}: {name}")
        settings, notes = entry.shared(known, f"{path}: {name}")
        known[name] = Assumptions(settings | entry.own(), notes + entry.notes)


def experiment_named(name: str, path: Path) -> type[Cell]:
    """Return the kind of cells of an experiment that the suite of a file names.

    Raises:
        SuiteError: the experiment does not exist.
    """
    if name not in CELLS:
        known = choices(name, list(CELLS))
        raise SuiteError(f"{path}: experiment: there is no experiment '{name}'. {known}")
    return CELLS[name]


def check_known(keys: Iterable[str], known: list[str], key_path: str) -> None:
    """Check that all keys are known.

    Raises:
        SuiteError: a key is unknown; the message starts with `key_path`.
    """
    faults = []
    for key in keys:
        if key not in known:
            rest = f"unknown key. {choices(key, known)}"
            if key in SETTING_OF:
                rest = f"this is the name of a metric; set {SETTING_OF[key]}: NAME instead"
            faults.append(SuiteError(f"{key_path}.{key}: {rest}"))
    raise_all(faults, SuiteError)


def _settings_in(entry: SharedScaleEntry) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each setting or metric that an entry names: its place, itself, and what is allowed."""
    yield from (("fixed", name, _any_setting()) for name in entry.fixed)
    yield from (("why", name, _any_setting()) for name in entry.why)
    yield from (("baselines", name, Baseline.setting_names()) for name in entry.baselines or {})
    if entry.stand_in is not None:
        metrics = list(dict.fromkeys(name for kind in CELLS.values() for name in kind.metrics))
        for old, new in entry.stand_in.metrics.items():
            yield from (("stand_in.metrics", name, metrics) for name in (old, new))


@cache
def _any_setting() -> list[str]:
    """Return the settings that any experiment has."""
    return list(dict.fromkeys(name for kind in CELLS.values() for name in kind.setting_names()))
