"""Features of made-up classes, and a linear classifier trained on them."""

from typing import Any

import numpy as np
import torch
from torch import nn

from bench.cells.linear_protocols import LinearProtocol
from bench.evaluate.features import Features
from bench.evaluate.linear import (
    linear_top1,
)

CLASSES, DIM = 4, 6


def clouds(seed: int = 0, n: int = 200, m: int = 500) -> Features:
    generator = np.random.default_rng(seed)
    label = generator.integers(CLASSES, size=n + m)
    x = generator.normal(size=(CLASSES, DIM))[label] + generator.normal(size=(n + m, DIM))
    both, labels = torch.from_numpy(x).float(), torch.from_numpy(label)
    return Features(both[:n], labels[:n], both[n:], labels[n:])


class Factory:
    """Makes SGD; keeps what it was asked for, the parameters, and the rate of every step."""

    def __call__(
        self,
        parameters: list[tuple[str, nn.Parameter]],
        /,
        *,
        lr: float,
        momentum: float,
        weight_decay: float,
        **others: Any,
    ) -> torch.optim.Optimizer:
        self.asked = others | {"names": [name for name, _ in parameters]}
        self.weights = [p.detach() for _, p in parameters]
        self.rates: list[float] = []
        sgd = torch.optim.SGD(
            [p for _, p in parameters],
            lr=lr,
            momentum=momentum,
            weight_decay=weight_decay,
            fused=True,
        )
        sgd.register_step_pre_hook(lambda *_: self.rates.append(sgd.param_groups[0]["lr"]))
        return sgd


def train(protocol: LinearProtocol, features: Features, seed: int = 0) -> tuple[Factory, float]:
    """Train where each image is shown as it is, whatever the protocol shows."""
    factory, generator = Factory(), np.random.default_rng(seed)
    plain = protocol.model_copy(update={"shown": "image"})
    found = linear_top1(
        features, protocol=plain, classes=CLASSES, generator=generator, optimiser=factory
    )
    return factory, found.top1
