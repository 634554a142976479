"""A few seconds of the attacks that `python -m benchmarks.attacks` makes by the thousand."""

import os
import subprocess
import sys

import pytest

from tests.fakes.paths import ROOT

CATEGORIES = ("clocks", "disk", "kills")
SECONDS = 6  # shared equally by the categories; each makes one attempt at least
ARGUMENTS = ("--seeds", "0", "--attempts", "400", "--seconds", str(SECONDS))


@pytest.mark.slow
def test_nothing_is_found_in_a_few_seconds() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.attacks", *ARGUMENTS],
        cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert (answer.returncode, answer.stderr) == (0, ""), answer.stdout
    rows = [line.split() for line in answer.stdout.splitlines()]
    assert [row[0] for row in rows] == ["category", *CATEGORIES, "all"]
    assert all(int(row[1]) > 0 for row in rows[1:])
