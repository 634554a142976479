"""Metrics of one's own in files beside the suites: run, named, resumed; each mistake one line."""

import json
import re
from typing import Any, NamedTuple

import pytest
import torch

from bench.cells.pretrain import Pretrain
from bench.loss_files import TRUST
from bench.methods.own_metric import OwnMetric
from bench.metric_files import read_metric_file
from tests.fakes.cells import small_cell, training_of
from tests.fakes.paths import ROOT
from tests.fakes.suites import DIGITS, changed
from tests.fakes.workspace import Workspace

SCORE = '''\
def score(train_ND, test_MD, test_labels_M):
    """A number of the features."""
    return (train_ND.mean() - test_MD.mean()).abs() + test_labels_M.double().mean()
'''
HARDEST = '''\
def hardest(neg_NK):
    """The largest similarity with a negative."""
    return neg_NK.amax(dim=1).mean()
'''
POWER = '''\
def power(query_ND, key_ND, exponent):
    """A power of the positives' cosine."""
    return (query_ND * key_ND).sum(dim=1).abs().pow(exponent).mean()
'''
OF_POWER = """\
what: "A power of the positives' cosine"
version: 1
parameters:
  exponent: {type: float, above: 0, at_most: 4, default: 2}
"""
SUITE = changed(
    DIGITS,
    {
        "fixed.method": "simclr", "fixed.epochs": 2, "fixed.tau": 0.2, "fixed.knn_k": 3,
        "fixed.bn_groups": 1, "fixed.K": None, "fixed.evaluate": "score",
        "fixed.record": "hardest", "grid": {}, "tables": [
            {"title": "score", "metric": "own_evaluation", "rows": ["loss"]},
            {"title": "hardest", "metric": "own_record", "rows": ["loss"]},
        ],
    },
)  # fmt: skip
FOLDERS = ("suites/evaluations", "suites/records")
TRUSTED = ("--trust", FOLDERS[0], "--trust", FOLDERS[1])
HERE = ("--executor", "inline")


def write(workspace: Workspace, score: str = SCORE, hardest: str = HARDEST) -> None:
    for folder, name, code in zip(FOLDERS, ("score", "hardest"), (score, hardest), strict=True):
        (workspace.root / folder).mkdir(parents=True, exist_ok=True)
        (workspace.root / folder / f"{name}.py").write_text(code)


def cells_of(workspace: Workspace) -> list[Pretrain]:
    cells = workspace.call("plan", "digits", "--json").json["cells"]
    return [Pretrain.model_validate(cell["config"]) for cell in cells]


def cell_of(workspace: Workspace) -> Pretrain:
    (cell,) = cells_of(workspace)
    return cell


def write_power(workspace: Workspace, folder: str, code: str = POWER, yaml: str = OF_POWER) -> None:
    path = workspace.root / "suites" / folder / "power.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code)
    path.with_suffix(".yaml").write_text(yaml)


def test_a_hint_names_the_folders_to_trust(workspace: Workspace) -> None:
    write(workspace)
    workspace.suite(SUITE)
    begun = workspace.call("resume", "digits").err
    assert f"`bench run digits --scale tiny {' '.join(TRUSTED)}` starts the cells" in begun
    shipped: dict[str, Any] = {
        "fixed.evaluate": None,
        "fixed.record": None,
        "tables": [],
        "fixed.method": "clip",
    }
    workspace.suite(changed(SUITE, shipped | {"fixed.tau": None}))
    assert (
        "`bench run digits --scale tiny` starts the cells" in workspace.call("resume", "digits").err
    )


class Mistake(NamedTuple):
    """Files with a mistake, and how the line begins that says so."""

    says: str
    score: str = SCORE
    hardest: str = HARDEST
    suite: dict[str, Any] = {}


