"""Linear classifier on a learned weighted sum of layers, as in SUPERB (arXiv:2105.01051).

Shapes: n training and m test recordings, L layers, D dimensions, C classes.
"""

import numpy as np
import torch
from torch import Tensor

from bench.errors import DataFailure

ITERATIONS = 200
FLAT = 1e-6  # a dimension of this standard deviation or less carries nothing


def weighted_top1(
    train_nLD: Tensor, labels_n: Tensor, test_mLD: Tensor, test_labels_m: Tensor, classes: int
) -> float:
    """Return the test accuracy, in percent, of the classifier softmax(a) . x W + b.

    L-BFGS, starting at 0, minimises over a, W and b the cross-entropy summed over the training
    recordings plus half the squared norm of W (C = 1, as in `few_shot`). Unlike in SUPERB, each
    dimension of each layer is standardised on the training recordings.
    """
    device = train_nLD.device
    labels_n, test_labels_m = labels_n.to(device), test_labels_m.to(device)
    x_nLD, test = _standardised(train_nLD.double(), test_mLD.double())
    layers, D = x_nLD.shape[1:]
    a_L = torch.zeros(layers, dtype=torch.float64, device=device, requires_grad=True)
    W_DC = torch.zeros(D, classes, dtype=torch.float64, device=device, requires_grad=True)
    b_C = torch.zeros(classes, dtype=torch.float64, device=device, requires_grad=True)
    solver = torch.optim.LBFGS(
        [a_L, W_DC, b_C], max_iter=ITERATIONS, line_search_fn="strong_wolfe", tolerance_grad=1e-6
    )

    def logits(x: Tensor) -> Tensor:
        return torch.einsum("l,nld->nd", a_L.softmax(0), x) @ W_DC + b_C

    def loss() -> Tensor:
        solver.zero_grad()
        value = torch.nn.functional.cross_entropy(logits(x_nLD), labels_n, reduction="sum")
        value = value + 0.5 * W_DC.square().sum()
        value.backward()
        return value

    solver.step(loss)
    with torch.no_grad():
        right = (logits(test).argmax(dim=1) == test_labels_m).double().mean()
    return 100 * right.item()


def _standardised(train: Tensor, test: Tensor) -> tuple[Tensor, Tensor]:
    mean, std = train.mean(dim=0), train.std(dim=0, correction=0)
    scale = torch.where(std > FLAT, 1 / std.clamp(min=FLAT), 0.0)
    return (train - mean) * scale, (test - mean) * scale


def drawn_rows(
    labels_n: Tensor,
    *,
    classes: int,
    labels_per_class: int | None,
    draws: int,
    generator: np.random.Generator,
) -> list[list[int]]:
    """Return the recordings of each sample with this many labels per class; None means all.

    Raises:
        DataFailure: a class has too few recordings, or there is only one class.
    """
    if classes < 2:
        raise DataFailure(f"a classifier needs at least two classes, found {classes}")
    if labels_per_class is None:
        return [list(range(len(labels_n)))]
    of_class = [np.flatnonzero(labels_n.numpy() == c) for c in range(classes)]
    fewest = min(map(len, of_class))
    if fewest < labels_per_class:
        raise DataFailure(
            f"labels_per_class is {labels_per_class}, but a class has only {fewest} recordings"
        )
    return [
        np.concatenate(
            [generator.choice(rows, labels_per_class, replace=False) for rows in of_class]
        ).tolist()
        for _ in range(draws)
    ]
