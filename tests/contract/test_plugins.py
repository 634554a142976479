"""Suites, methods and objectives of installed packages, from the command line."""

import json
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch

from bench.cli.app import VERBS
from bench.suites.presets import load_presets
from tests.fakes.cells import small_cell
from tests.fakes.paths import ROOT
from tests.fakes.plugin import GROUPS, HINGE, MARKER, install_plugin
from tests.fakes.suites import changed
from tests.fakes.workspace import Workspace


@pytest.fixture
def installed(plugins: Path, workspace: Workspace) -> Workspace:
    """A workspace where the plug-in `hinge_losses` is installed; its code has not been loaded."""
    install_plugin(plugins)
    return workspace


def searched(workspace: Workspace) -> str:
    """Return the path on which a process of its own finds the plug-in, and bench."""
    return os.pathsep.join([str(workspace.root / "installed"), str(ROOT)])


def has_run(workspace: Workspace) -> bool:
    """Return whether code of the plug-in was loaded, by this process or another."""
    return (workspace.root / "installed" / MARKER).exists() or "hinge_losses" in sys.modules


def test_a_plugin_adds_a_suite_and_a_method(installed: Workspace) -> None:
    records = installed.call("suites", "--json").json
    assert [(r["name"], r["scales"]["tiny"]["cells"]) for r in records] == [
        ("small", 16), ("hinge-slack", 2),
    ]  # fmt: skip
    (method,) = installed.call("methods", "moco-hinge", "--json").json
    assert method["coordinates"]["slack"]["value"] == 0.2
    cells = installed.call("plan", "hinge-slack", "--json").json["cells"]
    assert [cell["axes"] for cell in cells] == [
        {"slack": 0.1, "seed": 0},
        {"slack": 0.2, "seed": 0},
    ]
    schema = installed.call("schema").json
    assert "hinge" in json.dumps(schema)
    (finding,) = (f for f in installed.call("doctor", "--json").json if f["what"] == "plug-ins")
    assert finding["detail"] == "hinge-losses 0.1: methods, objectives, suites"
    assert not has_run(installed)


def test_the_plugin_that_the_manual_shows(plugins: Path) -> None:
    """The blocks of docs/how-to/plugins.md, to the letter, are a plug-in that works."""
    text = (ROOT / "docs" / "how-to" / "plugins.md").read_text()
    shown = dict(re.findall(r"```(?:yaml|python)\n# (\S+)\n(.*?)```", text, re.DOTALL))
    (project,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    points = tomllib.loads(project)["project"]["entry-points"]
    groups = {group: f"{name} = {v}" for group, own in points.items() for name, v in own.items()}
    assert groups == GROUPS
    package = install_plugin(plugins, groups=groups)
    written = {str(path.relative_to(plugins)) for path in package.rglob("*.*")}
    assert set(shown) <= written
    for place, block in shown.items():
        (plugins / place).write_text(block)
    settings = load_presets(plugins)["moco-hinge"].settings
    cell = small_cell("moco-v2", loss="hinge", slack=settings["slack"])
    assert (cell.settings["slack"], cell.settings["power"]) == (0.2, 1.0)
    code: dict[str, Any] = {}
    exec(shown["hinge_losses/losses.py"], code)
    pos_N, neg_NK = torch.tensor([0.9, 0.2]), torch.tensor([[0.1, 0.5], [0.3, 0.0]])
    loss_N = code["hinge"](pos_N, neg_NK, slack=0.5, power=2.0)
    assert torch.allclose(loss_N, torch.tensor([0.01, 0.36]))


def test_an_own_suite_hides_that_of_a_plugin(installed: Workspace) -> None:
    path = installed.suite(changed(HINGE, {"title": "mine"}))
    assert installed.call("suites", "hinge-slack", "--json").json[0]["title"] == "mine"
    path.unlink()
    assert installed.call("suites", "hinge-slack", "--json").json[0]["title"] != "mine"


def test_two_plugins_with_a_suite_of_one_name(installed: Workspace) -> None:
    install_plugin(installed.root / "installed", name="other")
    answer = installed.call("suites")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert answer.err.startswith("bench: plug-in other 0.1: ")
    assert ": a second suite named 'hinge-slack', beside " in answer.err


@pytest.mark.slow
def test_only_computing_loads_code_of_a_plugin(installed: Workspace) -> None:
    run = installed.start(
        "run", "hinge-slack", "--executor", "inline", PYTHONPATH=searched(installed)
    )
    out, err = run.communicate(timeout=300)
    assert out.startswith("2 done, 0 failed, 0 missing"), err
    marker = installed.root / "installed" / MARKER
    marker.unlink()  # computing has loaded it

    (first, second) = sorted((installed.root / "results" / "pretrain").iterdir())
    origin = json.loads((first / "provenance.json").read_text())
    assert origin["packages"]["hinge-losses"] == "0.1"
    (trained, *_) = (installed.root / "results" / "trained").glob("*/provenance.json")
    assert json.loads(trained.read_text())["packages"]["hinge-losses"] == "0.1"
    slacks = {json.loads((f / "cell.json").read_text())["slack"] for f in (first, second)}
    assert slacks == {0.1, 0.2}

    readers = {
        "plan": "hinge-slack", "status": "hinge-slack", "show": "hinge-slack",
        "report": "hinge-slack",
        "export": "hinge-slack --to cells.tar", "import": "cells.tar", "merge": "results",
        "doctor": "", "suites": "", "methods": "", "schema": "",
        "compare": "results other",
    }  # fmt: skip
    assert set(readers) < set(VERBS)
    for verb, words in readers.items():
        there = ["--results", "other"] if verb in ("import", "merge") else []
        answer = installed.call(*there, verb, *words.split())
        assert answer.status == 0, (verb, answer.err)
        assert not has_run(installed), verb
    assert len(list((installed.root / "other" / "pretrain").iterdir())) == 2
    assert "0.1" in installed.call("show", "hinge-slack").out


@pytest.mark.slow
def test_what_a_plugin_computes_must_be_a_loss_per_query(installed: Workspace) -> None:
    code = installed.root / "installed" / "hinge_losses" / "losses.py"
    code.write_text("def hinge(pos_N, neg_NK, *, slack, power):\n    return pos_N.mean()\n")
    words = ("run", "hinge-slack", "--executor", "inline", "--where", "slack=0.1")
    run = installed.start(*words, PYTHONPATH=searched(installed))
    out, _ = run.communicate(timeout=300)
    assert run.returncode == 1
    assert (
        "failed: code: plug-in hinge-losses 0.1: hinge_losses.losses:hinge returned (), expected a "
        "tensor of shape (16,): the loss of each query"
    ) in out
