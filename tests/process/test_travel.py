"""What users bring travels: an archive to another folder, whose own suites make a page of it."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.errors import Interrupted
from bench.train import loop
from tests.fakes.forked import Forked
from tests.fakes.processes import end
from tests.fakes.suites import DIGITS, changed
from tests.fakes.workspace import Workspace

FILES = {
    "losses/classes.yaml": """\
what: "Learned class vectors, near which the images of a class shall be"
version: 1
parameters: {vectors: {type: int, at_least: 1, default: 10}}
learned: {classes_CD: {shape: [vectors, feature_dim], std: 1}, log_scale: 1}
""",
    "losses/classes.py": """\
def classes(query_ND, labels_N, classes_CD, log_scale):
    log_NC = (log_scale.exp() * query_ND @ classes_CD.T).log_softmax(dim=1)
    return -log_NC.gather(1, labels_N[:, None])[:, 0]
""",
    "methods/means.yaml": """\
what: "The second view near the first, and the batch spread about a mean that is remembered"
version: 1
parameters: {rate: {type: float, above: 0, below: 1, default: 0.5}}
quantities: [length]
like: simclr
coordinates: {tau: [null, "none"]}
""",
    "methods/means.py": """\
import torch


class Method(torch.nn.Module):
    def __init__(self, feature_dim, rate):
        super().__init__()
        self.register_buffer("mean_D", torch.zeros(feature_dim))

    def step(self, online, views, rate):
        a_ND, b_ND = (online(view).projection_ND for view in views)
        near = (a_ND * b_ND).sum(dim=1).mean()
        far = ((a_ND - self.mean_D) ** 2).sum(dim=1).mean()
        self.mean_D.lerp_(a_ND.detach().mean(dim=0), rate)
        return (self.mean_D @ a_ND.T).mean() - near - far, {"length": self.mean_D.norm()}
""",
    "evaluations/score.py": '''\
def score(train_ND, test_MD):
    """How far the mean features of training and test images are apart."""
    return (train_ND.mean(dim=0) - test_MD.mean(dim=0)).norm()
''',
    "records/cosine.py": '''\
def cosine(query_ND, key_ND):
    """The positives' cosine."""
    return (query_ND * key_ND).sum(dim=1).mean()
''',
}
TIMM = {"arch": "timm:test_vit", "stem": "imagenet", "width": 64, "image_size": 32}
SUITE = changed(
    DIGITS,
    {
        "fixed": {k: v for k, v in DIGITS["fixed"].items() if k not in ("method", "K", "bn_groups")}
        | {"train_images": 64, "epochs": 2, "knn_k": 3},
        "grid": {},
        "points": [
            {"method": "simclr", "loss": "classes", "evaluate": "score", "record": "cosine"},
            {"method": "means"},
            {"method": "simclr", "loss": "dcl", "tau": 0.2, **TIMM},
        ],
        "tables": [
            {"title": metric, "metric": metric, "rows": ["loss", "arch"], "decimals": 6}
            for metric in ("knn_top1", "own_evaluation", "own_record", "length")
        ],
    },
)  # fmt: skip
FOLDERS = sorted({Path(name).parent for name in FILES})
RUN = ("run", "digits", "--executor", "inline", *(f"--trust=suites/{name}" for name in FOLDERS))


KILLED = """
import os, signal, sys
from bench import cli
from bench.train import loop

step = loop.Training.step

def killed(training, number):
    if number == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    step(training, number)

loop.Training.step = killed
cli.main()
"""


def kill_timm_in_its_second_epoch(root: Path) -> None:
    command = [sys.executable, "-c", KILLED, *RUN, f"--where=arch={TIMM['arch']}"]
    killed = Forked(command, cwd=root, stderr=subprocess.PIPE, text=True)
    status, _, err = end(killed)
    assert status == -signal.SIGKILL, err


def run_stopped_in_each_training(workspace: Workspace) -> int:
    """Run, each other training being broken off in its second epoch; return how many were."""
    step, broken = loop.Training.step, set[str]()

    def interrupted(training: loop.Training, number: int) -> None:
        step(training, number)
        name = training.cell.training_id
        if number == 4 and name not in broken:
            broken.add(name)
            raise Interrupted

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop.Training, "step", interrupted)
        for _ in range(3):
            workspace.call(*RUN)
    return len(broken)


def entries(page: str) -> set[str]:
    """Return what stands in the cells of a page's tables."""
    return {word.strip() for line in page.splitlines() for word in line.split("|")[1:-1]}


@pytest.mark.slow
def test_what_is_ones_own_is_resumed_exported_imported_and_shown(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loss that learns and sees labels, both kinds of metric, a method, a network of timm."""
    workspace.suite(SUITE)
    for name, text in FILES.items():
        path = workspace.root / "suites" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    whole = workspace.call("--results", "whole", *RUN, "--json")
    assert whole.status == 0, whole.err
    assert whole.json["done"] == 3
    monkeypatch.setenv("BENCH_CHECKPOINT_S", "0")
    kill_timm_in_its_second_epoch(workspace.root)
    assert run_stopped_in_each_training(workspace) == 2
    assert workspace.call("status", "digits", "--json").json["done"] == 3
    assert workspace.summaries() == workspace.summaries("whole")
    paths = workspace.root.glob("results/trained/*/provenance.json")
    assert sorted(json.loads(path.read_text())["resumed_at"] for path in paths) == [4, 4, 5]

    assert workspace.call("export", "digits", "--to", "cells.tar", "--encoders").status == 0
    assert workspace.call("export", "digits", "--to", "tables").status == 0
    there = workspace.root / "there"
    there.mkdir()
    monkeypatch.chdir(there)  # where nobody knows any of the files
    added = workspace.call("import", "../cells.tar", "--json")
    assert (added.status, added.json["added"], added.json["left_out"]) == (0, 3, []), added
    assert Workspace(there, workspace.call).summaries() == workspace.summaries()
    shutil.copytree(workspace.root / "suites", there / "suites")  # and now they are known
    assert workspace.call("status", "digits", "--json").json["done"] == 3
    assert "3 cells and 3 encoders are finished and readable" in str(
        workspace.call("doctor", "--json").json
    )
    measured: list[dict[str, Any]] = [
        json.loads(path.read_text())["metrics"]
        for path in there.glob("results/pretrain/*/summary.json")
    ]
    wanted = ("knn_top1", "own_evaluation", "own_record", "length")
    numbers = {f"{m[name]:.6f}" for m in measured for name in wanted if name in m}
    assert len(numbers) >= 5
    for results in ("results", "../tables"):
        assert workspace.call("--results", results, "report", "digits").status == 0
        page = (there / "reports" / "digits" / "tiny" / "index.md").read_text()
        assert numbers <= entries(page)
        shutil.rmtree(there / "reports")
