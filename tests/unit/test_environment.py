"""What the environment says of this process."""

import pytest

from bench.environment import this_job


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
