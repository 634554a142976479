"""What the ranks of `tests.fakes.ranks` are asked to do."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from bench.data.images import Split
from bench.errors import Diverged, Interrupted
from bench.experimental import Ranks
from bench.experimental.ranks import agreed
from bench.networks.batchnorm import batch_norm_1d, batch_norm_2d
from bench.networks.ranked_norm import spread_norms, statistics_apart
from bench.results.folder import CellFolder
from bench.train.loop import Training, train
from bench.train.sources import InMemory, open_source
from tests.fakes.cells import small_cell, weights

Numbers = dict[str, Tensor]


def training_on(ranks: Ranks, method: str, changes: dict[str, Any]) -> Training:
    """Return the training of a small cell, on coloured digits: gray ones have no a and b."""
    cell = small_cell(method, **changes)
    source = open_source(cell, Path(), "cpu")
    assert isinstance(source, InMemory)
    pixels, labels = source.parts["train"].pixels.clone(), source.parts["train"].labels
    pixels[:, 1], pixels[:, 2] = pixels[:, 1].flip(-1), pixels[:, 2].flip(-2)
    source.parts["train"] = Split(pixels, labels)
    return Training(cell, source, "cpu", ranks)


def steps(ranks: Ranks, method: str, changes: dict[str, Any], count: int = 2) -> list[Numbers]:
    """Return, after each of some steps, everything that the training holds, and its gradients."""
    training = training_on(ranks, method, changes)
    training.online.train()
    found = []
    for step in range(count):
        training.step(step)
        named = training.online.named_parameters()
        gradients = {f"gradient.{k}": p.grad.clone() for k, p in named if p.grad is not None}
        held = training.head.state_dict() if training.head else {}
        head = {f"head.{k}": v.clone() for k, v in held.items()}
        found.append(weights(training) | gradients | head)
    return found


def resumed(ranks: Ranks, folder: Path, stop_after: int | None) -> tuple[int, Numbers]:
    """Train a cell; where asked the last rank alone is told to stop. Return the steps done."""
    training, done = training_on(ranks, "moco-v2", {}), 0

    def heartbeat() -> None:
        nonlocal done
        done += 1

    def asked() -> bool:
        return done == stop_after and ranks.rank == ranks.world_size - 1

    try:
        train(training, CellFolder(folder), agreed(heartbeat, asked, ranks), ranks=ranks)
    except Interrupted:
        assert stop_after is not None
    return done, weights(training)


def diverged(ranks: Ranks, folder: Path) -> str:
    """Return how a watch that fails on the first rank ends the training of each."""
    training = training_on(ranks, "simclr", {"knn_every_epochs": 1})

    def watch(_: nn.Module) -> dict[str, float]:
        raise Diverged(f"seen by rank {ranks.rank}")

    try:
        train(training, CellFolder(folder), watch=watch, ranks=ranks)
    except Diverged as failure:
        return str(failure)
    return "no failure"


def gathered_gradient(ranks: Ranks, whole: Tensor, blocks: int) -> tuple[Tensor, Tensor]:
    """Return what is gathered of shares of some rows, and the gradient of this rank's share."""
    rows = torch.cat([ranks.own(block) for block in whole.chunk(blocks)])
    own = rows.clone().requires_grad_()
    gathered = ranks.gather(own, blocks)
    (gathered @ gathered.T).exp().sum().backward()  # every row meets every other
    assert own.grad is not None
    return gathered.detach(), own.grad


def normalised(ranks: Ranks, whole: Tensor, groups: int) -> list[Tensor]:
    """Return a batch norm's output for a share, gradients, and running statistics."""
    torch.manual_seed(0)
    make = batch_norm_1d if whole.dim() == 2 else batch_norm_2d
    network = nn.Sequential(make(whole.shape[1], groups)).double()
    nn.init.normal_(next(network.parameters()))
    spread_norms(network, ranks)
    apart = statistics_apart(network) if ranks.many else []
    own = ranks.own(whole).clone().requires_grad_()
    for _ in range(2):
        out = ranks.gather(network(own))
    (out @ out.mT).sin().sum().backward()
    ranks.sum_gradients(network.parameters())
    ranks.average_(apart)
    assert own.grad is not None
    rest = [p.grad for p in network.parameters() if p.grad is not None]
    return [out.detach(), own.grad, *rest, *(b.clone() for b in network.buffers())]


def largest(numbers: Numbers, part: str) -> float:
    """Return the largest magnitude in tensors whose name begins so."""
    there = [v for k, v in numbers.items() if k.startswith(part) and v.numel()]
    return max((float(v.double().abs().max()) for v in there), default=0.0)


def apart(one: Numbers, many: Numbers) -> dict[str, float]:
    """Return how far tensors are apart, in shares of the largest number of their kind.

    Of a gradient the largest of all gradients counts, and at least 0.01 of anything: some numbers
    are 0 but for rounding.
    """
    assert one.keys() == many.keys()
    found = {}
    for name, value in one.items():
        scale = largest(one, "gradient." if name.startswith("gradient.") else name)
        off = float((value.double() - many[name].double()).abs().max()) if value.numel() else 0.0
        found[name] = off / max(scale, 0.01)
    return found
