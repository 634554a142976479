"""Processes and the signs of life they leave: ended ones, old ones, ones waited for."""

import multiprocessing
import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

from bench.results.owner import LEASE_S, Owner


def dead_owner() -> Owner:
    """Return a process of this machine that is no more."""
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(0,))
    child.start()
    child.join()
    return replace(Owner.me(), pid=child.pid or 0, started="1")


OLD = time.time() - LEASE_S - 1


def age(path: Path) -> None:
    os.utime(path, (OLD, OLD))


def wait_until(path: Path, young: bool) -> bool:
    """Return whether a file is touched within a while."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if (path.stat().st_mtime > OLD + 1) == young:
            return True
        time.sleep(0.01)
    return False


def end(process: "subprocess.Popen[str]", seconds: float = 180) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err
