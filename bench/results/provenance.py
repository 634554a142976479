"""Where a result comes from: code, versions, machine, time."""

import os
import platform
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench import __version__

PACKAGES = ("torch", "numpy", "scipy", "scikit-learn")


@cache
def _code() -> dict[str, Any]:
    """Return the commit of the code that runs from a checkout, and whether it was changed."""
    here = Path(__file__).resolve().parents[2]

    def git(*words: str) -> str | None:
        command = ["git", "-C", str(here), *words]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        except (OSError, subprocess.SubprocessError):
            return None
        return answer.stdout.strip()

    if not (here / ".git").exists():
        return {"bench": __version__, "commit": None, "dirty": None}
    changed = git("status", "--porcelain", "--", "bench")
    return {"bench": __version__, "commit": git("rev-parse", "HEAD"), "dirty": bool(changed)}


@cache
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@cache
def processor() -> str:
    """Return the name of this machine's processor, empty if it has none."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def describe(device: str, threads: int) -> dict[str, Any]:
    """Return what a result depends on beside its settings: code, packages, machine, device."""
    return {
        "code": _code(),
        "python": sys.version.split()[0],
        "packages": {name: _version(name) for name in PACKAGES},
        "machine": {
            "system": platform.system(),
            "architecture": platform.machine(),
            "processor": processor(),
            "cores": os.cpu_count(),
        },
        "device": device,
        "threads": threads,
    }


def flatten(record: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested provenance as one level: packages.torch, machine.processor, ..."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat
