"""Whatever standard output is, and whatever suites say, a terminal gets plain lines."""

import os
import subprocess
import sys

import pytest

from tests.fakes.results import cells_of, finish
from tests.fakes.suites import SUITE, changed
from tests.fakes.workspace import Workspace


@pytest.mark.parametrize("redirected", ["PYTHONIOENCODING=ascii {0} > out", "{0} >&-"])
def test_any_standard_output_will_do(workspace: Workspace, redirected: str) -> None:
    workspace.suite(changed(SUITE, {"title": "K \u00b1 1"}))
    command = redirected.format(f"{sys.executable} -m bench suites")
    answer = subprocess.run(["sh", "-c", command], cwd=workspace.root, capture_output=True)
    assert (answer.returncode, answer.stderr) == (0, b"")
    if ">&-" not in redirected:
        assert "small" in (workspace.root / "out").read_text("ascii")


def test_figures_do_not_depend_on_the_screen_or_on_dates() -> None:
    """Matplotlib fails on an unknown backend, and numpy on a date that is no number."""
    drawn = (
        "import bench.figures.style as s, matplotlib, numpy.f2py; print(matplotlib.get_backend())"
    )
    script = (
        "import sys; from bench import cli; sys.argv = ['bench', '--version']\n"
        f"try: cli.main()\nexcept SystemExit: pass\n{drawn}"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"MPLBACKEND": "nope", "SOURCE_DATE_EPOCH": "x"},
        capture_output=True,
        text=True,
    )
    assert (answer.stderr, answer.stdout.split()[-1:]) == ("", ["agg"])


def test_what_a_suite_says_is_nothing_that_a_terminal_obeys(workspace: Workspace) -> None:
    odd = {"scales.tiny.what": "s\x1b[31m", "title": "t\x1b[31m", "notes": ["n\x1b[31m"]}
    path = workspace.suite(changed(SUITE, odd))
    finish(workspace.root / "results", cells_of(path, "tiny"), lambda _: {"mi_lower_bound": 1.0})
    for verb in ("plan", "show", "status", "compare", "claims", "suites"):
        assert "\x1b" not in workspace.call(verb, "small").out, verb
    assert "\x1b" not in workspace.call("export", "small", "--to", "t\x1b[31m").out
