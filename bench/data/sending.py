"""From the host to the device that computes, without waiting for it."""

import torch
from torch import Tensor


def sent(numbers: Tensor, device: torch.device) -> Tensor:
    """Return the numbers on a device; a GPU reads them from pinned memory while the host goes on.

    What is on the device already stays as it is.
    """
    if device.type == "cuda" and numbers.device.type == "cpu":
        numbers = numbers.pin_memory()
    return numbers.to(device, non_blocking=True)
