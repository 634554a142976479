"""A workspace with one small suite, the command line run in it, and what tests cost."""

import fcntl
import importlib.metadata
import os
import pickle
import resource
import sys
import time
from collections.abc import Callable, Generator, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from bench import cli
from bench.files import yaml_file
from bench.files.yaml_file import plugin_folders
from bench.suites import presets
from tests.fakes.forked import Forked
from tests.fakes.slurm import MadeUpSlurm
from tests.fakes.suites import SUITE
from tests.fakes.workspace import Answer, Workspace

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else every process compiles PyTorch: 5 s and more
sys.dont_write_bytecode = False
settings.register_profile(
    "any machine", suppress_health_check=[HealthCheck.too_slow], deadline=None
)
settings.load_profile("any machine")  # a busy machine is slow, which is no defect


plain_data = yaml_file._plain_data


@cache
def pickled(text: str, loader: Any) -> bytes:
    return pickle.dumps(plain_data(text, loader))


# Many tests read all suites: each text is read once, and each reader has data of its own.
yaml_file._plain_data = lambda text, loader: pickle.loads(pickled(text, loader))


def written_once(factory: pytest.TempPathFactory, name: str, write: Callable[[Path], Path]) -> Path:
    """Return what is written into a folder by the first process of the run that asks for it."""
    base = factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with root.with_suffix(".lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        if not (found := lock.read()):
            root.mkdir()
            found = str(write(root))
            lock.write(found)
    return Path(found)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small site of reference results, which tests only read."""
    from tests.fakes.site import write_site, write_suites

    def write(root: Path) -> Path:
        write_site(write_suites(root / "suites"), root / "to")
        return root / "to"

    return written_once(tmp_path_factory, "site", write)


@pytest.fixture(scope="session")
def image_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a site whose results on images are made up; tests only read it."""
    from tests.fakes.image_site import write_image_site

    return written_once(tmp_path_factory, "images", write_image_site)


@pytest.fixture
def workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Workspace:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BENCH_RESULTS", raising=False)
    no_reference = tmp_path / "no-reference"
    no_reference.mkdir()
    monkeypatch.setattr("bench.suites.shipped.reference_results", lambda: no_reference)

    def call(*words: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["bench", *words])
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.delenv("BENCH_DATA", raising=False)
            patch.delenv("BENCH_SUITES", raising=False)
            patch.setenv("BENCH_TRUST", "")  # which `--trust` sets
            patch.setenv("MPLBACKEND", os.environ.get("MPLBACKEND", ""))  # which it sets too
            with pytest.raises(SystemExit) as stop:
                cli.main()
        out, err = capsys.readouterr()
        return Answer(int(stop.value.code or 0), out, err)

    made = Workspace(tmp_path, call)
    made.suite(SUITE)
    return made


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start local workers as copies of this process: each would load PyTorch for seconds."""
    monkeypatch.setattr("submitit.local.local.subprocess", SimpleNamespace(Popen=Forked))


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return an empty folder whose packages are installed, and no other plug-in is."""
    folder = tmp_path / "installed"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    every = importlib.metadata.entry_points
    monkeypatch.setattr(
        "bench.files.yaml_file.entry_points",
        lambda group: [p for p in every(group=group) if str(folder) in str(p.dist._path)],  # type: ignore[union-attr]
    )
    forget_plugins()
    yield folder
    forget_plugins()


def forget_plugins() -> None:
    """Have plug-ins looked for anew."""
    plugin_folders.cache_clear()
    presets._installed_presets.cache_clear()


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> MadeUpSlurm:
    made = MadeUpSlurm()
    for user in ("launch.slurm.jobs", "launch.slurm.submit", "launch.slurm.job", "cli.status"):
        monkeypatch.setattr(f"bench.{user}.ask", made.ask)
    return made


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that wait for Slurm's jobs: other workers compute beside them."""
    items.sort(key=lambda item: item.path.parent.name != "slurm")


CPU_BEFORE = pytest.StashKey[float]()


def cpu_s() -> float:
    """Return the CPU seconds of this process and of the processes it started that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    item.stash[CPU_BEFORE] = cpu_s()
    yield
    if item.get_closest_marker("gpu") is not None:
        import torch  # seconds, which other tests need not pay

        if not torch.cuda.is_available():
            pytest.skip("needs a GPU")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    try:
        yield
    finally:
        item.user_properties.append(("cpu_s", cpu_s() - item.stash[CPU_BEFORE]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many CPU seconds the tests took, their fixtures included, and which took most."""
    spent: dict[str, float] = {
        report.nodeid: float(str(dict(report.user_properties)["cpu_s"]))
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "teardown"
    }
    heaviest = sorted(spent, key=spent.__getitem__, reverse=True)[:3]
    named = "".join(f"\n  {spent[test]:.1f} s {test}" for test in heaviest)
    terminalreporter.write_line(
        f"{sum(spent.values()):.0f} CPU-seconds in {len(spent)} tests, most in:{named}"
    )
