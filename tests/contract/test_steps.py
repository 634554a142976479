"""BENCH_STEP at the command line: a mistake, and what the step cannot train, is one line."""

import pytest

from tests.fakes.cells import PRETRAIN
from tests.fakes.suites import changed
from tests.fakes.workspace import Workspace


def run(workspace: Workspace, *words: str) -> tuple[int, str]:
    answer = workspace.call("run", "small", "--executor", "inline", *words)
    return answer.status, answer.err


def test_no_other_word_is_taken(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_STEP", "fast")
    assert run(workspace) == (2, "bench: BENCH_STEP=fast: expected plain or graph\n")


def test_what_cannot_be_recorded_is_refused_before_it_starts(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.suite(changed(PRETRAIN, {"fixed.method": "directpred", "seeds": [0, 1]}))
    monkeypatch.setenv("BENCH_STEP", "graph")
    assert run(workspace) == (
        2,
        "bench: BENCH_STEP=graph: method 'directpred' takes the eigenvectors of a matrix in each "
        "step, which the host has to wait for (2 of the cells; nothing was run, --where leaves "
        "cells out)\n",
    )
    assert not (workspace.root / "results" / "trained").exists()


def test_several_ranks_are_refused(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.suite(PRETRAIN)
    monkeypatch.setenv("BENCH_STEP", "graph")
    answer = workspace.call("run", "small", "--executor", "slurm", "--ranks", "2")
    assert (answer.status, answer.err) == (
        2, "bench: BENCH_STEP=graph: only the plain step supports several ranks\n",
    )  # fmt: skip


def test_a_probe_says_that_it_times_the_plain_step(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.suite(PRETRAIN)
    monkeypatch.setattr("bench.launch.probe.probe_unknown", lambda *_: [])
    said = "bench: --probe times the plain step; with BENCH_STEP=graph encoders train by another\n"
    assert said not in workspace.call("plan", "small", "--probe").err
    monkeypatch.setenv("BENCH_STEP", "graph")
    assert workspace.call("plan", "small", "--probe").err.count(said) == 1
    assert said not in workspace.call("plan", "small").err
