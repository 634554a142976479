"""GPU usage: memory and utilisation."""

import subprocess
import threading
from types import TracebackType
from typing import Any, Self

import torch

SAMPLE_S = 5.0
_ASK = ("nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-i")


class Meter:
    """Context manager that measures GPU usage; on a CPU it measures nothing."""

    def __init__(self, gpu: str, sharing: int) -> None:
        """Name the GPU as CUDA_VISIBLE_DEVICES does, "" for none, and how many workers use it."""
        self.gpu = gpu if gpu and torch.cuda.is_available() else None
        self.sharing = sharing
        self._busy: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        """Begin to measure."""
        if self.gpu is not None:
            torch.cuda.reset_peak_memory_stats()
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """End the measurement."""
        self._over.set()

    def record(self) -> dict[str, Any]:
        """Return the measurements for the provenance; memory in GB (10^9 bytes)."""
        if self.gpu is None:
            return {}
        usage: dict[str, Any] = {
            "device_name": torch.cuda.get_device_name(),
            "device_total_gb": torch.cuda.get_device_properties(0).total_memory / 1e9,
            "packed": self.sharing,
            "device_peak_gb": torch.cuda.max_memory_reserved() / 1e9,
        }
        if self._busy:
            usage["device_busy"] = sum(self._busy) / len(self._busy)
        return usage

    def _watch(self) -> None:
        while not self._over.wait(SAMPLE_S):
            try:
                answer = subprocess.run(
                    [*_ASK, str(self.gpu)], capture_output=True, text=True, check=True, timeout=20
                )
                self._busy.append(float(answer.stdout) / 100)
            except (OSError, subprocess.SubprocessError, ValueError):
                return
