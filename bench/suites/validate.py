"""Checks of a suite against its paper: artifacts, claims and rows must exist."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.cells import CELLS
from bench.cells.cell import Cell
from bench.cells.pretrain import SETTING_OF
from bench.errors import BenchError, PublishedError, SuiteError, choices, collected, raise_all
from bench.metric_files import FOLDERS, metric_files
from bench.papers.questions import questions
from bench.papers.reader import NO_PAPER, Paper, load_paper
from bench.papers.tolerances import tolerance_of
from bench.suites.facts import no_cell_has, typed
from bench.suites.figure import Chosen, DrawnCells
from bench.suites.own_files import declared_beside, own_losses, quantities_of, setting_names
from bench.suites.printed_effects import is_spoken_of, printed_effects
from bench.suites.shared import experiment_named
from bench.suites.suite import SIDES, Suite
from bench.text import value_text

TIMES = ("step", "epoch")  # along a history
NamedChecks = list[tuple[str, str | None, list[str]]]
"""Places in the file, each with the name found there and the allowed names."""


def check_suite(suite: Suite, path: Path) -> Paper:
    """Check the suite against its paper and return the paper.

    Raises:
        SuiteError: a paper, artifact, claim, protocol or row key does not exist.
    """
    for experiment in _kinds(suite):
        experiment_named(experiment, path)
    if suite.paper is None:
        _check_names(suite, path)
        return NO_PAPER
    try:
        paper = load_paper(suite.paper, path.parent)
    except PublishedError as error:
        raise SuiteError(f"{path}: paper: {error}") from None
    faults: list[BenchError] = []
    for key_path, kind, name in _named_of_paper(suite):
        with collected(faults, f"{path}: {key_path}: "):
            getattr(paper, kind)(name)
    if not faults:
        for check in (_check_tolerances, _check_row_keys, _check_artifact_rows):
            with collected(faults):
                check(suite, paper, path)
    with collected(faults):
        _check_names(suite, path)
    raise_all(faults, SuiteError)
    _check_baselines(suite, paper, path)
    return paper


def _named_of_paper(suite: Suite) -> list[tuple[str, str, str]]:
    """Return the place, kind and id of everything of its paper that a suite names."""
    names = [(f"reproduces.{i}", "artifact", name) for i, name in enumerate(suite.reproduces)]
    names += [(c.key_path("artifact"), "artifact", c.artifact) for c in suite.compare]
    names += [(f"claims.{name}", "claim", name) for name in suite.claims]
    names += [("protocol", "protocol", suite.protocol)] if suite.protocol else []
    names += [(f"protocols.{name}", "artifact", name) for name in suite.protocols]
    names += [(f"protocols.{k}", "protocol", name) for k, name in suite.protocols.items()]
    for i, figure in enumerate(suite.figures):
        names += [(f"figures.{i}.artifact", "artifact", name) for name in figure.artifacts]
    return names


def _check_tolerances(suite: Suite, paper: Paper, path: Path) -> None:
    """Every comparison has a tolerance."""
    for comparison in suite.compare:
        try:
            tolerance_of(
                paper.id,
                comparison.artifact,
                comparison.metric,
                comparison.over,
                gain=bool(comparison.gain_over),
                own=paper.tolerances.get(comparison.artifact),
            )
        except PublishedError as error:
            raise SuiteError(f"{path}: {comparison.key_path('metric')}: {error}") from None


def check_chosen(suite: Suite, path: Path, scales: Iterable[Sequence[Cell]]) -> None:
    """Check that each selection of cells matches a cell of some scale.

    Data sets that no scale has are allowed.

    Args:
        suite: the suite.
        path: file of the suite, for error messages.
        scales: cells of each scale, one seed per configuration; read only as far as needed.

    Raises:
        SuiteError: a comparison, check, table or figure selects cells that do not exist, or a
            user's metric that no cell names.
    """
    pending: list[_Choice | _OwnMetric]
    pending = [_Choice(at, named) for at, named in _choices_of_cells(suite)]
    pending += [
        _OwnMetric(at, name, path.parent) for at, name in _metrics(suite) if name in SETTING_OF
    ]
    cells_of = iter(scales)
    while pending and (cells := next(cells_of, None)) is not None:
        pending = [choice for choice in pending if not choice.finds(cells)]
    raise_all([SuiteError(f"{path}: {choice.fault()}") for choice in pending], SuiteError)


class _OwnMetric:
    """The number of a file next to the suite, which some cell has to name."""

    def __init__(self, at: str, metric: str, suites: Path) -> None:
        self.at, self.metric, self.setting, self.suites = at, metric, SETTING_OF[metric], suites

    def finds(self, cells: Sequence[Cell]) -> bool:
        """Return whether one of the cells names a file."""
        return any(getattr(cell, self.setting, None) is not None for cell in cells)

    def fault(self) -> str:
        """Return what is not found, with its place and the remedy."""
        file = f"{self.suites / FOLDERS[self.setting]}/NAME.py"
        return (
            f"{self.at}: no cell measures {self.metric}; to measure this metric, set "
            f"{self.setting}: NAME, which runs {file}"
        )


def _metrics(suite: Suite) -> Iterator[tuple[str, str | None]]:
    """Yield the metrics that a suite names, each with its place in the file."""
    yield from ((f"tables.{i}.metric", table.metric) for i, table in enumerate(suite.tables))
    for i, figure in enumerate(suite.figures):
        yield from ((f"figures.{i}.y", quantity.y) for quantity in figure.quantities)
    for claim, checks in suite.claims.items():
        yield from ((f"claims.{claim}.{i}.metric", check.metric) for i, check in enumerate(checks))
    yield from ((comparison.key_path("metric"), comparison.metric) for comparison in suite.compare)


class _Choice:
    """Settings that choose cells, and which of their values cells had so far."""

    def __init__(self, at: Callable[[str], str], named: Chosen) -> None:
        self.at = at
        self.named = {name: value for name, value in named.items() if name != "dataset"}
        self.wanted = {
            name: dict.fromkeys(map(typed, value if isinstance(value, list) else [value]))
            for name, value in self.named.items()
        }
        self.there: dict[str, dict[tuple[bool, Any], None]] = {name: {} for name in self.wanted}
        self.any_cell = False

    def finds(self, cells: Sequence[Cell]) -> bool:
        """Return whether these or former cells have every value, and one of them all settings."""
        for cell in cells:
            point = {name: typed(_of(cell, name)) for name in self.wanted}
            for name, value in point.items():
                self.there[name][value] = None
            self.any_cell |= all(value in self.wanted[name] for name, value in point.items())
            if self.any_cell and all(self.wanted[n].keys() <= self.there[n].keys() for n in point):
                return True
        return False

    def fault(self) -> str:
        """Return what is not found, with its place."""
        for name, values in self.wanted.items():
            for value in values:
                if value not in self.there[name]:
                    found = [v for _, v in self.there[name]]
                    return f"{self.at(f'.{name}')}: {no_cell_has(value[1], found)}"
        return f"{self.at('')}: no cell has the settings {value_text(self.named)}"


def _choices_of_cells(suite: Suite) -> Iterator[tuple[Callable[[str], str], Chosen]]:
    """Yield all settings that choose cells, each with what makes places in the file of it."""
    for comparison in suite.compare:
        for key in ("where", "gain_over", "baseline"):
            yield partial(_at, comparison.key_path, key), getattr(comparison, key)
    for claim, checks in suite.claims.items():
        for i, check in enumerate(checks):
            for key in SIDES:
                cells = getattr(check, key, None) or {}
                yield f"claims.{claim}.{i}.{key}".__add__, dict(cells)
    for i, table in enumerate(suite.tables):
        yield f"tables.{i}.where".__add__, dict(table.where)
    for i, figure in enumerate(suite.figures):
        yield f"figures.{i}.where".__add__, figure.where
        yield f"figures.{i}.baseline".__add__, dict(figure.baseline)
        for k, series in enumerate(figure.series):
            yield f"figures.{i}.series.{k}.where".__add__, figure.where | series.where


def _at(key_path: Callable[[str], str], key: str, name: str) -> str:
    return key_path(f"{key}{name}")


def _of(cell: Cell, name: str) -> Any:
    value = getattr(cell, name, None)
    return value if isinstance(value, Hashable) else repr(value)


def _check_baselines(suite: Suite, paper: Paper, path: Path) -> None:
    """Raise a SuiteError for a baseline that no published effect is computed from."""
    used = {(e.comparison.block, repr(e.over)) for e in printed_effects(suite, paper)}
    for comparison in suite.compare:
        if comparison.baseline and (comparison.block, repr(comparison.baseline)) not in used:
            key_path = comparison.key_path(f"baseline.{next(iter(comparison.baseline))}")
            raise SuiteError(
                f"{path}: {key_path}: rows with "
                f"{value_text(comparison.baseline)} cannot be the baseline, because no published "
                f"row of {comparison.artifact} differs from such a row only in "
                f"{', '.join(comparison.baseline)}"
            )


def _check_names(suite: Suite, path: Path) -> None:
    """Every metric and setting that a comparison, check or figure names is one of the cells'."""
    kinds = [CELLS[k] for k in _kinds(suite)]
    own = own_losses(path.parent)
    declared = declared_beside(path.parent, own)
    settings = [*dict.fromkeys(n for k in kinds for n in setting_names(k, declared)), "experiment"]
    metrics = list(dict.fromkeys(n for kind in kinds for n in kind.metrics))
    metrics += quantities_of(kinds, own)
    judged = metrics + [n for kind in kinds for n in kind.of_provenance]
    named = _named_by_comparisons(suite, metrics, settings)
    named += [(f"renamed.{key}", name, settings) for key, name in suite.renamed.items()]
    for claim, checks in suite.claims.items():
        for i, check in enumerate(checks):
            key_path = f"claims.{claim}.{i}"
            named.append((f"{key_path}.metric", check.metric, judged))
            named.append((f"{key_path}.over", getattr(check, "over", None), settings))
            named.append((f"{key_path}.bound", getattr(check, "bound", None), metrics))
            for key in SIDES:
                cells = getattr(check, key, None) or {}
                named += [(f"{key_path}.{key}.{name}", name, settings) for name in cells]
    for i, table in enumerate(suite.tables):
        named.append((f"tables.{i}.metric", table.metric, metrics))
        axes = [*table.rows, table.columns, *table.where]
        named += [(f"tables.{i}", name, settings) for name in axes]
    named += _named_by_figures(suite, settings, metrics)
    faults = []
    for key_path, name, known in named:
        if name is not None and name not in known:
            rest = choices(name, known)
            for metric, setting in SETTING_OF.items():
                if name in metric_files(path.parent, setting) and metric in known:
                    rest = f"The number that {setting}: {name} measures is called {metric}."
            faults.append(SuiteError(f"{path}: {key_path}: found '{name}'. {rest}"))
    raise_all(faults, SuiteError)


