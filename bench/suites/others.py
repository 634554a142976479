"""Numbers of other projects for a suite: matching rows, and effects computed from them.

A number of another project is a *counterpart* of a published row if method, loss, data set, metric
and all settings that distinguish the row from its neighbours agree. All other settings that the
paper states are compared like those of our cells. Differences are listed. Settings that the source
does not state count as unknown, not as equal.

Differences are computed within one source only. An *effect* is a difference between numbers that
differ only in the settings of the check's sides. A *contrast* differs in further settings, which
are listed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from bench.cells import CELLS
from bench.cells.axes import OWN_OF_LOSS
from bench.cells.losses import LOSS_OPTIONS, LOSSES
from bench.cells.view_recipes import view_names
from bench.errors import PublishedError, choices
from bench.papers.others import UNKNOWN, OthersRow, others, read_source
from bench.papers.reader import Paper, PublishedValue, Statement
from bench.papers.vocabulary import remark_keys, vocabulary
from bench.suites.checks import Check, Exceeds
from bench.suites.facts import agrees, fact_names, stated_text, view_facts
from bench.suites.presets import load_presets, paper_presets
from bench.suites.printed_effects import PrintedEffect, printed_points, wanted_settings
from bench.suites.protocol import Departure, stated_concerning, stated_of, stated_settings
from bench.suites.suite import Comparison, Settings, Suite, axis_values
from bench.text import value_text

IDENTITY = ("method", "loss", "dataset")
"""Settings that a counterpart must state with the published value."""
_OF_ENCODER = {"epochs", "batch_size", "lr", "base_lr", "weight_decay", "lr_schedule"}
"""Settings of a pretraining that its detector has under the same names, see `facts`."""
CORE = ("arch", "epochs", "batch_size", "knn_k", "features", "schedule", "label_fraction")
"""Settings that must be equal even in a contrast."""
ACCURACIES = ("linear_top1", "knn_top1", "online_linear_top1", "top1")
"""Metrics that may replace each other in a check; the text names the metric."""
ESSENTIAL = ("arch", "epochs", "batch_size", "tau")
"""Settings that must be known before two numbers can be said to differ in one setting alone."""
WITHOUT_TAU = ("cosine", "barlow-twins", "vicreg", "align-uniform")
"""Losses without a temperature."""
NOT_STATED = "not stated"
MOST_UNKNOWN = 3  # settings that are named; of more only how many
SAME = 0.06  # points: the same number of one project, with more digits elsewhere
Facts = frozenset[tuple[str, str]]


class Counterpart(NamedTuple):
    """A number of another project that matches a published row."""

    row: OthersRow
    differences: list[str]  # from what the paper states, in words
    unknown: list[str]  # names of settings that the paper states and the source does not

    @property
    def protocol(self) -> str:
        """Differences between its protocol and the paper's, as text."""
        parts = ["; ".join(self.differences) or "nothing stated"]
        if len(self.unknown) > MOST_UNKNOWN:
            parts.append(f"{len(self.unknown)} settings not stated")
        elif self.unknown:
            parts.append(f"not stated: {', '.join(self.unknown)}")
        return "; ".join(parts)

    def protocol_record(self) -> dict[str, Any]:
        """Return the comparison of its protocol with the paper's, for `--json`."""
        differing = {"differences": self.differences, "unknown": self.unknown}
        return differing | {"protocol": self.protocol}

    def record(self) -> dict[str, Any]:
        """Return its record for `--json`: the number, and the comparison of protocols."""
        return self.row.record() | self.protocol_record()


