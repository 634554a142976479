"""Verdicts of checks in words."""

from typing import Any

from bench.analysis.claims import Judged
from bench.report.effect_words import sides_words


def effect_text(judged: Judged) -> str:
    """Return the effect that decides, its interval, and of how many it is the least favourable."""
    effect = judged.effect
    if effect is None:
        return ""
    of = f", least favourable of {judged.groups}" if judged.groups > 1 else ""
    mean = f"{sides_words(judged.sides)}{effect.mean:.3g}"
    if effect.low is None or effect.high is None:
        return f"{mean}{of}"
    return f"{mean} [{effect.low:.3g}, {effect.high:.3g}]{of}"


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


def room_text(room: dict[str, Any] | None) -> str:
    """Return the floor and the ceiling of a row of `bench claims --json`, where it has them."""
    return "" if room is None else f"floor {room['floor']:.1f}, ceiling {room['ceiling']:.1f}"
