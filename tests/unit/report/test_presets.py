"""The page of presets beside papers and released code."""

import pytest

from bench.report.methods import presets_page
from bench.suites.presets import Coordinate, Preset, load_presets
from tests.fakes.paths import ROOT

TAU = Coordinate(0.1, "DCL, Sec. 4.1", {"paper": 0.1})


def page_of(tau: Coordinate) -> str:
    """Return the page of one preset that names tau, and of one that is like it."""
    first = Preset("First: <one>", {"tau": tau}, None, "family", ("tau",))
    second = Preset("Second", {"tau": tau, "K": Coordinate(None, "all")}, "first", "family", ("K",))
    return presets_page({"first": first, "second": second})


def test_the_page_is_what_presets_and_records_say() -> None:
    page = (ROOT / "reports" / "reference" / "presets.md").read_text()
    assert page == presets_page(load_presets(ROOT / "suites"))


def test_a_value_as_stated_has_no_mark() -> None:
    page = page_of(TAU)
    assert "| `tau` | 0.1 |  | 0.1 | DCL, Sec. 4.1 |" in page
    assert ", not the" not in page
    assert "First: &lt;one>" in page


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ({"paper": 0.2}, "| `tau` | 0.2 |  | **0.1**, not the paper's |"),
        ({"paper": 0.1, "code": 0.2}, "| `tau` | 0.1 | 0.2 | **0.1**, not the code's |"),
        (
            {"paper": 0.2, "code": None},
            "| `tau` | 0.2 | not used | **0.1**, not the paper's or the code's |",
        ),
        ({"paper": [0.2, 0.3]}, "| `tau` | 0.2 or 0.3 |  | **0.1**, not the paper's |"),
    ],
)
def test_another_value_is_marked_and_its_reason_told(stated: dict[str, object], told: str) -> None:
    page = page_of(TAU._replace(stated=stated, why="a|b"))
    assert f"| [first](#first) {told} a\\|b |" in page
    assert f"{told} DCL, Sec. 4.1. Why: a\\|b |" in page
    assert page.count(", not the") == 2


def test_a_record_that_differs_from_a_silent_file_is_marked() -> None:
    """UniGrad's released code says 100; a preset of that name with 50 departs from it."""
    balance = Coordinate(50.0, "me")
    preset = Preset("x", {"balance": balance}, None, "f", ("balance",))
    record = preset._replace(recorded=("unigrad/released-code-pretrain",))
    assert "| `balance` |  |  | 50 | me |" in presets_page({"unigrad": preset})
    told = "| `balance` |  | 100 | **50**, not the code's | me. Why: no reason is recorded |"
    assert told in presets_page({"unigrad": record})


def test_what_is_inherited_is_a_link_and_no_row() -> None:
    second = page_of(TAU).partition("### second")[2]
    assert "the preset second does not set itself comes from the preset [first](#first)." in second
    assert "`tau`" not in second
    assert "| `K` |  |  | - | all |" in second
