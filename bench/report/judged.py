"""Verdicts of checks in words."""

from collections.abc import Iterable, Sequence
from typing import Any

from bench.analysis.claims import Judged
from bench.analysis.statistics import Interval
from bench.report.effect_words import group_words, sides_words


def effect_lines(judged: Judged) -> list[str]:
    """Return the effect that decides, of how many it is the least favourable; and few others."""
    effect = judged.effect
    if effect is None:
        return []
    of = f", least favourable of {judged.groups}" if judged.groups > 1 else ""
    of += f" ({group_words(judged.group)})" if judged.group else ""
    own = f"{sides_words(judged.sides)}{_interval_text(effect)}{of}"
    return [own, *(f"{group_words(of)} {_interval_text(e)}" for of, e in judged.others)]


def _interval_text(effect: Interval) -> str:
    if effect.low is None or effect.high is None:
        return f"{effect.mean:.3g}"
    return f"{effect.mean:.3g} [{effect.low:.3g}, {effect.high:.3g}]"


def seeds_text(judged: Judged) -> str:
    """Return the number of seeds, how their spread was estimated and its degrees of freedom."""
    n = judged.effect.n if judged.effect else 0
    return str(n) if judged.freedom is None else f"{n} ({judged.spread}, {judged.freedom:.2g})"


def seen_text(judged: Judged) -> str:
    """Return the smallest effect that the check sees four times in five; empty without seeds."""
    return "" if judged.smallest_effect is None else f"{judged.smallest_effect:.2g}"


def remark_text(judged: Judged) -> str:
    """Return what else has to be known of a verdict: what it leaves out and what it rests on."""
    part, stand_in, room = judged.check.part, judged.stand_in_for, judged.room
    unknown = judged.check.metric.endswith("top1") and judged.effect and not judged.missing
    remarks = [
        judged.missing,
        judged.why,
        f"tests only this part of the claim: {part}" if part else None,
        f"stands in for {stand_in}" if stand_in else None,
        "not counted in the verdict" if judged.check.shown else None,
        room.in_words if room else "accuracy without learning unknown" if unknown else None,
    ]
    return "; ".join(text for text in remarks if text)


def notes_elsewhere(notes: Sequence[str], judged: Iterable[Sequence[Any]]) -> list[str]:
    """Return a suite's notes but for those that stand below a claim.

    Args:
        notes: of the suite.
        judged: of each claim its text, its verdict and its checks.
    """
    below = {note for *_, rows in judged for note in rows[0].notes}
    return [note for note in notes if note not in below]


def room_text(room: dict[str, Any] | None) -> str:
    """Return the floor and the ceiling of a row of `bench claims --json`, where it has them."""
    return "" if room is None else f"floor {room['floor']:.1f}, ceiling {room['ceiling']:.1f}"
