"""Labels of training images: labelled subsets and label noise."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from bench.data.catalogue import check_list
from bench.data.images import share_of_each_class
from bench.data.streams import Purpose, stream
from bench.errors import DataFailure, StoreError
from bench.files.regular import read_regular

Rows = np.ndarray[tuple[int], np.dtype[np.int64]]
LONGEST_LIST = 2**24  # bytes; that of a tenth of ImageNet has 2.6 million
SHOWN = 3  # names in an error line


def stratified_rows(labels: Rows, share: float, seed: int) -> Rows:
    """Return sorted indices of a random share of each class, at least one per class.

    With equal seeds, a larger share contains a smaller one.

    Args:
        labels: labels of the training images, shape (n,); -1 means unlabelled.
        share: share of each class, above 0 and at most 1.
        seed: random seed.
    """
    draw = stream(seed, Purpose.LABELS, 1)
    return np.flatnonzero(share_of_each_class(labels, share, draw, at_least=1))


def listed_rows(names: Sequence[str], path: Path) -> Rows:
    """Return the indices of the images in a list, in order.

    Args:
        names: file names of the training images.
        path: path of the list, one name per line.

    Raises:
        DataMissing: the list does not exist.
        DataFailure: a name occurs twice or is not a training image.
    """
    try:
        check_list(path)
        text = read_regular(path, LONGEST_LIST)
    except StoreError as fault:
        raise DataFailure(str(fault)) from fault
    wanted = (text or b"").decode(errors="replace").split()
    listed = set(wanted)
    if len(listed) != len(wanted) or not wanted:
        raise DataFailure(
            f"{path}: the file has {len(wanted)} names, of which {len(listed)} are different; it "
            "must list at least one name, and each name only once"
        )
    rows = np.array([row for row, name in enumerate(names) if name in listed], dtype=np.int64)
    if len(rows) != len(listed):
        strange = sorted(listed - set(names))
        shown = ", ".join(ascii(name)[1:-1] for name in strange[:SHOWN])
        raise DataFailure(
            f"{path}: {len(strange)} of the listed names do not belong to a training "
            f"image, such as {shown}"
        )
    return rows


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
    """Return the labels, each replaced by a wrong one with probability eta, on their device.

    With equal generators, both kinds of noise change the same images. The images of a smaller eta
    are a subset of those of a larger one.

    Args:
        labels_n: int64, 0 to classes - 1, shape (n,).
        classes: number of classes, at least 2.
        noise: kind of noise. `symmetric` draws uniformly from the other classes. `asymmetric` uses
            a fixed counterpart of each class: the one in `CONFUSED`, else the next class,
            cyclically. `none` changes nothing.
        eta: probability in [0, 1].
        generator: source of randomness.
        dataset: name of the data set, for `CONFUSED`.

    Raises:
        ValueError: eta is outside [0, 1], there are fewer than 2 classes, or a label is not a
            class.
    """
    if not 0 <= eta <= 1 or classes < 2:
        raise ValueError(
            f"label noise needs eta in [0, 1] and at least 2 classes, found {eta} and {classes}"
        )
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
