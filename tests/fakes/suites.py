"""Small suites as data, and copies of them with some values changed."""

import copy
from collections.abc import Mapping
from typing import Any

import yaml

SuiteData = dict[str, Any]
REMOVED = object()
"""As a value of `changed`: the key is taken out."""

SUITE: SuiteData = {
    "name": "small",
    "title": "A small grid of gaussian-mi",
    "paper": "eqco",
    "reproduces": ["table-9"],
    "protocol": "toy-mi",
    "experiment": "gaussian-mi",
    "scale": "tiny",
    "scales": {
        "tiny": {"what": "seconds", "protocol": "reduced"},
        "long": {"what": "more steps", "protocol": "reduced", "fixed": {"steps": 3000}},
    },
    "seeds": [0, 1],
    "fixed": {
        "d": 20,
        "steps": 100,
        "optimizer": "adam",
        "lr": 5e-4,
        "eval_repeats": 3,
        "hidden_layers": 1,
        "hidden_units": 32,
        "activation": "relu",
    },
    "grid": {"mi_true": [2, 10], "K": [8, 16]},
    "points": [{"loss": "infonce"}, {"loss": "eqco", "alpha": 512}],
    "assumed": {
        "embedding_dim": {"value": 32, "why": "small"},
        "output_relu": {"value": True, "why": "closest"},
        "tau": {"value": 1.0, "why": "plain"},
        "margin_count": {"value": "negatives", "why": "App. C"},
        "bound_constant": {"value": "one-plus-alpha", "why": "Sec. 2.1"},
    },
    "compare": [
        {
            "artifact": "table-9",
            "metric": "mi_lower_bound",
            "layout": {"rows": ["loss", "K"], "columns": "mi_true"},
        }
    ],
    "claims": {
        "toy-mi-steady": [
            {
                "check": "flat",
                "metric": "mi_lower_bound",
                "over": "K",
                "where": {"loss": "eqco", "alpha": 512},
                "within": 10,
            }
        ]
    },
    "figures": [
        {
            "name": "estimates",
            "title": "Estimates against K",
            "draw": "lines",
            "x": "K",
            "y": "mi_lower_bound",
            "by": "loss",
            "panels": "mi_true",
            "artifact": "table-9",
            "reference": "mi_true",
            "log_x": True,
            "x_label": "K",
            "y_label": "nats",
        }
    ],
}

SECONDS = {"what": "seconds", "protocol": "reduced"}

DIGITS: SuiteData = {
    "name": "digits",
    "title": "A few epochs on digits",
    "experiment": "pretrain",
    "scale": "tiny",
    "scales": {"tiny": SECONDS},
    "seeds": [0],
    "fixed": {
        "method": "moco-v2", "dataset": "digits", "train_images": 128, "image_size": 8,
        "views": "affine", "K": 40, "arch": "small", "stem": "half", "width": 4,
        "projector_hidden_dim": 16, "feature_dim": 8, "bn_groups": 2, "epochs": 3,
        "batch_size": 16, "optimizer": "sgd", "lr": 0.05, "lr_schedule": "cosine",
        "weight_decay": 1e-4,
    },
    "grid": {"knn_k": [3, 7]},
}  # fmt: skip

CLASSIFIER: SuiteData = {
    "name": "classifier",
    "title": "A classifier on digits",
    "experiment": "supervised",
    "scale": "tiny",
    "scales": {"tiny": SECONDS},
    "seeds": [0],
    "fixed": {
        "dataset": "digits", "train_images": 128, "image_size": 8, "views": "affine",
        "arch": "small", "stem": "half", "width": 4, "loss": "cross-entropy", "epochs": 2,
        "batch_size": 16, "optimizer": "sgd", "lr": 0.05, "weight_decay": 1e-4,
        "lr_schedule": "cosine",
    },
}  # fmt: skip

VINCE: SuiteData = {
    "name": "small",
    "title": "Two correlated scalars",
    "experiment": "vince-gaussian",
    "scale": "tiny",
    "scales": {"tiny": SECONDS},
    "seeds": [0],
    "fixed": {
        "method": "vince", "valid_percent": 50, "dataset_size": 64, "K": 8, "epochs": 2,
        "batch_size": 16, "optimizer": "adam", "lr": 0.01, "weight_decay": 0, "layers": 2,
        "hidden_units": 8, "embedding_dim": 4, "towers": "two", "normalised": True, "tau": 0.5,
        "bank_rate": 0.5, "negatives_from": "encoder", "eval_repeats": 1,
    },
}  # fmt: skip

RANKED: SuiteData = {
    "name": "mine",
    "title": "digits on ranks",
    "experiment": "pretrain",
    "scale": "smoke",
    "scales": {"smoke": SECONDS},
    "seeds": [0],
    "fixed": {
        "dataset": "digits", "train_images": 96, "image_size": 8, "views": "affine",
        "arch": "small", "stem": "half", "width": 4, "feature_dim": 8, "epochs": 2,
        "batch_size": 16, "optimizer": "sgd", "lr": 0.05, "weight_decay": 1e-4,
        "lr_schedule": "cosine", "knn_k": 5, "knn_every_epochs": 1, "projector_hidden_dim": 16,
    },
    "grid": {"method": ["simclr"]},
}  # fmt: skip


def changed(suite: SuiteData, changes: Mapping[str, Any]) -> SuiteData:
    """Return a copy with the values at some paths replaced, such as `{"points.1.alpha": 64}`.

    A mapping may get a new key. `REMOVED` takes a key out.

    Raises:
        KeyError: a path leads through something that is not there, or names an entry of a list or
            a key to remove that is not there.
    """
    result = copy.deepcopy(suite)
    for path, value in changes.items():
        *parents, last = path.split(".")
        node: Any = result
        for part in parents:
            node = node[_key(node, part, path)]
        key = last if isinstance(node, dict) and value is not REMOVED else _key(node, last, path)
        if value is REMOVED:
            del node[key]
        else:
            node[key] = copy.deepcopy(value)
    return result


def _key(node: Any, part: str, path: str) -> str | int:
    """Return the key or index of an entry that is there."""
    if isinstance(node, dict) and part in node:
        return part
    if isinstance(node, list) and part.isdecimal() and int(part) < len(node):
        return int(part)
    raise KeyError(f"{path}: nothing at {part!r}")


def to_yaml(suite: SuiteData) -> str:
    """Return the text of a suite file, keys in their order."""
    return yaml.safe_dump(suite, sort_keys=False)
