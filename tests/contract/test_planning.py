"""`bench plan` with --probe and --limit-gpu-hours, and `bench run` with the limit."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from bench.cells.toys import GaussianMI
from bench.experiments import EXPERIMENTS, Outcome
from tests.fakes.paths import SUITES
from tests.fakes.suites import CLASSIFIER, DIGITS, REMOVED, SUITE, SuiteData, changed
from tests.fakes.workspace import Workspace

PROBED = changed(SUITE, {"grid.mi_true": [2], "seeds": [0, 1, 2]})


def made(workspace: Workspace) -> set[str]:
    results = workspace.root / "results"
    return {str(p.relative_to(results)) for p in results.rglob("*") if p.is_file()}


def test_a_probe_leaves_no_cell_behind_and_is_used_after(workspace: Workspace) -> None:
    workspace.suite(PROBED)
    answer = workspace.call("plan", "small", "--probe", "--json")
    assert answer.err.count("bench: timing a few steps of gaussian-mi K=") == 2
    files = made(workspace)
    assert len(files) == 2
    assert all(name.startswith("probes/") for name in files)
    for plan in (answer.json, workspace.call("plan", "small", "--json").json):
        assert {cell["predicted_from"] for cell in plan["cells"]} == {"probe"}
        assert all(0 < cell["predicted_s"] < 60 for cell in plan["cells"])
        predicted = plan["predicted"]
        assert [k["message"] for k in predicted["by_kind"]] == ["probe"] * 2
        assert sum(k["core_s"] for k in predicted["by_kind"]) == pytest.approx(
            predicted["core_s"],
            abs=0.2,  # each is rounded
        )
        assert predicted["gpu_hours"] is None
    status = workspace.call("status", "small", "--json").json
    assert status["missing"] == 12
    assert status["left_core_s"] == pytest.approx(predicted["core_s"], abs=0.2)
    again = workspace.call("plan", "small", "--probe")
    assert again.err == ""  # nothing is left to find out
    assert "probe" in again.out
    assert made(workspace) == files


def test_what_cannot_be_cut_is_computed_once(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[list[int]] = []
    run = EXPERIMENTS["gaussian-mi"]

    def watched(cells: Sequence[Any], *rest: Any) -> list[Outcome]:
        steps.append([cell.steps for cell in cells])
        return run(cells, *rest)

    monkeypatch.setattr(GaussianMI, "cuttable", ())
    monkeypatch.setitem(EXPERIMENTS, "gaussian-mi", watched)
    workspace.suite(PROBED)
    plan = workspace.call("plan", "small", "--probe", "--jobs", "1", "--json").json
    assert steps == [[100] * 6] * 2  # two kinds: 2 losses, 3 seeds each
    assert {cell["predicted_from"] for cell in plan["cells"]} == {"probe"}


@pytest.mark.slow
@pytest.mark.parametrize("suite", [DIGITS, CLASSIFIER], ids=lambda suite: str(suite["name"]))
def test_encoders_and_classifiers_are_probed(workspace: Workspace, suite: SuiteData) -> None:
    name = workspace.suite(suite).stem
    plan = workspace.call("plan", name, "--probe", "--json").json
    assert all(name.startswith("probes/") for name in made(workspace))
    assert {cell["predicted_from"] for cell in plan["cells"]} == {"probe"}
    assert all(cell["predicted_s"] > 0 for cell in plan["cells"])
    if name == "digits":  # one training, two evaluations: half of it each
        first, second = (cell["predicted_s"] for cell in plan["cells"])
        assert first == pytest.approx(second, rel=0.2)


@pytest.mark.parametrize("suite", [DIGITS, CLASSIFIER], ids=lambda suite: str(suite["name"]))
def test_steps_that_take_too_long_are_not_done(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, suite: SuiteData
) -> None:
    def refuse(*_: object) -> float:
        raise AssertionError("a step was done")

    monkeypatch.setattr("bench.experiments.timing.LONGEST_S", 0.0)
    monkeypatch.setattr("bench.train.loop.Training.step", refuse)
    monkeypatch.setattr("bench.train.supervised.SupervisedTraining.step", refuse)
    name = workspace.suite(suite).stem
    plan = workspace.call("plan", name, "--probe", "--json").json
    assert {cell["predicted_from"] for cell in plan["cells"]} == {"probe"}
    assert all(cell["predicted_s"] > 0 for cell in plan["cells"])


def test_what_cannot_be_probed_is_told_and_stays_unknown(workspace: Workspace) -> None:
    workspace.suite(changed(DIGITS, {"fixed.dataset": "cifar10"}))
    answer = workspace.call("plan", "digits", "--probe")
    kind = "pretrain small half width 4 8 px batch 16"
    assert (
        f"bench: {kind}: the steps could not be timed: cifar10: not found in "
        "datasets. " in answer.err
    )
    assert (answer.status, answer.err.count("\n")) == (0, 3), answer.err
    assert "--probe times a few steps" in " ".join(answer.out.split())


def test_a_limit_shows_and_runs_whole_claims(workspace: Workspace) -> None:
    """The claim needs eqco's cells of both K: with one seed, then with two."""
    workspace.suite(PROBED)
    workspace.call("run", "small", "--executor", "inline", "--seeds", "9")  # the times
    done = workspace.call("plan", "small", "--seeds", "9").out
    assert done.endswith("\nAll 4 cells are finished; nothing to run.\n")
    cells = workspace.call("plan", "small", "--json").json["cells"]
    claimed = [c for c in cells if c["axes"]["loss"] == "eqco"]
    two = [c for c in claimed if c["axes"]["seed"] in (0, 1)]
    hours = str(sum(c["predicted_s"] for c in two) * 1.001 / 3600)
    limited = workspace.call("plan", "small", "--limit-gpu-hours", hours, "--json").json["limited"]
    assert limited["claims"] == [{"claim": "toy-mi-steady", "seeds": [0, 1], "of_seeds": 3}]
    assert set(limited["chosen"]) == {c["id"] for c in two}
    assert limited["of"] == "core-hours"
    told = workspace.call("plan", "small", "--limit-gpu-hours", hours).out
    assert (
        "core-hours (no GPU is used, so --limit-gpu-hours limits core-hours): 4 of 12 cells" in told
    )
    assert "  claim that can be tested: toy-mi-steady: 2 of 3 seeds (0, 1)\n" in told
    words = ("--executor", "inline", "--limit-gpu-hours", hours, "--json")
    answer = workspace.call("run", "small", *words)
    assert {k: answer.json[k] for k in ("done", "missing")} == {"done": 4, "missing": 8}
    assert "claim that can be tested: toy-mi-steady" in answer.err
    judged = workspace.call("claims", "small", "--json").json
    assert [row["n"] for row in judged] == [2]


