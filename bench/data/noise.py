"""Labels that are wrong on purpose."""

from typing import Literal

import numpy as np
import torch
from torch import Tensor

LabelNoise = Literal["none", "symmetric", "asymmetric"]
# The class that an image of a class is taken for; those not named keep their label. CIFAR-10's:
# truck -> automobile, bird -> airplane, deer -> horse, cat <-> dog.
CONFUSED: dict[str, dict[int, int]] = {"cifar10": {9: 1, 2: 0, 4: 7, 3: 5, 5: 3}}


def with_noise(
    labels_n: Tensor,
    *,
    classes: int,
    noise: LabelNoise,
    eta: float,
    generator: np.random.Generator,
    dataset: str = "",
) -> Tensor:
    """Return the labels, each wrong with probability eta, on their device.

    The same generator chooses the same images for either kind of noise, and those of a smaller eta
    are among those of a larger one.

    Args:
        labels_n: int64, 0 to classes - 1, shape (n,).
        classes: how many there are, at least 2.
        noise: `symmetric`, one of the other classes, all alike; `asymmetric`, a class's fixed
            counterpart, which `CONFUSED` names for a data set and is the next class for others
            (the last one's is the first); `none`.
        eta: probability in [0, 1].
        generator: gives all numbers.
        dataset: the name under which `CONFUSED` may know it.

    Raises:
        ValueError: no such noise, eta outside [0, 1], fewer than 2 classes, or a label that is no
            class.
    """
    if noise not in ("none", "symmetric", "asymmetric"):
        raise ValueError(f"noise must be one of none, symmetric, asymmetric, found {noise!r}")
    if not 0 <= eta <= 1 or classes < 2:
        raise ValueError(f"needs eta in [0, 1] and 2 classes or more, found {eta} and {classes}")
    if not bool(((labels_n >= 0) & (labels_n < classes)).all()):
        low, high = int(labels_n.min()), int(labels_n.max())
        raise ValueError(f"labels must be 0 to {classes - 1}, found {low} to {high}")
    chosen_n = torch.from_numpy(generator.random(len(labels_n)) < eta).to(labels_n.device)
    if noise == "symmetric":
        shift_n = torch.from_numpy(generator.integers(1, classes, len(labels_n)))
        wrong_n = (labels_n + shift_n.to(labels_n.device)) % classes
    elif noise == "asymmetric":
        named = CONFUSED.get(dataset)
        pairs = [(c + 1) % classes if named is None else named.get(c, c) for c in range(classes)]
        wrong_n = torch.tensor(pairs, device=labels_n.device)[labels_n]
    else:
        return labels_n
    return torch.where(chosen_n, wrong_n, labels_n)
