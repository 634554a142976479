"""A real Slurm cluster on this machine, begun by `cluster.sh` for the session, and ended with it.

Where Slurm is not installed the tests are skipped and say so.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Workspace

SCRIPT = Path(__file__).parent / "cluster.sh"
PORTS = 32
NODES = ("127.0.0.2", "127.0.0.3")
ARRAY = 3  # tasks of an array, at most


def free_ports() -> int:
    """Return the first of PORTS free ports below the ephemeral range."""
    for base in range(16800 + os.getpid() % 97 * PORTS, 32000, PORTS):
        sockets = []
        try:
            for port in range(base, base + PORTS):
                sockets.append(socket.socket())
                sockets[-1].bind(("127.0.0.1", port))
            return base
        except OSError:
            continue
        finally:
            for opened in sockets:
                opened.close()
    raise RuntimeError("no free ports")


class Cluster:
    """Two nodes on this machine."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="bench-slurm-", dir="/tmp")  # short: sockets
        self.settings = {
            "SLURM_CI_DIR": self.folder,
            "SLURM_CI_NODES": str(len(NODES)),
            "SLURM_CI_ARRAY": str(ARRAY),
            "SLURM_CI_PORT": str(free_ports()),
        }
        self.environment = {"SLURM_CONF": f"{self.folder}/slurm.conf"}
        self.script("start")

    def script(self, *words: str) -> None:
        answer = subprocess.run(
            [str(SCRIPT), *words], env=os.environ | self.settings, capture_output=True, text=True
        )
        assert answer.returncode == 0, answer.stderr[-4000:]

    def ask(self, *command: str) -> str:
        return subprocess.run(
            command, env=os.environ | self.environment, capture_output=True, text=True, check=True
        ).stdout

    def jobs(self, *, running: bool = False, sweeps: bool = False) -> list[str]:
        """Return the ids of jobs that have not ended."""
        states = ["--states=RUNNING"] if running else []
        lines = self.ask("squeue", "-h", "-r", "--format=%i|%j", *states).splitlines()
        found = [line.split("|") for line in lines]
        return [job for job, name in found if sweeps or not name.endswith("-sweep")]

    def node_of(self, job: str) -> str:
        return self.ask("squeue", "-h", "-j", job, "--format=%N").strip()

    def try_to(self, *command: str) -> None:
        """Tell Slurm something that it may refuse."""
        environment = os.environ | self.environment
        subprocess.run(command, env=environment, capture_output=True, check=False)

    def kill(self, job: str, only: bytes = b"submitit") -> None:
        """Kill those processes of a job whose command line says so, and nothing else of it."""
        found = re.search(r"JobId=(\d+)", self.ask("scontrol", "show", "job", job))
        assert found
        mine = f"SLURM_JOB_ID={found[1]}".encode()
        for path in Path("/proc").glob("[0-9]*"):
            try:
                ours = mine in (path / "environ").read_bytes().split(b"\0")
                if ours and only in (path / "cmdline").read_bytes():
                    os.kill(int(path.name), signal.SIGKILL)
            except OSError:
                continue

    def stop(self) -> None:
        self.script("stop")
        shutil.rmtree(self.folder, ignore_errors=True)


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
    left = cluster.jobs(sweeps=True)
    if left:
        cluster.ask("scancel", *left)


@pytest.fixture
def wait_for() -> Callable[..., None]:
    def wait(condition: Callable[[], object], seconds: float = 120, what: str = "") -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain {what}"
            time.sleep(0.2)

    return wait
