"""A model of GPUs on which nothing has run: peak speeds, and the share that one training reached.

One published training says which share of a peak is reached; the share is taken for every GPU. What
comes of it is good to a factor SPAN between the lower and the upper end, and is labelled so.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.cells.costs import Terms
from bench.errors import LaunchError, choices
from bench.files.yaml_file import load_yaml

TABLE = Path(__file__).with_name("devices.yaml")
SPAN = 3.0  # from the lower to the upper end of a modelled time
SPOKEN_WITH_VOWEL = "AHLR"
MOVED = 2  # times that each number of an activation moves: written and read


@dataclass(frozen=True)
class Device:
    """One GPU."""

    name: str
    operations_s: dict[str, float]  # a second, by precision, of which a training reaches a share
    bytes_s: float
    reached: float  # share of the operations
    step_s: float  # of the host for every step
    decoded_s: float  # of the host for an image of a file

    @property
    def in_words(self) -> str:
        """The device, and how far the model may be off."""
        article = "an" if self.name[0] in SPOKEN_WITH_VOWEL else "a"
        return f"{article} {self.name}, within a factor {SPAN:g}"

    def seconds(self, terms: Terms) -> float:
        """Return what the terms of an image cell take: products, memory or files, and steps."""
        products, moved = 0.0, 0.0
        for name, amount in terms.items():
            word = name.split(" ", maxsplit=1)[0]
            if word in ("multiply-adds", "linear", "kNN", "few-shot"):
                precision = "bf16" if name.endswith(" bf16") else "float32"
                products += 2 * amount / (self.reached * self.operations_s[precision])
            elif word == "bytes":
                moved += MOVED * amount / self.bytes_s
        decoding = self.decoded_s * terms.get("images from files", 0.0)
        return max(products, moved, decoding) + self.step_s * terms.get("steps", 0.0)


@cache
def devices() -> dict[str, Device]:
    """Return the GPUs of the table, by the names that `--on` takes."""
    table = load_yaml(TABLE, LaunchError)
    measured, rows = table["measured"], table["devices"]
    peak = _operations(rows[measured["device"]])["bf16"]
    reached = measured["operations"] / measured["seconds"] / peak
    host = table["step_s"], table["decoded_s"]
    return {name: _device(row, reached, host) for name, row in rows.items()}


def _device(row: dict[str, Any], reached: float, host: tuple[float, float]) -> Device:
    return Device(row["name"], _operations(row), 1e9 * row["memory_gb_s"], reached, *host)


def _operations(row: dict[str, Any]) -> dict[str, float]:
    return {precision: 1e12 * tflops for precision, tflops in row["tflops"].items()}


def device_named(text: str) -> Device | None:
    """Return the GPU that a driver's name or a user's means; None if the table lacks it."""
    words = text.lower().replace("-", " ").split()
    for device in devices().values():
        wanted = device.name.lower().split()
        if any(words[i : i + len(wanted)] == wanted for i in range(len(words))):
            return device
    return None


def check_device(name: str) -> Device:
    """Return the GPU with a name in the table.

    Raises:
        LaunchError: there is none.
    """
    device = device_named(name)
    if device is None:
        raise LaunchError(
            f"--on {name}: no such GPU in the table. {choices(name, list(devices()))}"
        )
    return device