@dataclass(frozen=True)
class SourceEffect:
    """Result of one source for a check: one difference, in percentage points."""

    check: Check
    source: str
    dataset: str
    metric: str
    value: float
    rows: tuple[OthersRow, ...]
    at: Settings  # where on the axis, and what tells it from others of the source
    more: dict[str, tuple[str, str]]  # of a contrast: each further setting and its two values

    @property
    def project(self) -> str:
        """The project of the source; a project may have several sources."""
        return self.rows[0].source.project

    @property
    def is_effect(self) -> bool:
        """Whether its numbers differ only in the settings of the sides."""
        return not self.more

    @property
    def subject(self) -> str:
        """The compared sides, as text: `DCL - InfoNCE at batch size 32`."""
        said = self.check.subject.partition(", ")[2] or self.check.subject
        return said.removesuffix(", mean over all other settings")

    @property
    def more_words(self) -> str:
        """The further settings, as text: `tau 0.1 against 0.5`, `tau not stated`."""
        return ", ".join(
            f"{name} {a}" if a == b else f"{name} {a} against {b}"
            for name, (a, b) in self.more.items()
        )

    def record(self) -> dict[str, Any]:
        """Return its record for `--json`."""
        return {
            "source": self.source,
            "data": self.dataset,
            "metric": self.metric,
            "effect": self.value,
            "at": self.at,
            "is_contrast": not self.is_effect,
            "further_differences": self.more,
            "selection": self.rows[0].protocol.selection,
            "runs": [row.protocol.runs for row in self.rows],
            "rows": [row.link for row in self.rows],
        }


class EffectBeside(NamedTuple):
    """Result of a source for a published effect."""

    effect: SourceEffect
    first: Counterpart  # its first number, beside the printed row

    def record(self) -> dict[str, Any]:
        """Return its record for `--json`: the effect, and the comparison of protocols."""
        return self.effect.record() | self.first.protocol_record()


def check_source(path: Path, suites: Path) -> list[OthersRow]:
    """Return the rows of a file after checking all names.

    Args:
        path: the file.
        suites: the folder of suites, which may have presets next to it.

    Raises:
        PublishedError: a row has an unknown method, loss, metric or setting.
    """
    rows = read_source(path)
    methods = load_presets(suites)
    for row in rows:
        named = [
            ("method", row.settings["method"], methods),
            ("loss", row.settings["loss"], LOSSES),
            ("metric", row.metric, _metrics()),
            *(("setting", name, _settings()) for name in row.settings),
        ]
        for what, name, known in named:
            if name not in known:
                hint = choices(str(name), sorted(known))
                raise PublishedError(
                    f"{path}: rows.{row.position}: there is no {what} '{name}'. {hint}"
                )
    return rows


@cache
def _metrics() -> frozenset[str]:
    known = {metric for kind in CELLS.values() for metric in kind.metrics}
    return frozenset(known | vocabulary().metrics_of_others.keys())


@cache
def _settings() -> frozenset[str]:
    return fact_names() | remark_keys() | vocabulary().of_others.keys() | set(IDENTITY)


def row_facts(row: OthersRow) -> dict[str, Any]:
    """Return the settings of a number under the names of cells; see `facts`."""
    known = dict(row.settings)
    if known.get("views") in view_names():
        known = view_facts(known["views"], 1.0, False) | known
    if "detect_dataset" in known:
        for name in _OF_ENCODER & known.keys():
            del known[name]
        known |= {"pretrain_dataset": row.settings.get("dataset"), "dataset": row.dataset}
    if "lr" in known and "base_lr" not in known and "batch_size" in known:
        known["base_lr"] = known["lr"] * 256 / known["batch_size"]
        known.setdefault("lr_scaling", "linear")
    if row.metric.startswith("linear"):
        known["linear"] = UNKNOWN
    return known


def counterparts(
    value: PublishedValue,
    comparison: Comparison,
    suite: Suite,
    paper: Paper,
    rows: Sequence[OthersRow] | None = None,
) -> list[Counterpart]:
    """Return the numbers of other projects that match a published row.

    Args:
        value: the published number.
        comparison: the comparison of the suite that uses the row.
        suite: the suite.
        paper: the paper.
        rows: the numbers; default: all included sources.
    """
    wanted = wanted_settings(value, comparison, suite)
    statements = stated_settings(suite, paper, paper.artifact(value.artifact))
    identity = identity_of(wanted, suite, statements)
    telling = {suite.renamed.get(k, k) for k in value.row_settings} - {*comparison.unmatched}
    metric = comparison.metric
    candidates = _known_rows(metric) if rows is None else _with_facts(metric, rows)
    return [
        _counterpart(row, known, statements)
        for row, known in candidates
        if all(_has(known, name, v) for name, v in identity.items())
        and all(_has(known, name, wanted[name]) for name in telling & wanted.keys())
        and all(name not in known or agrees(known[name], v) for name, v in wanted.items())
    ]


