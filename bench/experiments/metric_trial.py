"""A call of each metric of one's own on random numbers, before anything is computed with it."""

import torch
from torch.nn.functional import normalize

from bench.cells.pretrain import EncoderCell
from bench.errors import CellFailure
from bench.methods.own_metric import OwnMetric

IMAGES = 24


def try_metrics(cell: EncoderCell) -> None:
    """Call the cell's evaluation and record twice.

    Raises:
        CellFailure: in one line with its place, an error of the code; or values that are not
            numbers, or not the same each time.
    """
    for setting in ("evaluate", "record"):
        if getattr(cell, setting) is not None:
            metric = OwnMetric(cell, setting)
            if metric(_given(cell)) != metric(_given(cell)):
                told = "; draw with `generator`" if setting == "evaluate" else ""
                raise CellFailure(f"{metric.file.path}: two calls give different values{told}")


def _given(cell: EncoderCell) -> dict[str, object]:
    draw = torch.Generator().manual_seed(0)
    train, test, query, key = (
        torch.randn(IMAGES, cell.feature_dim, generator=draw) for _ in range(4)
    )
    query, key = normalize(query, dim=1), normalize(key, dim=1)
    labels = torch.arange(IMAGES) % 3
    others = ~torch.eye(IMAGES, dtype=torch.bool)
    return {
        "train_ND": train, "train_labels_N": labels, "test_MD": test, "test_labels_M": labels,
        "generator": torch.Generator().manual_seed(1), "query_ND": query, "key_ND": key,
        "pos_N": (query * key).sum(dim=1), "neg_NK": (query @ key.T)[others].view(IMAGES, -1),
        "labels_N": labels, "tau": cell.tau, "epoch": 0.5,
    }  # fmt: skip
