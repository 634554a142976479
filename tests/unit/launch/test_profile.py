"""Profiles: which one is meant, what each setting means, and what is said of a wrong one."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from bench.errors import LaunchError
from bench.launch.slurm import profile
from bench.launch.slurm.profile import Profile, load_profile

KNOWN = """
default: {timeout_min: 30}
gpu: {gpus_per_node: 4, pack: 2, slurm_partition: gpu, slurm_setup: [module load cuda],
  slurm_additional_parameters: {requeue: true}}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "profiles.yaml"
    path.write_text(KNOWN)
    monkeypatch.setattr(profile, "PROFILES", path)
    return path


def test_a_profile_is_found_by_its_name_by_its_file_or_by_default(home: Path) -> None:
    found = load_profile("gpu")
    assert (found.gpus_per_node, found.pack) == (4, 2)
    assert found.slurm == {
        "partition": "gpu",
        "setup": ["module load cuda"],
        "additional_parameters": {"requeue": True},
    }
    assert load_profile(None).timeout_min == 30
    other = home.with_name("mine.yml")
    other.write_text("timeout_min: 7")
    assert load_profile(str(other)).timeout_min == 7
    home.write_text("gpu: {}")
    assert load_profile(None) == Profile()
    home.unlink()
    assert load_profile(None) == Profile()


@pytest.mark.parametrize(
    ("settings", "workers", "nodes"),
    [
        ({}, 1, 1),
        ({"pack": 3}, 3, 1),
        ({"gpus_per_node": 4, "pack": 2}, 8, 1),
        ({"gpus_per_node": 4, "ranks": 8}, 1, 2),
        ({"gpus_per_node": 8, "ranks": 8}, 1, 1),
        ({"gpus_per_node": 4, "ranks": 9}, None, None),  # three nodes of three would do
        ({"ranks": 2}, 1, 1),
    ],
)
def test_workers_and_nodes(settings: Any, workers: int | None, nodes: int | None) -> None:
    made = Profile.model_validate(settings)
    assert (made.workers, made.nodes) == (workers or 1, nodes or 3)


def test_how_many_share_a_gpu_is_looked_up_before_it_is_asked() -> None:
    with pytest.raises(ValueError, match="pack 'auto' was not replaced by a number"):
        _ = Profile(pack="auto").workers


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"gpus_per_node": 2, "ranks": 3}, "3 ranks cannot be divided evenly among 2 nodes"),
        (
            {"ranks": 2, "pack": 2},
            "pack must be 1 with several ranks, because all ranks of a job compute one "
            "cell together",
        ),
        (
            {"timeout_min": 3},
            "timeout_min 3 is too short: Slurm warns 90 s before the end, so less than "
            "120 s of work remain",
        ),
        (
            {"timeout_min": 10, "slurm": {"signal_delay_s": 481}},
            "timeout_min 10 is too short: Slurm warns 481 s before the end, so less "
            "than 120 s of work remain",
        ),
        ({"slurm": {"setup": "module"}}, "slurm_setup: expected a list of shell commands"),
        ({"slurm": {"srun_args": "-v"}}, "slurm_srun_args: expected a list of options"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: Any, told: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Profile.model_validate(settings)
    assert refused.value.errors()[0]["msg"] == f"Value error, {told}"


def test_a_warning_leaves_two_minutes() -> None:
    assert Profile(timeout_min=4).timeout_min == 4
    assert Profile(timeout_min=10, slurm={"signal_delay_s": 480}).timeout_min == 10


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{gpu: {timeout_min: 0}}", "{home}: gpu: timeout_min: found 0, expected a value greater "
         "than 0."),
        ("{gpu: {timeout: 9}}", "{home}: gpu: timeout: unknown key. Did you mean 'timeout_min'? "),
        ("{gpu: {slurm: x}}", "{home}: gpu: slurm: unknown key; options of Slurm are "
            "single keys such as slurm_partition"),
        ("{gpu: {slurm_partitoin: x}}", "{home}: gpu: slurm_partitoin: this option cannot be set "
            "in a profile. Did you mean 'slurm_partition'? Allowed here: "
            "slurm_partition, "),
        ("{gpu: {slurm_job_name: x}}", "{home}: gpu: slurm_job_name: this option cannot be set in "
            "a profile. "),
        ("{gpu: 5}", "{home}: gpu: expected the settings of one profile, such as timeout_min: 60"),
        ("{gpu: {a: {b: 1}}}", "{home}: gpu: expected the settings of one profile, such as "),
        ("[gpu]", "{home}: the file must be a mapping from names of profiles to their " "settings"),
        ("{gpus: {}}", "--profile gpu: there is no profile of this name. Did you "
            "mean 'gpus'? Allowed here: gpus."),
        ("{}", "--profile gpu: there is no profile of this name. {home} has no profiles."),
    ],
)  # fmt: skip
def test_a_wrong_profile_is_one_line(home: Path, text: str, told: str) -> None:
    home.write_text(text)
    with pytest.raises(LaunchError) as refused:
        load_profile("gpu")
    assert str(refused.value).startswith(told.replace("{home}", str(home)))
    assert "\n" not in str(refused.value)
