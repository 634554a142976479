"""The reference reports say what the reference tables hold."""

import re
from pathlib import Path

import pandas as pd
import pytest

import bench
from bench.analysis.evidence import gather
from bench.analysis.verdicts import ClaimVerdict
from bench.cli.exchange import read_by_figures, shown_of_one_seed
from bench.cli.selection import select
from bench.cli.workspace import Workspace
from bench.report.page import page_text
from bench.report.section import section_facts
from bench.results.reader import Results
from bench.results.tables import Exported, Tables
from bench.suites.expand import expand
from bench.suites.load import known_suites, load_suite
from tests.fakes.paths import REFERENCE, ROOT

PAGES = sorted((ROOT / "reports" / "reference").glob("*/*/index.md"))


@pytest.fixture(scope="module")
def results() -> Results:
    return Results(REFERENCE)


def test_every_reference_report_is_of_a_shipped_suite() -> None:
    suites = {path.stem for path in (ROOT / "suites").glob("*.yaml")}
    assert {page.parent.parent.name for page in PAGES} <= suites
    assert len(PAGES) >= 4


def test_every_reference_cell_is_of_a_shipped_suite() -> None:
    """Rows that no suite asks for went with their scale."""
    suites = {path: load_suite(path) for path in (ROOT / "suites").glob("*.yaml")}
    asked = {c.id for p, s in suites.items() for scale in s.scales for c in expand(s, scale, p)}
    of_table = {
        path.name: set(pd.read_csv(path, usecols=[0], dtype=str).iloc[:, 0])
        for path in REFERENCE.glob("*.csv*")
    }
    assert of_table
    assert {name: own - asked for name, own in of_table.items() if own - asked} == {}


def test_reference_tables_have_the_arrays_of_figures_and_no_others() -> None:
    suites = known_suites(ROOT / "suites")
    found: dict[str, set[str]] = {}
    for path in REFERENCE.glob("*.*.arrays.npz"):
        suite = path.name.split(".")[1]
        of_cells = Tables(REFERENCE, path.name.removesuffix(".arrays.npz")).arrays.values()
        found[suite] = {name for arrays in of_cells for name in arrays}
        assert found[suite] <= read_by_figures(load_suite(suites[suite])), path
    assert found == {"dcl-figure-1": {"q_b_histogram"}, "dcl-figure-4c": {"label", "tsne"}}


def test_reference_tables_have_points_of_the_lowest_seed_alone() -> None:
    """The table of the spirals belongs to no suite, because it is older than such tables."""
    suites, found = known_suites(ROOT / "suites"), Exported(REFERENCE, "spirals")
    assert shown_of_one_seed(load_suite(suites["dcl-figure-1"])) == set()
    shown = shown_of_one_seed(load_suite(suites["mutual-information-figure-6"]))
    assert shown == {"label", "points", "representation"}
    seeds = {found.fields(name)["seed"] for name in found.tables if found.arrays(name)}
    assert seeds == {0}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.parent.parent.name)
def test_it_is_regenerated_from_the_tables(page: Path, results: Results) -> None:
    """The page as a whole; figures have tests of their own."""
    name, scale = page.parent.parent.name, page.parent.name
    chosen = select(Workspace(ROOT / "suites", REFERENCE, ROOT), name, scale=scale)
    evidence = gather(chosen.suite, scale, chosen.cells, chosen.paper, results, chosen.paper_cells)
    text, _ = page_text("suite.md.j2", facts=section_facts(evidence, []))
    assert text == page.read_text()


def test_an_answers_number_is_in_its_statistics() -> None:
    """The check that decides an answer gives the effect on the first screen."""
    index = (ROOT / "reports" / "reference" / "index.md").read_text()
    answers = re.findall(r"^- \*\*.*? measured here: (.*?\]) .*<summary>(.*)$", index, re.MULTILINE)
    assert len(answers) >= 8
    for number, statistics in answers:
        assert f": {number} " in statistics or f"= {number} " in statistics, number


@pytest.mark.slow
def test_the_start_page_decides_each_claim_as_the_command_does() -> None:
    decided = bench.claims(results=REFERENCE, suites=ROOT / "suites")
    told = decided.drop_duplicates(["paper", "claim"]).set_index(["paper", "claim"])["overall"]
    verdicts = "|".join(ClaimVerdict)
    shown: dict[tuple[str, str], str] = {}
    for line in (ROOT / "reports" / "reference" / "index.md").read_text().splitlines():
        if (paper := re.match(r"- \[([a-z-]+)\]\(#\1\) ", line)) is not None:
            marks = re.findall(rf'"([a-z0-9-]+): ({verdicts})[,.]', line)
            shown |= {(paper[1], claim): verdict for claim, verdict in marks}
    assert shown == told.to_dict()
