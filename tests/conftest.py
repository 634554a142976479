"""A workspace with one small suite, and the command line run in it."""

import sys
from pathlib import Path

import pytest

from bench import cli
from tests.fakes.slurm import MadeUpSlurm
from tests.fakes.suites import SUITE
from tests.fakes.workspace import Answer, Workspace


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small site of reference results."""
    from tests.fakes.site import write_site, write_suites

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