E, R = "suites/evaluations/score.py", "suites/records/hardest.py"
BODY = "return (train_ND.mean() - test_MD.mean()).abs() + test_labels_M.double().mean()"
SEEN = {
    "an unknown evaluation": Mistake(
        "suites/digits.yaml: fixed.evaluate: evaluate 'scoer' is unknown. Did you mean 'score'?",
        suite={"fixed.evaluate": "scoer"},
    ),
    "an unknown record": Mistake(
        "suites/digits.yaml: fixed.record: record 'score' is unknown. Allowed here: hardest",
        suite={"fixed.record": "score"},
    ),
    "a metric that no cell names": Mistake(
        "suites/digits.yaml: tables.1.metric: no cell measures own_record; to measure this "
            "metric, set record: NAME, which runs suites/records/NAME.py",
        suite={"fixed.record": None},
    ),
    "a file in place of its metric": Mistake(
        "suites/digits.yaml: tables.0.metric: found 'score'. The number that evaluate: score "
        "measures is called own_evaluation.",
        suite={"tables": [{"title": "x", "metric": "score", "rows": ["loss"]}]},
    ),
    "a metric in place of its setting": Mistake(
        "suites/digits.yaml: fixed.own_evaluation: this is the name "
            "of a metric; set evaluate: NAME instead",
        suite={"fixed.own_evaluation": "score"},
    ),
    "no function of the name": Mistake(
        f"{E}: the file must define the function 'score'; it defines "
            "scores", SCORE.replace("def score", "def scores")
    ),
    "no function at all": Mistake(f"{E}: the file must define the function 'score'", "score = 3\n"),
    "no Python": Mistake(f"{E}:1: the code is not valid Python: invalid syntax", "def score(:\n"),
    "no docstring": Mistake(
        f"{E}:1: score needs a docstring that says what it measures",
        SCORE.replace('    """A number of the features."""\n', ""),
    ),
    "an unknown argument": Mistake(
        f"{E}:1: unknown argument 'test_ND'. Did you mean 'test_MD'?",
        SCORE.replace("test_MD", "test_ND"),
    ),
    "an argument of the other kind": Mistake(
        f"{R}:1: unknown argument 'test_MD'. Allowed here: query_ND",
        hardest=HARDEST.replace("(neg_NK)", "(neg_NK, test_MD)"),
    ),
    "a star": Mistake(
        f"{E}:1: score cannot take 'more' by name, but all arguments are passed by " "name",
        SCORE.replace("test_labels_M):", "test_labels_M, **more):"),
    ),
    "by position alone": Mistake(
        f"{R}:1: hardest cannot take 'neg_NK' by name, but all arguments are passed " "by name",
        hardest=HARDEST.replace("(neg_NK)", "(neg_NK, /)"),
    ),
    "nothing to measure": Mistake(
        f"{R}:1: hardest must take at least one of the arguments "
            "query_ND, key_ND, pos_N, neg_NK",
        hardest=HARDEST.replace("(neg_NK)", "(epoch)"),
    ),
    "what the cell has not": Mistake(
        "suites/digits.yaml: record 'hardest' takes the argument "
            "tau, which needs the setting tau",
        hardest=HARDEST.replace("(neg_NK)", "(neg_NK, tau)"),
        suite={"fixed.method": "clip", "fixed.tau": None, "fixed.loss": None},
    ),
}  # fmt: skip
TRIED = {
    "an error": Mistake(
        f"{E}:3: RuntimeError: ",
        SCORE.replace(BODY, "return train_ND @ test_MD"),
    ),
    "an error at its head": Mistake(
        f"{R}:1: ModuleNotFoundError: No module named 'nowhere'",
        hardest="import nowhere\n" + HARDEST,
    ),
    "no number": Mistake(
        f"{E}: score returns nan, expected a finite number",
        SCORE.replace(BODY, "return float('nan')"),
    ),
    "a text": Mistake(
        f"{E}: score returns high, expected a finite number", SCORE.replace(BODY, "return 'high'")
    ),
    "many numbers": Mistake(
        f"{E}: score returns tensor(", SCORE.replace(BODY, "return test_MD.new_zeros(2)")
    ),
    "a truth value": Mistake(
        f"{E}: score returns True, expected a finite number", SCORE.replace(BODY, "return True")
    ),
    "a tensor's truth value": Mistake(
        f"{E}: score returns tensor(True), expected a finite number",
        SCORE.replace(BODY, "return (test_MD == test_MD).all()"),
    ),
    "nothing": Mistake(
        f"{E}: score returns None, expected a finite number", SCORE.replace(BODY, "pass")
    ),
    "a complex number": Mistake(
        f"{E}: RuntimeError: value cannot be converted",
        SCORE.replace(BODY, "import torch; return torch.tensor(1j)"),
    ),
    "a list of one number": Mistake(
        f"{E}: score returns tensor([0.]), expected a finite number",
        SCORE.replace(BODY, "return test_MD.new_zeros(1)"),
    ),
    "a name that is taken back": Mistake(f"{E}: KeyError: 'score'", f"{SCORE}\ndel score\n"),
    "an end of the program": Mistake(f"{E}:1: SystemExit: 0", f"raise SystemExit(0)\n{SCORE}"),
    "a change of what others see": Mistake(
        f"{R}: the code changes neg_NK in place; change a copy instead: neg_NK.clone()",
        hardest=HARDEST.replace("return neg_NK", "return neg_NK.clamp_(min=0)"),
    ),
    "a draw without generator": Mistake(
        f"{E}: two calls with the same arguments give different "
        "values; draw random numbers only with `generator`",
        SCORE.replace(BODY, "import torch; return torch.rand(())"),
    ),
}


