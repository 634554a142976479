"""Cards of the repositories that `bench export --as hub` writes for a model hub.

FOLDER/encoders/  README.md, and a folder per encoder, as `bench export --as safetensors` writes it
FOLDER/results/   README.md, Parquet files and croissant.json, as `--as parquet` writes them
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from bench import __version__
from bench.files.atomic import write_whole

ENCODERS, RESULTS, CARD = "encoders", "results", "README.md"
COMMON = {
    "license": "mit",
    "tags": ["contrastive-learning", "self-supervised-learning", "reproducibility"],
}
TIMM = "timm"

Config = dict[str, Any]


def write_model_card(
    folder: Path, title: str, configs: Sequence[Config], metrics: Mapping[str, Mapping[str, float]]
) -> Path:
    """Write the card of an encoder repository; return its path.

    Args:
        folder: folder of the repository.
        title: title of the repository.
        configs: the `config.json` of each encoder.
        metrics: metrics of each cell by id; accuracies in percent.
    """
    known = {c["bench"]["training"]: metrics.get(c["bench"]["cells"][0], {}) for c in configs}
    matter = COMMON | {
        "library_name": TIMM if all("architecture" in c for c in configs) else "pytorch",
        "pipeline_tag": "image-feature-extraction",
        "model-index": [
            {"name": name, "results": [_result(config, known[name])]}
            for config in configs
            if known[name := config["bench"]["training"]]
        ],
    }
    heads = ("encoder", "loss", "data set", "network", "seed", "timm", "commit")
    rows = [heads, ("---",) * len(heads), *map(_row, configs)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    text = f"""# Encoders: {title}

Encoders trained by contrastive-bench {__version__}. Each folder is one encoder:
`model.safetensors` is the backbone, `projector.safetensors` the head that training used, and
`config.json` has all settings. The metadata of the safetensors files names cells and commit.

{table}

```python
import bench

encoder, preprocess = bench.load_encoder("ENCODER")  # a folder of this repository
features = encoder(preprocess(image)[None])
```

`timm.create_model("local-dir:ENCODER", pretrained=True)` loads the encoders that have a name in
the column timm. The front matter lists metrics of each encoder; accuracies are in percent.
"""
    return _write(folder, matter, text)


def write_dataset_card(folder: Path, title: str, frames: Sequence[str]) -> Path:
    """Write the card of a results repository; return its path.

    Args:
        folder: folder of the repository.
        title: title of the repository.
        frames: names of its Parquet files, without suffix.
    """
    matter = COMMON | {
        "pretty_name": f"contrastive-bench: {title}",
        "configs": [{"config_name": n, "data_files": f"{n}.parquet"} for n in frames],
    }
    listed = "\n".join(f"- `{name}.parquet`: {MEANINGS[name]}" for name in frames)
    text = f"""# Results: {title}

Measured by contrastive-bench {__version__}. `croissant.json` describes every column.

{listed}

`pandas.read_parquet("cells.parquet")` reads a file.
"""
    return _write(folder, matter, text)


MEANINGS = {
    "cells": "a row per finished cell (one configuration, one seed) and metric, with all settings",
    "histories": "a row per cell, step and metric that was recorded during training",
    "published": "the values that the papers publish",
    "claims": "the papers' claims in our words, with effects, 95 % intervals and verdicts",
}
"""Content of each frame of `bench export --as parquet`."""


def _result(config: Config, metrics: Mapping[str, float]) -> dict[str, Any]:
    cell = config["bench"]["cell"]
    dataset = cell.get("evaluated_on") or cell["dataset"]
    return {
        "task": {"type": "image-classification"},
        "dataset": {"type": dataset, "name": dataset},
        "metrics": [{"type": k, "name": k, "value": v} for k, v in sorted(metrics.items())],
    }


def _row(config: Config) -> tuple[str, ...]:
    described = config["bench"]
    cell, commit = described["cell"], described["origin"].get("code.commit")
    values = [str(cell[name]) for name in ("loss", "dataset", "arch", "seed")]
    timm = config.get("architecture", "")
    return f"`{described['training']}`", *values, timm, str(commit or "")[:12]


def _write(folder: Path, matter: dict[str, Any], text: str) -> Path:
    front = yaml.safe_dump(matter, sort_keys=False)
    write_whole(folder / CARD, f"---\n{front}---\n\n{text}".encode())
    return folder / CARD
