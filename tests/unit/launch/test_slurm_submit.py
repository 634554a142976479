"""What is given to submitit: which cells, in which arrays, with which options; all or nothing."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from submitit.core.utils import FailedJobError

from bench.errors import LaunchError
from bench.launch.slurm import submit as launch_slurm
from bench.launch.slurm.job import Job
from bench.launch.slurm.profile import Profile
from bench.launch.slurm.request import Request
from bench.launch.slurm.resubmit import Resubmit
from bench.launch.slurm.submit import submit
from bench.results import lease
from bench.results.owner import Owner
from bench.results.store import Store
from tests.fakes.processes import age, wait_until
from tests.fakes.results import states
from tests.fakes.slurm import MadeUpSlurm, submitted
from tests.fakes.timings import finish
from tests.fakes.toys import toy

CELLS = [toy(seed=seed, hidden_units=33 + seed) for seed in range(5)]
"""Each has its own network: they are not stacked."""
DATA = Path("/data")


class Sbatch:
    """Takes arrays as `sbatch` does, and numbers them from 70; refuses the array `refused`."""

    def __init__(self, slurm: MadeUpSlurm, refused: int | None = None) -> None:
        self.slurm, self.refused = slurm, refused
        self.jobs: list[list[Any]] = []
        self.options: list[dict[str, Any]] = []
        self.asked: list[tuple[str, ...]] = []
        self.config = "MaxArraySize            = 1001\n"

    def __call__(self, jobs: Any, _: Path, name: str, options: dict[str, Any]) -> str:
        number = 70 + len(self.jobs)
        if len(self.jobs) == self.refused:
            raise LaunchError("Slurm refuses the jobs: no")
        self.jobs.append(list(jobs))
        self.options.append(options)
        for place in range(len(jobs)):
            self.slurm.begin(name, place, str(number), "PENDING")
        return str(number)

    def ask(self, *command: str) -> str:
        self.asked.append(command)
        return self.config

    @property
    def sizes(self) -> list[int]:
        return [len(jobs) for jobs in self.jobs if isinstance(jobs[0], Job)]


@pytest.fixture
def sbatch(slurm: MadeUpSlurm, monkeypatch: pytest.MonkeyPatch) -> Sbatch:
    made = Sbatch(slurm)
    monkeypatch.setattr(launch_slurm, "which", lambda _: "sbatch")
    monkeypatch.setattr(launch_slurm, "ask", made.ask)
    monkeypatch.setattr(launch_slurm, "_sbatch", made)
    return made


def request(jobs: int | None = None, retry_before: float = 0.0, **settings: Any) -> Request:
    return Request(CELLS, DATA, Profile.model_validate(settings), jobs, retry_before)


def given(sbatch: Sbatch) -> list[list[list[int]]]:
    """Return the seeds of the cells of each task of each array."""
    return [
        [[cell.seed for stack in job.stacks for cell in stack] for job in jobs]
        for jobs in sbatch.jobs
        if isinstance(jobs[0], Job)
    ]


def test_what_is_neither_done_nor_held_is_submitted_once(tmp_path: Path, sbatch: Sbatch) -> None:
    store = Store(tmp_path)
    finish(store, CELLS[0])
    assert store.folder(CELLS[1]).claim(CELLS[1], Owner.me(), "") is not None
    failed = store.folder(CELLS[2]).claim(CELLS[2], Owner.me(), "")
    assert failed is not None
    failed.end("failed", "code", "no")
    submission = submit(request(), store)
    assert submission is not None
    assert sorted(sum(sum(given(sbatch), []), [])) == [3, 4]  # noqa: RUF017
    assert states(Store(tmp_path), CELLS) == ["done", "running", "failed", "queued", "queued"]
    assert not store.submissions.open()[0].in_the_making()
    assert submit(request(), Store(tmp_path)) is None
    retried = submit(request(retry_before=failed.record["began"] + 10**6), Store(tmp_path))
    assert retried is not None
    assert retried.cells == {CELLS[2].id}


@pytest.mark.parametrize(
    ("site", "own", "sizes"),
    [("3", None, [3, 2]), ("1001", 2, [2, 2, 1]), ("2", 4, [2, 2, 1]), (None, None, [5])],
)
def test_arrays_keep_to_the_site_and_to_the_profile(
    tmp_path: Path, sbatch: Sbatch, site: str | None, own: int | None, sizes: list[int]
) -> None:
    told = f"MaxArraySize            = {site}\n" if site else "MaxJobCount = 9\n"
    sbatch.config = f"ClusterName = ci\n{told}MaxNodes = 1\n"
    submission = submit(request(max_array_size=own), Store(tmp_path))
    assert submission is not None
    assert sbatch.sizes == sizes
    assert [len(tasks) for tasks in submission.arrays.values()] == sizes


def test_arrays_wait_for_each_other_where_few_jobs_are_allowed(
    tmp_path: Path, sbatch: Sbatch
) -> None:
    submit(request(jobs=2, max_array_size=1), Store(tmp_path))
    waits = [o.get("slurm_additional_parameters", {}).get("dependency") for o in sbatch.options]
    assert waits[:5] == [None, None, "afterany:70", "afterany:71", "afterany:72"]
    assert waits[5] == "afterany:70:71:72:73:74"  # the last job
    assert [o["slurm_array_parallelism"] for o in sbatch.options[:5]] == [1] * 5


def test_as_many_at_once_as_are_allowed(tmp_path: Path, sbatch: Sbatch) -> None:
    submit(request(jobs=4, max_array_size=3), Store(tmp_path))
    assert [o["slurm_array_parallelism"] for o in sbatch.options[:2]] == [2, 2]
    assert not any("slurm_additional_parameters" in options for options in sbatch.options[:2])


def test_options_are_those_of_the_profile(tmp_path: Path, sbatch: Sbatch) -> None:
    slurm = {"partition": "gpu", "mem_per_gpu": "9G", "additional_parameters": {"x": 1}}
    asked: dict[str, Any] = {"gpus_per_node": 4, "pack": 2, "mem_gb": 8, "timeout_min": 50}
    submit(request(**asked, slurm=slurm), Store(tmp_path))
    array, last = sbatch.options
    assert array.pop("slurm_array_parallelism") == 1
    assert array == {
        "timeout_min": 50, "gpus_per_node": 4, "cpus_per_task": 8, "nodes": 1, "tasks_per_node": 1,
        "mem_gb": 8.0, "slurm_partition": "gpu", "slurm_mem_per_gpu": "9G",
        "slurm_additional_parameters": {"x": 1},
    }  # fmt: skip
    assert last == {
        "timeout_min": launch_slurm.SWEEP_MIN, "gpus_per_node": 0, "cpus_per_task": 1, "nodes": 1,
        "tasks_per_node": 1, "slurm_partition": "gpu",
        "slurm_additional_parameters": {"x": 1, "dependency": "afterany:70"},
    }  # fmt: skip
    (job,) = sbatch.jobs[0]
    assert job.profile == Profile.model_validate(asked | {"slurm": slurm})
    assert job.data == DATA


def test_the_last_job_knows_the_arrays(tmp_path: Path, sbatch: Sbatch) -> None:
    submission = submit(request(max_array_size=3), Store(tmp_path))
    assert submission is not None
    (sweep,) = sbatch.jobs[-1]
    assert isinstance(sweep, Resubmit)
    assert sweep.jobs == dict(zip(submission.arrays, ("70", "71"), strict=True))
    stopped = [job.stopped for jobs in sbatch.jobs[:-1] for job in jobs]
    assert stopped == [
        submission.stopped_file(array, place) for array, place, _ in submission.given()
    ]


def test_cells_that_were_lost_are_alone(tmp_path: Path, sbatch: Sbatch) -> None:
    submit(replace(request(pack=5), alone=True), Store(tmp_path))
    assert given(sbatch) == [[[0], [1], [2], [3], [4]]]


def test_short_cells_fill_the_time_of_a_job(tmp_path: Path, sbatch: Sbatch) -> None:
    with pytest.raises(LaunchError, match="the run time of gaussian-mi K=8 d=20 "):
        submit(request(time_per_job_min=1), Store(tmp_path))
    assert sbatch.jobs == []
    for cell in CELLS:
        finish(Store(tmp_path), toy(seed=99, hidden_units=cell.hidden_units), wall_s=25.0)
    submit(request(time_per_job_min=1), Store(tmp_path))
    assert [len(task) for array in given(sbatch) for task in array] == [2, 2, 1]


def test_if_an_array_is_refused_those_before_are_cancelled(tmp_path: Path, sbatch: Sbatch) -> None:
    sbatch.refused = 2
    with pytest.raises(LaunchError, match="Slurm refuses the jobs: no"):
        submit(request(max_array_size=2), Store(tmp_path))
    assert sbatch.asked[-1] == ("scancel", "70", "71")
    assert Store(tmp_path).submissions.open() == []


def test_without_the_last_job_the_arrays_stay(
    tmp_path: Path, sbatch: Sbatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sbatch.refused = 1
    assert submit(request(), Store(tmp_path)) is not None
    assert capsys.readouterr().err == (
        "bench: the clean-up job could not be submitted (Slurm refuses the jobs: no); run "
        "`bench resume` to resubmit killed cells\n"
    )
    assert states(Store(tmp_path), CELLS) == ["queued"] * 5
    assert not any(command[0] == "scancel" for command in sbatch.asked)


def test_arrays_whose_launcher_died_get_a_last_job(
    tmp_path: Path, sbatch: Sbatch, slurm: MadeUpSlurm
) -> None:
    """Its first array runs, it never gave the second: that is given now, and both looked after."""
    left = submitted(tmp_path, [[CELLS[0].id], [CELLS[1].id]], [[CELLS[2].id]])
    dead = Owner.me().record() | {"pid": 2**22 + 1}
    left.path.write_text(json.dumps(left.record | {"submitted": False, "owner": dead}))
    slurm.begin(f"{left.name}-0", 0, "30")
    slurm.begin(f"{left.name}-0", 1, "30")
    whole = submitted(tmp_path, [[CELLS[3].id]])  # Slurm refused its last job
    slurm.begin(f"{whole.name}-0", 0, "31")
    assert submit(request(), Store(tmp_path)) is not None
    adopted, array, last = sbatch.jobs
    assert isinstance(adopted[0], Resubmit)
    assert adopted[0].jobs == {f"{left.name}-0": "30"}
    assert [cell.seed for cell in adopted[0].request.cells] == [0, 1, 2]
    assert sbatch.options[0]["slurm_additional_parameters"] == {"dependency": "afterany:30"}
    assert {job.stacks[0][0].seed for job in array} == {2, 4}
    assert isinstance(last[0], Resubmit)
    left.log("30_0").touch()
    assert adopted[0]._in_lost_tasks() == {CELLS[0].id}
    assert slurm.alive is not None
    slurm.alive = [task for task in slurm.alive if task.array != left.sweep]
    assert submit(request(), Store(tmp_path)) is None  # all are held, and were looked after
    assert len(sbatch.jobs) == 3


def test_a_slow_submission_gives_signs_of_life(
    tmp_path: Path, sbatch: Sbatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else others would take its author for dead, and look after its arrays."""
    monkeypatch.setattr(lease, "HEARTBEAT_S", 0.01)
    touched: list[bool] = []

    def slow(*words: Any) -> str:
        (submission,) = Store(tmp_path).submissions.open()
        age(submission.path)
        touched.append(wait_until(submission.path, young=True))
        return sbatch(*words)

    monkeypatch.setattr(launch_slurm, "_sbatch", slow)
    assert submit(request(), Store(tmp_path)) is not None
    assert touched[0]


def test_a_refusal_is_told_in_sbatchs_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refuses:
        def __init__(self, *_: Any, **__: Any) -> None:
            pass

        def update_parameters(self, **_: Any) -> None:
            raise FailedJobError("sbatch: warning: x\n\nsbatch: error: no such partition\nmore")

    monkeypatch.setattr("submitit.AutoExecutor", Refuses)
    monkeypatch.setattr(Refuses, "batch", Refuses.update_parameters, raising=False)
    monkeypatch.setattr(Refuses, "update_parameters", lambda *_, **__: None)
    with pytest.raises(LaunchError) as refused:
        launch_slurm._sbatch([], tmp_path, "x", {})
    assert str(refused.value) == "Slurm refuses the jobs: sbatch: error: no such partition"


def test_without_slurm_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_slurm, "which", lambda _: None)
    with pytest.raises(LaunchError, match="there is no sbatch here; run this on a login node"):
        submit(request(), Store(tmp_path))
    monkeypatch.setattr(launch_slurm, "which", lambda _: "sbatch")
    monkeypatch.setattr(launch_slurm, "ask", lambda *_: None)
    with pytest.raises(LaunchError, match="the controller does not answer"):
        submit(request(), Store(tmp_path))
    assert not (tmp_path / "launches").exists()
