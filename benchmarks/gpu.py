"""Everything about speed on a GPU in one command of at most nine minutes, as a table and JSON.

SimCLR at 32x32 with random images in the place of CIFAR-10, as the suite dcl-table-1 has it. Per
batch size, in one process, each as often as its share of the time allows:

- `plain`, the default step; `static`, BENCH_STEP=graph without its graph; `graph`, with it (on a
  CPU nothing is recorded, and `graph` is `static`); `graph, no probes`; `packed`, several such
  trainings in turn in one process, per training;
- `bare`, forward and backward of the backbone alone on ready input: the limit;
- `peer`, the same training with lightly's transform, torch's loader and lightly's loss, with
  torchvision's transforms and a loss written here where lightly is not installed.

What each point gave is a ratio of two of them. Seconds per epoch are those of 50,000 images. The
cells that fit in the minutes are trainings of 200 epochs, without evaluations.

    python -m benchmarks.gpu [--small] [--minutes 60] [--limit-s 520] [--to gpu.json]
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from bench.cells.pretrain import Pretrain
from bench.data.images import Images
from bench.experiments.deterministic import deterministic
from bench.train.graphs import WARM, Recorded
from bench.train.loop import Training
from bench.train.sources import InMemory
from bench.train.static_step import StaticTraining
from benchmarks import machine
from benchmarks.pretrain_step import bare, make_cell, make_images, peer
from benchmarks.torchvision_peer import torchvision_peer

IMAGES_PER_EPOCH = 50_000  # CIFAR-10's training part
EPOCHS = 200
PACKED = 4  # trainings in one process
Step = Callable[[], object]
Make = Callable[[], Step]
Record = dict[str, Any]


def steps_of(training: Training) -> Step:
    """Return a step of a training; at its end it begins anew."""
    training.online.train()
    done = -1

    def step() -> None:
        nonlocal done
        done = (done + 1) % training.steps
        training.step(done)

    return step


def plain(cell: Pretrain, images: Images, device: str) -> Step:
    """Return the default step."""
    return steps_of(Training(cell, InMemory(cell, images, device), device))


def static(
    cell: Pretrain, images: Images, device: str, *, graph: bool = True, probes: bool = True
) -> Step:
    """Return the step of static shapes."""
    training = StaticTraining(cell, InMemory(cell, images, device), device)
    if not graph:
        training.recorded = Recorded("cpu")
    if not probes:
        nothing: Any = lambda *_: None  # noqa: E731
        training.probes.add = training.probes.add_gradients = nothing  # type: ignore[method-assign]
    return steps_of(training)


def packed(cell: Pretrain, images: Images, device: str) -> Step:
    """Return a step of each of several trainings, which differ in seed."""
    seeds = range(PACKED)
    each = [static(cell.model_copy(update={"seed": seed}), images, device) for seed in seeds]

    def step() -> None:
        for one in each:
            one()

    return step


def other(cell: Pretrain, images: Images, device: str, workers: int) -> Step:
    """Return a step of the peer."""
    make = peer if machine.peer_name().startswith("lightly") else torchvision_peer
    return make(cell, images, device, workers)


def measured(make: Make, device: str, seconds: float) -> Record:
    """Return the seconds of a step, best and median of rounds, and the peak memory in GB.

    On a GPU they are those on the wall; on a CPU those of this process, so that other load of the
    machine counts little.

    Args:
        make: gives the step.
        device: cpu or cuda.
        seconds: about how long to measure, warm-up left out.
    """
    on_gpu = device == "cuda"
    wait: Callable[[], object] = torch.cuda.synchronize if on_gpu else (lambda: None)
    if on_gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    step = make()
    for _ in range(WARM + 2 if on_gpu else 1):
        step()
    wait()
    rounds: list[float] = []
    clock = time.perf_counter if on_gpu else time.process_time
    per_round, end = 1, time.perf_counter() + seconds
    while not rounds or time.perf_counter() < end:
        began = clock()
        for _ in range(per_round):
            step()
        wait()
        taken = max(clock() - began, 1e-9)
        rounds.append(taken / per_round)
        per_round = max(1, min(200, round(per_round * seconds / 5 / taken)))
    rounds.sort()
    peak = torch.cuda.max_memory_allocated() / 1e9 if on_gpu else None
    return {"step_s": rounds[0], "median_s": rounds[len(rounds) // 2], "peak_gb": peak}


def of_batch(
    batch: int, arguments: argparse.Namespace, device: str, seconds: float, ends: float
) -> Record:
    """Return what was measured at a batch size; what does not fit in the time is left out."""
    cell = make_cell(batch, arguments.width, arguments)
    images = make_images(max(arguments.images, PACKED * batch))
    makes: dict[str, Make] = {
        "plain": lambda: plain(cell, images, device),
        "graph": lambda: static(cell, images, device),
        "bare": lambda: bare(cell, device),
        "peer": lambda: other(cell, images, device, arguments.workers),
        "packed": lambda: packed(cell, images, device),
        "static": lambda: static(cell, images, device, graph=False),
        "graph, no probes": lambda: static(cell, images, device, probes=False),
    }
    if device != "cuda":
        del makes["static"]  # what `graph` is, where nothing is recorded
    found: Record = {"batch": batch, "failed": {}, "left_out": [], "ways": {}}
    for name, make in makes.items():
        if time.monotonic() > ends:
            found["left_out"].append(name)
            continue
        try:
            found["ways"][name] = measured(make, device, seconds)
        except (RuntimeError, OSError) as fault:  # one way that fails harms no other
            found["failed"][name] = str(fault).partition("\n")[0]
    if "packed" in found["ways"]:
        for key in ("step_s", "median_s"):
            found["ways"]["packed"][key] /= PACKED
    steps = IMAGES_PER_EPOCH // batch
    for way in found["ways"].values():
        way["epoch_s"] = steps * way["step_s"]
    return found | {"gained": gained(found["ways"])}


def gained(ways: Record) -> Record:
    """Return what each point gave, as ratios of seconds per step above 1 where it gained."""
    pairs = {
        "static step against plain": ("plain", "static"),
        "graph against static step": ("static", "graph"),
        "graph against plain": ("plain", "graph"),
        "no probes against graph": ("graph", "graph, no probes"),
        "packed against single": ("graph", "packed"),
        "peer against graph": ("peer", "graph"),
        "bare network against graph": ("bare", "graph"),
    }
    return {
        name: ways[slow]["step_s"] / ways[fast]["step_s"]
        for name, (slow, fast) in pairs.items()
        if slow in ways and fast in ways
    }


def conditions(arguments: argparse.Namespace, device: str) -> Record:
    """Return what was measured where."""
    return machine.conditions(device) | {
        "peer_workers": arguments.workers,
        "network": f"{arguments.arch}, width {arguments.width}, {arguments.precision}",
        "images": "random, 32x32",
        "graphs_recorded": device == "cuda",
        "small": arguments.small,
    }


def table(record: Record) -> str:
    """Return what was measured as text."""
    told = record["conditions"]
    lines = [
        f"measured on {told['device']}: {told['device_name']}, {told['cores']} cores, "
        f"load {told['load']:.1f}, torch {told['torch']}",
        f"network: {told['network']}; peer: {told['peer']}, {told['peer_workers']} workers",
    ]
    if told["device"] == "cpu":
        lines.append(
            "No GPU was used: this says nothing about a GPU. 'graph' is the static step without a "
            "graph;\nseconds are CPU seconds of this process."
        )
    lines.append(f"{'batch':>5}  {'way':18}{'ms/step':>10}{'s/epoch':>10}{'peak GB':>9}")
    for one in record["batches"]:
        for name, way in one["ways"].items():
            peak = "-" if way["peak_gb"] is None else f"{way['peak_gb']:.2f}"
            lines.append(
                f"{one['batch']:5}  {name:18}{1e3 * way['step_s']:10.2f}{way['epoch_s']:10.2f}"
                f"{peak:>9}"
            )
        lines += [f"{one['batch']:5}  {name}: {x:.2f}" for name, x in one["gained"].items()]
        lines += [f"{one['batch']:5}  {name} failed: {why}" for name, why in one["failed"].items()]
        lines += [f"{one['batch']:5}  {name}: left out, no time" for name in one["left_out"]]
    minutes = record["cells_that_fit"]["minutes"]
    lines.append(f"cells of {EPOCHS} epochs of {IMAGES_PER_EPOCH} images in {minutes:g} minutes:")
    for batch, cells in record["cells_that_fit"]["by_batch"].items():
        told_cells = ", ".join(f"{name} {number:.2f}" for name, number in cells.items())
        lines.append(f"{batch:>5}  {told_cells}")
    return "\n".join(lines)


def fitting(batches: list[Record], minutes: float) -> Record:
    """Return how many cells each way of training finishes in some minutes, by batch size."""
    by_batch = {
        str(one["batch"]): {
            name: 60 * minutes / (EPOCHS * one["ways"][name]["epoch_s"])
            for name in ("plain", "graph", "packed", "peer")
            if name in one["ways"]
        }
        for one in batches
    }
    return {"minutes": minutes, "epochs": EPOCHS, "by_batch": by_batch}


def main() -> None:
    """Measure, print the table and write the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="a narrow network and small batches")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--precision", choices=["float32", "bf16"])
    parser.add_argument("--batches", type=int, nargs="+")
    parser.add_argument("--minutes", type=float, default=60.0, help="for cells that fit in them")
    parser.add_argument("--limit-s", type=float, help="seconds for everything")
    parser.add_argument("--workers", type=int, default=0, help="of the peer's loader")
    parser.add_argument("--to", type=Path, help="where the JSON goes; default: printed")
    given = parser.parse_args()
    given.arch, given.width = "resnet18", 8 if given.small else 64
    given.images = 128 if given.small else 4096
    given.batches = given.batches or ([16, 32] if given.small else [256, 32, 128, 64, 512])
    given.precision = given.precision or ("bf16" if given.device == "cuda" else "float32")
    limit_s = given.limit_s or (45.0 if given.small else 520.0)
    if given.device == "cpu":
        torch.set_num_threads(1)
    began = time.monotonic()
    record: Record = {"conditions": conditions(given, given.device), "batches": []}
    with deterministic(given.device):
        for i, batch in enumerate(given.batches):
            share = (limit_s - (time.monotonic() - began)) / (len(given.batches) - i)
            ends = time.monotonic() + share
            record["batches"].append(of_batch(batch, given, given.device, share / 20, ends))
    record["batches"].sort(key=lambda one: int(one["batch"]))
    record["cells_that_fit"] = fitting(record["batches"], given.minutes)
    record["wall_s"] = time.monotonic() - began
    print(table(record))
    text = json.dumps(record, indent=1)
    if given.to is None:
        print(text)
    else:
        given.to.write_text(text + "\n")


if __name__ == "__main__":
    main()
