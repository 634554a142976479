"""Logistic regression on frozen representations."""

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

Array = np.ndarray[Any, Any]


def logistic_top1(train_x: Array, train_y: Array, test_x: Array, test_y: Array) -> float:
    """Return the accuracy in percent on the test part of a classifier fitted on the other.

    Features are standardised by the training part; scikit-learn's default penalty (C = 1).

    Args:
        train_x: features, (n, D).
        train_y: labels, (n,).
        test_x: features, (m, D).
        test_y: labels, (m,).
    """
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model.fit(train_x, train_y)
    return float(100 * model.score(test_x, test_y))
