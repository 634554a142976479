"""The benchmark of verdicts' error rates runs, and sees a planted one."""

import pytest
from scipy.special import stdtr, stdtrit

from benchmarks.verdicts import SITUATIONS, judged_lines, value_lines


def test_every_situation_is_judged() -> None:
    lines = [line for line, _ in judged_lines("", draws=2)]
    names = {situation.name for group in SITUATIONS for situation in group()}
    assert all(any(line.startswith(name[:40]) for line in lines) for name in names)
    assert list(value_lines(draws=2))


def test_rates_are_in_bounds_and_out_of_them_with_intervals_that_are_too_narrow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert all(good for _, good in judged_lines("claim of 2", draws=100))
    monkeypatch.setattr("scipy.special.stdtr", lambda freedom, t: stdtr(freedom, 3 * t))
    monkeypatch.setattr("scipy.special.stdtrit", lambda freedom, p: stdtrit(freedom, p) / 3)
    assert not all(good for _, good in judged_lines("claim of 2", draws=100))
