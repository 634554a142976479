"""What is given to submitit: how many jobs, for which cells, with which options; all or nothing."""

import pickle
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from submitit.core.utils import FailedJobError

from bench.cells.cell import Cell
from bench.errors import LaunchError
from bench.launch.slurm import submit as module
from bench.launch.slurm.job import PullCells
from bench.launch.slurm.jobs import STACKS, jobs_of, slurm_folder
from bench.launch.slurm.profile import Profile
from bench.launch.slurm.submit import Submitted, submit
from bench.results.owner import Owner
from bench.results.store import Store
from tests.fakes.slurm import MadeUpSlurm, grow_old
from tests.fakes.timings import finish
from tests.fakes.toys import toy

CELLS: list[Cell] = [toy(seed=seed, hidden_units=33 + seed) for seed in range(5)]
"""Each has its own network: they are not stacked."""
DATA = Path("sets")


class Sbatch:
    """Takes arrays as `sbatch` does, and numbers them from 70."""

    def __init__(self, slurm: MadeUpSlurm) -> None:
        self.slurm, self.refuses = slurm, False
        self.works: list[PullCells] = []
        self.sizes: list[int] = []
        self.options: list[dict[str, Any]] = []

    def __call__(
        self, work: Any, jobs: int, folder: Path, executor: str, options: dict[str, Any]
    ) -> None:
        assert executor == "slurm"
        assert sorted(path.name for path in folder.iterdir()) == [STACKS, "submission.json"]
        if self.refuses:
            raise LaunchError("Slurm refuses the jobs: no")
        for place in range(jobs):
            self.slurm.begin(folder, f"{70 + len(self.works)}_{place}", "PENDING")
        self.works.append(work)
        self.sizes.append(jobs)
        self.options.append(options)

    @property
    def seeds(self) -> list[int]:
        """The seeds of the cells that the last jobs pull."""
        stacks = pickle.loads(self.works[-1].stacks.read_bytes())
        return sorted(cell.seed for stack in stacks for cell in stack)


@pytest.fixture
def sbatch(slurm: MadeUpSlurm, monkeypatch: pytest.MonkeyPatch) -> Sbatch:
    made = Sbatch(slurm)
    monkeypatch.setattr(shutil, "which", lambda _: "sbatch")
    monkeypatch.setattr(module, "_give", made)
    return made


def give(
    root: Path, cells: list[Cell] = CELLS, jobs: int | None = None, retry_before: float = 0.0,
    **settings: Any,
) -> Submitted:  # fmt: skip
    profile = Profile.model_validate(settings)
    return submit(cells, Store(root), DATA, profile, jobs=jobs, retry_before=retry_before)


@pytest.mark.parametrize(
    ("settings", "jobs", "config", "count"),
    [
        ({}, None, "1001", 5),
        ({"pack": 2}, None, "1001", 3),
        ({}, 2, "1001", 2),
        ({"pack": 2}, 9, "1001", 3),  # more would find nothing to do
        ({}, None, "3", 3),
        ({"max_array_size": 2}, None, "1001", 2),
        ({"max_array_size": 4}, None, "3", 3),
        ({}, None, None, 5),
    ],
)
def test_as_many_jobs_as_are_busy_allowed_and_possible(
    tmp_path: Path, sbatch: Sbatch, settings: Any, jobs: int | None, config: str | None, count: int
) -> None:
    line = f"MaxArraySize            = {config}\n" if config else "MaxJobCount = 9\n"
    sbatch.slurm.config = f"ClusterName = ci\n{line}MaxNodes = 1\n"
    found = give(tmp_path, jobs=jobs, **settings)
    assert (found.cells, found.jobs, found.before) == (5, count, 0)
    assert sbatch.sizes == [count]
    assert sbatch.seeds == [0, 1, 2, 3, 4]  # every job may compute every cell


def test_again_it_replaces_the_jobs_that_ended_and_no_others(
    tmp_path: Path, sbatch: Sbatch
) -> None:
    give(tmp_path)
    again = give(tmp_path)
    assert (again.jobs, again.before, again.logs) == (0, 5, None)
    assert sbatch.slurm.alive is not None
    del sbatch.slurm.alive[:2]
    finish(Store(tmp_path), CELLS[4])
    third = give(tmp_path)
    assert (third.cells, third.jobs, third.before) == (4, 1, 3)
    assert sbatch.seeds == [0, 1, 2, 3]


