"""An executor that another package registers with submitit; and submitit's names that we use."""

import os
import pickle
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import submitit
from submitit.core import plugins
from submitit.core.utils import DelayedSubmission

from bench.errors import LaunchError
from bench.launch.options import RunOptions
from bench.launch.slurm.job import PullCells
from bench.launch.slurm.profile import Profile, load_profile
from bench.launch.slurm.submit import submit
from bench.results.store import Store
from tests.fakes.toys import toy
from tests.fakes.workspace import Workspace

CODE = """
from submitit import DebugExecutor


class PierExecutor(DebugExecutor):
    given = []

    @classmethod
    def affinity(cls):
        return -1

    @classmethod
    def _valid_parameters(cls):
        return {"queue"}

    def _internal_update_parameters(self, **asked):
        self.parameters = asked
        if asked.get("queue") == "closed":
            raise OSError("the queue is closed")

    def _internal_process_submissions(self, submissions):
        self.given.extend((self.folder, self.parameters, one) for one in submissions)
        return super()._internal_process_submissions(submissions)
"""


def _forget() -> None:
    for known in (plugins._get_plugins, plugins.get_executors, plugins.get_job_environments):
        known.cache_clear()


@pytest.fixture
def pier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Install a package with an executor; return what is given to it."""
    installed = tmp_path / "installed"
    about = installed / "pier-1.dist-info"
    about.mkdir(parents=True)
    (installed / "pier_executor.py").write_text(CODE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: pier\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[submitit]\nexecutor = pier_executor:PierExecutor\n")
    monkeypatch.syspath_prepend(str(installed))
    _forget()
    given: list[Any] = plugins.get_executors()["pier"].given  # type: ignore[attr-defined]
    yield given
    sys.modules.pop("pier_executor")
    _forget()


def test_it_gets_jobs_that_pull_the_cells(pier: list[Any], tmp_path: Path) -> None:
    RunOptions("pier", profile="p").check()
    cells = [toy(seed=seed, hidden_units=33 + seed) for seed in range(5)]
    profile = Profile(mem_gb=3, elsewhere={"pier_queue": "long"}, slurm={"partition": "x"})
    store = Store(tmp_path / "results")
    given = submit(cells, store, Path("sets"), profile, executor="pier", jobs=2)
    assert (given.cells, given.jobs, given.before) == (5, 2, 0)
    assert given.logs is not None
    assert len(pier) == 2
    for folder, parameters, submission in pier:
        assert folder == given.logs
        assert (parameters["queue"], parameters["mem_gb"]) == ("long", 3)
        assert not {"partition", "slurm_partition", "array_parallelism"} & parameters.keys()
        assert isinstance(submission, DelayedSubmission)
        assert isinstance(submission.function, PullCells)
        stacks = pickle.loads(submission.function.stacks.read_bytes())
        assert sorted(cell.seed for stack in stacks for cell in stack) == [0, 1, 2, 3, 4]
    os.utime(given.logs.parent, (0, 0))
    store.sweep()  # as every later run does
    assert submission.function.stacks.exists()


def test_status_and_cancel_say_that_its_jobs_are_not_known(
    pier: list[Any], workspace: Workspace
) -> None:
    for _ in range(2):
        given = workspace.call("run", "small", "--executor", "pier", "--jobs", "1", "--json")
        assert given.status == 0, given.err
    logs = str(Path(given.json["submitted"]["logs"]).relative_to(workspace.root))
    line = (
        "  jobs of --executor pier may wait or run; `bench` lists and stops only "
        f"Slurm jobs, so use the tools of pier for these jobs (logs: {logs})\n"
    )
    for verb in ("status", "cancel"):
        assert workspace.call(verb, "small").out.count(line) == 1
        assert workspace.call(verb, "small", "--json").json["unknown_jobs"] == {"pier": logs}
    assert workspace.call("cancel", "small", "--set", "steps=200").out.count(line) == 0
    other = workspace.call("run", "small", "--executor", "inline", "--where", "K=8")
    assert other.status == 0
    assert line not in workspace.call("status", "small", "--where", "K=8").out
    assert line in workspace.call("status", "small").out


def test_what_it_raises_is_one_line(pier: list[Any], tmp_path: Path) -> None:
    profile = Profile(elsewhere={"pier_queue": "closed"})
    with pytest.raises(LaunchError) as error:
        submit([toy()], Store(tmp_path), Path("sets"), profile, executor="pier")
    assert str(error.value) == "--executor pier refuses the jobs: the queue is closed"
    assert not list((tmp_path / "launches" / "elsewhere").iterdir())


def test_its_options_are_keys_of_a_profile(pier: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("{timeout_min: 9, pier_queue: long}")
    assert load_profile(str(path)).elsewhere == {"pier_queue": "long"}
    path.write_text("{pier_queu: long}")
    with pytest.raises(LaunchError) as error:
        load_profile(str(path))
    assert str(error.value) == (
        f"{path}: pier_queu: this option cannot be set in a profile. Did you mean "
        "'pier_queue'? Allowed here: pier_queue."
    )


def test_an_unknown_one_is_told_with_all_names(pier: list[Any], workspace: Workspace) -> None:
    answer = workspace.call("run", "small", "--executor", "peer")
    assert (answer.status, answer.err) == (
        2,
        "bench: --executor peer: there is no such executor. Did you mean 'pier'? "
        "Allowed here: local, inline, slurm, pier.\n",
    )
    with pytest.raises(LaunchError, match=r"^--ranks can be used only with --executor slurm$"):
        RunOptions("pier", ranks=2).check()


def test_submitit_still_has_the_names_that_are_used_without_its_promise(tmp_path: Path) -> None:
    assert "partition" in submitit.SlurmExecutor._valid_parameters()
    assert {"slurm", "local", "debug"} <= set(plugins.get_executors())
    assert submitit.LocalJob(tmp_path, "0", process=None)._process is None
    assert find_spec("submitit.core._submit")  # by which processes are found in lists
