"""The effect of a claim's check in words: what less what, how much, and beside the paper."""

from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import Any

from pydantic import TypeAdapter

from bench.suites.checks import (
    Below,
    Change,
    Check,
    Crossing,
    Equal,
    Exceeds,
    Flat,
    GainExceeds,
    GainGrows,
    MovesLess,
    Ordered,
    Peak,
    Where,
)
from bench.suites.metric_words import metric_words
from bench.text import value_text

SETTINGS = {"batch_size": "batch"}
NATS = ("mi_", "vince_bound", "infonce_bound")
MOST_DECIMALS = 6
_CHECK: TypeAdapter[Check] = TypeAdapter(Check)


def effect_words(record: Mapping[str, Any]) -> str:
    """Return a row of `bench claims --json` in words; empty where it has no effect.

    Such as `linear, dcl - infonce at batch 32: +0.4 [-1.1, 1.8] points (90 % interval; holds if
    above 0), n = 5 (spread pooled, 20 degrees of freedom); paper +4.8; smallest detectable
    effect 1.2`.
    """
    if record["effect"] is None:
        return ""
    check = _CHECK.validate_python(record["check"])
    n = record["groups"]
    worst = f", the least favourable of {n} comparisons" if n > 1 else ""
    worst += f" ({group_words(record['group'])})" if record["group"] else ""
    unit = unit_of(check)
    sides = sides_words(record["sides"])
    number = sides + number_words(record["effect"], record["low"], record["high"])
    text = f"{subject_words(check)}{worst}: {number}{' ' * bool(unit)}{unit}"
    level = "" if record["low"] is None else f"{100 * record['level']:.0f} % interval; "
    spread = _spread_words(record)
    parts = [f"{text} ({level}holds if {_expected_words(check)}), n = {record['n']}{spread}"]
    if others := record["others"]:
        parts.append(f"beside it {', '.join(map(_other_words, others))}")
    if (printed := _printed_words(check, record)) is not None:
        parts.append(printed)
    if seen := record["smallest_effect"]:
        what = "effect" if record["threshold"] == 0 else "distance from the threshold"
        parts.append(f"smallest detectable {what} {seen:.2g}")
    return "; ".join(parts)


def _spread_words(record: Mapping[str, Any]) -> str:
    """Return where the standard error comes from; empty without one."""
    if record["freedom"] is None:
        return ""
    return f" (spread {record['spread']}, {record['freedom']:.2g} degrees of freedom)"


def _other_words(other: Mapping[str, Any]) -> str:
    effect = number_words(other["effect"], other["low"], other["high"])
    return f"{group_words(other['settings'])} {effect}"


def asked_words(check: Check) -> str:
    """Return what a check asks for in words: `linear, dcl - infonce at batch 32: above 0`."""
    return f"{subject_words(check)}: {_expected_words(check)}"


def unit_of(check: Check) -> str:
    """Return the unit of a check's effects; empty where the metric has none."""
    if check.at is not None and check.at.reaches is not None:
        return "epochs"
    return unit_of_metric(check.metric)


def unit_of_metric(metric: str) -> str:
    """Return the unit of differences of a metric; empty where it has none."""
    if "_top" in metric:
        return "points"
    return "nats" if metric.startswith(NATS) or metric.endswith("loss") else ""


def subject_words(check: Check) -> str:
    """Return what a check's effect is of, in words."""
    metric = metric_words(check.metric) + _moment(check)
    pair, at = _pair(check.where, getattr(check, "than", None))
    at += ", mean over all other settings" * getattr(check, "mean", False)
    match check:
        case Exceeds() | Equal() if check.than is None:
            return f"{metric}{f' - {check.value:g}' if check.value else ''}{at}"
        case Exceeds() | Equal():
            return f"{metric}, {pair}{at}"
        case Below():
            return f"{metric} - {metric_words(check.bound)}{at}"
        case GainExceeds():
            other, other_at = _pair(check.other, check.other_than)
            return f"{metric}, ({pair}{at}) - ({other}{other_at})"
    return f"{metric}, {_along_words(check, pair)}{at}"


