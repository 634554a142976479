"""Checks of claims as text: the effect, the published effect and the verdict."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.analysis.claims import Judged
from bench.suites.checks import SETTINGS, Where, settings_words
from bench.suites.metric_words import metric_words
from bench.text import number_words, value_text


def effect_words(record: Mapping[str, Any]) -> str:
    """Return a row of `bench claims --json` as text; empty without an effect.

    Example: `linear accuracy, DCL - InfoNCE at batch size 32: +0.4 [-1.1, 1.8] points (95 %
    interval; holds if above 0), n = 5 (seed variance separate, 7.8 degrees of freedom); paper +4.8;
    minimum detectable effect 1.2`.
    """
    if record["effect"] is None:
        return ""
    n = record["groups"]
    worst = f", the worst of {n} comparisons" if n > 1 else ""
    worst += f" ({group_words(record['group'])})" if record["group"] else ""
    unit, sides = record["unit"], sides_words(record["sides"])
    number = sides + _number(record)
    text = f"{record['subject']}{worst}: {number}{' ' * bool(unit)}{unit}"
    level = "" if record["low"] is None else f"{100 * record['level']:.0f} % interval; "
    spread = _spread_words(record)
    parts = [f"{text} ({level}holds if {record['required']}), n = {record['n']}{spread}"]
    if others := record["others"]:
        words = ", ".join(_other_words(other, record["threshold"]) for other in others)
        parts.append(f"related effects: {words}")
    if record["published_words"]:
        parts.append(record["published_words"])
    if seen := record["smallest_effect"]:
        what = "effect" if record["threshold"] == 0 else "distance from the threshold"
        parts.append(f"minimum detectable {what} {seen:.2g}")
    return "; ".join(parts)


def short_words(judged: Judged) -> str:
    """Return what a check measured and requires, without statistics; empty without an effect.

    Example: `linear accuracy, DCL - InfoNCE at batch size 32: +0.4 [-1.1, 1.8] points (holds if
    above 0)`.
    """
    record = judged.record()
    if record["effect"] is None:
        return ""
    number = _number(record)
    unit = f" {record['unit']}" if record["unit"] else ""
    return f"{record['subject']}: {number}{unit} (holds if {record['required']})"


def _number(record: Mapping[str, Any]) -> str:
    """Return the effect with its interval, no end of which is rounded to the threshold."""
    return number_words(record["effect"], record["low"], record["high"], record["threshold"])


def _spread_words(record: Mapping[str, Any]) -> str:
    """Return where the standard error comes from; empty without one."""
    if record["freedom"] is None:
        return ""
    return f" (seed variance {record['spread']}, {record['freedom']:.2g} degrees of freedom)"


def _other_words(other: Mapping[str, Any], threshold: float) -> str:
    effect = number_words(other["effect"], other["low"], other["high"], threshold)
    return f"{group_words(other['settings'])} {effect}"


def group_words(settings: Where) -> str:
    """Return what distinguishes a group as text: its settings and its position on an axis."""
    plain = {name: value for name, value in settings.items() if not isinstance(value, list)}
    ends = [
        f"{SETTINGS.get(name, name)} {value_text(value, joined_by=' to ')}"
        for name, value in settings.items()
        if isinstance(value, list)
    ]
    return ", ".join([settings_words(plain)] * bool(plain) + ends)


def sides_words(sides: Sequence[float] | None) -> str:
    """Return the two numbers of a difference as text: `1.1 - 0.7 = `; empty without them."""
    return "" if sides is None else f"{sides[0]:.3g} - {sides[1]:.3g} = "


def effect_lines(judged: Judged) -> list[str]:
    """Return the deciding effect with the number of effects, and a few other effects."""
    record = judged.record()
    if record["effect"] is None:
        return []
    of = f", worst of {record['groups']}" if record["groups"] > 1 else ""
    of += f" ({group_words(record['group'])})" if record["group"] else ""
    own = f"{sides_words(record['sides'])}{_number(record)}{of}"
    return [own, *(_other_words(other, record["threshold"]) for other in record["others"])]


def seeds_text(judged: Judged) -> str:
    """Return the number of seeds, the variance estimate and its degrees of freedom, as text."""
    n = judged.effect.n if judged.effect else 0
    return str(n) if judged.freedom is None else f"{n} ({judged.spread}, {judged.freedom:.2g})"


def seen_text(judged: Judged) -> str:
    """Return the minimum detectable effect (80 % power) as text; empty without seeds."""
    return "" if judged.smallest_effect is None else f"{judged.smallest_effect:.2g}"


def remark_text(judged: Judged) -> str:
    """Return further remarks on a verdict: what it excludes and what it depends on."""
    part, stand_in, room = judged.check.part, judged.stand_in_for, judged.room
    unknown = judged.check.metric.endswith("top1") and judged.effect and not judged.missing
    no_floor = "the accuracies of raw pixels and of an untrained network are unknown"
    remarks = [
        judged.missing,
        judged.why,
        f"tests only this part of the claim: {part}" if part else None,
        f"the paper's metric is {metric_words(stand_in)}" if stand_in else None,
        "this check does not count in the verdict" if judged.check.shown else None,
        room.in_words if room else no_floor if unknown else None,
    ]
    return "; ".join(text for text in remarks if text)


def notes_elsewhere(notes: Sequence[str], judged: Iterable[Sequence[Any]]) -> list[str]:
    """Return a suite's notes except those shown below a claim.

    Args:
        notes: notes of the suite.
        judged: text, verdict and checks of each claim.
    """
    below = {note for *_, rows in judged for note in rows[0].notes}
    return [note for note in notes if note not in below]


def room_text(room: dict[str, Any] | None) -> str:
    """Return trivial baseline and supervised accuracy of a row of `bench claims --json`, if any."""
    if room is None:
        return ""
    return f"trivial baseline {room['floor']:.1f}, supervised {room['ceiling']:.1f}"