def _named_by_comparisons(suite: Suite, metrics: list[str], settings: list[str]) -> NamedChecks:
    named: NamedChecks = []
    for comparison in suite.compare:
        at = comparison.key_path
        named.append((at("metric"), comparison.metric, metrics))
        named += [(at(k), getattr(comparison, k), settings) for k in ("argmax", "std_over")]
        for key in ("where", "gain_over", "baseline"):
            cells = getattr(comparison, key)
            named += [(at(f"{key}.{name}"), name, settings) for name in cells]
    return named


def _named_by_figures(suite: Suite, settings: list[str], metrics: list[str]) -> NamedChecks:
    named: NamedChecks = []
    recorded = [*metrics, *(name for kind in _kinds(suite) for name in CELLS[kind].of_history)]
    for i, figure in enumerate(suite.figures):
        key_path = f"figures.{i}"
        named += [(f"{key_path}.by", name, settings) for name in figure.line_names]
        named += [(f"{key_path}.panels", name, settings) for name in figure.panel_names]
        named += _named_by_choice(key_path, figure, settings)
        named.append((f"{key_path}.noise", figure.noise, settings))
        named += [(f"{key_path}.baseline.{name}", name, settings) for name in figure.baseline]
        for k, series in enumerate(figure.series):
            named += _named_by_choice(f"{key_path}.series.{k}", series, settings)
            named.append((f"{key_path}.series.{k}.x", series.x, settings))
        if figure.kind.x in ("metric", "either"):
            across = metrics if figure.kind.x == "metric" else [*settings, *metrics]
            named += [(f"{key_path}.x", figure.x, across), (f"{key_path}.y", figure.y, metrics)]
        named.append((f"{key_path}.question", figure.question, [q.name for q in questions()]))
        if figure.kind.x == "record":
            named.append((f"{key_path}.x", figure.x, [*recorded, *TIMES]))
        if figure.kind.x == "setting":
            named.append((f"{key_path}.x", figure.x, settings))
            named.append((f"{key_path}.reference", figure.reference, settings + metrics))
        shown = {"setting": metrics, "record": recorded}.get(figure.kind.x)
        keys = ["", *(f".beside.{k}" for k in range(len(figure.beside))), ".twin"]
        for key, quantity in zip(keys, figure.quantities if shown else (), strict=False):
            named.append((f"{key_path}{key}.y", quantity.y, shown or []))
            named.append((f"{key_path}{key}.ribbon", quantity.ribbon, shown or []))
    return named


