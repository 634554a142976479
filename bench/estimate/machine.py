"""What computes the cells that are predicted."""

import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from bench.results.provenance import processor


class Machine(NamedTuple):
    """A kind of device and its name."""

    device: str  # cpu or cuda
    name: str  # the processor's or the GPU's


def machine_of(slots: Sequence[str | None]) -> Machine:
    """Return what computes in slots, each a CUDA device or None for the CPU."""
    gpu = slots[0]
    if gpu is None:
        return Machine("cpu", processor())
    command = ["nvidia-smi", "-i", gpu, "--query-gpu=name", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return Machine("cuda", processor())
    return Machine("cuda", answer.stdout.strip())
