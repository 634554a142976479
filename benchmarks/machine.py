"""On which machine a benchmark ran, as its JSON tells."""

import os
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

from bench.results.provenance import processor


def conditions(device: str) -> dict[str, Any]:
    """Return the device, its name, the machine's load and the versions of torch and of the peer."""
    return {
        "device": device,
        "device_name": torch.cuda.get_device_name() if device == "cuda" else processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "load": os.getloadavg()[0],
        "torch": torch.__version__,
        "peer": peer_name(),
    }


def peer_name() -> str:
    """Return which package the peer's transforms are of, with its version."""
    try:
        return f"lightly {version('lightly')}"
    except PackageNotFoundError:
        return f"torchvision {version('torchvision')} (lightly is not installed)"
