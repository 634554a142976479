"""What a measured effect says beside the printed one."""

from enum import StrEnum

from bench.analysis.statistics import Interval


class Outcome(StrEnum):
    """What a measured effect says beside the printed one."""

    SAME = "same direction"  # the interval lies on the printed effect's side of 0 and holds it
    SMALLER = "same direction, smaller"  # the interval lies between 0 and the printed effect
    LARGER = "same direction, larger"
    OPPOSITE = "opposite direction"
    NONE = "none, as printed"  # printed as 0, and the interval is no further from it than rounding
    NONE_PRINTED = "none printed"  # printed as 0, and the interval lies beside it
    NOT_SEEN = "no effect of this size"  # it holds 0 and not the printed effect
    CANNOT_TELL = "cannot tell"  # it holds both
    SINGLE_RUN = "single run"
    NOT_JUDGED = "not judged"  # a side did not learn, or there is no room above what it starts from
    NOT_MEASURED = "not measured"


def outcome_of(printed: float, half_unit: float, measured: Interval) -> Outcome:
    """Return what a measured effect says beside a printed one.

    Args:
        printed: the printed effect.
        half_unit: how much of it rounding may have hidden.
        measured: the measured one with its interval.
    """
    if measured.low is None or measured.high is None:
        return Outcome.SINGLE_RUN
    is_none = abs(printed) < half_unit / 2
    if is_none and max(-measured.low, measured.high) <= half_unit:
        return Outcome.NONE
    if measured.low <= 0 <= measured.high:
        holds = measured.low - half_unit <= printed <= measured.high + half_unit
        return Outcome.CANNOT_TELL if holds else Outcome.NOT_SEEN
    if is_none:
        return Outcome.NONE_PRINTED
    if (printed > 0) != (measured.low > 0):
        return Outcome.OPPOSITE
    nearest, furthest = sorted((abs(measured.low), abs(measured.high)))
    if abs(printed) - half_unit > furthest:
        return Outcome.SMALLER
    return Outcome.LARGER if abs(printed) + half_unit < nearest else Outcome.SAME