OtherRow = tuple[str, int]  # artifact and row of a published number


class WithOthers(NamedTuple):
    """A published number with matching numbers of other projects."""

    value: PublishedValue
    metric: str  # of the cells
    others: list[Counterpart]


def beside(paper: Paper, artifact: str, suites: Iterable[Suite]) -> list[WithOthers]:
    """Return the published numbers of an artifact with counterparts, in paper order.

    Args:
        paper: the paper.
        artifact: id of its table, figure or text.
        suites: suites of the paper; the first that compares a number counts.
    """
    found: dict[OtherRow, WithOthers] = {}
    for suite in suites:
        found = numbers_beside(suite, paper, artifact) | found
    return [found[row] for row in sorted(found) if found[row].others]


def numbers_beside(
    suite: Suite, paper: Paper, artifact: str | None = None
) -> dict[OtherRow, WithOthers]:
    """Return the published numbers that a suite compares, with counterparts if any.

    Args:
        suite: suite whose comparisons use the numbers.
        paper: the suite's paper.
        artifact: restrict to this artifact; None means all.
    """
    found: dict[OtherRow, WithOthers] = {}
    for comparison, value in printed_points(suite, paper):
        row = value.artifact, value.row
        if artifact in (None, value.artifact) and not comparison.gain_over and row not in found:
            others_here = counterparts(value, comparison, suite, paper)
            found[row] = WithOthers(value, comparison.metric, others_here)
    return found


def identity_of(wanted: Settings, suite: Suite, statements: Sequence[Statement]) -> dict[str, Any]:
    """Return method, loss and data set of a published row, from the row, suite or paper.

    Args:
        wanted: the settings of the row's cells.
        suite: the suite.
        statements: the paper's statements on the row's artifact.
    """
    known = stated_of(wanted, statements) | suite.fixed | wanted
    preset = paper_presets().get(str(known.get("method")))
    if preset and "loss" in preset.settings:
        known = {"loss": preset.settings["loss"]} | known
    known["dataset"] = known.get("detect_dataset", known.get("dataset"))
    return {name: known.get(name) for name in IDENTITY}


def _counterpart(
    row: OthersRow, known: Mapping[str, Any], statements: Sequence[Statement]
) -> Counterpart:
    differences, unknown = [], []
    for name, stated in stated_concerning(known, statements, row.metric).items():
        if name not in known or known[name] == UNKNOWN:
            unknown.append(name)
        elif not agrees(known[name], stated):
            mine = [stated_text(known[name])]
            differences.append(Departure(name, mine, stated_text(stated), impossible=False).text)
    return Counterpart(row, differences, unknown)


@cache
def _known_rows(metric: str) -> list[tuple[OthersRow, dict[str, Any]]]:
    return _with_facts(metric, _merged())


def _with_facts(metric: str, rows: Iterable[OthersRow]) -> list[tuple[OthersRow, dict[str, Any]]]:
    return [(row, row_facts(row)) for row in rows if row.metric == metric]


@cache
def _merged() -> list[OthersRow]:
    """Return all rows, numbers of several trials as their mean."""
    trials: dict[tuple[str, Facts, str, str], list[OthersRow]] = {}
    rows = []
    for row in others():
        if row.trial is None:
            rows.append(row)
        else:
            key = (row.source.id, _key(row.settings), row.metric, row.commit)
            trials.setdefault(key, []).append(row)
    for alike in trials.values():
        protocol = alike[0].protocol.model_copy(update={"runs": len(alike)})
        mean = fmean(row.value for row in alike)
        rows.append(replace(alike[0], value=mean, protocol=protocol, trial=None))
    return rows


def _has(known: Mapping[str, Any], name: str, value: Any) -> bool:
    return name in known and known[name] != UNKNOWN and agrees(known[name], value)


def objectives_of(suite: Suite) -> frozenset[tuple[str, str]]:
    """Return the methods of a suite, each with its losses or the preset's loss."""
    values, presets = axis_values(suite), paper_presets()
    losses = {str(loss) for loss in values.get("loss", set()) if loss is not None}
    return frozenset(
        (str(method), str(loss))
        for method in values.get("method", set())
        if method in presets
        for loss in losses | {presets[str(method)].settings.get("loss")}
    )