def _along_words(check: Check, pair: str) -> str:
    """Return what is looked at along an axis."""
    over = getattr(check, "over", "")
    over = SETTINGS.get(over, over)
    match check:
        case Ordered():
            return f"step along {over} ({check.direction} is +)"
        case Change():
            return f"change over {over} ({check.direction} is +)"
        case Peak():
            low, high = check.near
            return f"{pair}{', ' * bool(pair)}{over} {low:g} to {high:g} - elsewhere"
        case GainGrows():
            return f"growth of {pair} with {check.direction} {over}"
        case MovesLess():
            side, _, than = pair.partition(" - ")
            way = {"rising": "rise", "falling": "fall"}[check.direction]
            start = "" if check.over_from is None else f" from {check.over_from:g}"
            return f"{way} of {than} over {over}{start} - change of {side}"
        case Crossing():
            first, last = check.between
            return f"{pair}, lead at {over} {first:g} and lag at {last:g}"
    return f"change over {over}"


def _pair(where: Where, than: Where | None) -> tuple[str, str]:
    """Return the two sides as one less the other, and the settings that they share."""
    if than is None:
        return "", _at(where)
    shared = {k: v for k, v in where.items() if k in than and than[k] == v}
    ours, theirs = (
        settings_words({k: v for k, v in s.items() if k not in shared}) for s in (where, than)
    )
    return f"{ours or 'all'} - {theirs or 'all'}", _at(shared)


def _at(settings: Where) -> str:
    names = settings_words(settings)
    return f" at {names}" if names else ""


def settings_words(settings: Where) -> str:
    """Return settings in words: texts speak for themselves, numbers need their setting's name.

    What is null is left out where anything else is said.
    """
    named = {k: v for k, v in settings.items() if k != "experiment"}
    said = {k: v for k, v in named.items() if v is not None} or named
    return ", ".join(
        v if isinstance(v, str) else f"{SETTINGS.get(k, k)} {value_text(v, null='none')}"
        for k, v in said.items()
    )


def group_words(settings: Where) -> str:
    """Return what tells a group in words: its settings, and between which values of an axis."""
    plain = {name: value for name, value in settings.items() if not isinstance(value, list)}
    ends = [
        f"{SETTINGS.get(name, name)} {value_text(value, joined_by=' to ')}"
        for name, value in settings.items()
        if isinstance(value, list)
    ]
    return ", ".join([settings_words(plain)] * bool(plain) + ends)


def _moment(check: Check) -> str:
    at = check.at
    if at is None:
        return ""
    if at.reaches is not None:
        return f", first epoch at {at.reaches:g}"
    if at.area:
        return ", mean over epochs"
    return f" at epoch {at.epoch:g}" if at.epoch is not None else f" since epoch {at.since:g}"


def sides_words(sides: Sequence[float] | None) -> str:
    """Return the two numbers whose difference an effect is: `1.1 - 0.7 = `; empty without them."""
    return "" if sides is None else f"{sides[0]:.3g} - {sides[1]:.3g} = "


def number_words(mean: float, low: float | None, high: float | None) -> str:
    """Return an effect with its sign and interval, with the digits that the interval leaves.

    Args:
        mean: the effect.
        low: lower end of the interval; None: no interval.
        high: upper end of the interval; None: no interval.
    """
    if low is None or high is None:
        return f"{mean:+.3g}"
    half = (high - low) / 2
    if half < 10.0**-MOST_DECIMALS:
        return f"{mean:+.3g} [{low:.3g}, {high:.3g}]"
    decimals = 1 if half >= 1 else min(1 - floor(log10(half)), MOST_DECIMALS)
    return f"{mean:+.{decimals}f} [{low:.{decimals}f}, {high:.{decimals}f}]"


def _expected_words(check: Check) -> str:
    if isinstance(check, Flat | Equal):
        return f"within ±{check.within:g}"
    if isinstance(check, Below):
        return "at most 0"
    return f"above {getattr(check, 'by', 0.0):g}"


def _printed_words(check: Check, record: Mapping[str, Any]) -> str | None:
    """Return what the check gives on the paper's printed numbers; of several groups the least."""
    effect, of = record["printed_effect"], record["stand_in_for"]
    if effect is None or isinstance(check, Below):
        return None
    metric = f" {metric_words(of)}" if of else ""
    if isinstance(check, Flat | Equal):
        return f"paper{metric} within ±{abs(effect):.3g}"
    return f"paper{metric}{' at least' * (record['printed_groups'] > 1)} {effect:+.3g}"
