"""What README says is so: its counts, its tables, and the answers of the commands that it shows."""

import re
import shlex
from types import SimpleNamespace
from typing import Any

import pytest

from bench.analysis.claims import artifact_places, claim_places
from bench.analysis.verdicts import Verdict
from bench.papers.reader import PAPERS, load_paper
from bench.results.reader import Results
from bench.suites import shipped
from bench.suites.expand import expand
from bench.suites.load import load_suite
from bench.suites.presets import paper_presets
from benchmarks.readme_tables import PAGES, TABLES, marked, value_verdicts, verdicts
from tests.fakes.paths import REFERENCE, ROOT, SUITES
from tests.fakes.workspace import Workspace

README = (ROOT / "README.md").read_text()
PAGES_TEXT = "".join((ROOT / page).read_text() for page in PAGES)
TEXT = " ".join(README.split())
MOST_LINES = 130


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= MOST_LINES


def test_what_it_says_the_package_contains() -> None:
    papers = [load_paper(name) for name in PAPERS]
    counts = [
        sum(len(getattr(p, kind)) for p in papers) for kind in ("values", "protocols", "claims")
    ]
    values, protocols, claims = counts
    assert f"{values} published values, {protocols} protocols and {claims} claims" in TEXT
    assert f"[{len(paper_presets())} presets](" in TEXT
    suites = [load_suite(path) for path in sorted(SUITES.glob("*.yaml"))]
    artifacts, checked = artifact_places(suites, papers), claim_places(suites, papers)
    with_suite, with_check = (sum(bool(p.suites) for p in own) for own in (artifacts, checked))
    assert f"{with_suite} of the {len(artifacts)} artifacts" in TEXT
    assert f"{with_check} of the {claims} claims can be checked" in TEXT


def test_how_exactly_it_says_that_algebra_holds() -> None:
    cells = [
        cell
        for name in ("unigrad-equations", "dcl-propositions", "mutual-information-lemmas")
        for path in [SUITES / f"{name}.yaml"]
        for cell in expand(load_suite(path), "cpu", path)
    ]
    done = Results(REFERENCE).finished(cells)
    assert len(done) == len(cells)
    largest = max(finished.metrics.get("largest_difference", 0.0) for _, finished in done)
    assert f"The papers' equations hold to {largest:.0e} on random features" in TEXT


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(TABLES) - {"open-claims"}))
def test_its_tables_are_what_the_command_writes(name: str) -> None:
    """`python -m benchmarks.readme_tables --write` writes them."""
    assert marked(name, TABLES[name]()) in PAGES_TEXT


@pytest.mark.slow
def test_claims_that_are_said_to_be_open_are_not_tested_yet() -> None:
    page = (ROOT / "docs" / "reference" / "open-claims.md").read_text()
    tables, _, claims = page.partition("| paper | claim | suite with a check |")
    listed = re.findall(r"^\| [a-z].* \| ([a-z].*) \|$", tables, re.MULTILINE)[1:]
    named = {claim for claims in listed for claim in claims.split(", ")}
    untested = {of for of, verdict in verdicts().items() if verdict == "not tested"}
    assert f"{len(named)} of these {len(untested)} claims can be tested on a CPU" in page
    assert named <= {claim for _, claim in untested}
    assert (
        set(re.findall(r"^\| ([a-z][a-z-]*) \| ([a-z][a-z0-9-]*) \| ", claims, re.MULTILINE))
        == untested
    )


CONSOLE = re.findall(r"^```console\n(.*?)```", README, re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_the_answers_that_it_shows_are_the_answers(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other in one folder; `...` stands for lines left out."""
    monkeypatch.setattr(shipped, "reference_results", lambda: REFERENCE)
    calls = [call for block in CONSOLE for call in block.split("$ bench ")[1:]]
    assert len(calls) == 5
    for call in calls:
        command, *shown = call.splitlines()
        words = shlex.split(command)
        if words[0] in ("run", "resume"):
            words += ["--executor", "inline"]
        answer = workspace.call("--suites", str(SUITES), *words)
        assert answer.status == 0, answer.err
        lines = answer.out.splitlines()
        for line in shown:
            assert line == "..." or any(told.startswith(line) for told in lines), (command, line)


def test_how_many_values_it_says_are_reproduced() -> None:
    claimed = re.search(r"all (\d+) published values", TEXT)
    assert claimed is not None
    assert re.search(rf"^{claimed.group(1)} same; ", README, re.MULTILINE)
    text = f"All {claimed.group(1)} published values of EqCo's Table 9 are reproduced."
    assert text in (ROOT / "docs" / "index.md").read_text()


@pytest.mark.slow
def test_the_gains_that_its_picture_shows(workspace: Workspace) -> None:
    """The caption, and the numbers below, are those of the reference runs on CIFAR-10."""
    answer = workspace.call(
        "--suites", str(SUITES), "--results", str(REFERENCE),
        "compare", "dcl-table-1", "--scale", "cifar", "--effects", "--json",
    )  # fmt: skip
    rows = [r for r in answer.json if r["artifact"] == "dcl/table-1-cifar10"]
    assert len(rows) == 10
    reaching_zero = {r["at"]["batch_size"] for r in rows if r["low"] <= 0}
    above = sorted({r["at"]["batch_size"] for r in rows} - reaching_zero)
    sizes = " and ".join(map(str, above))
    assert f"At batch sizes {sizes}, DCL's measured gains in kNN and linear accuracy are" in TEXT
    assert "in kNN and linear accuracy are above 0; at every batch size, the measured" in TEXT
    assert all(r["high"] < r["published"] for r in rows)
    assert {r["n"] for r in rows} == {5}
    for row in rows:
        if row["metric"] == "linear_top1" and row["at"]["batch_size"] in (32, 128, 512):
            gain, low, high = (row[key] for key in ("measured", "low", "high"))
            assert f"{gain:+.1f} [{low:.1f}, {high:.1f}]" in TEXT
            assert f"(+{row['published']})" in TEXT.replace("published ", "")


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["eqco-figure-2", "dual-temperature-table-1"])
def test_the_effects_on_images_that_it_names(workspace: Workspace, suite: str) -> None:
    """Those of the claims' checks; of several comparisons, the worst one."""
    answer = workspace.call(
        "--suites", str(SUITES), "--results", str(REFERENCE),
        "claims", suite, "--scale", "cifar", "--json",
    )  # fmt: skip
    effects = [
        f"{row['effect']:+.1f} [{row['low']:.1f}, {row['high']:.1f}]"
        for row in answer.json
        if row["effect"] is not None
    ]
    assert sum(effect in TEXT for effect in effects) == 2, effects


@pytest.mark.parametrize(
    ("found", "counted"),
    [
        ((Verdict.LARGER, Verdict.SMALLER), Verdict.LARGER),
        ((Verdict.SAME, Verdict.SMALLER), Verdict.SMALLER),
        ((Verdict.SAME, Verdict.CANNOT_TELL), Verdict.CANNOT_TELL),
    ],
)
def test_a_published_value_counts_once(found: tuple[Verdict, ...], counted: Verdict) -> None:
    published = SimpleNamespace(row=0)
    rows: list[Any] = [
        SimpleNamespace(artifact="table-3", published=published, verdict=verdict)
        for verdict in found
    ]
    assert value_verdicts(rows) == {("table-3", 0): counted}
