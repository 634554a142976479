"""A real Slurm cluster on this machine, begun by `cluster.sh` for the session, and ended with it.

Where Slurm is not installed the tests are skipped and say so.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator

import pytest

from tests.fakes.cluster import Cluster
from tests.fakes.workspace import Workspace


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    if not shutil.which("slurmctld", path=path) or not shutil.which("sbatch"):
        pytest.skip("Slurm is not installed (tests/slurm/cluster.sh install)")
    found = Cluster()
    yield found
    found.stop()


@pytest.fixture
def on_slurm(
    cluster: Cluster, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workspace]:
    """The workspace, with `bench` on the cluster; its jobs end with the test."""
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(workspace.root))  # no profiles of the user's
    yield workspace
    left = cluster.jobs()
    if left:
        cluster.ask("scancel", *left)


@pytest.fixture
def wait_for() -> Callable[..., None]:
    def wait(condition: Callable[[], object], seconds: float = 300, what: str = "") -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain {what}"
            time.sleep(0.5)  # to ask costs a third of a second, which jobs can use

    return wait
