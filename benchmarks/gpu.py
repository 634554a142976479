"""Measure a training step on a GPU: images per second and peak memory, as a table and as JSON.

SimCLR at 32x32 as the suite dcl-table-1 has it, with random images instead of CIFAR-10. For every
batch size:

- `float32` and `bf16`: the step of `bench run` in either precision, images in channels-last format;
- `bf16, no probes`: without what the history records, which shows what recording costs;
- `bf16, backbone alone`: forward and backward of the backbone on ready input, the limit;
- `bf16, peer`: the same training with a loader of pictures, lightly's transform and loss (with
  torchvision's transforms where lightly is not installed).

    python -m benchmarks.gpu [--batches 256 512] [--seconds 10] [--workers 8] [--to gpu.json]

`--small` takes a narrow network, for a try on a CPU; its numbers say nothing about a GPU.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import torch

from bench.experiments.timing import deterministic
from bench.record import Json
from benchmarks import machine
from benchmarks.pretrain_step import bare, make_cell, make_images, ours, peer, without_probes

WARM_UP = 5  # steps in which libraries choose kernels and allocate memory
MAKES: dict[str, tuple[str, Callable[..., Callable[[], object]]]] = {
    "float32": ("float32", ours),
    "bf16": ("bf16", ours),
    "bf16, no probes": ("bf16", without_probes),
    "bf16, backbone alone": ("bf16", bare),
    "bf16, peer": ("bf16", peer),
}


def measured(step: Callable[[], object], batch: int, device: str, seconds: float) -> Json:
    """Return images per second over some seconds after a warm-up, and the peak memory in GB."""
    wait: Callable[[], object] = torch.cuda.synchronize if device == "cuda" else (lambda: None)
    for _ in range(WARM_UP if device == "cuda" else 1):
        step()
    wait()
    done, began = 0, time.perf_counter()
    while done == 0 or time.perf_counter() - began < seconds:
        step()
        done += 1
    wait()
    taken = time.perf_counter() - began
    peak = torch.cuda.max_memory_allocated() / 1e9 if device == "cuda" else None
    return {"images_a_second": done * batch / taken, "steps": done, "peak_gb": peak}


def of_batch(batch: int, arguments: argparse.Namespace) -> list[Json]:
    """Return one record a way to train; the error in place of numbers where one does not run."""
    records, device = [], arguments.device
    images = make_images(max(2 * batch, 512))
    for name, (arguments.precision, make) in MAKES.items():
        if device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        cell = make_cell(batch, arguments.width, arguments)
        more: Json = {} if make is bare else {"images": images}
        if make is peer:
            more["workers"] = arguments.workers
        try:
            step = make(cell, device=device, **more)
            found = measured(step, batch, device, arguments.seconds)
        except (RuntimeError, OSError) as fault:  # such as: out of memory
            found = {"error": str(fault).partition("\n")[0]}
        records.append({"batch": batch, "way": name} | found)
    return records


def line(record: Json) -> str:
    """Return a record as a line of the table."""
    start = f"{record['batch']:>5}  {record['way']:22}"
    if "error" in record:
        return f"{start}{record['error']}"
    peak = "-" if record["peak_gb"] is None else f"{record['peak_gb']:.2f}"
    return f"{start}{record['images_a_second']:10.0f}{peak:>9}"


def main(words: list[str] | None = None) -> None:
    """Measure, print the table, and write or print the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="a narrow network and small batches")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--batches", type=int, nargs="+")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each line of the table")
    parser.add_argument("--workers", type=int, default=0, help="of the peer's loader")
    parser.add_argument("--to", type=Path, help="where the JSON goes; default: printed")
    given = parser.parse_args(words)
    given.arch, given.width = "resnet18", 4 if given.small else 64
    batches = given.batches or ([16, 32] if given.small else [32, 64, 128, 256, 512])
    if given.device == "cpu":
        torch.set_num_threads(1)
    conditions = machine.conditions(given.device) | {"width": given.width}
    print(f"{conditions['device_name']}, torch {conditions['torch']}, peer {conditions['peer']}")
    print(f"{'batch':>5}  {'way':22}{'images/s':>10}{'peak GB':>9}")
    records = []
    with deterministic(given.device):
        for batch in batches:
            for record in of_batch(batch, given):
                records.append(record)
                print(line(record), flush=True)
    text = json.dumps({"conditions": conditions, "records": records}, indent=1)
    if given.to is None:
        print(text)
    else:
        given.to.write_text(text + "\n")


if __name__ == "__main__":
    main()
