"""Parquet files with a Croissant description, and the cards of repositories for a model hub.

`bench export --as parquet` writes the former, `--as hub` two repositories:

FOLDER/encoders/  README.md, and a folder per encoder, as `bench export --as safetensors` writes it
FOLDER/results/   README.md, Parquet files and croissant.json, as `--as parquet` writes them
"""

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from bench import __version__
from bench.environment import extra
from bench.files.atomic import write_whole
from bench.files.regular import sha256_of

ENCODERS, RESULTS, CARD = "encoders", "results", "README.md"
COMMON = {
    "license": "mit",
    "tags": ["contrastive-learning", "self-supervised-learning", "reproducibility"],
}
TIMM = "timm"

Config = dict[str, Any]
DESCRIPTION = "croissant.json"
FORMAT = "http://mlcommons.org/croissant/1.0"
LICENSE = "https://spdx.org/licenses/MIT"
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "column": "cr:column",
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "recordSet": "cr:recordSet",
    "source": "cr:source",
}
"""Meaning of the names in a Croissant description."""
TYPES = {"b": "sc:Boolean", "i": "sc:Integer", "f": "sc:Float"}
"""The type of a column by the kind of its values; all others are text."""


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

Encoders trained by contrastive-bench {__version__}. Each folder holds one encoder:
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


def write_parquet(folder: Path, title: str, frames: Mapping[str, pd.DataFrame]) -> list[Path]:
    """Write a Parquet file per non-empty table, and `croissant.json`; return the paths.

    Args:
        folder: output folder; files with the same names are replaced.
        title: title of the results.
        frames: tables by file name without suffix.

    Raises:
        BenchError: the package `pyarrow` is missing.
    """
    extra("pyarrow", "--as parquet")
    files: dict[str, bytes] = {}
    for name, frame in frames.items():
        if len(frame):
            written = BytesIO()
            frame.to_parquet(written, index=False)
            files[f"{name}.parquet"] = written.getvalue()
    described = {name: frames[name.removesuffix(".parquet")] for name in files}
    description = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": FORMAT,
        "name": "contrastive-bench",
        "description": f"Measured by contrastive-bench {__version__}, and published: {title}.",
        "version": __version__.replace(".dev", "-dev"),  # as semantic versioning has it
        "license": LICENSE,
        "distribution": [_file(name, content) for name, content in files.items()],
        "recordSet": [_records(name, frame) for name, frame in described.items()],
    }
    files[DESCRIPTION] = json.dumps(description, indent=1).encode()
    for name, content in files.items():
        write_whole(folder / name, content)
    return [folder / name for name in files]


def _file(name: str, content: bytes) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "encodingFormat": "application/x-parquet",
        "sha256": sha256_of(content),
    }


def _records(name: str, frame: pd.DataFrame) -> dict[str, Any]:
    """Return the columns of a file, each with its type and where it stands."""
    records = name.removesuffix(".parquet")
    return {
        "@type": "cr:RecordSet",
        "@id": records,
        "name": records,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{records}/{column}",
                "name": column,
                "dataType": TYPES.get(frame[column].dtype.kind, "sc:Text"),
                "source": {"fileObject": {"@id": name}, "extract": {"column": column}},
            }
            for column in frame.columns
        ],
    }