def told(workspace: Workspace, mistake: Mistake, *words: str) -> str:
    write(workspace, mistake.score, mistake.hardest)
    suite = changed(SUITE, mistake.suite)
    workspace.suite(suite | {"fixed": {k: v for k, v in suite["fixed"].items() if v is not None}})
    answer = workspace.call(*words)
    assert (answer.status, answer.err.count("\n")) == (2, 1), answer.err
    return answer.err.replace(f"{workspace.root}/", "")


@pytest.mark.parametrize("name", SEEN)
def test_a_mistake_is_one_line_of_every_verb(workspace: Workspace, name: str) -> None:
    assert told(workspace, SEEN[name], "plan", "digits").startswith(f"bench: {SEEN[name].says}")


@pytest.mark.parametrize("name", TRIED)
def test_a_mistake_in_the_code_is_one_line_before_anything_is_computed(
    workspace: Workspace, name: str
) -> None:
    line = told(workspace, TRIED[name], "run", "digits", *HERE, *TRUSTED)
    assert line.startswith(f"bench: {TRIED[name].says}")
    assert not (workspace.root / "results" / "trained").exists()


def test_a_declaration_of_another_ending_is_one_line(workspace: Workspace) -> None:
    write(workspace)
    write_power(workspace, "records")
    workspace.suite(changed(SUITE, {"fixed.record": "power", "tables": []}))
    path = workspace.root / "suites" / "records" / "power.yaml"
    path.rename(path.with_suffix(".yml"))
    assert workspace.call("plan", "digits").err == (
        "bench: suites/records/power.yml: the name of this file must end in "
        ".yaml: rename the file power.yaml\n"
    )
    path.with_suffix(".yml").unlink()
    told = workspace.call("plan", "digits").err
    assert re.match(r"bench: suites/records/power\.py:\d: unknown argument 'exponent'\.", told)
    assert told.endswith(" A parameter must be declared in power.yaml, but this file is missing.\n")
    path.with_suffix(".py").rename(path.with_name("force.py"))
    path.write_text(OF_POWER)
    line = (
        "bench: suites/records/power.yaml: the file power.py with the function of "
        "this metric is missing\n"
    )
    assert workspace.call("plan", "digits").err == line


