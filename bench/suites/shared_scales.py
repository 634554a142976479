"""Scales that many suites share, by name.

Shared scales are data: the project's in `scales/*.yaml` here, anybody's own in
`<suites>/scales/*.yaml`. A scale of a suite takes one by `like: NAME` and adds what it changes.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Self

from pydantic import ConfigDict, model_validator

from bench.cells import CELLS
from bench.cells.baseline import Baseline
from bench.errors import SuiteError, choices
from bench.record import Record
from bench.suites.named_files import read_entries, read_folder
from bench.suites.suite import Protocol, Seeds, Settings, SharedScale, StandIn

OWN = {"baselines", "stand_in", "judged", "unjudged"}  # keys that null or false may set too


class SharedScaleEntry(Record):
    """A shared scale as its file has it: whole, or a change of the one that `like` names.

    Its own keys win over those of the other, under `fixed` setting by setting.
    """

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["like"]}, {"required": ["what", "protocol"]}]}
    )

    like: str | None = None  # the shared scale that this one begins with
    what: str | None = None  # one line that says what is run and how long it takes
    protocol: Protocol | None = None  # whether it follows the paper, so that values are compared
    fixed: Settings = {}  # settings that replace the suite's
    seeds: Seeds | None = None  # in place of the suite's
    baselines: Settings | None = None  # settings of training with labels; null: no baselines
    stand_in: StandIn | None = None  # metrics that are judged in place of the paper's
    judged: bool = True  # false: the scale only checks that everything runs; no claim is judged
    unjudged: str | None = None  # why no claim is judged at this scale though it computes enough

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        missing = [name for name in ("what", "protocol") if getattr(self, name) is None]
        if missing and self.like is None:
            raise ValueError(
                f"{' and '.join(missing)} missing; give {'both' if missing[1:] else 'it'}, or name "
                "a shared scale under like"
            )
        return self

    def over(self, base: SharedScale | None) -> SharedScale:
        """Return the scale as a change of `base`, or as it stands."""
        inherited = base.model_dump() if base else {}
        changes = self.model_dump(include={"what", "protocol", "seeds"}, exclude_none=True)
        fixed = inherited.get("fixed", {}) | self.fixed
        given = OWN & self.model_fields_set  # else the base's
        changes |= {"fixed": fixed} | self.model_dump(include=given)
        return SharedScale.model_validate(inherited | changes)


def load_shared_scales(suites: Path) -> Mapping[str, SharedScale]:
    """Return every shared scale by name: the project's, then those in `scales/` beside the suites.

    Args:
        suites: the folder of suite files.

    Raises:
        SuiteError: in one line, whatever is wrong with a file.
    """
    return read_folder(suites / "scales", shipped_scales(), _add)


@cache
def shipped_scales() -> Mapping[str, SharedScale]:
    """Return the project's shared scales by name."""
    return read_folder(Path(__file__).parent / "scales", {}, _add)


def scale_named(name: str, known: Mapping[str, SharedScale], key_path: str) -> SharedScale:
    """Return the shared scale of that name.

    Args:
        name: name of the shared scale.
        known: all shared scales.
        key_path: place in the suite's file, for messages.

    Raises:
        SuiteError: there is none; `key_path`, with the file, begins the line.
    """
    if name not in known:
        raise SuiteError(f"{key_path}: no shared scale '{name}'. {choices(name, list(known))}")
    return known[name]


def _add(path: Path, known: dict[str, SharedScale]) -> None:
    """Add a file's scales; each may build on those before it, in the files before it too."""
    for name, entry in read_entries(path, SharedScaleEntry, known, "shared scale").items():
        for place, key, allowed in _named(entry):
            if key not in allowed:
                raise SuiteError(
                    f"{path}: {name}.{place}.{key}: unknown key. {choices(key, allowed)}"
                )
        key_path = f"{path}: {name}.like"
        base = scale_named(entry.like, known, key_path) if entry.like is not None else None
        known[name] = entry.over(base)


def _named(entry: SharedScaleEntry) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each setting or metric that an entry names: its place, itself, and what is allowed."""
    yield from (("fixed", name, _settings()) for name in entry.fixed)
    yield from (("baselines", name, Baseline.setting_names()) for name in entry.baselines or {})
    if entry.stand_in is not None:
        metrics = list(dict.fromkeys(name for kind in CELLS.values() for name in kind.metrics))
        for old, new in entry.stand_in.metrics.items():
            yield from (("stand_in.metrics", name, metrics) for name in (old, new))


@cache
def _settings() -> list[str]:
    """Return the settings that any experiment has."""
    return list(dict.fromkeys(name for kind in CELLS.values() for name in kind.setting_names()))
