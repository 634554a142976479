"""Accuracy with a few labels per class, over several random samples of labels.

Shapes: n training images, D dimensions, C classes.
"""

import numpy as np
import torch

from bench.evaluate.features import Features, accuracy, check_labels
from bench.evaluate.knn import knn_top1
from bench.evaluate.regression import logistic_scores

ITERATIONS = 1000  # at most; about a hundred reach the optimum


def few_shot(
    features: Features,
    *,
    labels_a_class: int,
    draws: int,
    classes: int,
    generator: np.random.Generator,
) -> dict[str, float]:
    """Return mean and standard deviation of few-shot accuracies over random samples.

    Each sample has `labels_a_class` training images of each class. A larger number of draws extends
    a smaller one. Classifiers are logistic regression (C = 1, features standardised on the sample)
    and the nearest neighbour by cosine similarity. Accuracies use the whole test part.

    Args:
        features: labelled features of the training and test part.
        labels_a_class: training images per class and draw.
        draws: number of draws.
        classes: number of classes.
        generator: source of randomness.

    Returns:
        few_shot_linear_top1, few_shot_nn_top1, and both with the suffix _std (ddof 1; 0 for one
        draw), in percent.

    Raises:
        ValueError: a label is not a class, a number is below 1, or a class has too few images.
    """
    check_labels(features, classes)
    if labels_a_class < 1 or draws < 1:
        raise ValueError(
            f"labels_a_class and draws must be 1 or more, found {labels_a_class} and {draws}"
        )
    drawn = [_drawn(features, labels_a_class, classes, generator) for _ in range(draws)]
    scores = logistic_scores(drawn, classes, C=1.0, iterations=ITERATIONS, normalised="standardise")
    linear = [accuracy(scores_mC, features.test_labels).top1 for scores_mC in scores]
    nn = [knn_top1(draw, k=[1], tau=[None], classes=classes)[1, None].top1 for draw in drawn]
    return _mean_and_std("few_shot_linear_top1", linear) | _mean_and_std("few_shot_nn_top1", nn)


def _drawn(
    features: Features, labels_a_class: int, classes: int, generator: np.random.Generator
) -> Features:
    """Return the features with a balanced draw as their training part, ordered by class."""
    labels = features.train_labels.cpu().numpy()
    of_class = [np.flatnonzero(labels == c) for c in range(classes)]
    for c, images in enumerate(of_class):
        if len(images) < labels_a_class:
            raise ValueError(
                f"labels_a_class is {labels_a_class}, but class {c} has only {len(images)} images"
            )
    chosen = [generator.choice(images, labels_a_class, replace=False) for images in of_class]
    index = torch.from_numpy(np.concatenate(chosen)).to(features.train.device)
    return Features(
        features.train[index], features.train_labels[index], features.test, features.test_labels
    )


def _mean_and_std(name: str, values: list[float]) -> dict[str, float]:
    std = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return {name: float(np.mean(values)), f"{name}_std": std}
