"""Other projects' numbers on the pages, followed back to the files that they come from."""

import random
import re
from statistics import fmean
from typing import Any, NamedTuple

import yaml

from bench.papers.others import OTHERS
from bench.suites.metric_words import metric_words
from bench.text import value_text
from tests.fakes.paths import ROOT

DRAWN = 100
LEAST_PAGES = 20  # that the drawn numbers stand on
NUMBER = re.compile(
    r"\[([\d.]+)\]\((https://[^)\s]+)\) (\S+) \((.+?), (1 run|runs unknown|mean of (\d+) runs)\): "
)
PAPERS_WORDS = {"hypersphere": "align-uniform"}  # for losses
HEAD = "| published row | published | measured here | by others |"


class Shown(NamedTuple):
    """A number by others as a page shows it."""

    page: str
    row: str  # the published row: metric and settings
    value: str
    link: str
    source: str
    selection: str
    runs: str


def shown() -> list[Shown]:
    """Return every number in the column of others, on the pages of all artifacts."""
    found = []
    for page in sorted((ROOT / "reports" / "reference").glob("*/*.md")):
        table = page.read_text().partition(HEAD)[2].partition("\n\n")[0]
        for line in table.splitlines():
            cells = line.strip("| ").split(" | ")
            numbers = NUMBER.findall(cells[-1])
            assert len(numbers) == cells[-1].count("](https://"), page
            found += [Shown(f"{page.parent.name}/{page.name}", cells[0], *n[:5]) for n in numbers]
    return found


def line_of(raw: dict[str, Any], source: dict[str, Any]) -> str:
    """Return the address of a row's line or thread, by hand."""
    at, url = raw["at"], source["url"].rstrip("/")
    if str(at).startswith("pull/"):
        return f"{url}/{at}"
    if "#" in str(at):
        return "https://github.com/{}/issues/{}".format(*at.split("#"))
    path, line = (source["path"], at) if isinstance(at, int) else at.rsplit(":", 1)
    return f"{url}/blob/{raw.get('commit', source['commit'])}/{path}#L{line}"


def test_numbers_drawn_at_random_from_the_pages_stand_in_their_files() -> None:
    """Read with YAML alone: value, line, metric, settings, how it was chosen, of how many runs."""
    files = {path.stem: yaml.safe_load(path.read_text()) for path in OTHERS.glob("*.yaml")}
    drawn = random.Random(38).sample(shown(), DRAWN)
    assert len({number.page for number in drawn}) >= LEAST_PAGES
    for number in drawn:
        data = files[number.source]
        alike = [
            raw | {"stated": data["protocols"][raw["protocol"]]["settings"] | raw}
            for raw in data["rows"]
            if line_of(raw, data["source"]) == number.link
            and number.row.startswith(f"{metric_words(raw['metric'])}: ")
        ]
        raw, *_ = [raw for raw in alike if f"{value_of(raw, data):g}" == number.value]
        protocol = data["protocols"][raw["protocol"]]
        assert protocol["selection"] == number.selection, number
        runs = len(trials(raw, data)) or protocol["runs"]
        words = {1: "1 run", "unknown": "runs unknown"}.get(runs, f"mean of {runs} runs")
        assert words == number.runs, number
        printed = dict(re.findall(r"(\w+) = ([\w.-]+)", number.row))
        for name in ("batch_size", "tau", "loss", "epochs", "K"):
            if name in printed and printed[name] != "null" and name in raw["stated"]:
                own = PAPERS_WORDS.get(printed[name], printed[name])
                assert value_text(raw["stated"][name]) == own, number


def trials(raw: dict[str, Any], data: dict[str, Any]) -> list[float]:
    """Return the values of several trials of one training; none where a row is no trial."""
    own = {"trial", "value", "at", "printed", "stated"}

    def key(row: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in row.items() if name not in own}

    return [r["value"] for r in data["rows"] if "trial" in raw and key(r) == key(raw)]


def value_of(raw: dict[str, Any], data: dict[str, Any]) -> float:
    return fmean(trials(raw, data) or [raw["value"]])
