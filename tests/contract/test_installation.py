"""How the project installs itself: pinned versions, and what each target of the Makefile needs."""

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from bench import __version__
from tests.fakes.paths import ROOT

PINS = (ROOT / "requirements.txt").read_text()
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = ["3.11.5", "3.12.0", "3.13.0"]


def requirements() -> Iterator[Requirement]:
    """Yield what the project asks for, to run, to be tested and to be developed."""
    texts = [*PROJECT["dependencies"], "hatchling>=1.25"]
    texts += [text for extra in PROJECT["optional-dependencies"].values() for text in extra]
    yield from (r for r in map(Requirement, texts) if r.name != PROJECT["name"])


def pinned(python: str) -> dict[str, Version]:
    """Return the version of every distribution that is pinned for a Python on Linux."""
    found = {}
    for line in re.findall(r"^([a-z0-9].*?) \\$", PINS, re.MULTILINE):
        pin = Requirement(line)
        environment = {
            "python_full_version": python,
            "python_version": python.rpartition(".")[0],
            "sys_platform": "linux",
            "platform_system": "Linux",
            "platform_machine": "x86_64",
            "platform_python_implementation": "CPython",
        }
        if pin.marker is None or pin.marker.evaluate(environment):
            (version,) = pin.specifier
            found[pin.name] = Version(version.version)
    return found


@pytest.mark.parametrize("python", PYTHONS)
def test_what_the_project_asks_for_is_pinned(python: str) -> None:
    pins = pinned(python)
    wrong = [
        str(requirement)
        for requirement in requirements()
        if (version := pins.get(canonicalize_name(requirement.name))) is None
        or version not in requirement.specifier
    ]
    assert wrong == [], "`make lock` pins what is missing"


def test_every_pin_has_hashes_and_none_names_where_it_comes_from() -> None:
    pins = re.split(r"^(?=[a-z0-9])", PINS, flags=re.MULTILINE)[1:]
    assert [pin for pin in pins if "--hash=sha256:" not in pin] == []
    assert re.findall(r"https?:|file:|@|^\s*--(?!hash=sha256:).*", PINS, re.MULTILINE) == []


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what the Makefile needs to plan an installation."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("Makefile", "pyproject.toml", "requirements.txt"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.mark.parametrize(
    ("target", "installed"),
    [
        ("demo", "."), ("site", "."), ("test", "'.[test]'"), ("test-fast", "'.[test]'"),
        ("check", "'.[dev]'"), ("install", "'.[dev]'"),
    ],
)  # fmt: skip
def test_each_target_installs_what_it_needs_and_no_more(
    clone: Path, target: str, installed: str
) -> None:
    command = ["make", "--dry-run", "--directory", str(clone), target]
    plan = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    calls = [line for line in plan.splitlines() if " pip install " in line]
    assert len(calls) == 2
    assert calls[0].endswith("--require-hashes --requirement .venv/uv.txt")
    assert calls[1] == (
        ".venv/bin/uv pip install --python .venv/bin/python --constraint requirements.txt "
        f"--build-constraint requirements.txt --editable {installed}"
    )


def test_uv_is_taken_out_of_the_pins(clone: Path) -> None:
    plan = subprocess.run(
        ["make", "--dry-run", "--directory", clone, "install"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    (cut,) = (line for line in plan.splitlines() if line.startswith("sed "))
    (clone / ".venv").mkdir()
    subprocess.run(["bash", "-c", cut], cwd=clone, check=True)
    lines = (clone / ".venv" / "uv.txt").read_text().splitlines()
    assert lines[0].startswith("uv==")
    assert all(line.strip().startswith("--hash=sha256:") for line in lines[1:])
    assert len(lines) > 2
    assert not lines[-1].endswith("\\")


def test_ci_runs_the_two_targets_and_the_workflow_the_others_too() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == [
        "set -euo pipefail", 'cd "$(dirname "$0")/.."', "make check", "make test",
    ]  # fmt: skip
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    assert {
        "manual": "make docs",
        "oldest-versions": "make test-oldest",
    }.items() <= {
        name: step["run"]
        for name, job in workflow["jobs"].items()
        for step in job["steps"]
        if "run" in step
    }.items()
    job = workflow["jobs"]["checks-and-tests"]
    assert [step["run"] for step in job["steps"] if "run" in step] == ["bash .ci/run"]
    matrix = job["strategy"]["matrix"]["python"]
    assert [f"Programming Language :: Python :: {v}" for v in matrix] == [
        line for line in PROJECT["classifiers"] if line.startswith("Programming Language")
    ][1:]
    assert [python.rpartition(".")[0] for python in PYTHONS] == matrix


def test_the_citation_and_the_changelog_name_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == __version__
    zenodo = json.loads((ROOT / ".zenodo.json").read_text())
    assert citation["authors"] == PROJECT["authors"] == zenodo["creators"]
    assert citation["keywords"] == PROJECT["keywords"] == zenodo["keywords"]
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert re.findall(r"^## \[(.*?)\]", changelog, re.MULTILINE)[0] == __version__


def test_the_form_for_reproductions_asks_for_commands_that_exist() -> None:
    from bench.cli.app import VERBS

    text = (ROOT / ".github" / "ISSUE_TEMPLATE" / "reproduction.yml").read_text()
    form = yaml.safe_load(text)
    fields = [part for part in form["body"] if part["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert set(re.findall(r"`bench ([a-z]+)", text)) <= set(VERBS)
    assert set(form) == {"name", "description", "title", "labels", "body"}
