"""An installed wheel, without the checkout: suites, a run, copies of suites."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench import __version__
from tests.fakes.paths import REFERENCE, ROOT, SUITES

LARGEST_MB = 5  # of the wheel, more than half of it reference results
TOY = "mutual-information-lemmas"


@dataclass(frozen=True)
class Installed:
    """The command `bench` of an environment that holds the wheel, and a folder to run it in."""

    command: Path
    folder: Path

    def call(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run the command in the folder, with nothing of this checkout on its path."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("BENCH_", "PYTHON"))}
        command = [str(self.command), *words]
        return subprocess.run(command, cwd=self.folder, env=kept, capture_output=True, text=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run([*build, "--directory", str(folder)], cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs of a new environment with the wheel; it sees the packages of this one."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    # A folder that a .pth names has its own .pth left unread: the checkout is not seen.
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    install = ["install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([*pip, *install], check=True, capture_output=True)
    return folder / "bin"


@pytest.fixture
def installed(environment: Path, tmp_path: Path) -> Installed:
    return Installed(environment / "bench", tmp_path)


@pytest.mark.slow
def test_a_wheel_holds_the_package_suites_and_reference_results_and_nothing_else(
    wheel: Path,
) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"bench", f"contrastive_bench-{__version__}.dist-info"}
    shipped = {name for name in names if name.startswith("bench/shipped/")}
    beside = {"suites": SUITES, "results": REFERENCE}
    assert shipped == {
        f"bench/shipped/{name}/{path.relative_to(folder)}"
        for name, folder in beside.items()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert wheel.stat().st_size < LARGEST_MB * 2**20


def contents(folder: Path) -> dict[Path, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder): path.read_bytes() for path in files}


@pytest.mark.slow
def test_an_installed_bench_plans_runs_and_shows_its_own_suites(installed: Installed) -> None:
    assert installed.call("--version").stdout == f"bench {__version__}\n"
    (suite,) = json.loads(installed.call("suites", "eqco-table-9", "--json").stdout)
    assert Path(suite["file"]).is_relative_to(installed.command.parents[1])
    listed = installed.call("suites", "--paper", "eqco")
    assert listed.stdout.endswith(
        "These are bench's own suites; `bench init` copies them here for editing.\n"
    )
    plan = json.loads(installed.call("plan", "eqco-table-9", "--scale", "quick", "--json").stdout)
    assert plan["missing"] == len(plan["cells"]) > 0
    compared = installed.call("compare", "eqco-table-9", "--scale", "paper")
    assert compared.returncode == 0, compared.stderr
    assert "40 same" in compared.stdout
    assert "the reference results that come with bench are used" in compared.stderr
    run = installed.call("run", TOY, "--jobs", "1")
    assert run.returncode == 0, run.stderr
    assert sorted(path.name for path in installed.folder.iterdir()) == ["results"]
    assert installed.call("show", TOY).returncode == 0


@pytest.mark.slow
def test_copied_suites_are_those_of_the_checkout(installed: Installed) -> None:
    told = installed.call("init", "study", "--json")
    count = len(list(SUITES.glob("*.yaml")))
    assert json.loads(told.stdout) == {"folder": "study/suites", "suites": count}
    assert contents(installed.folder / "study" / "suites") == contents(SUITES)
