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


def test_the_example_suite_is_a_suite(tmp_path: Path) -> None:
    found = re.search(r"```yaml\n(.*?)```", README, re.DOTALL)
    assert found is not None
    path = tmp_path / "my-k-sweep.yaml"
    path.write_text(found.group(1))
    suite = load_suite(path)
    paper = check_suite(suite, path)
    for scale in suite.scales:
        check_scale(suite, scale, expand(suite, scale, path), paper)
    # 2 MI x 2 K x 3 losses x 3 seeds, less 2 K x 3 seeds
    assert len(expand(suite, "short", path)) == 30


def test_the_error_it_shows_is_the_error(workspace: Workspace) -> None:
    found = re.search(r"```yaml\n(.*?)```", README, re.DOTALL)
    shown = re.search(r"^    (bench: suites/my-k-sweep.*), \.\.\.$", README, re.MULTILINE)
    assert found is not None
    assert shown is not None
    text = found.group(1).replace("  K: [64, 128]", "  taau: [1]\n  K: [64, 128]")
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
