"""The reference results answer where nothing of one's own was measured, and it is said."""

from pathlib import Path

import pytest

import bench
from bench.files.messages import forget_warnings
from bench.suites import shipped
from tests.fakes.paths import REFERENCE, SUITES
from tests.fakes.results import cells_of, fail, finish
from tests.fakes.workspace import Workspace

SUITE = SUITES / "eqco-table-9.yaml"
WORDS = (str(SUITE), "--scale", "paper", "--where", "K=64")
TOLD = (
    "bench: results does not hold these cells: the reference results that come with bench are "
    "used\n"
)


@pytest.fixture
def with_reference(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace in which nothing was measured, of a bench with its reference results."""
    monkeypatch.setattr(shipped, "reference_results", lambda: REFERENCE)
    forget_warnings()
    return workspace


@pytest.mark.parametrize("verb", ["show", "compare", "claims"])
def test_a_new_folder_is_answered_from_the_reference(with_reference: Workspace, verb: str) -> None:
    from_reference = with_reference.call("--results", str(REFERENCE), verb, *WORDS)
    answer = with_reference.call(verb, *WORDS)
    assert (answer.err, answer.status) == (TOLD, from_reference.status)
    expected = " ".join(from_reference.out.split()).replace(f" --results {REFERENCE}", "")
    assert " ".join(answer.out.split()) == expected  # lines break elsewhere
    assert from_reference.err == ""


def test_the_next_command_keeps_the_cells_of_the_reference(with_reference: Workspace) -> None:
    """At this scale, cells are left to run."""
    answer = with_reference.call("show", str(SUITES / "unigrad-table-7.yaml"), "--scale", "cifar")
    assert f"--scale cifar --have {REFERENCE}` computes" in " ".join(answer.out.split())


def test_python_is_answered_too(
    with_reference: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = bench.load(str(SUITE), scale="paper")
    assert len(frame.cell.unique()) == 120
    assert capsys.readouterr().err == TOLD


def test_the_usual_place_of_a_checkout_names_the_reference(with_reference: Workspace) -> None:
    answer = with_reference.call("--results", "results/reference", "show", *WORDS)
    assert (answer.status, answer.err) == (0, "")


def test_ones_own_cells_answer_alone(with_reference: Workspace) -> None:
    own = cells_of(SUITE, "paper")[0]
    finish(with_reference.root / "results", [own], lambda _: {"mi_lower_bound": 0.25})
    frame = bench.load(str(SUITE), scale="paper")
    assert set(frame.cell) == {own.id}
    answer = with_reference.call("--results", "elsewhere", "show", *WORDS)
    assert answer.status == 3
    assert "elsewhere: this results folder does not exist" in answer.err


def test_status_says_from_where_the_reading_verbs_answer(with_reference: Workspace) -> None:
    note = "  30 of the cells are in the reference results, which `show` and `compare` use\n"
    assert note in with_reference.call("status", *WORDS).out
    assert (
        with_reference.call("--results", "new", "status", *WORDS, "--json").json["reference"] == 0
    )
    own = cells_of(SUITE, "paper")[0]
    finish(with_reference.root / "results", [own], lambda _: {"mi_lower_bound": 0.25})
    assert with_reference.call("status", *WORDS, "--json").json["reference"] == 0


def test_status_counts_the_baselines_apart(with_reference: Workspace) -> None:
    """`show` and `claims` count a suite's own cells only."""
    path = str(SUITES / "recipe-batch.yaml")
    told = with_reference.call("--results", "new", "status", path, "--scale", "cifar").out
    assert told.startswith("recipe-batch at scale cifar: 33 cells (3 baselines): 33 missing")


def test_failed_cells_are_not_answered_from_the_reference(with_reference: Workspace) -> None:
    fail(with_reference.root / "results", cells_of(SUITE, "paper")[:1])
    answer = with_reference.call("show", *WORDS)
    assert answer.status == 3
    assert "(failed: diverged 1); `bench run" in answer.err


def test_a_checkout_and_a_package_have_their_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shipped.reference_results() == REFERENCE
    inside = tmp_path / "bench" / "shipped" / "results"
    inside.mkdir(parents=True)
    monkeypatch.setattr(bench, "__file__", str(tmp_path / "bench" / "__init__.py"))
    assert shipped.reference_results() == inside
