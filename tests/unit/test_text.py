"""How values are written for a person."""

from typing import Any

import pytest

from bench.text import counted, csv_text, plain_text, value_text


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


def test_null_and_lists_are_written_as_the_caller_says() -> None:
    assert value_text(None, null="-") == "-"
    assert value_text([1, 2], joined_by=" to ") == "1 to 2"


def test_one_of_something_is_singular() -> None:
    assert [counted(n, "cell") for n in (0, 1, 2)] == ["0 cells", "1 cell", "2 cells"]


def test_text_of_any_origin_is_one_line_that_no_terminal_obeys() -> None:
    hostile = "Zürich 5 µs\x1b[2J\r\n\x9b1m\u202e\u2028"
    assert plain_text(hostile) == "Zürich 5 µs\\x1b[2J\\r\\n\\x9b1m\\u202e\\u2028"