def source_effects(
    check: Check, objectives: Iterable[tuple[str, str]], metrics: Sequence[str] | None = None
) -> list[SourceEffect]:
    """Return the effects of a check in other projects' numbers, by source.

    Args:
        check: the check, which defines the compared settings.
        objectives: allowed methods and losses, see `objectives_of`.
        metrics: allowed metrics; None means the check's metric and, for accuracies, similar ones.
    """
    if len(check.metrics) > 1 or check.at is not None:
        return []  # no source has histories, or two metrics of one training
    allowed, found = set(objectives), list[SourceEffect]()
    alike = ACCURACIES if check.metric in ACCURACIES else (check.metric,)
    for metric in alike if metrics is None else metrics:
        by_source: dict[str, list[tuple[OthersRow, dict[str, Any]]]] = {}
        for row, known in _known_rows(metric):
            if (known["method"], known["loss"]) in allowed:
                by_source.setdefault(row.source.id, []).append((row, known))
        for rows in by_source.values():
            found += [e for e in _effects(check, rows) if not any(_is_same(e, f) for f in found)]
    return found


def _is_same(a: SourceEffect, b: SourceEffect) -> bool:
    """Whether two effects are one measurement that a project has in two places."""
    if a.project != b.project or (a.dataset, a.metric) != (b.dataset, b.metric):
        return False
    alike = all(
        abs(mine.value - theirs.value) <= SAME
        and all(mine.settings.get(n) == theirs.settings.get(n) for n in ("epochs", "batch_size"))
        for mine, theirs in zip(a.rows, b.rows, strict=False)
    )
    return alike and len(a.rows) == len(b.rows)


def effects_beside(effect: PrintedEffect, suite: Suite, paper: Paper) -> list[EffectBeside]:
    """Return other projects' results for a published effect, by source.

    The data set, metric and settings of both sides are those of the published rows.

    Args:
        effect: effect or printed gain of the paper.
        suite: the suite.
        paper: the paper.
    """
    statements = stated_settings(suite, paper, paper.artifact(effect.value.artifact))
    rows = effect.settings, effect.settings | effect.over
    identities = [identity_of(row, suite, statements) for row in rows]
    where, than = ({n: v for n, v in row.items() if _is_given(n, v)} for row in rows)
    metric = effect.comparison.metric
    check = Exceeds(check="exceeds", metric=metric, where=where, than=than)
    objectives = [(str(one["method"]), str(one["loss"])) for one in identities]
    return [
        EffectBeside(found, _counterpart(found.rows[0], row_facts(found.rows[0]), statements))
        for found in source_effects(check, objectives, [metric])
        if found.dataset == identities[0]["dataset"]
    ]


def _is_given(name: str, value: Any) -> bool:
    """Whether a source has to have a setting: an option that a loss does not have is nowhere."""
    return value is not None or name not in OWN_OF_LOSS


def _effects(check: Check, rows: Sequence[tuple[OthersRow, dict[str, Any]]]) -> list[SourceEffect]:
    named, over = {name for side in check.sides for name in side}, check.along
    if over is not None:
        named.add(over)
    sides: list[dict[Facts, dict[Any, OthersRow]]] = []
    for side in check.sides:
        of_side: dict[Facts, dict[Any, OthersRow]] = {}
        for row, known in rows:
            along = known.get(over) if over else None
            if (along is not None) == bool(over) and all(
                _has(known, n, v) for n, v in side.items()
            ):
                of_side.setdefault(_rest(row, named), {})[along] = row
        sides.append(of_side)
    keys = set(sides[0]).intersection(*sides[1:])
    found = [
        effect
        for key in sorted(keys, key=sorted)
        for effect in _exact(check, [side[key] for side in sides], named)
    ]
    if over is None and len(sides) == 2:
        found += _contrasts(check, [_without(side, keys) for side in sides], named)
    return found


