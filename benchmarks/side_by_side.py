"""Cells an hour with small batches: one after another, and several side by side on one device.

Runs the same cells of `pretrain` (a ResNet-18 on random 32x32 images, batch 32) with `--jobs 1` and
with `--jobs N` in folders of their own. On a GPU the workers share the device.

    python -m benchmarks.side_by_side [--jobs 4] [--epochs 5] [--images 2048] [--width 64]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

SUITE = """
name: side-by-side
title: "Small batches"
experiment: pretrain
scale: one
scales: {{one: {{what: "a benchmark", protocol: reduced}}}}
seeds: {seeds}
fixed: {{method: simclr, dataset: folder:random, image_size: 32, views: simclr-cifar,
  arch: resnet18, stem: cifar, width: {width}, epochs: {epochs}, batch_size: 32, tau: 0.1,
  optimizer: sgd, lr: 0.03, lr_schedule: cosine, weight_decay: 1e-4, knn_k: 20}}
grid: {{loss: [infonce]}}
"""


def write_images(folder: Path, count: int) -> None:
    """Write random pictures of two classes, and a few to test on."""
    draw = np.random.default_rng(0)
    for split, number in (("train", count), ("test", 64)):
        for i in range(number):
            path = folder / split / str(i % 2) / f"{i}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(draw.integers(0, 256, (32, 32, 3), dtype=np.uint8)).save(path)


def seconds(folder: Path, jobs: int) -> float:
    """Return how long `bench run` takes for all cells with so many workers."""
    command = [sys.executable, "-m", "bench", "--data", "sets", "--results", f"jobs-{jobs}"]
    began = time.perf_counter()
    subprocess.run(
        [*command, "run", "side-by-side", "--jobs", str(jobs)],
        cwd=folder,
        check=True,
        env=os.environ | {"PYTHONPATH": os.getcwd()},
    )
    return time.perf_counter() - began


def main() -> None:
    """Print cells an hour both ways, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--images", type=int, default=2048)
    parser.add_argument("--width", type=int, default=64)
    given = parser.parse_args()
    cells = 2 * given.jobs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_images(folder / "sets" / "random", given.images)
        (folder / "suites").mkdir()
        text = SUITE.format(seeds=list(range(cells)), width=given.width, epochs=given.epochs)
        (folder / "suites" / "side-by-side.yaml").write_text(text)
        alone, beside = seconds(folder, 1), seconds(folder, given.jobs)
    for told, taken in ((1, alone), (given.jobs, beside)):
        print(f"--jobs {told}: {3600 * cells / taken:.0f} cells an hour")
    print(f"ratio {alone / beside:.2f}")


if __name__ == "__main__":
    main()
