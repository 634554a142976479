"""What an encoder has to beat: kNN on raw pixels and on networks before training.

Evaluates as a suite's cells are evaluated: the same images, k, temperature and metric; random
networks are those that the cells begin with.

    python -m benchmarks.learning SUITE [--scale cpu]
"""

import argparse
from pathlib import Path

import torch
from torch import nn

from bench.cells.pretrain import Pretrain
from bench.evaluate.features import Features, extract
from bench.evaluate.knn import knn_top1
from bench.methods.online_network import Online
from bench.suites.expand import expand
from bench.suites.load import find_suite, load_suite
from bench.train.sources import Source, open_source


def top1(encoder: nn.Module, cell: Pretrain, source: Source) -> float:
    """Return the kNN accuracy of an encoder in percent."""
    train, test = extract(encoder, source.plain("train")), extract(encoder, source.plain("test"))
    labels = source.labels["train"]
    features = Features(train, labels[labels >= 0], test, source.labels["test"])
    found = knn_top1(
        features,
        k=[cell.knn_k],
        tau=[cell.knn_tau],
        metric=cell.knn_metric,
        classes=source.meta.classes,
    )
    return found[cell.knn_k, cell.knn_tau].top1


def main() -> None:
    """Print one line a seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite")
    parser.add_argument("--scale")
    parser.add_argument("--data", type=Path, default=Path("datasets"))
    arguments = parser.parse_args()
    path = find_suite(arguments.suite, Path("suites"))
    suite = load_suite(path)
    cells = expand(suite, arguments.scale or suite.scale, path)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for seed in sorted({cell.seed for cell in cells}):
        cell = next(cell for cell in cells if cell.seed == seed)
        assert isinstance(cell, Pretrain)
        source = open_source(cell, arguments.data, device)
        encoder = Online(cell).backbone.to(device)
        # The statistics of batch norm are those of the training images, as after an epoch.
        encoder.train()
        with torch.no_grad():
            for batch in source.plain("train"):
                encoder(batch)
        raw, random = top1(nn.Flatten(), cell, source), top1(encoder, cell, source)
        print(f"seed {seed}: raw pixels {raw:.2f} %, random network {random:.2f} %")


if __name__ == "__main__":
    main()