def test_a_limit_without_times_names_the_remedy(workspace: Workspace) -> None:
    for verb in ("plan", "run"):
        answer = workspace.call(verb, "small", "--limit-gpu-hours", "1")
        assert (answer.status, answer.err) == (
            2,
            "bench: --limit-gpu-hours: the run time of gaussian-mi K=8 d=20 "
            "hidden_units=32 is not known; `bench plan small --scale tiny --probe` "
            "times a few steps, so that the hours can be predicted\n",
        )
    assert not (workspace.root / "results").exists()


@pytest.mark.parametrize("hours", ["0", "-1", "nan", "inf"])
@pytest.mark.parametrize("verb", ["plan", "run"])
def test_a_limit_is_a_positive_number(workspace: Workspace, verb: str, hours: str) -> None:
    answer = workspace.call(verb, "small", f"--limit-gpu-hours={hours}")
    told = f"--limit-gpu-hours {float(hours):g}: expected a positive number of hours, such as 1.5"
    assert (answer.status, answer.err) == (2, f"bench: {told}\n")


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (
            "fixed.train_images",
            5000,
            "train_images is 5000, but data set digits has only 1347 training images",
        ),
        (
            "fixed.batch_size",
            256,
            "batch_size is 256, but train_images limits the training to 128 images",
        ),
        (
            "grid.knn_k",
            [300, 400],
            "knn_k is 300, but train_images limits the training to 128 images",
        ),
    ],
)
def test_more_than_the_data_set_has_is_refused_by_plan_and_before_training(
    workspace: Workspace, path: str, value: Any, told: str
) -> None:
    workspace.suite(changed(DIGITS, {path: value}))
    for verb in ("plan", "run"):
        answer = workspace.call(verb, "digits", "--json")
        assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1), verb
        assert answer.err.startswith(f"bench: {told}"), verb
    assert not (workspace.root / "results").exists()


