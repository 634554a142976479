"""Suites and methods of installed packages, from the command line."""

import re
import tomllib
from pathlib import Path

import pytest

from bench.suites.presets import load_presets
from tests.fakes.paths import ROOT
from tests.fakes.plugin import COLD, GROUPS, MARKER, install_plugin
from tests.fakes.suites import changed
from tests.fakes.workspace import Workspace


@pytest.fixture
def installed(plugins: Path, workspace: Workspace) -> Workspace:
    """A workspace where the package `cold_methods` is installed."""
    install_plugin(plugins)
    return workspace


def test_a_plugin_adds_a_suite_and_a_method(installed: Workspace) -> None:
    records = installed.call("suites", "--json").json
    assert [(r["name"], r["scales"]["tiny"]["cells"]) for r in records] == [
        ("small", 16), ("cold", 2),
    ]  # fmt: skip
    (method,) = installed.call("methods", "moco-cold", "--json").json
    assert method["coordinates"]["tau"]["value"] == 0.05
    cells = installed.call("plan", "cold", "--json").json["cells"]
    assert [cell["axes"] for cell in cells] == [
        {"momentum": 0.9, "seed": 0},
        {"momentum": 0.99, "seed": 0},
    ]
    (finding,) = (f for f in installed.call("doctor", "--json").json if f["what"] == "plug-ins")
    assert finding["detail"] == "cold-methods 0.1: methods, suites"
    assert not (installed.root / "installed" / MARKER).exists()  # nothing of it was imported


def test_the_plugin_that_the_manual_shows(plugins: Path) -> None:
    """The blocks of docs/how-to/plugins.md, to the letter, are a plug-in that works."""
    text = (ROOT / "docs" / "how-to" / "plugins.md").read_text()
    shown = dict(re.findall(r"```yaml\n# (\S+)\n(.*?)```", text, re.DOTALL))
    (project,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    points = tomllib.loads(project)["project"]["entry-points"]
    groups = {group: f"{name} = {v}" for group, own in points.items() for name, v in own.items()}
    assert groups == GROUPS
    install_plugin(plugins, groups=groups)
    for place, block in shown.items():
        (plugins / place).write_text(block)
    assert load_presets(plugins)["moco-cold"].settings["tau"] == 0.05


def test_an_own_suite_hides_that_of_a_plugin(installed: Workspace) -> None:
    path = installed.suite(changed(COLD, {"title": "mine"}))
    assert installed.call("suites", "cold", "--json").json[0]["title"] == "mine"
    path.unlink()
    assert installed.call("suites", "cold", "--json").json[0]["title"] != "mine"


def test_two_plugins_with_a_suite_of_one_name(installed: Workspace) -> None:
    install_plugin(installed.root / "installed", name="other")
    answer = installed.call("suites")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert answer.err.startswith("bench: plug-in other 0.1: ")
    assert ": this is a second suite named 'cold'; the first is " in answer.err


def test_an_entry_point_that_names_no_folder(plugins: Path, workspace: Workspace) -> None:
    install_plugin(plugins, groups={"bench.suites": "cold = cold_methods.absent"})
    answer = workspace.call("suites")
    assert (answer.status, answer.err) == (
        2,
        "bench: plug-in cold-methods 0.1: entry point bench.suites, cold: found "
        "'cold_methods.absent', expected the dotted name of a folder in an installed package\n",
    )
