"""`bench questions` and `bench.questions`: published, by others and measured here, by one road."""

import json
from pathlib import Path

import pytest

import bench
from bench.errors import PublishedError
from bench.papers.questions import QUESTIONS, questions, read_questions
from tests.fakes.paths import ROOT, SUITES
from tests.fakes.workspace import Workspace

REFERENCE = ROOT / "results" / "reference"
DISPUTED = {
    "dcl-small-batch", "temperature", "negatives", "dual-temperature", "which-negatives",
    "families", "momentum-targets", "dclw-weights",
}  # fmt: skip


def test_every_disputed_question_is_there() -> None:
    assert {question.name for question in questions()} >= DISPUTED


def test_one_command_says_what_is_known_of_dcl_at_small_batch(workspace: Workspace) -> None:
    roots = "--suites", str(SUITES), "--results", str(REFERENCE)
    found = json.loads(workspace.call(*roots, "questions", "dcl-small-batch", "--json").out)
    published, others, here = found["sentences"]
    assert published.startswith("Published: dcl - infonce at cifar10, batch 32, kNN: +4.8 points")
    rows = {kind: [e for e in found["effects"] if e["kind"] == kind] for kind in ("others", "here")}
    claimed = [e["effect"] for e in rows["others"] if e["says"] == "yes"]
    size = f"({min(claimed):+.1f} to {max(claimed):+.1f})"
    assert f"{len(claimed)} effects as claimed {size}; " in others
    assert " not as claimed" not in others
    assert (6.3, "cifar10", "yes") in {(e["effect"], e["data"], e["says"]) for e in rows["others"]}
    assert all(e["links"] for e in rows["others"])
    first = rows["here"][0]
    assert f"{first['effect']:+.3g} [" in here
    assert first["low"] < first["effect"] < first["high"]
    assert here.endswith(f"on {first['data']}: {first['says']}.")


def test_without_results_the_answer_names_the_command(workspace: Workspace) -> None:
    answer = workspace.call("--suites", str(SUITES), "questions", "dclw-weights")
    assert "Here: not measured; `bench run dcl-table-2 --scale cifar`" in answer.out
    assert "6 effects not as claimed (-2.7 to -0.6)" in " ".join(answer.out.split())


def test_a_check_that_is_not_asked_about_stays_out() -> None:
    frame = bench.questions("dclw-weights", results=REFERENCE, suites=SUITES)
    claimed = frame[frame.claim == "dcl/dclw-order"]
    assert set(claimed.kind) == {"published", "others", "here"}
    assert claimed.what.str.startswith("dclw").all()


def test_a_mistyped_question_is_one_line(workspace: Workspace) -> None:
    answer = workspace.call("--suites", str(SUITES), "questions", "dcl-small")
    assert answer.status == 2
    assert "no question 'dcl-small'. Did you mean 'dcl-small-batch'?" in answer.err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("dcl/few-epochs", "dcl/fewer-epochs", "dcl-small-batch: paper 'dcl' has no claim"),
        ("  paper: dcl\n", "  papers: dcl\n", "papers"),
    ],
)
def test_a_mistake_in_the_file_is_one_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = tmp_path / "questions.yaml"
    path.write_text(QUESTIONS.read_text().replace(old, new, 1))
    with pytest.raises(PublishedError, match=words) as error:
        read_questions(path)
    assert "\n" not in str(error.value)
