"""`bench cancel` with a made-up Slurm: what is noted, and which jobs are ended."""

from dataclasses import replace

import pytest

from bench.cli import cancel as module
from bench.cli.cancel import stop
from bench.cli.run import check_begun
from bench.cli.selection import Selection
from bench.cli.workspace import workspace_of
from bench.errors import LaunchError
from bench.results.slurm.submissions import Submission
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.slurm import MadeUpSlurm, submitted
from tests.fakes.workspace import Workspace

Said = list[tuple[str, ...]]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Said:
    commands: Said = []

    def ask(*command: str) -> str:
        commands.append(command)
        return ""

    monkeypatch.setattr(module, "ask", ask)
    return commands


@pytest.fixture
def selection(workspace: Workspace) -> Selection:
    path = workspace.root / "suites" / "small.yaml"
    suite, at = load_suite(path), workspace_of(results=workspace.root)
    return Selection(suite, path, "tiny", expand(suite, "tiny", path), None, at)  # type: ignore[arg-type]


@pytest.fixture
def given(selection: Selection, slurm: MadeUpSlurm) -> Submission:
    """Two tasks, the first of them the selection's, and the job that comes last."""
    one = submitted(selection.results, [[c.id for c in selection.cells], ["other"]])
    slurm.begin(f"{one.name}-0", 0)
    slurm.begin(one.sweep, 0, "8", "PENDING")
    return one


def test_jobs_are_noted_as_ended_before_they_are(
    selection: Selection, given: Submission, said: Said
) -> None:
    assert stop(selection) == {"jobs": ["7_0", "8_0"], "launchers": [], "elsewhere": []}
    assert said == [("scancel", "7_0", "8_0")]
    assert [path.name for path in given.logs.iterdir()] == [f"{given.name}-0.0.stopped"]
    assert stop(selection)["jobs"] == ["7_0", "8_0"]  # again, as long as they are there


def test_what_was_cancelled_before_it_began_can_be_resumed(
    selection: Selection, given: Submission, slurm: MadeUpSlurm, said: Said
) -> None:
    stop(selection)
    slurm.alive = []
    selection.store.submissions.tidy()
    assert not selection.store.submissions.open()
    check_begun(selection)
    elsewhere = replace(selection, workspace=workspace_of(results=selection.results / "other"))
    with pytest.raises(LaunchError, match="nothing to resume"):
        check_begun(elsewhere)


def test_nothing_is_told_to_end_where_there_is_nothing(
    selection: Selection, slurm: MadeUpSlurm, said: Said
) -> None:
    assert stop(selection) == {"jobs": [], "launchers": [], "elsewhere": []}
    assert said == []


def test_a_slurm_that_does_not_answer_is_told_and_nothing_noted(
    selection: Selection, given: Submission, slurm: MadeUpSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ask", lambda *_: None)
    with pytest.raises(LaunchError, match=r"^scancel failed for jobs 7_0, 8_0$"):
        stop(selection)
    given.stopped_file(f"{given.name}-0", 0).unlink()
    slurm.alive = None
    with pytest.raises(LaunchError) as unknown:
        stop(selection)
    assert str(unknown.value) == (
        "Slurm does not answer: jobs that were submitted from here may still run"
    )
    assert list(given.logs.iterdir()) == []
