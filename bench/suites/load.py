"""Load suite files: one suite from a file, or all from a folder."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Discriminator, Field, Tag, ValidationError, model_validator

from bench.errors import SuiteError, choices, near
from bench.files.validation_errors import explain
from bench.files.yaml_file import load_yaml, plugin_folders, yaml_files
from bench.record import Record
from bench.suites.checks import Check
from bench.suites.comparison_blocks import ComparisonBlock, comparisons
from bench.suites.own_files import check_named
from bench.suites.shared import (
    AssumedEntry,
    Assumptions,
    SharedScaleEntry,
    load_assumptions,
    load_shared_scales,
    named,
)
from bench.suites.shipped import shipped_suites
from bench.suites.suite import (
    Axes,
    MeasuredTable,
    Name,
    Notes,
    OneOrMore,
    Points,
    Scale,
    SharedScale,
    Suite,
    SuiteBase,
    SuiteCheck,
    TableBase,
    point_lists,
)
from bench.text import value_text

STANDARD_TITLES = {
    "few_shot_linear_top1": "few-shot top-1 (%), 10 labels per class",
    "linear_top1": "linear top-1 (%)",
    "online_linear_top1": "top-1 of the linear classifier trained beside the encoder (%)",
    "knn_top1": "kNN top-1 (%)",
}
"""Titles of tables that list their `metrics`."""
PARTS = "parts"
"""Folder next to the suites, with files of keys that several suites share."""
Checks = Annotated[list[SuiteCheck], Field(min_length=1), OneOrMore()]


class ScaleEntry(SharedScaleEntry):
    """A scale in a suite file, complete or as changes to the shared scale named by `like`.

    The shared scale provides `what`, `protocol`, `fixed`, `seeds` and reasons. The suite's own keys
    override them.
    """

    grid: Axes = {}  # axes that replace the suite's
    points: Points | None = None  # rows that replace the suite's
    notes: Notes = []  # what else is to be known of this scale

    def filled(self, base: SharedScale | None, suite: "SuiteFile") -> Scale:
        """Return the scale merged with the shared one."""
        whole = self.over(base)
        blocks = _in_all(_axis_names(block) for block in suite.grids)
        given = self.fixed.keys() | _axis_names(self) | _axis_names(suite) | blocks
        reasons = [t for name, t in whole.why.items() if name not in given or name in self.why]
        stand_in = whole.stand_in
        if stand_in and stand_in.why and suite.judges(stand_in.metrics):
            reasons.append(stand_in.why)
        return Scale(
            **dict(whole) | {"fixed": self.fixed},
            like=self.like,
            shared=base.fixed if base else {},
            grid=self.grid,
            points=self.points,
            notes=[*self.notes, *(reasons if whole.judged else [])],
        )


class ClaimChecks(Record):
    """Checks of a claim, with notes."""

    notes: Notes  # shown below the claim
    checks: Checks


def _kind_of_claim(claim: Any) -> str:
    is_checks = isinstance(claim, list) or (isinstance(claim, dict) and "check" in claim)
    return "[checks]" if is_checks else "[claim]"


class TableEntry(TableBase):
    """A table of one metric, or one table for each of several metrics, with standard titles."""

    title: str | None = None  # with the unit
    metric: str | None = None  # of the cells' summaries
    metrics: list[str] = []  # in place of title and metric

    @model_validator(mode="after")
    def _names_its_metrics(self) -> Self:
        if bool(self.metrics) == (self.metric is not None) or bool(self.metrics and self.title):
            raise ValueError(
                "a table needs either the keys `title` and `metric`, or only the key `metrics`"
            )
        if self.metric and not self.title:
            raise ValueError("the key title is missing")
        for name in self.metrics:
            if name not in STANDARD_TITLES:
                known = choices(name, list(STANDARD_TITLES))
                raise ValueError(
                    f"metrics: '{name}' has no standard title; give the key title. {known}"
                )
        return self

    def tables(self) -> list[MeasuredTable]:
        """Return one table per metric."""
        rest = self.model_dump(exclude={"title", "metric", "metrics"})
        titles = {name: STANDARD_TITLES[name] for name in self.metrics}
        titles |= {self.metric: self.title} if self.metric and self.title else {}
        return [MeasuredTable(title=titles[name], metric=name, **rest) for name in titles]


class SuiteFile(SuiteBase):
    """Content of a suite file: all keys, or changes to the file named by `like`.

    Its own keys override those of the other file. Mappings are merged key by key, and lists replace
    lists. `notes` are appended to those of the other file.
    """

    like: str | None = None  # the suite of this folder, or file of `parts/`, that it begins with
    scales: Annotated[dict[Name, ScaleEntry], Field(min_length=1)]  # by name
    assumed: AssumedEntry = AssumedEntry()  # settings that the paper leaves open
    compare: Annotated[
        list[ComparisonBlock], OneOrMore()
    ] = []  # printed rows beside the cells that they belong to
    claims: dict[
        str,
        Annotated[
            Annotated[Checks, Tag("[checks]")] | Annotated[ClaimChecks, Tag("[claim]")],
            Discriminator(_kind_of_claim),
        ],
    ] = {}  # checks of each claim
    tables: Annotated[list[TableEntry], OneOrMore()] = []  # what `bench show` and the report list

    @model_validator(mode="after")
    def _its_parts_agree(self) -> Self:
        if self.scale not in self.scales:
            raise ValueError(
                f"scale: there is no scale '{self.scale}'; the suite has {', '.join(self.scales)}"
            )
        named = "reproduces" if self.reproduces else "claims" if self.claims else None
        if named and self.paper is None:
            raise ValueError(
                f"{named}: a suite with this key needs the key `paper`, which names the paper"
            )
        if self.paper is not None and named is None:
            raise ValueError(
                "a suite with the key `paper` must list artifacts under `reproduces`, or claims "
                "under `claims`"
            )
        return self

    def checks(self) -> dict[str, list[Check]]:
        """Return the checks of each claim."""
        return {
            name: claim.checks if isinstance(claim, ClaimChecks) else claim
            for name, claim in self.claims.items()
        }

    def judges(self, metrics: Mapping[str, str]) -> bool:
        """Return whether a check uses one of these metrics."""
        return any(check.metric in metrics for checks in self.checks().values() for check in checks)

    def suite(self, path: Path) -> Suite:
        """Return the suite of the file, with shared parts filled in.

        Raises:
            SuiteError: the name in `like` is unknown, or a file of shared scales or assumptions is
                invalid.
        """
        likes = any(entry.like is not None for entry in self.scales.values())
        known = load_shared_scales(path.parent) if likes else {}
        scales = {}
        for name, entry in self.scales.items():
            place = f"{path}: scales.{name}.like"
            base = named(entry.like, known, place, "shared scale") if entry.like else None
            scales[name] = entry.filled(base, self)
        self._check_used(scales, path)
        entries = {n: claim for n, claim in self.claims.items() if isinstance(claim, ClaimChecks)}
        assumed, notes = self._assumed(path)
        keys = {name: getattr(self, name) for name in SuiteBase.model_fields}
        return Suite(
            **keys | {"notes": self.notes + notes},
            scales=scales,
            assumed=assumed,
            compare=comparisons(self.compare),
            claims=self.checks(),
            claim_notes={name: claim.notes for name, claim in entries.items()},
            tables=[table for entry in self.tables for table in entry.tables()],
        )

    def _check_used(self, scales: Mapping[str, Scale], path: Path) -> None:
        """Refuse settings and seeds that every scale replaces by those of its shared scale.

        Raises:
            SuiteError: the first of them.
        """
        for name, value in self.fixed.items():
            if not any(name in s.fixed.keys() | _axis_names(s) for s in scales.values()):
                at = {key: s.shared.get(name, value) for key, s in scales.items()}
                _check_has_effect(path, f"fixed.{name}", value, at)
        if not any(entry.seeds for entry in self.scales.values()):
            seeds = {key: s.seeds or self.seeds for key, s in scales.items()}
            _check_has_effect(path, "seeds", self.seeds, seeds)

    def _assumed(self, path: Path) -> Assumptions:
        """Return all assumptions; those of a set give way to settings that the suite gives."""
        own = self.assumed.own()
        if self.assumed.like is None:
            return Assumptions(own, self.assumed.notes)
        known = load_assumptions(path.parent)
        settings, notes = self.assumed.shared(known, f"{path}: assumed")
        blocks = _in_all(block.fixed.keys() | _axis_names(block) for block in self.grids)
        given = self.fixed.keys() | _axis_names(self) | blocks
        kept = {name: value for name, value in settings.items() if name not in given}
        return Assumptions(kept | own, notes + self.assumed.notes)


def _check_has_effect(path: Path, key: str, value: Any, at: Mapping[str, Any]) -> None:
    if value not in at.values():
        scale, other = next(iter(at.items()))
        texts = [value_text(v, joined_by=", ") for v in (value, other)]
        raise SuiteError(
            f"{path}: {key}: {texts[0]} has no effect: scale '{scale}' takes {texts[1]} from "
            f"its shared scale. Set scales.{scale}.{key}, or leave {key} out"
        )


def _in_all(sets: Iterable[set[str]]) -> set[str]:
    """Return the names that every set has; none if there is no set."""
    every = [set(names) for names in sets]
    return set.intersection(*every) if every else set()


def _axis_names(entry: Any) -> set[str]:
    """Return the settings that `grid` or `points` of an entry name."""
    rows = [row for rows in point_lists(entry.points) for row in rows]
    return {*entry.grid, *(name for row in rows for name in row)}


def load_suite(path: Path) -> Suite:
    """Return the suite of the file.

    Raises:
        SuiteError: the file is invalid, or names an invalid objective or method next to it.
    """
    data = _whole(path)
    try:
        file = SuiteFile.model_validate({"name": path.stem} | data)
    except ValidationError as error:
        raise explain(SuiteError, error, path, root=SuiteFile) from None
    if file.name != path.stem:
        twin = path.with_stem(file.name)
        also = f"; the name '{file.name}' belongs to {twin}" if twin.exists() else ""
        raise SuiteError(
            f"{path}: name: found '{file.name}', expected the file's name '{path.stem}'{also}"
        )
    suite = file.suite(path)
    check_named(suite, path.parent)
    return suite


def _mapping(path: Path) -> dict[str, Any]:
    data = load_yaml(path, SuiteError)
    if data is None:
        raise SuiteError(f"{path}: the file is empty; a suite is a mapping of keys")
    if not isinstance(data, dict):
        raise SuiteError(f"{path}: a suite is a mapping of keys, found {type(data).__name__}")
    strays = [key for key in data if not isinstance(key, str)]
    if strays:
        raise SuiteError(f"{path}: key {strays[0]!r} is not text")
    return data


def _whole(path: Path, likes: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the keys of a file with those of the file that it is like, and so on."""
    data = _mapping(path)
    if (like := data.get("like")) is None:
        return data
    if path.stem in likes:
        circle = " is like ".join([*likes, path.stem])
        raise SuiteError(f"{path}: like: the suites refer to each other in a circle: {circle}")
    home = path.parent.parent if path.parent.name == PARTS else path.parent
    homes = (shipped_suites() / PARTS, home / PARTS, home)
    files = [file for folder in homes for file in yaml_files(folder)]
    others = {file.stem: file for file in files if file != path}
    base = _whole(named(str(like), others, f"{path}: like", "suite or part"), (*likes, path.stem))
    given = [keys["notes"] for keys in (base, data) if "notes" in keys]
    notes = [note for n in given for note in (n if isinstance(n, list) else [n])]
    base.pop("name", None)
    whole: dict[str, Any] = _over(base, data | {"notes": notes})
    return whole


