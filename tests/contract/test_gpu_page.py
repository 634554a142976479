"""GPU.md: its table is what its command prints, and its commands fit the hours they stand under."""

import re
import shlex
from collections.abc import Iterator

import pytest

from bench.analysis.compare import compare
from bench.cells.cell import Cell
from bench.papers.reader import load_paper
from bench.suites.expand import expand
from bench.suites.load import load_suite
from benchmarks.gpu_hours import hours_of, printed_values, table
from tests.fakes.paths import ROOT, SUITES

PAGE = (ROOT / "GPU.md").read_text()
HOURS = {"30 GPU-minutes": 0.5, "4 GPU-hours": 4.0, "40 GPU-hours": 40.0}


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def commands(text: str) -> list[list[str]]:
    """Return the words behind `bench` of every line of code, comments left out."""
    lines = re.findall(r"^    bench (.*)$", text, re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


def chosen(words: list[str]) -> Iterator[tuple[str, list[Cell]]]:
    """Yield each suite of a command with its cells."""
    seeds = [int(words[words.index("--seeds") + 1])] if "--seeds" in words else None
    for name in words[1 : words.index("--scale")]:
        path = SUITES / f"{name}.yaml"
        yield name, expand(load_suite(path), words[words.index("--scale") + 1], path, seeds=seeds)


RUNS = [
    (title, words)
    for title in HOURS
    for words in commands(section(title))
    if words[0] == "run" and "--limit-gpu-hours" not in words
]


@pytest.mark.slow
def test_its_table_is_what_the_command_prints() -> None:
    assert PAGE.endswith(f"\n\n{table()}")
    assert "`python -m benchmarks.gpu_hours --to GPU.md`" in PAGE


@pytest.mark.parametrize(("title", "words"), RUNS, ids=lambda part: str(part)[:40])
def test_a_command_fits_the_hours_it_stands_under(title: str, words: list[str]) -> None:
    cells = [cell for _, own in chosen(words) for cell in own]
    assert HOURS[title] / 3 < hours_of(cells) <= HOURS[title]


def test_every_budget_has_a_command() -> None:
    assert {title for title, _ in RUNS} == set(HOURS)


def values(words: list[str]) -> int:
    return sum(printed_values(load_suite(SUITES / f"{n}.yaml"), own) for n, own in chosen(words))


def test_the_numbers_in_its_sentences() -> None:
    (minutes, four, _, forty, tables) = (words for _, words in RUNS)
    assert f"{values(minutes)} printed values beside one run" in section("30 GPU-minutes")
    (_, cells), *_ = chosen(minutes)
    assert f"\n{len(cells)} classifiers on CIFAR-10" in section("30 GPU-minutes")
    assert f"{values(four)} printed values with verdicts, 4 claims" in section("4 GPU-hours")
    claims = [len(load_suite(SUITES / f"{name}.yaml").claims) for name, _ in chosen(four)]
    assert sum(claims) == 4
    both = {
        name: expand(load_suite(path), "gpu", path, seeds=[0])
        for name in ("mutual-information-table-1", "mutual-information-table-5")
        for path in [SUITES / f"{name}.yaml"]
    }
    first, second = both.values()
    assert {cell.id for cell in first} == {cell.id for cell in second}
    suites = {name: load_suite(SUITES / f"{name}.yaml") for name in both}
    printed = sum(printed_values(suites[name], cells) for name, cells in both.items())
    text = " ".join(section("40 GPU-hours").split())
    assert f"all {len(first)} objectives" in text
    assert f"whose cells are the same: {printed} printed values" in text
    assert values(tables) < printed
    assert values(forty) > values(four)


def test_every_suite_that_it_names_has_a_scale_gpu() -> None:
    named = {word for words in commands(PAGE) for word in words[1:] if "-" in word[1:-1]}
    suites = {name for name in named if (SUITES / f"{name}.yaml").exists()}
    assert {"dcl-table-1", "dual-temperature-table-2"} <= suites
    assert all("gpu" in load_suite(SUITES / f"{name}.yaml").scales for name in suites)


def test_printed_values_are_those_of_the_published_protocol() -> None:
    path = SUITES / "dcl-table-5.yaml"  # CIFAR-10 in ImageNet's place
    suite = load_suite(path)
    assert printed_values(suite, expand(suite, "gpu", path)) == 0
    published = expand(suite, "paper", path)
    rows = compare(suite, published, [], load_paper("dcl"))
    assert printed_values(suite, published) == len(rows) == 16
