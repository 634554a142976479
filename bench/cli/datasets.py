"""`bench datasets`: the images there are."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.cli.options import AsJson, answer
from bench.cli.terminal import print_rows
from bench.data.catalogue import CATALOGUE, image_folders
from bench.data.load import download
from bench.report.tables import Entry

Record = dict[str, Any]


def datasets(
    context: typer.Context,
    get: Annotated[str | None, typer.Option(help="Name of the data set to download.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the data sets, whether they are present, and how to get them."""
    root = context.obj.data
    if get is not None:
        download(get, root)
    answer(describe_datasets(root), print_datasets, as_json)


def describe_datasets(root: Path) -> list[Record]:
    """Return every known data set and every folder of images below `root`."""
    known = [asdict(info) | {"present": info.present(root)} for info in CATALOGUE.values()]
    return known + [
        {"name": name, "what": "images", "how": str(path), "present": True}
        for name, path in image_folders(root).items()
    ]


def print_datasets(records: Sequence[Record]) -> None:
    """Print one line a data set."""
    heads = ["data set", "what", "images", "classes", "MB", "there", "how"]
    rows = [
        [
            *(Entry(str(r.get(key, ""))) for key in ("name", "what", "images", "classes")),
            Entry(str(r.get("size_mb", ""))),
            Entry("yes" if r["present"] else "no"),
            Entry(r["how"]),
        ]
        for r in records
    ]
    print_rows("", heads, rows)
