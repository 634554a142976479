"""The plateau of learning rates, by hand."""

import json
import math
import re

import pytest

from bench.evaluate.plateau import Plateau


def test_a_drop_after_patience_and_again() -> None:
    """The best comes at 2.0 and 3.0; an equal value is no improvement, and NaN is none."""
    plateau = Plateau(patience=2, drops=3)
    values = [1.0, 2.0, 2.0, 1.5, 1.9, 1.9, 3.0, 3.0, math.nan, 3.0, 3.0, 3.0]
    expected = [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3]
    assert [plateau.update(value) for value in values] == expected
    assert plateau.dropped == 3


def test_at_most_so_many_drops() -> None:
    plateau = Plateau(patience=2, drops=2)
    values = (1.0, 2.0, 2.0, 1.0, 1.5, 3.0, 1.0, 3.0, 0.0, 0.0, 0.0)
    assert [plateau.update(value) for value in values] == [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]


def test_it_goes_on_where_it_was_stopped() -> None:
    values = [1.0, 3.0, 2.0, 2.0, 2.0, 2.0, 4.0, 4.0, 4.0, 4.0]
    whole = Plateau(patience=2, drops=5)
    expected = [whole.update(value) for value in values]
    for stop in range(1, len(values)):
        first, second = (Plateau(patience=2, drops=5) for _ in range(2))
        before = [first.update(value) for value in values[:stop]]
        second.load(json.loads(json.dumps(first.state(), allow_nan=False)))
        assert before + [second.update(value) for value in values[stop:]] == expected


def test_before_its_first_value() -> None:
    fresh, other = (Plateau(patience=1, drops=1) for _ in range(2))
    other.update(3.0)
    other.load(fresh.state())
    assert [other.update(2.0), other.update(2.0)] == [0, 1]


@pytest.mark.parametrize(("patience", "drops"), [(0, 1), (1, -1)])
def test_out_of_its_domain(patience: int, drops: int) -> None:
    needs = "the schedule 'plateau' needs patience >= 1 and drops >= 0"
    text = f"{needs}, found {patience} and {drops}"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        Plateau(patience=patience, drops=drops)
