"""Time a step of SimCLR at 32x32: against the bare network, and against lightly's training.

(a) The bare network's forward and backward on ready input of the same shape and type is the limit:
what the step adds are views, projector, loss, probes and optimiser. (b) The same training written
with lightly's transform, torch's loader and lightly's loss: a peer. The share of the probes is
told too. Images are random; times are the best of the repeats, taken in turn. README's table is
the one of benchmarks/measured/pretrain_step.json, which `--to` wrote on an idle machine.

    python -m benchmarks.pretrain_step [--device cuda] [--precision bf16] [--batches 32 256]
        [--arch resnet18] [--widths 16 64] [--repeats 3] [--workers 0] [--to FILE]
"""

import argparse
import itertools
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from bench.cells.pretrain import Pretrain
from bench.data.images import Images, Split
from bench.methods.online_network import Online
from bench.record import Json
from bench.suites.presets import filled, paper_presets
from bench.train.loop import Training
from bench.train.sources import InMemory
from benchmarks.machine import conditions, peer_name

CLASSES = 10
TAU = 0.1


def make_cell(batch_size: int, width: int, arguments: argparse.Namespace) -> Pretrain:
    """Return SimCLR as the suite dcl-table-1 has it for CIFAR-10."""
    return Pretrain.model_validate(
        filled({
            "experiment": "pretrain", "method": "simclr", "dataset": "cifar10", "image_size": 32,
            "views": "simclr-cifar", "arch": arguments.arch, "stem": "cifar",
            "width": width, "epochs": 1000, "batch_size": batch_size, "tau": TAU,
            "optimizer": "sgd", "lr": 0.03, "weight_decay": 1e-4, "lr_schedule": "cosine",
            "precision": arguments.precision, "seed": 0,
        }, paper_presets())
    )  # fmt: skip


def make_images(count: int) -> Images:
    """Return random images."""
    pixels = np.random.default_rng(0).integers(0, 256, (count, 3, 32, 32), dtype=np.uint8)
    split = Split(torch.from_numpy(pixels), torch.zeros(count, dtype=torch.int64))
    half = (0.5, 0.5, 0.5)
    return Images("random", CLASSES, 32, half, half, "", split, split, None)


def ours(cell: Pretrain, images: Images, device: str) -> Callable[[], None]:
    """Return a step of the engine; after the last one it begins again."""
    return steps_of(Training(cell, InMemory(cell, images, device), device))


def without_probes(cell: Pretrain, images: Images, device: str) -> Callable[[], None]:
    """Return a step of the engine that records nothing."""
    training = Training(cell, InMemory(cell, images, device), device)
    nothing: Any = lambda *_: None  # noqa: E731
    training.probes.add = training.probes.add_gradients = nothing  # type: ignore[method-assign]
    return steps_of(training)


def steps_of(training: Training) -> Callable[[], None]:
    """Return a function that does the next step of a training."""
    training.online.train()
    steps = itertools.cycle(range(training.steps))
    return lambda: training.step(next(steps))


def bare(cell: Pretrain, device: str) -> Callable[[], None]:
    """Return forward and backward of the backbone on both views, ready on the device."""
    online = Online(cell).to(device).to(memory_format=torch.channels_last).train()
    views = torch.randn(2 * cell.batch_size, 3, 32, 32, device=device)
    views = views.contiguous(memory_format=torch.channels_last)

    def step() -> None:
        with torch.autocast(device, torch.bfloat16, enabled=cell.precision == "bf16"):
            out = online.backbone(views)
        online.zero_grad(set_to_none=True)
        out.float().sum().backward()

    return step


class Pictures(Dataset[Any]):
    """The images as pictures, as a loader of files gives them, under a transform."""

    def __init__(self, images: Images, transform: Any) -> None:
        """Keep both."""
        self.pixels = images.train.pixels.permute(0, 2, 3, 1).numpy()
        self.transform = transform

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.pixels)

    def __getitem__(self, row: int) -> Any:
        """Return both views of one."""
        return self.transform(Image.fromarray(self.pixels[row]))


def peer(cell: Pretrain, images: Images, device: str, workers: int) -> Callable[[], None]:
    """Return a step of the same training with a loader, lightly's transform and lightly's loss.

    Without lightly: with torchvision's transforms and the loss written here.
    """
    transform, loss = _by_lightly() if peer_name().startswith("lightly") else _by_torchvision()
    loader: DataLoader[Any] = DataLoader(
        Pictures(images, transform), cell.batch_size, shuffle=True, drop_last=True,
        num_workers=workers, persistent_workers=workers > 0,
    )  # fmt: skip
    online = Online(cell).to(device).train()
    network = nn.Sequential(online.backbone, online.projector)
    sgd = torch.optim.SGD(network.parameters(), lr=cell.lr, momentum=0.9, weight_decay=1e-4)
    batches = _endless(loader)

    def step() -> None:
        a, b = (view.to(device) for view in next(batches))
        with torch.autocast(device, torch.bfloat16, enabled=cell.precision == "bf16"):
            z = network(torch.cat([a, b]))
        value = loss(*z.float().chunk(2))
        sgd.zero_grad()
        value.backward()
        sgd.step()

    return step


