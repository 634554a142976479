"""How values are written for a person."""

from typing import Any

import pytest

from bench.text import counted, csv_text, first_sentence, number_words, plain_text, value_text


def test_a_spreadsheet_computes_nothing_of_a_table() -> None:
    fine = ["-0.5", "+0.3 (n = 2)", "-.5", "-", "--", "a=b", None, 2]
    odd = ["=cmd|' /C calc'!A0", "@SUM(1)", "+cmd", "-cmd"]
    assert csv_text([fine]) == "-0.5,+0.3 (n = 2),-.5,-,--,a=b,,2\n"
    assert csv_text([[text] for text in odd]).splitlines() == [f"'{text}" for text in odd]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (2, "2"),
        (2.0, "2"),
        (0.1, "0.1"),
        (1e-06, "1e-06"),
        (0.00046875, "0.00046875"),
        (2876934.2 / 1281167, "2.24556"),
        (1281167, "1281167"),
        ([0.1, 2], "0.1 or 2"),
        ({"K": 64, "form": None}, "K = 64, form = null"),
        ("dcl", "dcl"),
    ],
)
def test_values_are_written_alike_everywhere(value: Any, text: str) -> None:
    assert value_text(value) == text


def test_the_first_sentence_ends_before_a_capital_letter() -> None:
    text = "DCL gains +1.1 [0.3, 1.8] points at temperature 0.07 vs. 0.5.  With Muon, none."
    assert first_sentence(text) == "DCL gains +1.1 [0.3, 1.8] points at temperature 0.07 vs. 0.5."
    assert first_sentence(" One.\n") == "One."
    assert first_sentence("") == ""


def test_null_and_lists_are_written_as_the_caller_says() -> None:
    assert value_text(None, null="-") == "-"
    assert value_text([1, 2], joined_by=" to ") == "1 to 2"


@pytest.mark.parametrize(
    ("low", "high", "threshold", "text"),
    [
        (-0.562, 7.49, None, "+3.5 [-0.6, 7.5]"),
        (-0.562, 7.49, -0.6, "+3.50 [-0.56, 7.49]"),  # above -0.6
        (-0.562, 7.49, 0.6, "+3.50 [-0.56, 7.49]"),  # within ±0.6
        (0.0088, 7.49, 0.0, "+3.50 [0.01, 7.49]"),
        (-0.6, 7.49, -0.6, "+3.5 [-0.6, 7.5]"),
        (-0.6 + 1e-12, 7.49, -0.6, "+3.500000 [-0.600000, 7.490000]"),
    ],
)
def test_no_end_of_an_interval_is_rounded_to_the_threshold(
    low: float, high: float, threshold: float | None, text: str
) -> None:
    assert number_words(3.5, low, high, threshold) == text


def test_one_of_something_is_singular() -> None:
    assert [counted(n, "cell") for n in (0, 1, 2)] == ["0 cells", "1 cell", "2 cells"]


def test_text_of_any_origin_is_one_line_that_no_terminal_obeys() -> None:
    hostile = "Zürich 5 µs\x1b[2J\r\n\x9b1m\u202e\u2028"
    assert plain_text(hostile) == "Zürich 5 µs\\x1b[2J\\r\\n\\x9b1m\\u202e\\u2028"
