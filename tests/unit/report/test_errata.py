"""The page of errata, and where else a reader learns that a published number is quoted."""

import csv
import io
import re
from pathlib import Path

import pytest

from bench.papers.reader import PAPERS, load_paper
from bench.report.errata import quoted_differences, write_errata
from bench.report.paper_table import paper_csv, paper_table

VALUES = [value for name in PAPERS for value in load_paper(name).values]


def test_the_page_lists_every_number_that_is_not_the_authors(tmp_path: Path) -> None:
    write_errata(tmp_path, {name: load_paper(name) for name in PAPERS})
    known, other = (tmp_path / "errata.md").read_text().split("## Numbers whose source")
    for value in (v for v in VALUES if v.quoted_from is not None):
        assert value.quoted_from is not None
        line = rf"\({value.paper}/{value.artifact}\.md\).*\| {value.value} quoted \| "
        line += rf"\[{value.quoted_from.value:g}\]\(https://.*#L{value.quoted_from.at}\)"
        assert re.search(line, known), value
    rows = re.findall(r"^\| \[.*\| (\d+) \| (quoted|not stated) \|$", other, re.MULTILINE)
    counts = {kind: sum(int(n) for n, k in rows if k == kind) for kind in ("quoted", "not stated")}
    rest = [v.source for v in VALUES if v.quoted_from is None]
    assert counts == {"quoted": rest.count("quoted"), "not stated": rest.count(None)}


@pytest.mark.slow
def test_pages_lead_to_the_errata(site: Path) -> None:
    assert (site / "errata.html").is_file()
    assert '<a href="errata.html">' in (site / "index.html").read_text()
    for name, is_led in (("table-12", True), ("table-1-cifar10", False)):
        page = (site / "dcl" / f"{name}.html").read_text()
        assert ('href="../errata.html"' in page) == is_led


def test_what_a_source_states_otherwise_is_said() -> None:
    (value,) = [v for v in load_paper("dcl").artifact("table-12").values if v.quoted_from]
    assert value.quoted_from is not None
    differences = ["epochs = 200, published 240", "K = 65536, published 16384"]
    assert quoted_differences(value, value.quoted_from) == differences
    online = value.quoted_from.model_copy(update={"metric": "online_linear_top1"})
    assert quoted_differences(value, online) == [
        "online linear accuracy, published as linear accuracy"
    ]


def test_tables_mark_quoted_numbers() -> None:
    artifact = load_paper("dcl").artifact("table-11")
    table = paper_table(artifact, None, [])
    assert table is not None
    texts = [place.text for row in table.rows for place in row if place.row]
    assert [text for text in texts if text.endswith("quoted")] == [
        f"{v.value} quoted" for v in artifact.values if v.settings["loss"] == "hypersphere"
    ]
    rows = list(csv.DictReader(io.StringIO(paper_csv(artifact, []))))
    told = [row["quoted_from"] for row in rows]
    assert told == ["hypersphere-stl10-authors", "", *["not known", ""] * 3]