def _over(base: Any, own: Any) -> Any:
    """Return a value with what another one changes: mappings key by key, in the other's order."""
    if not (isinstance(base, dict) and isinstance(own, dict)):
        return own
    keys, order = list(base), list[str]()
    for key in own:
        before = keys[: keys.index(key)] if key in base else []
        order += [name for name in (*before, key) if name == key or name not in own]
    merged = base | {key: _over(base.get(key), value) for key, value in own.items()}
    return {key: merged[key] for key in dict.fromkeys([*order, *base])}


def suite_paths(folder: Path) -> dict[str, Path]:
    """Return the suite files of a folder by name.

    Raises:
        SuiteError: the folder does not exist, or two files have the same name.
    """
    if not folder.is_dir():
        raise SuiteError(
            f"{folder}: this folder does not exist; --suites or BENCH_SUITES must name the folder "
            "of suite files"
        )
    paths: dict[str, Path] = {}
    for path in yaml_files(folder):
        if path.stem in paths:
            raise SuiteError(
                f"{path}: this is a second suite named '{path.stem}'; the first is "
                f"{paths[path.stem]}"
            )
        paths[path.stem] = path
    return paths


def known_suites(folder: Path) -> dict[str, Path]:
    """Return suite files by name: those of a folder, then those of installed plug-ins.

    A suite in the folder comes before one of the same name in a plug-in.

    Raises:
        SuiteError: the folder does not exist, or two of its files or two plug-ins have the same
            name.
    """
    here, installed = suite_paths(folder), dict[str, Path]()
    for plugin, path in plugin_folders("bench.suites"):
        for name, file in suite_paths(path).items():
            if name in installed and name not in here:
                raise SuiteError(
                    f"plug-in {plugin}: {file}: this is a second suite named '{name}'; the "
                    f"first is {installed[name]}"
                )
            installed[name] = file
    return here | {name: file for name, file in installed.items() if name not in here}


def find_suite(name: str, folder: Path) -> Path:
    """Return the file of a suite given by name, or by a path that ends in .yaml or .yml.

    Raises:
        SuiteError: the suite does not exist, or `name` is a folder.
    """
    if name.endswith((".yaml", ".yml")):
        return Path(name)
    paths = known_suites(folder)
    if name in paths:
        return paths[name]
    if Path(name).is_dir():
        raise SuiteError(f"{name}: this is a folder; name a suite, or a file that ends in .yaml")
    own = [path.stem for path in yaml_files(shipped_suites())]
    meant = [name] if name in own else [] if near(name, list(paths)) else near(name, own)
    if meant:
        raise SuiteError(
            f"{folder}: there is no suite '{name}'. One of bench's own suites is "
            f"'{meant[0]}': `bench --suites {shipped_suites()} VERB ...` uses bench's "
            "own suites"
        )
    raise SuiteError(
        f"{folder}: there is no suite '{name}'. {choices(name, list(paths), 'bench suites')}"
    )
