"""Table of published and measured effects of one artifact."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.analysis.compared_effects import (
    ComparedEffect,
    OtherEffect,
    shown_effects,
    varied_settings,
)
from bench.analysis.verdicts import Verdict
from bench.report.paper_table import metric_head
from bench.report.tables import Entry, Table, number, setting_entry, signed, slug
from bench.suites.metric_words import metric_title

EFFECTS_LEGEND = (
    "An effect is a difference between two values, in the unit "
    "of the metric. A published effect is the difference between "
    "two published values, or a difference that the paper "
    "states. A measured effect is the difference between two "
    "means over seeds. The minimum detectable effect is the "
    "effect whose 95 % interval would exclude 0 in four of five "
    f"repetitions. The verdict '{Verdict.SAME}' means that the 95 % interval of the measured "
    "effect includes the published effect within rounding and excludes 0; if the published effect "
    f"is 0, the interval lies within rounding of 0. The verdicts '{Verdict.SMALLER}' and "
    f"'{Verdict.LARGER}' mean that the whole 95 % interval of the measured effect lies below or "
    f"above the published effect. For the verdicts '{Verdict.SMALLER}' and '{Verdict.LARGER}', the "
    "direction of the published effect counts as positive. The verdict "
    f"'{Verdict.CANNOT_TELL}' means that the 95 % interval of the measured effect includes 0 and "
    "the published effect"
)
OTHER_DATA = "On other data"
LEAST_DECIMALS = 2  # of measured effects


@dataclass(frozen=True)
class ArtifactEffects:
    """The effects of an artifact for its figure and table."""

    rows: list[ComparedEffect]
    table: Table  # whose name the figure has too


def artifact_effects(effects: Sequence[ComparedEffect]) -> dict[str, ArtifactEffects]:
    """Return the effects of each artifact with a measured effect."""
    by_artifact: dict[str, list[ComparedEffect]] = {}
    for effect in effects:
        by_artifact.setdefault(effect.artifact, []).append(effect)
    tables = {name: effects_table(rows) for name, rows in by_artifact.items()}
    return {
        name: ArtifactEffects(rows, table)
        for name, rows in by_artifact.items()
        if (table := tables[name]) is not None
    }


def effects_table(effects: Sequence[ComparedEffect]) -> Table | None:
    """Return the table of an artifact's effects at one or more scales; None if none is measured."""
    rows = shown_effects(effects)
    if not rows:
        return None
    settings = varied_settings(rows)
    decimals = max(LEAST_DECIMALS, *(row.printed.decimals for row in rows if row.printed))
    texts = {
        "effect": [row.contrast for row in rows],
        "metric": [metric_head(row.metric) for row in rows],
        "scale": [row.scale if row.measured else "" for row in rows],
    }
    one = {head: only for head, column in texts.items() if (only := _only(column)) is not None}
    before = [head for head in ("effect", "metric") if head not in one]
    after = [head for head in ("scale",) if head not in one]
    replaced = [_replaced(row) for row in rows]
    last = ["replaced at this scale"] if any(replaced) else []
    heads = [
        *before, *settings, "published", *after, "measured [95 % interval]", "seeds",
        "minimum detectable", "verdict", *last,
    ]  # fmt: skip
    lines = [
        [
            *(Entry(texts[head][i]) for head in before),
            *(setting_entry(row.at.get(name)) for name in settings),
            _published(row),
            *(Entry(texts[head][i]) for head in after),
            *_measured(row, decimals),
            *(Entry(replaced[i]) for _ in last),
        ]
        for i, row in enumerate(rows)
    ]
    name, title = slug(f"effects {rows[0].artifact}"), _title(rows[0], one)
    return Table(name, title, heads, lines, [])


def other_data_table(effects: Sequence[OtherEffect]) -> Table:
    """Return the table of effects on data sets that the paper does not use; without verdicts."""
    rows = [one.effect for one in effects]
    settings = varied_settings(rows)
    heads = ["effect", "metric", "data", *settings, "measured [95 % interval]", "seeds"]
    lines = [
        [
            Entry(row.contrast),
            Entry(metric_head(row.stand_in or row.metric)),
            Entry(str(row.data[1])),
            *(setting_entry(row.at.get(name)) for name in settings),
            *_measured(row, LEAST_DECIMALS)[:2],
            Entry(", ".join(one.artifacts)),
        ]
        for one, row in zip(effects, rows, strict=True)
    ]
    title = "Effects measured on data that the published numbers do not use; they have no verdict"
    return Table(slug(OTHER_DATA), title, [*heads, "related to"], lines)


def _replaced(row: ComparedEffect) -> str:
    """Return the metric and the settings of a reduced scale that replace the paper's."""
    if row.measured is None:
        return ""
    metrics = [metric_title(metric) for metric in (row.stand_in, row.metric) if metric]
    return "; ".join([" instead of ".join(metrics)] * bool(row.stand_in) + [*row.replaced])


def _only(values: Sequence[str]) -> str | None:
    """Return the one value that stands in all rows, if it is one."""
    distinct = {value for value in values if value}
    return distinct.pop() if len(distinct) == 1 else None


def _title(row: ComparedEffect, one: dict[str, str]) -> str:
    title = f"{row.paper}/{row.artifact}: effect"
    title += f" of {one['effect']}" if "effect" in one else ""
    title += f" on {one['metric']}" if "metric" in one else ""
    return title + (f", scale {one['scale']}" if "scale" in one else "")


def _published(row: ComparedEffect) -> Entry:
    if row.printed is None:
        return Entry("")
    value, base = row.printed.value, row.printed.base
    places = [f"{v.paper}/{v.artifact}, row {v.row + 1}" for v in (value, base) if v]
    text = signed(row.printed.number, row.printed.decimals)
    return Entry(text, number=row.printed.number, row=" less ".join(places))


def _measured(row: ComparedEffect, decimals: int) -> list[Entry]:
    """Return the measured effect, its seeds, the minimum detectable one, and the verdict."""
    estimate, smallest = row.measured, row.smallest_effect
    found, why = row.judged
    verdict = Entry(f"{found}: {why}" if found == Verdict.CANNOT_TELL and why else str(found or ""))
    if estimate is None:
        return [Entry(""), Entry(""), Entry(""), verdict]
    text = signed(estimate.mean, decimals)
    if estimate.low is not None and estimate.high is not None:
        text += f" [{signed(estimate.low, decimals)}, {signed(estimate.high, decimals)}]"
    return [
        Entry(text, number=estimate.mean, cells=row.cells),
        Entry(str(estimate.n), number=estimate.n),
        Entry("") if smallest is None else Entry(number(smallest, decimals), number=smallest),
        verdict,
    ]
