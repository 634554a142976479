"""Provenance of a result: code, versions, machine and time."""

import os
import platform
import re
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench import __version__
from bench.files.atomic import write_whole
from bench.files.regular import is_number, sha256_of
from bench.results.names import MOST_NAMES, is_name
from bench.text import foreign_text

NUMBERS = (
    "attempt", "began", "cpu_s", "device_busy", "device_peak_gb", "device_total_gb", "earlier",
    "packed", "peak_memory_gb", "ranks", "stack", "threads", "wall_s",
)  # fmt: skip
MOST_NESTED = 4  # trained, machine, processor: 3
CPUINFO = Path("/proc/cpuinfo")
MODEL = ("cpu family", "model", "stepping")  # of CPUINFO, on x86
LONGEST_TEXT = 1000  # characters of a value
PACKAGES = (
    "torch", "numpy", "scipy", "scikit-learn", "torchvision", "faiss-cpu", "pycocotools",
)  # fmt: skip
DRIVER = Path("/proc/driver/nvidia/version")  # of NVIDIA's kernel module
CHECKOUT = Path(__file__).resolve().parents[2]
PINS = CHECKOUT / "requirements.txt"
MOST_BYTES_OF_EDITS = 256 * 1024
CUT = "\n... the rest is left out: all edits have {} bytes\n"


@cache
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@cache
def processor() -> str:
    """Return the name of this machine's processor; empty if unknown."""
    return _cpuinfo().get("model name") or platform.processor()


@cache
def processor_model() -> str | None:
    """Return the processor model, "family 25 model 17 stepping 1"; None if unknown.

    Virtual machines may report one name for several models, whose float32 sums may differ.
    """
    known = _cpuinfo()
    if not all(known.get(key) for key in MODEL):
        return None
    return " ".join(f"{key.removeprefix('cpu ')} {known[key]}" for key in MODEL)


def _cpuinfo() -> dict[str, str]:
    """Return what Linux says of the first processor; nothing elsewhere."""
    try:
        first = CPUINFO.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip()[:LONGEST_TEXT] for key, _, value in pairs}


def _cpu_capability() -> str | None:
    """Return the vector instructions that PyTorch uses; None if it is not loaded."""
    torch = sys.modules.get("torch")
    return None if torch is None else str(torch.backends.cpu.get_cpu_capability())


def _cuda() -> dict[str, Any]:
    """Return the versions of CUDA, cuDNN and the GPU's driver; None if one is unknown."""
    torch: Any = sys.modules["torch"]  # which a cell on a GPU has loaded
    try:
        driver = re.search(r"Module.*?\s(\d+\.[\d.]+)\s", DRIVER.read_text(encoding="utf-8"))
    except OSError:
        driver = None
    return {
        "runtime": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "driver": driver and driver[1],
    }


def describe(device: str, threads: int) -> dict[str, Any]:
    """Return what affects a result besides its settings: code, packages, machine, device.

    Args:
        device: cpu or cuda.
        threads: number of threads of the process.
    """
    return {
        "code": code(),
        "python": sys.version.split()[0],
        "packages": {name: _version(name) for name in PACKAGES},
        "machine": {
            "system": platform.system(),
            "architecture": platform.machine(),
            "processor": processor(),
            "processor_model": processor_model(),
            "cpu_capability": _cpu_capability(),
            "cores": os.cpu_count(),
        },
        "device": device,
        "threads": threads,
        **({"cuda": _cuda()} if device == "cuda" else {}),
    }


def flatten(record: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested provenance as a flat mapping: packages.torch, machine.processor, ..."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def fault_of_provenance(record: Any) -> str | None:
    """Return the error in a nested or flat provenance; None if it is valid."""
    if not isinstance(record, dict):
        return "the file is not a JSON object"
    why = _fault(record, MOST_NESTED)
    if why is None and len(flatten(record)) > MOST_NAMES:
        return f"the file has more than {MOST_NAMES} entries"
    return why


def _fault(record: dict[str, Any], levels: int) -> str | None:
    for key, value in record.items():
        name = key.rpartition(".")[2]
        if not is_name(key):
            return f"{foreign_text(key)} is not a name"
        if isinstance(value, dict):
            why = _fault(value, levels - 1) if levels > 1 else "the file is nested too deeply"
            if why is not None:
                return why
        elif name in NUMBERS and not is_number(value):
            return f"{foreign_text(key)} is not a number"
        elif value is not None and not isinstance(value, str | int | float):
            return f"{foreign_text(key)} is not text, a number or a truth value"
        elif isinstance(value, str) and len(value) > LONGEST_TEXT:
            return f"{foreign_text(key)} is text of more than {LONGEST_TEXT} characters"
    return None


@cache
def code() -> dict[str, Any]:
    """Return the version and, in a checkout, the commit and hashes of edits and of the pins."""
    if not (CHECKOUT / ".git").exists():
        return {"bench": __version__, "commit": None, "dirty": None}
    known = {"bench": __version__, "commit": _git("rev-parse", "HEAD"), "dirty": bool(_edits())}
    if PINS.is_file():
        known["pins"] = sha256_of(PINS.read_bytes())[:16]
    return known | ({"edits": sha256_of(_edits().encode())[:16]} if _edits() else {})


def code_text(known: dict[str, Any]) -> str:
    """Return the code version as text: `commit 15e8a6bb with edits 0f3c...`."""
    at = f"commit {known['commit'][:12]}" if known["commit"] else f"bench {known['bench']}"
    return f"{at} with edits {known['edits']}" if known.get("edits") else at


def keep_edits(results: Path) -> None:
    """Write this checkout's edits next to the results, in a file named by their hash."""
    if digest := code().get("edits"):
        path = results / "edits" / f"{digest}.patch"
        if not path.exists():
            whole = _edits().encode()
            cut = CUT.format(len(whole)).encode() if len(whole) > MOST_BYTES_OF_EDITS else b"\n"
            write_whole(path, whole[:MOST_BYTES_OF_EDITS] + cut)


@cache
def _edits() -> str:
    """Return the files that differ from the commit, and the differences; "" if none does."""
    changed = _git("status", "--porcelain", "--", "bench")
    return f"{changed}\n{_git('diff', 'HEAD', '--', 'bench')}" if changed else ""


def _git(*words: str) -> str | None:
    command = ["git", "--no-optional-locks", "-C", str(CHECKOUT), *words]  # it only looks
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