def _by_lightly() -> tuple[Callable[[Any], Any], Callable[[Tensor, Tensor], Tensor]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from lightly.loss import NTXentLoss
        from lightly.transforms.simclr_transform import SimCLRTransform
    transform = SimCLRTransform(input_size=32, cj_strength=0.5, gaussian_blur=0.0)
    return transform, NTXentLoss(temperature=TAU)


def _by_torchvision() -> tuple[Callable[[Any], Any], Callable[[Tensor, Tensor], Tensor]]:
    """Return SimCLR's transform at CIFAR-10's settings (arXiv:2002.05709, App. B.9) and NT-Xent."""
    one = transforms.Compose(
        [
            transforms.RandomResizedCrop(32),
            transforms.RandomHorizontalFlip(),
            transforms.RandomApply([transforms.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
            transforms.RandomGrayscale(0.2),
            transforms.ToTensor(),
            transforms.Normalize((0.5,) * 3, (0.5,) * 3),
        ]
    )
    return (lambda image: [one(image), one(image)]), nt_xent


def nt_xent(first_ND: Tensor, second_ND: Tensor) -> Tensor:
    """Return NT-Xent of the outputs of two views, a scalar in nats."""
    z_ND = nn.functional.normalize(torch.cat([first_ND, second_ND]), dim=1)
    itself = torch.eye(len(z_ND), dtype=torch.bool, device=z_ND.device)
    logits = (z_ND @ z_ND.T / TAU).masked_fill(itself, -torch.inf)
    partner = torch.arange(len(z_ND), device=z_ND.device).roll(len(first_ND))
    return nn.functional.cross_entropy(logits, partner)


def _endless(loader: DataLoader[Any]) -> Iterator[Any]:
    while True:
        yield from loader


def best_times(steps: dict[str, Callable[[], None]], repeats: int, device: str) -> dict[str, float]:
    """Return the best time of each step in seconds, after one to warm up, taken in turn."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for repeat in range(repeats + 1):
        for name, step in steps.items():
            began = time.perf_counter()
            step()
            if device == "cuda":
                torch.cuda.synchronize()
            if repeat:
                times[name].append(time.perf_counter() - began)
    return {name: min(own) for name, own in times.items()}


def of_step(batch: int, width: int, arguments: argparse.Namespace) -> Json:
    """Return what was measured at a batch size and width of the network."""
    cell, device = make_cell(batch, width, arguments), arguments.device
    images = make_images(max(2 * batch, 512))
    best = best_times(
        {
            "ours": ours(cell, images, device),
            "unprobed": without_probes(cell, images, device),
            "bare": bare(cell, device),
            "peer": peer(cell, images, device, arguments.workers),
        },
        arguments.repeats,
        device,
    )
    return {
        "width": width,
        "batch": batch,
        "step_s": best["ours"],
        "bare_share": best["bare"] / best["ours"],
        "images_against_peer": best["peer"] / best["ours"],
        "probes_share": 1 - best["unprobed"] / best["ours"],
    }


def main() -> None:
    """Print one line a width and batch size, and write the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="float32", choices=["float32", "bf16"])
    parser.add_argument("--batches", type=int, nargs="+", default=[32, 128])
    parser.add_argument("--arch", default="resnet18")
    parser.add_argument("--widths", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--workers", type=int, default=0, help="of lightly's loader")
    parser.add_argument("--to", type=Path, help="where the JSON goes")
    arguments = parser.parse_args()
    if arguments.device == "cpu":
        torch.set_num_threads(1)
    machine = conditions(arguments.device)
    print(f"{arguments.arch}, {arguments.precision}, {machine['device_name']}")
    print("width  batch  step_ms  bare/step  images/s against lightly  probes' share of the step")
    steps = []
    for width in arguments.widths:
        for batch in arguments.batches:
            one = of_step(batch, width, arguments)
            steps.append(one)
            print(
                f"{width:5d}  {batch:5d}  {1e3 * one['step_s']:7.1f}  {one['bare_share']:9.3f}  "
                f"{one['images_against_peer']:24.2f}  {one['probes_share']:.3f}"
            )
    if arguments.to is not None:
        machine |= {"arch": arguments.arch, "precision": arguments.precision}
        text = json.dumps({"conditions": machine, "steps": steps}, indent=1)
        arguments.to.write_text(text + "\n")


if __name__ == "__main__":
    main()
