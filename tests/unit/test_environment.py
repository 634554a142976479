"""What the environment says of this process."""

import pytest

from bench.environment import this_job, visible_gpus


@pytest.mark.parametrize(
    ("variables", "job"),
    [
        ({}, ""),
        ({"JOB_ID": "17"}, "17"),
        ({"JOB_ID": "19", "ARRAY_JOB_ID": "17", "ARRAY_TASK_ID": "0"}, "17_0"),
    ],
)
def test_a_process_knows_its_job(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], job: str
) -> None:
    for name in ("JOB_ID", "ARRAY_JOB_ID", "ARRAY_TASK_ID"):
        monkeypatch.delenv(f"SLURM_{name}", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    assert this_job() == job


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("0,2", ["0", "2"]), ("GPU-1a", ["GPU-1a"]), ("", []), ("-1", []), ("NoDevFiles", []),
        ("0,-1,1", ["0"]),
    ],
)  # fmt: skip
def test_a_device_that_does_not_exist_hides_those_behind_it(
    monkeypatch: pytest.MonkeyPatch, text: str, names: list[str]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", text)
    assert visible_gpus() == names
