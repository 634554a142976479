"""What README says is so."""

import re
from pathlib import Path

import pytest

from bench.analysis.check import check_suite
from bench.analysis.protocol import check_scale
from bench.config.grid import expand
from bench.config.load import load_suite
from tests.conftest import Workspace

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


EXAMPLES = {
    found.group(1): found.group(0).removeprefix("```yaml\n").removesuffix("```")
    for found in re.finditer(r"```yaml\nname: (.*?)\n.*?```", README, re.DOTALL)
}


# my-k-sweep: 2 MI x 2 K x 3 losses x 3 seeds, less 2 K x 3 seeds; my-crossing: 2 x 3 x 3.
@pytest.mark.parametrize(("name", "cells"), [("my-k-sweep", 30), ("my-crossing", 18)])
def test_the_example_suites_are_suites(tmp_path: Path, name: str, cells: int) -> None:
    path = tmp_path / f"{name}.yaml"
    path.write_text(EXAMPLES[name])
    suite = load_suite(path)
    paper = check_suite(suite, path)
    for scale in suite.scales:
        check_scale(suite, scale, expand(suite, scale, path), paper)
    assert len(expand(suite, suite.scale, path)) == cells


def test_the_error_it_shows_is_the_error(workspace: Workspace) -> None:
    shown = re.search(r"^    (bench: suites/my-k-sweep.*), \.\.\.$", README, re.MULTILINE)
    assert shown is not None
    text = EXAMPLES["my-k-sweep"].replace("  K: [64, 128]", "  taau: [1]\n  K: [64, 128]")
    workspace.suite(text, "my-k-sweep")
    assert workspace.call("plan", "my-k-sweep").err.startswith(shown.group(1))


@pytest.mark.parametrize("line", sorted(set(re.findall(r"^    bench (.*)$", README, re.MULTILINE))))
def test_every_command_it_shows_exists(workspace: Workspace, line: str) -> None:
    words = line.split("#")[0].split()
    verb = next(word for word in words if word.isalpha())
    help_text = workspace.call(verb, "--help").out
    whole = workspace.call("--help").out
    for option in (word for word in words if word.startswith("--")):
        assert option in help_text + whole


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text()):
        assert target.startswith("https://") or (ROOT / target).exists(), target
