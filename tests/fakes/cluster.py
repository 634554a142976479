"""A one-host Slurm cluster, begun and ended by `tests/slurm/cluster.sh`."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from tests.fakes.paths import ROOT

SCRIPT = ROOT / "tests" / "slurm" / "cluster.sh"
PORTS = 32
NODES = ("127.0.0.2", "127.0.0.3")
ARRAY = 3  # jobs of an array, at most


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

    def jobs(self, *, running: bool = False) -> list[str]:
        """Return the ids of jobs that have not ended."""
        states = ["--states=RUNNING"] if running else []
        return self.ask("squeue", "-h", "-r", "--format=%i", *states).split()

    def node_of(self, job: str) -> str:
        return self.ask("squeue", "-h", "-j", job, "--format=%N").strip()

    def try_to(self, *command: str) -> None:
        """Tell Slurm something that it may refuse."""
        environment = os.environ | self.environment
        subprocess.run(command, env=environment, capture_output=True, check=False)

    def kill(self, job: str, only: bytes = b"submitit") -> None:
        """Kill those processes of a job whose command line says so, and nothing else of it.

        All are stopped before the first is killed, so that no process sees another's end.
        """
        found = re.search(r"JobId=(\d+)", self.ask("scontrol", "show", "job", job))
        assert found
        mine = f"SLURM_JOB_ID={found[1]}".encode()
        processes = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended
                ours = mine in (path / "environ").read_bytes().split(b"\0")
                if ours and only in (path / "cmdline").read_bytes():
                    processes.append(int(path.name))
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in processes:
                with suppress(ProcessLookupError):
                    os.kill(process, number)

    def stop(self) -> None:
        self.script("stop")
        shutil.rmtree(self.folder, ignore_errors=True)