def test_cells_that_the_data_set_has_enough_for_are_planned(workspace: Workspace) -> None:
    workspace.suite(changed(DIGITS, {"grid.knn_k": [7, 300]}))
    answer = workspace.call("plan", "digits")
    assert answer.err == (
        "bench: knn_k is 300, but train_images limits the training to 128 images: "
        "1 cell of digits at scale tiny cannot be computed; change the suite, or "
        "exclude these cells with --where\n"
    )
    assert workspace.call("plan", "digits", "--where", "knn_k=7").status == 0


def test_negatives_that_repeat_are_warned_of(workspace: Workspace) -> None:
    workspace.suite(changed(DIGITS, {"fixed.K": 4096}))
    answer = workspace.call("plan", "digits", "--json")
    assert answer.err.startswith(
        "bench: warning: K is 4096, but train_images limits the training to 128 images, so "
        "negatives repeat ("
    )
    assert (answer.status, answer.err.count("\n")) == (0, 1)
    assert json.loads(answer.out)["missing"] == 2


def test_what_no_cell_has_as_published_is_told_at_every_scale(workspace: Workspace) -> None:
    """Neighbours are to be sought in the memory bank; no cell does it."""
    name = "mutual-information-figure-5"
    workspace.suite((SUITES / f"{name}.yaml").read_text(), name)
    told = "knn_against = training-images, published memory-bank"
    for scale in ("paper", "smoke"):
        plan = workspace.call("plan", name, "--scale", scale)
        deviations = plan.out.split("Deviations from the paper, the most important first:")
        assert f"  {told}" in deviations[1].splitlines()
        record = workspace.call("plan", name, "--scale", scale, "--json").json
        assert told in record["deviations"]
    assert "dataset = digits instead of cifar10" in record["deviations"][0]


def test_a_plan_prints_each_recipe_with_its_learning_rate_after_scaling(
    workspace: Workspace,
) -> None:
    by_rule = {"fixed.lr": REMOVED, "fixed.base_lr": 0.8, "fixed.lr_scaling": "linear"}
    workspace.suite(
        changed(DIGITS, by_rule | {"grid.tau": [0.1, 0.2], "fixed.batch_size": 32}), "digits"
    )
    lines = " ".join(workspace.call("plan", "digits").out.split())
    of = "learning rate 0.1, cosine, weight decay 0.0001, epochs 3, batch size 32, tau"
    for tau in ("0.1", "0.2"):
        assert f"recipe: moco-v2, sgd, {of} {tau}, 8 pixels, views affine (2 cells)" in lines
    assert "views affine: affine 1; count 2" in lines


def test_seeds_may_be_ranges(workspace: Workspace) -> None:
    workspace.suite(SUITE)
    plan = json.loads(workspace.call("plan", "small", "--seeds", "0-2,7,2", "--json").out)
    assert list(dict.fromkeys(cell["axes"]["seed"] for cell in plan["cells"])) == [0, 1, 2, 7]
