"""A paper of one's own: the manual's example from YAML to a verdict, and mistakes in such files."""

import re
import shutil
from pathlib import Path

import jsonschema
import pytest
import yaml

import bench
from bench.papers.file import paper_schema
from bench.papers.reader import PAPERS
from tests.fakes.paths import ROOT
from tests.fakes.plugin import install_plugin
from tests.fakes.workspace import Workspace

EXAMPLE = ROOT / "examples" / "your-paper"
PAGE = (ROOT / "docs" / "how-to" / "your-paper.md").read_text()
BLOCKS = dict(re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))
CPC = BLOCKS["papers/cpc.yaml"]


@pytest.fixture
def written(workspace: Workspace) -> Workspace:
    """A folder with the files that the manual shows."""
    for name, block in BLOCKS.items():
        path = workspace.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(block)
    return workspace


def test_the_example_is_what_the_manual_shows() -> None:
    files = {str(p.relative_to(EXAMPLE)): p.read_text() for p in EXAMPLE.rglob("*.yaml")}
    assert files == BLOCKS


@pytest.mark.slow
def test_a_paper_goes_from_yaml_to_a_page_with_a_verdict_here_and_elsewhere(
    written: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands of the manual, in their order."""
    commands = re.findall(r"^bench (.*)$", PAGE, re.MULTILINE)
    assert commands == [
        "papers --check papers/cpc.yaml", "papers", "plan cpc-bound", "run cpc-bound",
        "claims cpc-bound", "report",
    ]  # fmt: skip
    checked = written.call("papers", "--check", "papers/cpc.yaml")
    assert checked.out.startswith(
        "papers/cpc.yaml: no mistakes found; cpc, Representation Learning"
    )
    (paper,) = [p for p in written.call("papers", "--json").json if p["paper"] == "cpc"]
    assert (paper["artifacts"], paper["values"], paper["claims"]) == (2, 1, 2)
    assert paper["file"] == "papers/cpc.yaml"
    assert written.call("plan", "cpc-bound").status == 0
    ran = written.call("run", "cpc-bound", "--executor", "inline", "--json")
    assert (ran.status, ran.json["done"]) == (0, 18), ran.err
    judged = written.call("claims", "--paper", "cpc", "--json").json
    assert {(row["claim"], row["verdict"]) for row in judged} == {
        ("lower-bound", "holds"), ("tighter-with-n", "holds"),
    }  # fmt: skip
    assert written.call("report", "cpc-bound", "--formats", "csv").status == 0
    reports = written.root / "reports"
    assert "holds" in (reports / "cpc" / "equation-5.md").read_text()
    assert "Reproduction of six papers" in (index := (reports / "index.md").read_text())
    assert "](cpc/equation-5.md)" in index
    assert "This report has measurements of toy experiments." in index
    (value,) = bench.published("cpc")["value"]
    assert value == 48.7

    assert written.call("export", "cpc-bound", "--to", "cells.tar").status == 0
    there = written.root / "there"
    there.mkdir()
    monkeypatch.chdir(there)
    assert written.call("import", "../cells.tar", "--json").json["added"] == 18
    assert written.call("claims", "--paper", "cpc").status == 2  # an archive holds cells alone
    for folder in ("papers", "suites"):
        shutil.copytree(written.root / folder, there / folder)
    assert written.call("claims", "--paper", "cpc", "--json").json == judged
    assert written.call("report", "cpc-bound", "--formats", "csv").status == 0
    pages = [(root / "cpc" / "equation-5.md").read_text() for root in (reports, there / "reports")]
    assert pages[0] == pages[1]


FACTS = "    stated: {loss: infonce}"
QUOTED = "quoted_from: {source: solo-learn, at: 219, metric: online_linear_top1, value: 92.1}"
MISTAKES = [
    ('"1807.03748"', "1807.03748", "6: paper.arxiv: found 1807.03748, expected text."),
    ("  id: cpc ", "  id: 7 ", "2: paper.id: found 7, expected text."),
    ("value: 48.7", "value: 48.7 %", "19: artifacts.1.rows.0.value: found '48.7 %', expected a "),
    (
        "value: 48.7",
        "value: 48,7",
        "19: artifacts.1.rows.0.7: found the key 7, expected text; decimals follow a point",
    ),
    ("value: 48.7", "value: yes", "19: artifacts.1.rows.0.value: found 'yes', expected a number."),
    (
        "value: 48.7",
        "value: 48.7, std: -0.1",
        "19: artifacts.1.rows.0.std: found -0.1, expected a value greater than or equal to 0.",
    ),
    (
        "value: 48.7",
        f"value: 48.7, {QUOTED}",
        "19: artifacts.1.rows.0.quoted_from: this key needs a number whose source is ",
    ),
    (
        "value: 48.7",
        "value: 48.7, source: quotd",
        "19: artifacts.1.rows.0.source: found 'quotd'. Did you mean 'quoted'?",
    ),
    (
        "      - {method: cpc,",
        "      {method: cpc,",
        "18: artifacts.1.rows: found {'method': 'cpc',",
    ),
    (
        "metric: linear_top1",
        "metric: linear_topp1",
        "17: artifacts.1.setting.metric: found 'linear_topp1'. Did you mean 'linear_top1'?",
    ),
    (
        "unit: percent",
        "unit: percents",
        "17: artifacts.1.setting.unit: found 'percents'. Did you mean 'percent'?",
    ),
    ("    setting: {", "    settings: {", "17: artifacts.1.settings: unknown key. Did you mean 's"),
    (FACTS, "    stated: {tau: {form: 1}}", "25: protocols.0.stated.tau: found {'form': 1}, exp"),
    (
        FACTS,
        f"{FACTS}\n    cases: [{{when: {{loss: dcl}}}}]",
        "26: protocols.0.cases.0.stated: this key is missing.",
    ),
    (
        "equations:",
        "tolerances: {table-3: {tolerance: -1, unit: points, why: x}}\nequations:",
        "38: tolerances.table-3.tolerance: found -1, expected a value greater than or equal to 0.",
    ),
    ("  year: 2018\n", "", "1: paper.year: this key is missing."),
    ("  year: 2018", "  year: '2018'", "5: paper.year: found '2018', expected a whole number."),
    ("  year: 2018", "  yaer: 2018", "5: paper.yaer: unknown key. Did you mean 'year'? "),
    ("  id: cpc ", "  id: cpc2 ", "2: paper.id: found 'cpc2', expected the file's name 'cpc'."),
    ("  id: cpc ", "  id: Cpc ", "2: paper.id: found 'Cpc', expected lower-case words joined by"),
    ("kind: text", "kind: txt", "10: artifacts.0.kind: found 'txt', expected 'table', 'figure'"),
    ("value: 48.7", "value: high", "19: artifacts.1.rows.0.value: found 'high', expected a num"),
    ("value: 48.7", "std: 0.1", "19: artifacts.1.rows.0.value: this key is missing."),
    ("value: 48.7}", "value: .nan}", "19: artifacts.1.rows.0.value: found nan, expected a finite"),
    ("- id: table-3", "- id: equation-5", "13: artifacts.1.id: the id 'equation-5' is used by art"),
    ("- id: table-3", "- id: table 3", "13: artifacts.1.id: found 'table 3', expected letters"),
    (
        "      - {method: cpc, value: 48.7} ",
        "      - {method: cpc, value: 48.7}\n      - {method: cpc, value: 48.8}",
        "20: artifacts.1.rows.1: this row has the same settings and metric as row "
        "0, so one cell has two numbers.",
    ),
    (
        "value: 48.7",
        "source: quoted, value: 48.7, quoted_from: {source: solo-lern, at: 1, metric: x, value: 1}",
        "19: artifacts.1.rows.0.quoted_from.source: there is no source "
        "'solo-lern'. Did you mean 'solo-lea",
    ),
    (FACTS, "    stated: {tau: -1}", "25: protocols.0.stated.tau: found -1, expected a value gr"),
    (FACTS, "    stated: {tau: [1, x]}", "25: protocols.0.stated.tau: found 'x', expected a num"),
    (FACTS, "    stated: {tau: {above: x}}", "25: protocols.0.stated.tau: found 'x', expected a n"),
    (
        FACTS,
        "    stated: {loss: infnce}",
        "25: protocols.0.stated.loss: found 'infnce'. Did you mean 'infonce'?",
    ),
    (
        FACTS,
        "    stated: {optimizer: sdg}",
        "25: protocols.0.stated.optimizer: found 'sdg', which no cell can have. Did you mean 'sg",
    ),
    (FACTS, "    stated: {views.crop: 1}", "25: protocols.0.stated.views.crop: found 1, expected"),
    (
        FACTS,
        f"{FACTS}\n    cases: [{{when: {{linear.epochs: 0}}, stated: {{tau: 1}}}}]",
        "26: protocols.0.cases.0.when.linear.epochs: found 0, expected a value greater than 0.",
    ),
    ("value: 48.7}", "value: 48.7, K: 0}", "19: artifacts.1.rows.0.K: found 0, expected a value"),
    (
        FACTS,
        "    stated: {los: infonce}",
        "25: protocols.0.stated.los: no cell has this setting;",
    ),
    (FACTS, "    stated: {tau: low or so}", "25: protocols.0.stated.tau: found 'low or so', exp"),
    (
        FACTS,
        f"{FACTS}\n    cases: [{{when: {{lss: dcl}}, stated: {{tau: 1}}}}]",
        "26: protocols.0.cases.0.when.lss: no cell has this setting. Did you mean 'loss'",
    ),
    (
        FACTS,
        f"{FACTS}\n    includes: [bond]",
        "26: protocols.0.includes.0: the paper has no protocol 'bond'.",
    ),
    (FACTS, f"{FACTS}\n    includes: [bound]", "22: protocols: includes: bound includes bound."),
    ("    claim: ", "    klaim: ", "31: claims.0.klaim: unknown key. Did you mean 'claim'?"),
    ("    test: ", "    test: ''\n    note: ", "32: claims.0.test: the text is empty."),
    ("equations:", "equation:", "38: equation: unknown key. Did you mean 'equations'?"),
    (
        "equations:",
        "tolerances: {table-9: {tolerance: 1, unit: points, why: x}}\nequations:",
        "38: tolerances.table-9: the paper has no artifact 'table-9'. Did you mean 'table-3'?",
    ),
    (
        "equations:",
        "tolerances: {table-3: {unit: points, why: x}}\nequations:",
        "38: tolerances.table-3: the tolerance may not be 0, because every "
        "measured mean would then differ from the published value.",
    ),
]


@pytest.mark.parametrize(("old", "new", "told"), MISTAKES)
def test_a_mistake_is_one_line_with_its_place(
    written: Workspace, old: str, new: str, told: str
) -> None:
    assert old in CPC
    (written.root / "papers" / "cpc.yaml").write_text(CPC.replace(old, new, 1))
    answer = written.call("papers", "--check", "papers/cpc.yaml")
    assert (answer.status, answer.err, len(answer.out.splitlines())) == (2, "", 1), answer
    assert answer.out.startswith(f"papers/cpc.yaml:{told}"), answer.out


def test_every_mistake_is_listed_and_a_suite_names_the_first(written: Workspace) -> None:
    path = written.root / "papers" / "cpc.yaml"
    path.write_text(CPC.replace("kind: text", "kind: txt").replace("year: 2018", "year: new"))
    answer = written.call("papers", "--check", "papers/cpc.yaml")
    assert [line.split(" ")[1] for line in answer.out.splitlines()] == [
        "paper.year:", "artifacts.0.kind:"
    ]  # fmt: skip
    answer = written.call("plan", "cpc-bound")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "paper.year: found 'new'" in answer.err
    assert answer.err.endswith("`bench papers --check papers/cpc.yaml` lists 2 faults.\n")


def test_a_name_that_is_taken_names_both_files(written: Workspace) -> None:
    mine = written.root / "papers" / "dcl.yaml"
    mine.write_text(CPC.replace("  id: cpc ", "  id: dcl "))
    taken = f"the name 'dcl' is already taken by the paper {PAPERS['dcl']}"
    for words in (("papers",), ("plan", "cpc-bound"), ("claims",)):
        answer = written.call(*words)
        assert (answer.status, answer.err.count("\n")) == (2, 1)
        assert f"papers/dcl.yaml: {taken}" in answer.err
    answer = written.call("papers", "--check", "papers/dcl.yaml")
    assert (answer.status, answer.out) == (2, f"papers/dcl.yaml:2: paper.id: {taken}.\n")


def test_a_package_brings_a_paper(plugins: Path, workspace: Workspace) -> None:
    package = install_plugin(plugins, groups={"bench.papers": "cold = cold_methods.papers"})
    (package / "papers").mkdir()
    (package / "papers" / "cpc.yaml").write_text(CPC)
    assert [p["paper"] for p in workspace.call("papers", "--json").json][5:] == ["cpc"]
    assert len(workspace.call("claims", "--paper", "cpc", "--json").json) == 2
    (finding,) = (f for f in workspace.call("doctor", "--json").json if f["what"] == "plug-ins")
    assert finding["detail"] == "cold-methods 0.1: papers"


def test_the_schema_takes_the_example_and_refuses_an_unknown_key() -> None:
    validator = jsonschema.Draft202012Validator(paper_schema())
    data = yaml.safe_load(CPC)
    assert list(validator.iter_errors(data)) == []
    assert [e.validator for e in validator.iter_errors(data | {"claimss": []})] == [
        "additionalProperties"
    ]


def test_a_paper_by_name_is_described(workspace: Workspace) -> None:
    answer = workspace.call("papers", "eqco")
    assert answer.out.startswith("eqco: EqCo: Equivalent Rules for Self-supervised Contrastive")
    (row,) = [line.split() for line in answer.out.splitlines() if line.startswith("table-9 ")]
    assert row[-2:] == ["40", "small"]  # published values, and the suite that has them
    record = workspace.call("papers", "eqco", "--json").json
    assert {len(record[key]) > 3 for key in ("artifacts", "claims", "protocols")} == {True}
    assert workspace.call("papers", "eqcoo").err == (
        "bench: there is no paper 'eqcoo'. Did you mean 'eqco'? Allowed "
        "here: dcl, dual-temperature, eqco, mutual-information, unigrad.\n"
    )
