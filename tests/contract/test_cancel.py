"""`bench cancel` with a made-up Slurm: which jobs are ended."""

from pathlib import Path

import pytest

from bench.cli import status as module
from bench.cli.run import check_begun
from bench.cli.selection import Selection
from bench.cli.status import stop
from bench.cli.workspace import workspace_of
from bench.errors import LaunchError
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.slurm import MadeUpSlurm, submitted
from tests.fakes.workspace import Workspace


@pytest.fixture
def selection(workspace: Workspace) -> Selection:
    path = workspace.root / "suites" / "small.yaml"
    suite, at = load_suite(path), workspace_of(results=workspace.root)
    return Selection(suite, path, "tiny", expand(suite, "tiny", path), None, at)  # type: ignore[arg-type]


@pytest.fixture
def given(selection: Selection, slurm: MadeUpSlurm) -> Path:
    """Two jobs for the selection and more, and one for other cells."""
    one = submitted(selection.results, [selection.cells[0].id, "other"])
    slurm.begin(one, "7_0")
    slurm.begin(one, "7_1", "PENDING")
    slurm.begin(submitted(selection.results, ["other"], "bench-2"), "8")
    return one


def test_jobs_that_may_compute_its_cells_are_cancelled(
    selection: Selection, given: Path, slurm: MadeUpSlurm
) -> None:
    assert stop(selection) == {"jobs": ["7_0", "7_1"], "launchers": [], "elsewhere": []}
    assert slurm.asked[-1] == ("scancel", "7_0", "7_1")


def test_what_never_began_cannot_be_resumed(selection: Selection, given: Path) -> None:
    with pytest.raises(LaunchError, match="nothing to resume"):
        check_begun(selection)


def test_nothing_is_told_to_end_where_there_is_nothing(
    selection: Selection, slurm: MadeUpSlurm
) -> None:
    assert stop(selection) == {"jobs": [], "launchers": [], "elsewhere": []}
    assert slurm.asked == []


def test_a_slurm_that_does_not_answer_is_told(
    selection: Selection, given: Path, slurm: MadeUpSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ask", lambda *_: None)
    with pytest.raises(LaunchError, match=r"^scancel failed for jobs 7_0, 7_1$"):
        stop(selection)
    slurm.alive = None
    with pytest.raises(LaunchError) as unknown:
        stop(selection)
    assert str(unknown.value) == (
        "Slurm does not answer: jobs that were submitted from here may still run"
    )
