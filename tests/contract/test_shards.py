"""A grid divided among machines that share nothing, and put together again."""

from typing import Any

import pytest

from bench.results.folder import CellFolder
from tests.fakes.suites import DIGITS, changed
from tests.fakes.workspace import Answer, Workspace

THREE_TRAININGS = changed(DIGITS, {"seeds": [0, 1, 2], "fixed.epochs": 2})  # six cells


def run(workspace: Workspace, results: str, *words: str) -> Answer:
    return workspace.call("--results", results, "run", "digits", "--executor", "inline", *words)


def killed(workspace: Workspace, results: str, *words: str) -> Answer:
    """Run, and break off when the second line of a history is written."""
    written, append = [0], CellFolder.append_history

    def broken(folder: CellFolder, line: Any) -> None:
        append(folder, line)
        written[0] += 1
        if written[0] == 2:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CellFolder, "append_history", broken)
        return run(workspace, results, *words)


def test_three_machines_compute_what_one_does(workspace: Workspace) -> None:
    workspace.suite(THREE_TRAININGS)
    assert run(workspace, "whole").status == 0

    assert run(workspace, "first", "--shard", "1/3").status == 0
    assert killed(workspace, "second", "--shard", "2/3").status == 130
    for folder in ("first", "second"):  # the third is late
        words = ("export", "digits", "--to", f"{folder}.tar.gz")
        workspace.call("--results", folder, *words)
    assert workspace.call("--results", "all", "import", "first.tar.gz").status == 0
    status = workspace.call("--results", "all", "status", "digits", "--json").json
    assert 0 < status["done"] < status["cells"] == 6

    assert run(workspace, "second", "--shard", "2/3").status == 0
    assert run(workspace, "third", "--shard", "3/3").status == 0
    assert run(workspace, "again", "--shard", "3/3").status == 0  # computed twice
    for folder in ("first", "second", "third", "again"):
        assert workspace.call("--results", "all", "merge", folder).status == 0
    whole = workspace.summaries("whole")
    finished = {name: text for name, text in whole.items() if not name.startswith("trained")}
    assert workspace.summaries("all") == finished
    sizes = [len(workspace.summaries(name)) for name in ("first", "second", "third")]
    assert sum(sizes) == len(whole)  # no training was done twice


def test_a_part_is_named_in_hints_and_may_be_empty(workspace: Workspace) -> None:
    workspace.suite(THREE_TRAININGS)
    plan = workspace.call("plan", "digits", "--shard", "2/3", "--json").json
    killed(workspace, "results", "--shard", "2/3")
    status = workspace.call("status", "digits", "--shard", "2/3")
    assert "bench run digits --scale tiny --shard 2/3" in status.out
    assert len(plan["cells"]) == 2
    assert "no cells" in workspace.call("plan", "digits", "--shard", "5/5").out
    answer = run(workspace, "results", "--shard", "5/5")
    assert (answer.status, answer.out) == (0, "cells: 0 done, 0 failed, 0 missing\n")


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1/0", "1", "a/b", "-1/3", "1/3/5", "1.5/3"])
def test_what_is_no_part(workspace: Workspace, shard: str) -> None:
    answer = workspace.call("run", "small", f"--shard={shard}")
    told = f"bench: --shard {shard}: expected PART/PARTS, from 1/16 to 16/16 for 16 parts\n"
    assert (answer.status, answer.err) == (2, told)