def test_an_invalid_file_stops_only_the_suites_that_name_it(workspace: Workspace) -> None:
    write(workspace)
    write_power(workspace, "records", yaml=OF_POWER.replace("version: 1", "version: one"))
    (workspace.root / "suites" / "evaluations" / "other.py").write_text("def other(:\n")
    workspace.suite(SUITE)
    answer = workspace.call("plan", "digits")
    assert answer.status == 0
    record = "bench: this file is left out: suites/records/power.yaml: version: "
    other = "bench: this file is left out: suites/evaluations/other.py:1: the code is not"
    assert [line.startswith((record, other)) for line in answer.err.splitlines()[:2]] == [True] * 2
    assert workspace.call("suites").err.count("this file is left out: ") == 2
    workspace.suite(changed(SUITE, {"fixed.record": "power", "tables": []}))
    answer = workspace.call("plan", "digits")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert answer.err.startswith("bench: suites/records/power.yaml: version: ")


def test_a_number_of_numpy_is_one(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    write(workspace, SCORE.replace(BODY, "import numpy; return numpy.float32(0.5)"))
    path = workspace.root / FOLDERS[0]
    monkeypatch.setenv(TRUST, str(path))
    digest = read_metric_file(path / "score.py", "evaluate").identity
    cell = small_cell(evaluate="score", evaluate_file=digest)
    metric = OwnMetric(cell, "evaluate")
    assert metric(dict.fromkeys(metric.given)) == 0.5


def test_a_suite_alone_runs_no_code(workspace: Workspace) -> None:
    write(workspace, hardest="from pathlib import Path\nPath('run').touch()\n" + HARDEST)
    workspace.suite(SUITE)
    why = (
        "is your own code: bench runs such code only from folders that you trust; "
        "add --trust with the folder of"
    )
    line = f"bench: evaluate 'score' {why} score.py\n"
    assert workspace.call("run", "digits", *HERE).err == line
    assert workspace.call("plan", "digits").err.startswith(line)
    other = workspace.call("run", "digits", *HERE, "--trust", FOLDERS[0])
    assert re.fullmatch(
        r"bench: record 'hardest' .* does not hold its file; .*\n",
        other.err,
    )
    assert not (workspace.root / "run").exists()


def test_the_digest_of_a_record_is_the_trainings_and_of_an_evaluation_is_not(
    workspace: Workspace,
) -> None:
    write(workspace)
    workspace.suite(SUITE)
    first = cell_of(workspace)
    write(workspace, score=SCORE.replace("number", "numeral"))
    evaluated = cell_of(workspace)
    assert evaluated.id != first.id
    assert evaluated.training_id == first.training_id
    write(workspace, hardest=HARDEST.replace("largest", "greatest"))
    recorded = cell_of(workspace)
    assert recorded.training_id != first.training_id
    workspace.suite(changed(SUITE, {"fixed.evaluate": None, "fixed.record": None, "tables": []}))
    plain = cell_of(workspace)
    assert plain.training_id != first.training_id
    assert not {"evaluate", "record"} & plain.science.keys()


def test_it_is_measured_shown_and_exported(workspace: Workspace) -> None:
    write(
        workspace,
        score=SCORE.replace("    return", '    print("what the code prints")\n    return'),
    )
    workspace.suite(SUITE)
    answer = workspace.call("run", "digits", *HERE, *TRUSTED, "--json")
    assert (answer.status, answer.json["done"]) == (0, 1), answer.err
    assert "what the code prints" in answer.err
    (summary,) = (workspace.root / "results" / "pretrain").glob("*/summary.json")
    metrics = json.loads(summary.read_text())["metrics"]
    assert 0 < metrics["own_record"] <= 1
    assert metrics["own_evaluation"] > 0
    lines = (summary.parent / "history.jsonl").read_text().splitlines()
    assert [json.loads(line)["own_record"] for line in lines][-1] == metrics["own_record"]
    assert len(lines) == 2
    for to in ("cells.tar", "tables"):
        assert workspace.call("export", "digits", "--to", to).status == 0
    added = workspace.call("--results", "elsewhere", "import", "cells.tar", "--json")
    assert added.json["added"] == 1, added.err
    assert workspace.call("--results", "tables", "status", "digits", "--json").json["done"] == 1
    assert workspace.call("run", "digits", *HERE).status == 0  # nothing is left that needs code

    measured = metrics["own_evaluation"]
    write(workspace, score=SCORE.replace("return ", "return 1 + "))
    told = workspace.call("show", "digits")
    assert told.err.startswith(
        "bench: evaluate 'score' was edited: `bench run` repeats 1 cell that the earlier "
        "code computed\n"
    )
    assert told.status == 3  # no number of the former code is shown
    assert workspace.call("status", "digits", "--json").json["stale"] == 1
    again = workspace.call("run", "digits", *HERE, *TRUSTED, "--json")
    assert (again.status, again.json["done"]) == (0, 1), again.err
    found = (workspace.root / "results" / "pretrain").glob("*/summary.json")
    values = sorted(json.loads(path.read_text())["metrics"]["own_evaluation"] for path in found)
    assert values == pytest.approx([measured, measured + 1])
    assert len([*(workspace.root / "results" / "trained").iterdir()]) == 1
    both = (SCORE.replace("return ", "return 2 + "), HARDEST.replace("amax", "amin"))
    write(workspace, *both)
    err = workspace.call("status", "digits").err
    named = re.findall("bench: (.*?) was edited: `bench run` repeats 1 cell ", err)
    assert named == ["evaluate 'score'", "record 'hardest'"]


def test_a_record_goes_on_to_the_bit(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    write(workspace)
    path = workspace.root / FOLDERS[1]
    monkeypatch.setenv(TRUST, str(path))
    digest = read_metric_file(path / "hardest.py", "record").identity
    cell = small_cell(record="hardest", record_file=digest, train_images=64)
    whole, begun, resumed = (training_of(cell) for _ in range(3))
    for step in range(3):
        whole.step(step)
    for step in range(2):
        begun.step(step)
    resumed.load(begun.state())
    resumed.step(2)
    assert resumed.probes.line() == whole.probes.line()
    largest = whole.probes.line()["own_record"]
    assert largest > whole.probes.line()["negative_similarity"]
    whole.probes.reset()
    assert torch.equal(whole.probes.own.sums, torch.zeros(2, dtype=torch.float64))  # type: ignore[union-attr]


OF_FEATURES = POWER.replace("(query_ND, key_ND, ", "(train_ND, test_MD, ").replace(
    "(query_ND * key_ND).sum(dim=1)", "(train_ND.mean(dim=0) - test_MD.mean(dim=0))"
)
WITH_POWERS: dict[str, Any] = {
    "fixed.evaluate": "power", "fixed.record": "power", "grid.evaluate_exponent": [1, 3],
    "grid.record_exponent": [0.5, 1], "tables": [
        {"title": "powers", "metric": "own_record", "rows": ["record_exponent"],
         "columns": "evaluate_exponent"},
    ],
}  # fmt: skip


def test_metrics_have_parameters_each_under_its_own_name(workspace: Workspace) -> None:
    write_power(workspace, "evaluations", OF_FEATURES)
    write_power(workspace, "records")
    workspace.suite(changed(SUITE, WITH_POWERS))
    cells = cells_of(workspace)
    assert len({cell.id for cell in cells}) == 4
    assert len({cell.training_id for cell in cells}) == 2  # an evaluation's needs no training
    assert len({cell.evaluation_id("own") for cell in cells}) == 4
    answer = workspace.call("run", "digits", *HERE, *TRUSTED, "--json")
    assert (answer.status, answer.json["done"]) == (0, 4), answer.err
    powers: dict[tuple[float, float], tuple[float, float]] = {}
    for path in (workspace.root / "results" / "pretrain").glob("*/summary.json"):
        known = json.loads(path.read_text())["metrics"]
        config = json.loads((path.parent / "cell.json").read_text())
        both = (config["evaluate_exponent"], config["record_exponent"])
        powers[both] = (known["own_evaluation"], known["own_record"])
    assert powers[1, 0.5][1] == powers[3, 0.5][1] > powers[1, 1][1]
    assert powers[1, 1][0] > powers[3, 1][0]
    assert "record_exponent" in workspace.call("show", "digits").out
    assert workspace.call("export", "digits", "--to", "tables").status == 0
    assert workspace.call("--results", "tables", "status", "digits", "--json").json["done"] == 4


PARAMETERS: dict[str, tuple[str, dict[str, Any]]] = {
    "out of range": ("fixed.record_exponent: found 9, expected a number above 0 and at most 4", {
        "fixed.record_exponent": 9}),
    "of another type": ("fixed.record_exponent: found 'two', expected a number above 0 and at", {
        "fixed.record_exponent": "two"}),
    "without its metric": ("fixed.record_exponent: record 'hardest' has no parameter of "
            "this name", {
        "fixed.record_exponent": 2, "fixed.record": "hardest"}),
    "without any metric": ("fixed.record_exponent: needs record", {
        "fixed.record_exponent": 2, "fixed.record": None}),
    "misspelt": ("fixed.record_exponnent: unknown key. Did you mean 'record_exponent'?", {
        "fixed.record_exponnent": 2}),
}  # fmt: skip


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_mistake_in_a_parameter_is_one_line(workspace: Workspace, name: str) -> None:
    says, changes = PARAMETERS[name]
    write(workspace)
    write_power(workspace, "records")
    workspace.suite(changed(SUITE, {"fixed.record": "power", "tables": []} | changes))
    answer = workspace.call("plan", "digits")
    assert answer.status == 2
    assert answer.err.startswith(f"bench: suites/digits.yaml: {says}"), answer.err
    assert answer.err.count("\n") == 1


DECLARED: dict[str, tuple[str, dict[str, str]]] = {
    "taken by nobody": ("power.yaml: parameters.factor: power in suites/records/", {
        "exponent: {": "factor: {type: int, default: 1}\n  exponent: {"}),
    "given": ("power.yaml: parameters.tau: bench passes its own tau to the "
            "function, so the YAML file must not declare this name; name it "
            "only in the function", {
        "exponent: {": "tau: {type: float, default: 1}\n  exponent: {"}),
    "a default out of range": ("power.yaml: parameters.exponent: found 5, expected a number", {
        "default: 2": "default: 5"}),
    "an unknown key": ("power.yaml: learned: unknown key.", {
        "version: 1": "version: 1\nlearned: {}"}),
    "a setting's name": ("parameters.file: bench already uses this name; choose a different name", {
        "exponent: {": "file: {"}),
}  # fmt: skip


@pytest.mark.parametrize("name", DECLARED)
def test_a_mistake_in_a_declaration_is_one_line(workspace: Workspace, name: str) -> None:
    says, changes = DECLARED[name]
    write(workspace)
    ((before, after),) = changes.items()
    code = POWER.replace("exponent", "file") if after == "file: {" else POWER
    write_power(workspace, "records", code, OF_POWER.replace(before, after))
    workspace.suite(changed(SUITE, {"fixed.record": "power", "tables": []}))
    answer = workspace.call("plan", "digits")
    assert answer.status == 2
    assert says in answer.err.replace(f"{workspace.root}/", "")
    assert answer.err.count("\n") == 1


@pytest.mark.slow
def test_the_page_is_a_metric(workspace: Workspace) -> None:
    text = (ROOT / "docs" / "how-to" / "your-loss.md").read_text()
    for name, block in re.findall(r"```(?:python|yaml)\n# suites/(\S+)\n(.*?)```", text, re.DOTALL):
        path = workspace.root / "suites" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block)
    (command,) = re.findall(r"^bench (run my-metrics.*)$", text, re.MULTILINE)
    answer = workspace.call(*command.split(), "--set", "width=4", *HERE, "--json")
    assert (answer.status, answer.json["done"]) == (0, 4), answer.err
