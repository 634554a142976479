"""What other projects measured, read from its files."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.errors import PublishedError
from bench.papers.others import OTHERS, others, read_source, sources
from tests.fakes.others import written


def test_all_rows_are_read() -> None:
    assert (len(others()), len(sources(others()))) == (795, 49)


def test_a_row_has_its_own_settings_before_its_protocols(tmp_path: Path) -> None:
    (row,) = read_source(written(tmp_path))
    assert row.settings == {"tau": 0.2, "method": "simclr", "loss": "dcl"}
    assert (row.value, row.runs_words) == (61.5, "1 run")
    assert row.link == "https://github.com/a/b/blob/c0ffee/README.md#L7"


@pytest.mark.parametrize(
    ("at", "link"),
    [
        ("docs/a.md:3", "https://github.com/a/b/blob/c0ffee/docs/a.md#L3"),
        ("pull/12", "https://github.com/a/b/pull/12"),
        ("c/d#5", "https://github.com/c/d/issues/5"),
    ],
)
def test_a_row_leads_to_its_line_or_thread(tmp_path: Path, at: str, link: str) -> None:
    assert read_source(written(tmp_path, at=at))[0].link == link


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"value": 0.615}, "rows.0.value: 0.615 looks like a fraction, expected a percentage"),
        ({"value": 161.5}, "rows.0.value: found 161.5, expected a percentage"),
        ({"value": "61.5 %"}, "rows.0.value: found '61.5 %', expected a percentage"),
        ({"protocol": "q"}, "rows.0.protocol: there is no protocol 'q'. Allowed here: p."),
        ({"metric": None}, "rows.0: metric is missing"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    with pytest.raises(PublishedError) as caught:
        read_source(written(tmp_path, **changes))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_rows_drawn_at_random_stand_in_their_files() -> None:
    """Read the files anew, without the reader."""
    files = {data["source"]["id"]: data for data in map(_plain, OTHERS.glob("*.yaml"))}
    for row in random.Random(38).sample(others(), 100):
        data = files[row.source.id]
        raw, record = data["rows"][row.position], row.record()
        protocol = data["protocols"][raw["protocol"]]
        stated = protocol["settings"] | raw
        assert (raw["value"], raw["metric"]) == (record["value"], record["metric"])
        assert all(stated[name] == value for name, value in record["settings"].items())
        assert record["settings"].keys() >= protocol["settings"].keys()
        assert record["selection"] == protocol["selection"]
        assert record["runs"] == (1 if "trial" in raw else protocol["runs"])
        assert str(raw["at"]).rpartition(":")[2] in row.link


def _plain(path: Path) -> dict[str, Any]:
    load: Callable[[str], dict[str, Any]] = yaml.safe_load
    return load(path.read_text())
