"""Methods as points: for each preset the value of every coordinate, and where it comes from.

Presets are data: those of the papers in `methods/*.yaml` here, those of installed plug-ins in the
folders that they name as `bench.methods`, anybody's own in `<suites>/methods/*.yaml`. A suite may
override any coordinate. Nothing in the code depends on a preset's name: it is a label that does not
enter a cell's id.
"""

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from bench.cells.losses import LOSS_OPTIONS, kappa_of
from bench.cells.rules import BELONGS, DRAWN, WITH_GRADIENT
from bench.errors import SuiteError, choices
from bench.files.yaml_file import load_yaml
from bench.record import Record
from bench.suites.named_files import read_entries, read_folder
from bench.suites.shipped import plugin_folders
from bench.suites.sources import Coordinate, read_coordinate
from bench.suites.suite import Scalar


class Preset(NamedTuple):
    """A method of the literature as coordinates."""

    what: str
    coordinates: dict[str, Coordinate]
    like: str | None = None  # the preset that it was written as a change of
    family: str = ""  # the name of its file
    named: tuple[str, ...] = ()  # the settings that it names itself, the rest is taken from `like`
    recorded: tuple[str, ...] = ()  # `paper/protocol`: recorded facts that speak of it

    @property
    def settings(self) -> dict[str, Scalar]:
        """The values alone."""
        return {name: coordinate.value for name, coordinate in self.coordinates.items()}


class _Written(Record):
    """A preset as its file has it."""

    what: str
    like: str | None = None  # another preset: what is not listed is taken from it
    recorded: list[str] = []  # `paper/protocol`; not taken from `like`
    coordinates: dict[str, Any]  # see `read_coordinate`


def load_presets(suites: Path) -> Mapping[str, Preset]:
    """Return every preset by name: the papers', plug-ins', then those in `methods/` beside suites.

    Args:
        suites: the folder of suite files.

    Raises:
        SuiteError: in one line, whatever is wrong with a file.
    """
    return read_folder(suites / "methods", _installed_presets(), _add)


@cache
def paper_presets() -> Mapping[str, Preset]:
    """Return the presets of the papers by name."""
    return read_folder(Path(__file__).parent / "methods", {}, partial(_add, of_paper=True))


@cache
def _installed_presets() -> Mapping[str, Preset]:
    """Return the presets of the papers and of installed plug-ins by name."""
    known = paper_presets()
    for folder in plugin_folders("bench.methods"):
        known = read_folder(folder.path, known, _add)
    return known


def _add(path: Path, known: dict[str, Preset], *, of_paper: bool = False) -> None:
    """Add a file's presets; each may build on those before it, in the files before it too.

    Args:
        path: the file.
        known: presets by name; its own are added.
        of_paper: whether `[value, source]` says that a paper states the value.
    """
    for name, method in read_entries(path, _Written, known, "method").items():
        if method.like is not None and method.like not in known:
            allowed = choices(method.like, list(known))
            raise SuiteError(f"{path}: {name}.like: no method '{method.like}' before. {allowed}")
        stated = {
            key: read_coordinate(key, pair, f"{path}: {name}.coordinates.{key}", of_paper=of_paper)
            for key, pair in method.coordinates.items()
        }
        base = known[method.like].coordinates if method.like else {}
        merged = {**base, **stated}
        values = {key: coordinate.value for key, coordinate in merged.items()}
        kept = {k: c for k, c in merged.items() if k in stated or not _is_stale(k, values)}
        known[name] = Preset(
            method.what, kept, method.like, path.stem, tuple(stated), tuple(method.recorded)
        )


def elsewhere() -> dict[str, str]:
    """Return the names that published rows call methods and that are no presets, and why."""
    named: dict[str, str] = load_yaml(Path(__file__).parent / "not_presets.yaml", SuiteError)
    return named


def filled(settings: dict[str, Any], known: Mapping[str, Preset]) -> dict[str, Any]:
    """Return the settings with those of the preset that `method` names; explicit ones win.

    Where a setting overrides an axis of the preset, what the preset needed for it is dropped.

    Args:
        settings: those of one cell, as a suite gives them.
        known: presets by name.

    Raises:
        ValueError: `method` names no preset.
    """
    method = settings.get("method")
    if method is None:
        raise ValueError(f"method is missing. Allowed here: {', '.join(known)}")
    if not isinstance(method, str) or method not in known:
        raise ValueError(f"method '{method}' is unknown. {choices(str(method), list(known))}")
    preset: dict[str, Any] = known[method].settings
    loss = settings.get("loss", preset.get("loss"))
    options = LOSS_OPTIONS.get(str(loss), {})
    merged = (options | preset if loss == preset.get("loss") else preset | options) | settings
    for name in list(merged):
        if name not in settings and merged[name] is not None and _is_stale(name, merged):
            merged[name] = None
    return merged | {k: v for k, v in _followed(merged).items() if k not in settings}


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
