"""A few seconds of the attacks that `python -m benchmarks.attacks` makes by the thousand."""

import os
import subprocess
import sys

import pytest

from tests.fakes.paths import ROOT

CATEGORIES = ("clocks", "disk", "kills")
SECONDS = 6  # shared equally by the categories; each makes one attempt at least
ARGUMENTS = ("--seeds", "0", "--attempts", "400", "--seconds", str(SECONDS))
KILLS = 4  # on the way to one finished grid, which is smaller too
ATTACK = f"""
from benchmarks.attacks import __main__, kills
kills.KILLS, kills.TOYS["seeds"] = {KILLS}, [0]
__main__.main()
"""


@pytest.mark.slow
def test_nothing_is_found_in_a_few_seconds() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", ATTACK, *ARGUMENTS],
        cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert (answer.returncode, answer.stderr) == (0, ""), answer.stdout
    rows = [line.split() for line in answer.stdout.splitlines()]
    assert [row[0] for row in rows] == ["category", *CATEGORIES, "all"]
    counts = {row[0]: int(row[1]) for row in rows[1:]}
    assert counts["clocks"]
    assert counts["disk"]
    assert counts["kills"] % KILLS == 0 < counts["kills"]
