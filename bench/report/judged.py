"""Checks of claims and their effects in words."""

from bench.analysis.claims import Judged
from bench.suites.checks import Check
from bench.text import value_text


def check_text(check: Check) -> str:
    """Return a check in words."""
    hidden = {"check", "metric", "where"}
    fields = check.model_dump(exclude=hidden, exclude_none=True, exclude_defaults=True)
    told = ", ".join(
        f"{name} {value_text(value, joined_by=' to ')}" for name, value in fields.items()
    )
    where = f" where {value_text(check.where)}" if check.where else ""
    return f"`{check.metric}` {check.check} ({told}){where}"


def effect_text(judged: Judged) -> str:
    """Return the effect that decides, its interval, and of how many groups it is the worst."""
    effect = judged.effect
    if effect is None:
        return ""
    of = f", worst of {judged.groups}" if judged.groups > 1 else ""
    if effect.low is None or effect.high is None:
        return f"{effect.mean:.3g}{of}"
    return f"{effect.mean:.3g} [{effect.low:.3g}, {effect.high:.3g}]{of}"
