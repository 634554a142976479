"""Cells of `pretrain` on digits an hour, by this checkout and by another one, in turn.

Both sides compute the same cells of the suite dcl-table-1 at scale `cpu`, evaluations included, in
a process of their own that stays and is configured as that side's workers are: variables that limit
threads are taken away. Imports and the first cell, which loads what torch loads once, are not
counted. The sides alternate cell by cell. Seconds are of the clock and of the processor, over all
threads: the latter suffer less from what else the machine does. Warped test images, which the other
checkout may not know, are left out.

    python -m benchmarks.digits_cells --before FOLDER [--cells 4] [--batch-size 64]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

EVALUATIONS = ("linear", "few-shot", "knn", "geometry")
LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
NAMES = {  # what a cell is made of, by module: here, then as it was called at addf628
    "expand": ("bench.suites.expand", "bench.config.grid"),
    "load_suite": ("bench.suites.load", "bench.config.load"),
    "Store": ("bench.results.store", "bench.store.store"),
    "configure_process": ("bench.launch.worker",),
    "settle": ("bench.launch.worker",),  # configure_process, then
}


def of_checkout(name: str) -> Any:
    """Return what this checkout calls so, wherever it is; None if it has none."""
    for module in NAMES[name]:
        with suppress(ModuleNotFoundError, AttributeError):
            return getattr(import_module(module), name)
    return None


def serve() -> None:
    """Compute a cell for each line with its batch size and seed; answer with its seconds."""
    (of_checkout("configure_process") or of_checkout("settle"))(None)
    from bench.experiments import pretrain
    from bench.experiments.evaluations import Evaluator

    path = Path("suites/dcl-table-1.yaml")
    evaluate, spent = Evaluator.evaluate, dict.fromkeys(EVALUATIONS, 0.0)

    def timed(self: Any, name: str, *given: Any) -> dict[str, float]:
        began = time.process_time()
        found = evaluate(self, name, *given)
        spent[name] = spent.get(name, 0.0) + time.process_time() - began
        return found

    Evaluator.evaluate = timed  # type: ignore[assignment, method-assign]
    for line in sys.stdin:
        size, seed = map(int, line.split())
        where: dict[str, list[Any]] = {"batch_size": [size], "loss": ["dcl"]}
        suite = of_checkout("load_suite")(path)
        cells = of_checkout("expand")(suite, "cpu", path, seeds=[seed], where=where)
        (cell,) = [cell for cell in cells if cell.experiment == "pretrain"]  # baselines beside it
        if hasattr(cell, "test_warp"):
            cell = cell.model_copy(update={"test_warp": "none"})
        spent.update(dict.fromkeys(spent, 0.0))
        with tempfile.TemporaryDirectory() as name:
            store = of_checkout("Store")(Path(name))
            plain = not hasattr(store, "folders")  # so it was
            folders: Any = [store.folder(cell)] if plain else store.folders([cell], Path(name))
            folders[0].path.mkdir(parents=True)
            began, cpu_began = time.perf_counter(), time.process_time()
            (found,) = pretrain.run([cell], folders, "cpu")
            whole, wall = time.process_time() - cpu_began, time.perf_counter() - began
        assert not isinstance(found, Exception), found
        answer = {"wall": wall, "whole": whole, **spent, "metrics": found.metrics}
        print(json.dumps(answer), flush=True)


class Side:
    """A process that computes cells by one checkout."""

    def __init__(self, checkout: Path) -> None:
        """Start it; what it imports is the checkout's."""
        env = os.environ | {"PYTHONPATH": str(checkout)}
        for name in LIMITS:
            env.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), "--serve"],
            cwd=checkout,
            env=env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def seconds(self, size: int, seed: int) -> dict[str, Any]:
        """Return what a cell took, whole and by evaluation, and what it found."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{size} {seed}\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


def told(name: str, values: list[float]) -> str:
    """Return the median and the range."""
    return f"{name} {statistics.median(values):7.3f} [{min(values):.3f}, {max(values):.3f}]"


def main() -> None:
    """Print seconds per cell on both sides, by part, and the ratio of cells an hour."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--cells", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
        return
    if given.before is None:
        parser.error("--before: needs the folder of another checkout")
    sides = {"before": Side(given.before.resolve()), "now": Side(Path.cwd())}
    for side in sides.values():
        side.seconds(given.batch_size, 0)
    taken: dict[str, list[dict[str, Any]]] = {name: [] for name in sides}
    for seed in range(1, given.cells + 1):
        for name in sorted(sides, reverse=seed % 2 == 0):
            taken[name].append(sides[name].seconds(given.batch_size, seed))
    for part in ("wall", "whole", *EVALUATIONS):
        own = {name: [cell[part] for cell in cells] for name, cells in taken.items()}
        ratio = [a / max(b, 1e-9) for a, b in zip(own["before"], own["now"], strict=True)]
        line = ", ".join(told(name, values) for name, values in own.items())
        print(f"{part:9} s: {line}; {told('ratio', ratio)}")
    for metric in ("linear_top1", "few_shot_linear_top1", "knn_top1"):
        line = "; ".join(
            f"{name} " + ", ".join(f"{cell['metrics'][metric]:.2f}" for cell in cells)
            for name, cells in taken.items()
        )
        print(f"{metric}: {line}")
    for what, part in (("hour", "wall"), ("hour of the processor", "whole")):
        before, now = (3600 / statistics.mean(c[part] for c in taken[name]) for name in taken)
        print(f"cells an {what}: before {before:.0f}, now {now:.0f}, ratio {now / before:.2f}")


if __name__ == "__main__":
    main()