def test_jobs_that_cannot_do_all_of_it_do_not_count(tmp_path: Path, sbatch: Sbatch) -> None:
    give(tmp_path, CELLS[:3])
    assert give(tmp_path).jobs == 5  # two cells are not theirs
    assert give(tmp_path, CELLS[:3], pack=2).jobs == 2  # another profile
    assert give(tmp_path, CELLS[:3], retry_before=9.0).jobs == 3  # they retry nothing


def test_what_is_finished_or_failed_is_left_out(tmp_path: Path, sbatch: Sbatch) -> None:
    finish(Store(tmp_path), CELLS[0])
    attempt = Store(tmp_path).folder(CELLS[1]).claim(CELLS[1], Owner.me(), "")
    assert attempt is not None
    attempt.end("failed", "code", "no")
    give(tmp_path)
    assert sbatch.seeds == [2, 3, 4]
    give(tmp_path, retry_before=attempt.record["began"] + 10**6)
    assert sbatch.seeds == [1, 2, 3, 4]
    assert sbatch.works[-1].retry_before == attempt.record["began"] + 10**6
    for cell in CELLS[1:]:
        finish(Store(tmp_path), cell)
    assert give(tmp_path) == Submitted(0, 0, 0, None, Counter())


def test_options_are_those_of_the_profile(tmp_path: Path, sbatch: Sbatch) -> None:
    slurm = {"partition": "gpu", "mem_per_gpu": "9G", "additional_parameters": {"x": 1}}
    asked: dict[str, Any] = {"gpus_per_node": 4, "pack": 2, "mem_gb": 8, "timeout_min": 50}
    given = give(tmp_path, **asked, slurm=slurm)
    assert sbatch.options == [{
        "timeout_min": 50, "gpus_per_node": 4, "cpus_per_task": 8, "nodes": 1, "tasks_per_node": 1,
        "mem_gb": 8.0, "slurm_partition": "gpu", "slurm_mem_per_gpu": "9G",
        "slurm_additional_parameters": {"x": 1},
    }]  # fmt: skip
    (work,) = sbatch.works
    assert work.profile == Profile.model_validate(asked | {"slurm": slurm})
    assert work.data == DATA.resolve()  # jobs begin elsewhere
    assert given.logs == work.stacks.parent
    assert jobs_of(tmp_path)[0].submission.profile == work.profile


def test_cells_that_need_more_memory_than_a_worker_has_are_left_out(
    tmp_path: Path, sbatch: Sbatch
) -> None:
    for cell in CELLS[:3]:
        other = toy(seed=99, hidden_units=cell.settings["hidden_units"])
        finish(Store(tmp_path), other, peak_memory_gb=5.0)
    given = give(tmp_path, CELLS[:3], mem_gb=12, pack=2)
    assert (given.cells, given.misfits) == (3, {})
    with pytest.raises(
        LaunchError,
        match=r"needs about 5 GB of memory, but each worker of these jobs has only 4 GB",
    ):
        give(tmp_path, CELLS[:3], mem_gb=8, pack=2)


def test_if_the_jobs_are_refused_nothing_is_left(tmp_path: Path, sbatch: Sbatch) -> None:
    sbatch.refuses = True
    with pytest.raises(LaunchError, match="Slurm refuses the jobs: no"):
        give(tmp_path)
    assert list(slurm_folder(tmp_path).iterdir()) == []


def test_ended_submissions_are_forgotten(tmp_path: Path, sbatch: Sbatch) -> None:
    first = give(tmp_path).logs
    assert first is not None
    grow_old(first)
    sbatch.slurm.alive = []
    give(tmp_path)
    assert list(first.iterdir()) == []


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
    work: Any = None
    with pytest.raises(LaunchError) as refused:
        module._give(work, 1, tmp_path, "slurm", {})
    assert str(refused.value) == "Slurm refuses the jobs: sbatch: error: no such partition"
    with pytest.raises(LaunchError, match="; use `--jobs` to submit fewer than these 9 jobs"):
        module._give(work, 9, tmp_path, "slurm", {})


def test_without_slurm_it_is_told(
    tmp_path: Path, slurm: MadeUpSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(
        LaunchError, match="this machine has no command sbatch; run this on a login node"
    ):
        give(tmp_path)
    monkeypatch.setattr(shutil, "which", lambda _: "sbatch")
    slurm.config = None
    with pytest.raises(LaunchError, match="the controller of Slurm does not answer"):
        give(tmp_path)
    assert not (tmp_path / "launches").exists()
