"""How many workers a machine takes: one per GPU, or one per core."""

import os
import shutil
import subprocess

from bench.environment import cores


def visible_gpus() -> list[str]:
    """Return the CUDA devices that may be used, as CUDA_VISIBLE_DEVICES names them."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return [name.strip() for name in chosen.split(",") if name.strip()]
    if shutil.which("nvidia-smi") is None:
        return []
    command = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.stdout.split() if answer.returncode == 0 else []


def slots(jobs: int | None) -> list[str | None]:
    """Return one entry per worker, its GPU or None: `jobs`, else one per GPU, else one per core."""
    gpus = visible_gpus()
    count = jobs or len(gpus) or cores()
    return [gpus[i % len(gpus)] if gpus else None for i in range(count)]
