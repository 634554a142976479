"""What README says is so."""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import experiments
from bench.analysis.coverage import artifact_places, claim_places
from bench.cells import CELLS, toys
from bench.cells.baseline import without_baselines
from bench.cli.claims import describe_claims
from bench.cli.workspace import Workspace as BenchWorkspace
from bench.papers.reader import PAPERS, load_paper
from bench.results.reader import Results
from bench.suites.expand import expand
from bench.suites.load import load_suite
from bench.suites.presets import paper_presets
from bench.suites.protocol import check_scale
from bench.suites.validate import check_suite
from tests.fakes.paths import REFERENCE, ROOT, SUITES
from tests.fakes.workspace import Workspace

README = (ROOT / "README.md").read_text()


COMMANDS = {
    line
    for page in ("README.md", "CLUSTERS.md", "GPU.md")
    for line in re.findall(r"^    bench (.*)$", (ROOT / page).read_text(), re.MULTILINE)
}
EXAMPLES = {
    found.group(1): found.group(0).removeprefix("```yaml\n").removesuffix("```")
    for found in re.finditer(r"```yaml\nname: (.*?)\n.*?```", README, re.DOTALL)
}


# my-k-sweep: 2 MI x 2 K x 3 losses x 3 seeds, less 2 K x 3 seeds; my-crossing: 2 x 3 x 3.
@pytest.mark.parametrize(("name", "cells"), [("my-k-sweep", 30), ("my-crossing", 18)])
def test_the_example_suites_are_suites(tmp_path: Path, name: str, cells: int) -> None:
    path = tmp_path / f"{name}.yaml"
    path.write_text(EXAMPLES[name])
    suite = load_suite(path)
    paper = check_suite(suite, path)
    for scale in suite.scales:
        check_scale(suite, scale, expand(suite, scale, path), paper)
    assert len(without_baselines(expand(suite, suite.scale, path))) == cells


TEXT = " ".join(README.split())


def test_what_it_says_there_is() -> None:
    papers = [load_paper(name) for name in PAPERS]
    counts = [
        sum(len(getattr(p, kind)) for p in papers) for kind in ("values", "protocols", "claims")
    ]
    values, protocols, claims = counts
    assert f"{values} published values, {protocols} protocols and {claims} claims" in TEXT
    assert f"[{len(paper_presets())} presets](" in TEXT
    suites = [load_suite(path) for path in sorted(SUITES.glob("*.yaml"))]
    artifacts, checked = artifact_places(suites), claim_places(suites)
    with_suite, with_check = (sum(bool(p.suites) for p in own) for own in (artifacts, checked))
    assert f"Of {len(artifacts)} artifacts" in TEXT
    assert f"{with_suite} have a suite, of {claims} claims {with_check} are checks" in TEXT


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
    assert f"What is algebra holds to {largest:.0e} on random features" in TEXT


@pytest.mark.slow
def test_how_many_claims_it_says_hold() -> None:
    workspace = BenchWorkspace(SUITES, REFERENCE, ROOT)
    rows = describe_claims(workspace, paper=None, scale=None)
    counts = Counter({(r["paper"], r["claim"]): r["overall"] for r in rows}.values())
    undecided = counts["inconclusive"] + counts["cannot tell here"]
    assert (
        f"Of the {counts.total()} claims {counts['holds']} hold, {counts['partly holds']} hold in "
        f"part, {counts['fails']} fail, {undecided} are undecided, and {counts['not tested']} are "
        "not tested"
    ) in TEXT


def test_the_error_it_shows_is_the_error(workspace: Workspace) -> None:
    shown = re.search(r"^    (bench: suites/my-k-sweep.*), \.\.\.$", README, re.MULTILINE)
    assert shown is not None
    text = EXAMPLES["my-k-sweep"].replace("  K: [64, 128]", "  taau: [1]\n  K: [64, 128]")
    workspace.suite(text, "my-k-sweep")
    assert workspace.call("plan", "my-k-sweep").err.startswith(shown.group(1))


@pytest.mark.slow
@pytest.mark.parametrize("line", sorted(COMMANDS))
def test_every_command_that_a_page_shows_exists(workspace: Workspace, line: str) -> None:
    words = line.split("#")[0].split()
    verb = next(word for word in words if word.isalpha())
    help_text = workspace.call(verb, "--help").out
    whole = workspace.call("--help").out
    for option in (word for word in words if word.startswith("--")):
        assert option in help_text + whole


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "GPU.md"])
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text()):
        assert target.startswith("https://") or (ROOT / target).exists(), target


ADDED = "nearest-negative"
RECORD_FILE, CELLS_FILE, RUN_FILE = (
    "bench/cells/toys.py", "bench/cells/__init__.py", "bench/experiments/nearest_negative.py",
)  # fmt: skip
CUTTABLE = '    cuttable: ClassVar[tuple[str, ...]] = ("draws",)\n'
SHOWN = dict(re.findall(r"```python\n# (\S+)\n(.*?)```", README, re.DOTALL))


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose files are files of `bench/experiments` too, until the test ends."""
    folder = tmp_path / "added"
    folder.mkdir()
    monkeypatch.setattr(experiments, "__path__", [*experiments.__path__, str(folder)])
    yield folder
    module = sys.modules.pop("bench.experiments.nearest_negative", None)
    experiments.EXPERIMENTS.pop(ADDED, None)
    assert module is not None
    assert module.__file__ == str(folder / "nearest_negative.py")
    del experiments.nearest_negative  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("cuttable", [CUTTABLE, ""], ids=["a probe cuts it", "as little as can be"])
def test_an_experiment_is_a_record_a_line_a_file_and_a_suite(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, package: Path, cuttable: str
) -> None:
    assert list(SHOWN) == [RECORD_FILE, CELLS_FILE, RUN_FILE]
    names = dict(vars(toys))
    assert CUTTABLE in SHOWN[RECORD_FILE]
    exec(SHOWN[RECORD_FILE].replace(CUTTABLE, cuttable), names)
    monkeypatch.setattr(toys, "NearestNegative", names["NearestNegative"], raising=False)
    (line,) = eval(f"{{{SHOWN[CELLS_FILE]}}}", names).items()
    monkeypatch.setitem(CELLS, *line)
    (package / "nearest_negative.py").write_text(SHOWN[RUN_FILE])
    path = workspace.suite(EXAMPLES[ADDED], ADDED)

    probed = workspace.call("plan", ADDED, "--probe", "--json")
    assert (probed.status, probed.err) == (0, f"bench: probing {ADDED}\n")
    (kind,) = probed.json["predicted"]["by_kind"]
    assert (kind["kind"], kind["cells"], kind["message"]) == (ADDED, 9, "probe")
    assert kind["core_s"] is not None
    assert not (workspace.root / "results" / ADDED).exists()
    counts = workspace.call("run", ADDED, "--executor", "inline", "--json").json
    assert (counts["done"], counts["failed"]) == (9, 0)
    assert workspace.call("--results", "other", "merge", "results").status == 0
    done = Results(workspace.root / "other").finished(expand(load_suite(path), "short", path))
    cosines = [finished.metrics["nearest_cosine"] for _, finished in done]  # by K, then by seed
    assert len(cosines) == 9
    assert max(cosines[:3]) < min(cosines[3:6]) < max(cosines[3:6]) < min(cosines[6:])
    assert workspace.call("report", ADDED).status == 0
    page = (workspace.root / "reports" / ADDED / "short" / "index.md").read_text()
    assert "| 256 |" in page
