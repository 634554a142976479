"""A workspace with one small suite, and the command line run in it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench import cli
from tests.made_up_slurm import MadeUpSlurm

SUITE = """
name: small
title: "A small grid of gaussian-mi"
paper: eqco
reproduces: [table-9]
protocol: toy-mi
experiment: gaussian-mi
scale: tiny
scales:
  tiny: {what: "seconds", protocol: reduced}
  long: {what: "more steps", protocol: reduced, fixed: {steps: 3000}}
seeds: [0, 1]
fixed:
  d: 20
  steps: 100
  optimizer: adam
  lr: 5e-4
  eval_repeats: 3
  hidden_layers: 1
  hidden_units: 32
  activation: relu
grid:
  mi_true: [2, 10]
  K: [8, 16]
zip:
  - {loss: [infonce, eqco], alpha: [null, 512]}
assumed:
  embedding_dim: {value: 32, why: small}
  output_relu: {value: true, why: closest}
  tau: {value: 1.0, why: plain}
  margin_count: {value: negatives, why: "App. C"}
  bound_constant: {value: one-plus-alpha, why: "Sec. 2.1"}
compare:
  - artifact: table-9
    metric: mi_lower_bound
    layout: {rows: [loss, K], columns: mi_true}
claims:
  toy-mi-steady:
    - {check: flat, metric: mi_lower_bound, over: K, where: {loss: eqco, alpha: 512}, within: 10}
figures:
  - name: estimates
    title: "Estimates against K"
    draw: lines
    x: K
    y: mi_lower_bound
    by: loss
    panels: mi_true
    artifact: table-9
    reference: mi_true
    log_x: true
    x_label: "K"
    y_label: "nats"
"""


@dataclass
class Answer:
    """What a command gave back."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Workspace:
    """A folder with suites, and `bench` run in it."""

    root: Path
    call: Callable[..., Answer]

    def suite(self, text: str, name: str = "small") -> Path:
        path = self.root / "suites" / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def start(self, *words: str, **environment: str) -> "subprocess.Popen[str]":
        """Start `bench` as a process of its own, in a process group of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "bench", *words],
            cwd=self.root,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # Where the tests run in the background SIGINT is ignored, and so it would be here.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def summaries(self, results: str = "results") -> dict[str, bytes]:
        """Return what a finished run leaves that may not depend on how it was run."""
        return {
            str(path.relative_to(self.root / results)): path.read_bytes()
            for path in sorted((self.root / results).rglob("*"))
            if path.name in ("summary.json", "history.jsonl", "cell.json", "arrays.npz")
        }

    def attempts(self, results: str = "results") -> list[Any]:
        found = sorted((self.root / results).rglob("attempts/*.json"))
        return [json.loads(path.read_text()) for path in found]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small site of reference results."""
    from tests.sites import write_site, write_suites

    root = tmp_path_factory.mktemp("site")
    write_site(write_suites(root / "suites"), root / "to")
    return root / "to"


@pytest.fixture
def workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Workspace:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BENCH_RESULTS", raising=False)

    def call(*words: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["bench", *words])
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.delenv("BENCH_DATA", raising=False)
            patch.delenv("BENCH_SUITES", raising=False)
            with pytest.raises(SystemExit) as stop:
                cli.main()
        out, err = capsys.readouterr()
        return Answer(int(stop.value.code or 0), out, err)

    made = Workspace(tmp_path, call)
    made.suite(SUITE)
    return made


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> MadeUpSlurm:
    made = MadeUpSlurm()
    monkeypatch.setattr("bench.results.slurm.squeue.tasks", made.tasks)
    return made
