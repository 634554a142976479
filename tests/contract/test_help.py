"""Help texts, completion of words by a shell, and lines that fit a terminal."""

import os
import re
import subprocess
import sys
from itertools import pairwise

import pytest

from bench.cli.app import VERBS, command_of
from tests.fakes.results import cells_of, finish
from tests.fakes.suites import SUITE, changed
from tests.fakes.workspace import Workspace

SCRIPT = "import sys; sys.argv = ['bench']; from bench.cli import main; main()"


def test_every_verb_has_a_line_and_a_page_of_help(workspace: Workspace) -> None:
    whole = workspace.call("--help").out
    assert "--show-completion" in whole
    for name, verb in VERBS.items():
        assert verb.what in whole, name
        page = workspace.call(name, "--help")
        assert (page.status, page.err) == (0, ""), name
        assert max(map(len, page.out.splitlines())) <= 80, name


@pytest.mark.parametrize("verb", ["compare", "claims", "versus", "export"])
def test_paragraphs_of_help_are_filled(workspace: Workspace, verb: str) -> None:
    text = workspace.call(verb, "--help").out.partition("Usage: ")[2].partition("╭")[0]
    paragraphs = [part.split("\n") for part in re.split(r"\n\s*\n", text)[1:]]
    assert len(paragraphs) > 1
    for first, second in (pair for lines in paragraphs for pair in pairwise(lines) if pair[1]):
        assert len(f"{first.rstrip()} {second.split()[0]}") > 78


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("show", ["--scale", "--where", "--seeds", "--set", "--json"]),
        ("plan", ["--set", "--probe", "--limit-gpu-hours"]),
        ("run", ["--set", "--retry-failed", "--executor"]),
        ("resume", ["--set", "--retry-failed"]),
        ("status", ["--set", "--watch"]),
        ("claims", ["--search", "--verdict", "--paper"]),
        ("suites", ["--search", "--paper", "--dataset", "--scale"]),
        ("versus", ["--metric", "--paper", "--scale", "--json"]),
    ],
)
def test_options_of_verbs(workspace: Workspace, verb: str, options: list[str]) -> None:
    page = workspace.call(verb, "--help").out
    assert [option for option in options if f"{option} " not in page] == []


@pytest.mark.parametrize("verb", ["compare", "claims", "report", "export"])
def test_verbs_about_suites_take_no_other_settings(workspace: Workspace, verb: str) -> None:
    assert "--set " not in workspace.call(verb, "--help").out


@pytest.mark.parametrize("verb", ["plan", "run", "resume", "show", "status"])
def test_a_missing_suite_says_what_lists_them(workspace: Workspace, verb: str) -> None:
    answer = workspace.call(verb)
    assert answer.status == 2
    assert answer.err.startswith("bench: Missing argument 'suite': ")
    assert "(`bench suites` lists them)" in answer.err


def test_every_option_that_takes_a_number_repeats_a_word_that_is_none(workspace: Workspace) -> None:
    numeric = {
        (verb, option.opts[0])
        for verb in VERBS
        for option in command_of(verb).params
        if option.type_descriptor.annotation in (int, float)
    }
    assert {("run", "--jobs"), ("run", "--ranks"), ("plan", "--limit-gpu-hours")} <= numeric
    for verb, option in sorted(numeric):
        answer = workspace.call(verb, "small", option, "two")
        assert answer.status == 2
        assert answer.err.startswith(f"bench: {option} two: expected a "), verb


@pytest.mark.parametrize(("words", "name"), [((), "first"), (("dcl",), "second")])
def test_a_missing_method_says_what_is_named(
    workspace: Workspace, words: tuple[str, ...], name: str
) -> None:
    answer = workspace.call("versus", *words)
    assert (answer.status, answer.err) == (
        2, f"bench: Missing argument '{name}': a method (`bench methods` lists them) or a loss; "
        "for example `bench versus dcl infonce`\n",
    )  # fmt: skip


def test_help_lists_the_exit_statuses(workspace: Workspace) -> None:
    page = " ".join(workspace.call("--help").out.split())
    assert "Exit status: 0 success; 1 the answer is negative" in page


def completed(workspace: Workspace, *words: str) -> list[str]:
    """Return what bash is offered for the last of these words."""
    command = " ".join(["bench", *words])
    asked = {
        "_BENCH_COMPLETE": "complete_bash",
        "COMP_WORDS": command,
        "COMP_CWORD": str(len(words)),
    }
    answer = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=workspace.root,
        env=os.environ | asked,
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    return [line for line in answer.stdout.split("\n") if line]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["sho"], ["show"]),
        (["show", "s"], ["small"]),
        (["run", "sma"], ["small"]),
        (["show", "small", "--scale", "l"], ["long"]),
        (["--suites", "none", "show", "s"], []),
        (["claims", "--verdict", "par"], ["partly holds"]),
        (["claims", "--paper", "d"], ["dcl", "dual-temperature"]),
        (["versus", "simc"], ["simclr", "simco", "simclr-momentum"]),
    ],
)
def test_a_shell_completes_words(
    workspace: Workspace, words: list[str], offered: list[str]
) -> None:
    assert completed(workspace, *words) == offered


def test_the_legend_of_a_comparison_fits_80_columns(workspace: Workspace) -> None:
    path = workspace.suite(changed(SUITE, {"grid.K": [64]}))
    finish(workspace.root / "results", cells_of(path, "tiny"), lambda _: {"mi_lower_bound": 1.0})
    lines = workspace.call("compare", "small").out.splitlines()
    (begin,) = (
        i for i, line in enumerate(lines) if line.startswith("Each entry shows the measured")
    )
    assert len(lines) > begin + 5
    assert max(map(len, lines[begin:])) <= 80
    assert "- not measured" in "\n".join(lines[begin:])  # no verdict is torn from its mark


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (
            "code",
            "the code raised an error; the log has the traceback; `--retry-failed` "
            "computes the cells again",
        ),
        ("diverged", "a loss or an estimate became infinite or not a number"),
    ],
)
def test_reasons_of_failures_are_explained_once(
    capsys: pytest.CaptureFixture[str], reason: str, told: str
) -> None:
    from bench.cli.options import print_failures

    failure = {"id": "x", "reason": reason, "attempts": 1, "log": None, "table": None}
    print_failures([failure | {"message": str(i // 2)} for i in range(24)])
    out = capsys.readouterr().out
    assert out.count("\n") == 12
    assert out.startswith(f"  x and 1 more failed: {reason}: 0\n")
    assert out.endswith(f"9\n  ... and 4 more failed\n  {reason}: {told}\n")
