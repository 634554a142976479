"""Identity of the process that works on a cell, and whether it is alive."""

import os
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.environment import this_job

LEASE_S = 300.0  # a process on another machine is dead when it gave no sign for this long


@dataclass(frozen=True)
class Owner:
    """A process, identified across restarts and machines."""

    host: str
    machine: str  # boot and process namespace: numbers of processes mean the same within it
    pid: int
    started: str  # of the process, in the kernel's clock
    job: str = ""  # the Slurm job that it is a part of

    @classmethod
    def me(cls) -> "Owner":
        """Return the current process."""
        started = _started(os.getpid()) or ""
        return cls(socket.gethostname(), _machine(), os.getpid(), started, this_job())

    @classmethod
    def of(cls, record: dict[str, Any]) -> "Owner":
        """Return the owner in a JSON record (`bench.results.records.OwnerRecord`)."""
        return cls(**record)

    def record(self) -> dict[str, Any]:
        """Return the owner as JSON."""
        return asdict(self)

    def is_alive(self, sign_of_life: Path) -> bool:
        """Return whether the process is alive, from the kernel here or a file's age elsewhere.

        Args:
            sign_of_life: the file that the owner touches while it is alive (`bench.results.lease`).
        """
        if self.machine == _machine():
            return _started(self.pid) == self.started
        try:
            return _silent_s(sign_of_life) < LEASE_S
        except OSError:
            return False


_ahead: dict[Path, tuple[float, float]] = {}  # files touched in the future: when, and seen when


def _silent_s(path: Path) -> float:
    """Return since when a file was not touched, in seconds.

    One touched in the future, by a host whose clock is ahead, counts from when this process first
    saw it so.

    Raises:
        OSError: there is no such file.
    """
    touched, now = path.stat().st_mtime, time.time()
    if touched <= now:
        return now - touched
    if _ahead.get(path, (None,))[0] != touched:
        _ahead[path] = touched, time.monotonic()
    return time.monotonic() - _ahead[path][1]


def _machine() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def _started(pid: int) -> str | None:
    """Return the start time of a process in clock ticks since boot; None if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return None if Path("/proc/self").exists() else _exists(pid)
    except ProcessLookupError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else fields[19]


def _exists(pid: int) -> str | None:
    """Without /proc only the number can be asked for."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return ""
