"""Settings from the environment, process rank and GPUs of this machine."""

import math
import os
import shutil
import subprocess
from importlib import import_module
from itertools import takewhile
from typing import Any, NamedTuple

from bench.errors import BenchError


def seconds_between_checkpoints() -> float:
    """Return BENCH_CHECKPOINT_S, 30 s by default.

    Raises:
        BenchError: the variable is not a number of seconds.
    """
    text = os.environ.get("BENCH_CHECKPOINT_S", "30")
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:
        raise BenchError(f"BENCH_CHECKPOINT_S={text}: expected a number of seconds, such as 30")
    return seconds


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ProcessPlace(NamedTuple):
    """Position of this process among processes that were started together."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0  # on its machine
    meets: bool = False  # torchrun has said where: MASTER_ADDR and MASTER_PORT


def place() -> ProcessPlace:
    """Return this process's position among those of torchrun or of a job's tasks.

    Tasks come from submitit or a Slurm step (`srun -n 4 ...`). A batch script is not a step.

    Raises:
        BenchError: an environment variable is not a number.
    """
    torchrun = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
    if all(name in os.environ for name in (*torchrun, "MASTER_ADDR", "MASTER_PORT")):
        return _place(torchrun, meets=True)
    local = tuple(f"SUBMITIT_LOCAL_{name}" for name in ("GLOBALID", "NTASKS", "LOCALID"))
    slurm = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID")
    names = local if os.environ.get("SUBMITIT_EXECUTOR") == "local" else slurm
    return _place(names) if all(name in os.environ for name in names) else ProcessPlace()


def this_job() -> str:
    """Return the Slurm job of this process: 17, or 17_3 in an array; "" without a job."""
    array, index = (os.environ.get(f"SLURM_ARRAY_{part}_ID") for part in ("JOB", "TASK"))
    return f"{array}_{index}" if array and index else os.environ.get("SLURM_JOB_ID", "")


def _place(names: tuple[str, ...], *, meets: bool = False) -> ProcessPlace:
    rank, world_size, local_rank = map(_whole, names)
    return ProcessPlace(rank, world_size, local_rank, meets)


def _whole(name: str) -> int:
    text = os.environ[name]
    if not text.isdecimal():
        raise BenchError(f"{name}={text}: expected a whole number")
    return int(text)


def extra(module: str, what: str) -> Any:
    """Import and return a module of an optional dependency.

    Args:
        module: name of the module.
        what: the option that needs the module, for the message.

    Raises:
        BenchError: the package is not installed.
    """
    try:
        return import_module(module)
    except ImportError as fault:
        package = module.partition(".")[0]
        raise BenchError(
            f"{what} needs the package {package}: pip install 'contrastive-bench[{package}]'"
        ) from fault


def visible_gpus() -> list[str]:
    """Return the visible CUDA devices, as named in CUDA_VISIBLE_DEVICES.

    As in CUDA, a device that does not exist (`-1`, `NoDevFiles`) hides itself and all that follow.
    """
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        names = [name.strip() for name in chosen.split(",") if name.strip()]
        return list(takewhile(lambda name: not name.startswith(("-", "NoDev")), names))
    if shutil.which("nvidia-smi") is None:
        return []
    command = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.stdout.split() if answer.returncode == 0 else []


def slots(jobs: int | None) -> list[str | None]:
    """Return the GPU, or None, of each worker: `jobs` workers, else one per GPU, else per core."""
    gpus = visible_gpus()
    count = jobs or len(gpus) or cores()
    return [gpus[i % len(gpus)] if gpus else None for i in range(count)]
