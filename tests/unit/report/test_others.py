"""An artifact's table of published, measured and other projects' numbers."""

import re
from pathlib import Path

import pytest

from bench.papers.reader import load_paper
from bench.report.others import beside_rows
from bench.suites.load import load_suite
from bench.suites.others import beside
from tests.fakes.paths import SUITES


def test_each_number_by_others_stands_once_in_the_row_of_its_published_one() -> None:
    suite, paper = load_suite(SUITES / "dcl-table-1.yaml"), load_paper("dcl")
    found = beside(paper, "table-1-cifar10", [suite])
    for row, number in zip(beside_rows(found, []), found, strict=True):
        assert row["published"] == f"{number.value.value}"
        links = [other["link"] for other in row["others"]]
        assert sorted(links) == sorted(other.row.link for other in number.others)
        by_link = {other.row.link: other for other in number.others}
        apart = [len(by_link[name].differences) + len(by_link[name].unknown) for name in links]
        assert apart == sorted(apart), "the fewest differences first"
        for other in row["others"]:
            known = by_link[other["link"]]
            assert other["differs"] == known.protocol
            assert other["chosen"] == f"{known.row.protocol.selection}, {known.row.runs_words}"
    several = next(row for row in beside_rows(found, []) if len(row["others"]) == 5)
    assert (several["published"], several["range"]) == ("81.1", "78 to 87")


@pytest.mark.slow
def test_the_page_has_the_three_numbers_of_a_row(image_site: Path) -> None:
    text = (image_site / "dcl" / "table-1-cifar10.md").read_text()
    table = text.partition("## Published values next to values measured here and by others")[
        2
    ].partition("\n## ")[0]
    (line,) = [
        x for x in table.splitlines() if x.startswith("| kNN accuracy: batch size 128, InfoNCE ")
    ]
    _, published, here, by_others = line.strip("| ").split(" | ", 3)
    assert published == "81.1"
    assert re.fullmatch(r"60\.\d+ ± \d+\.\d+, scale cifar: not comparable", here)
    assert re.match(r"\[82\.2\]\(https://\S+\) lightly-cifar10-earlier \(best epoch", by_others)
    assert "tau = 0.5, published 0.07" in by_others
    assert "<details><summary>4 more; all: 78 to 87</summary>" in by_others
    html = (image_site / "dcl" / "table-1-cifar10.html").read_text()
    assert '<td data-head="by others"><a href="https://' in html