def _named_by_choice(key_path: str, choice: DrawnCells, settings: list[str]) -> NamedChecks:
    named: NamedChecks = [(f"{key_path}.where.{name}", name, settings) for name in choice.where]
    return named + [(f"{key_path}.largest", name, settings) for name in choice.largest]


def _kinds(suite: Suite) -> set[str]:
    return {suite.experiment, *(b.experiment for b in suite.grids if b.experiment)}


def _check_artifact_rows(suite: Suite, paper: Paper, path: Path) -> None:
    """What picks or lays out published rows is a key of theirs, and what picks them finds some."""
    for comparison in suite.compare:
        values = paper.artifact(comparison.artifact).values
        layout, keys = comparison.layout, sorted({k for v in values for k in v.settings})
        for name in [*layout.rows, layout.columns] if layout and values else ():
            if name not in (None, *keys):
                at = comparison.key_path("layout")
                raise SuiteError(f"{path}: {at}: found '{name}'. {choices(str(name), keys)}")
        if values and not any(is_spoken_of(value, comparison, ()) for value in values):
            raise SuiteError(
                f"{path}: {comparison.key_path('rows')}: no published row of "
                f"{comparison.artifact} has {value_text(comparison.rows)}"
            )
    for i, figure in enumerate(suite.figures):
        values = [value for name in figure.artifacts for value in paper.artifact(name).values]
        known = sorted({suite.renamed.get(k, k) for value in values for k in value.settings})
        for name in figure.artifact_rows:
            if name not in known:
                key_path = f"{path}: figures.{i}.artifact_rows.{name}"
                raise SuiteError(f"{key_path}: found '{name}'. {choices(name, known)}")


def _check_row_keys(suite: Suite, paper: Paper, path: Path) -> None:
    """Every key of a published row names a setting, or the suite says that it names none."""
    settings = sorted({name for kind in _kinds(suite) for name in CELLS[kind].setting_names()})
    for comparison in suite.compare:
        for value in paper.artifact(comparison.artifact).values:
            for key in value.row_settings:
                name = suite.renamed.get(key, key)
                if name not in settings and key not in comparison.unmatched:
                    raise SuiteError(
                        f"{path}: {comparison.block}: the rows of {comparison.artifact} have the "
                        f"key '{key}', which names no setting; rename it under `renamed` or list "
                        f"it under `unmatched`. {choices(key, settings)}"
                    )
