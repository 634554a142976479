"""Tables as Parquet files with a Croissant description for data platforms."""

import json
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from bench import __version__
from bench.environment import extra
from bench.files.atomic import write_whole
from bench.files.regular import sha256_of

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