def _exact(
    check: Check, series: Sequence[Mapping[Any, OthersRow]], named: set[str]
) -> list[SourceEffect]:
    found = []
    for effect in check.effects(list(series)):
        rows = [series[w.side][w.at] for w in effect.weights]
        value = sum(w.weight * row.value for w, row in zip(effect.weights, rows, strict=True))
        at = _telling(rows[0], named) | check.place(effect)
        found.append(_effect(check, value - check.offset, rows, at, _open(rows[0], named)))
    return found


def _contrasts(
    check: Check, sides: Sequence[Mapping[Facts, Mapping[Any, OthersRow]]], named: set[str]
) -> list[SourceEffect]:
    """Return each number of the first side over the one of the second that is most like it."""
    found = []
    for key, ours in sides[0].items():
        row = ours[None]
        near = [
            (len(key ^ other), theirs[None])
            for other, theirs in sides[1].items()
            if _is_core_equal(row, theirs[None], named)
        ]
        if near:
            partner = min(near, key=lambda pair: pair[0])[1]
            value = row.value - partner.value - check.offset
            more = _more(row, partner, named)
            found.append(_effect(check, value, [row, partner], _telling(row, named), more))
    return found


def _effect(
    check: Check,
    value: float,
    rows: Sequence[OthersRow],
    at: Settings,
    more: dict[str, tuple[str, str]],
) -> SourceEffect:
    first = rows[0]
    return SourceEffect(
        check, first.source.id, first.dataset, first.metric, round(value, 3),
        tuple({id(row): row for row in rows}.values()), at, more,
    )  # fmt: skip


def _open(row: OthersRow, named: set[str]) -> dict[str, tuple[str, str]]:
    """Return the settings that may differ all the same, since the source does not state them."""
    missing = [name for name in ESSENTIAL if name not in named and name not in row.settings]
    if row.settings["loss"] in WITHOUT_TAU and "tau" in missing:
        missing.remove("tau")
    return {name: (NOT_STATED, NOT_STATED) for name in missing}


def _without(
    side: Mapping[Facts, Mapping[Any, OthersRow]], keys: set[Facts]
) -> dict[Facts, Mapping[Any, OthersRow]]:
    return {key: rows for key, rows in side.items() if key not in keys}


def _telling(row: OthersRow, named: set[str]) -> Settings:
    """Return the settings that a reader needs next to a number: size of batch, epochs, tau."""
    wanted = ("arch", "epochs", "batch_size", "tau", "K", "label_fraction")
    return {n: row.settings[n] for n in wanted if n in row.settings and n not in named}


def _is_core_equal(a: OthersRow, b: OthersRow, named: set[str]) -> bool:
    same = a.dataset == b.dataset and a.protocol.selection == b.protocol.selection
    return same and all(a.settings.get(n) == b.settings.get(n) for n in {*CORE} - named)


def _more(a: OthersRow, b: OthersRow, named: set[str]) -> dict[str, tuple[str, str]]:
    mine, theirs = (_compared(row, named) | {"code": row.commit[:8]} for row in (a, b))
    found = _open(a, named)
    for name in sorted(mine.keys() | theirs.keys()):
        if mine.get(name) != theirs.get(name):
            found[name] = _words(mine, name), _words(theirs, name)
    return found


def _words(settings: Mapping[str, Any], name: str) -> str:
    return value_text(settings[name]) if name in settings else NOT_STATED


def _rest(row: OthersRow, named: set[str]) -> Facts:
    """Return what two numbers have in common that differ in the named settings alone."""
    more = {"data": row.dataset, "selection": row.protocol.selection, "code": row.commit}
    return _key(_compared(row, named) | more)


def _compared(row: OthersRow, named: set[str]) -> dict[str, Any]:
    """Return the settings that must agree: no remarks, not the options of a loss that is named."""
    options = LOSS_OPTIONS.get(str(row.settings["loss"]), {}) if "loss" in named else {}
    left_out = {*named, *remark_keys(), *options}
    if "loss" not in named and "method" in named:
        left_out.add("loss")  # that of the method
    return {name: v for name, v in row.settings.items() if name not in left_out}


def _key(settings: Mapping[str, Any]) -> Facts:
    return frozenset((name, value_text(value)) for name, value in settings.items())
