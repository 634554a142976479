"""Settings of a run that come from the environment and move no number."""

import math
import os
from pathlib import Path

from bench.errors import BenchError


def seconds_between_checkpoints() -> float:
    """Return BENCH_CHECKPOINT_S, 30 s by default.

    Raises:
        BenchError: it is no number of seconds.
    """
    text = os.environ.get("BENCH_CHECKPOINT_S", "30")
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:
        raise BenchError(f"BENCH_CHECKPOINT_S={text}: expected a number of seconds, such as 30")
    return seconds


def data_root() -> Path:
    """Return BENCH_DATA, the folder of the data sets, by default `datasets` right here."""
    return Path(os.environ.get("BENCH_DATA") or "datasets")


def suites_root() -> Path:
    """Return BENCH_SUITES, the folder of the suites, by default `suites` right here."""
    return Path(os.environ.get("BENCH_SUITES") or "suites")


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
