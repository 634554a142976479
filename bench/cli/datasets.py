"""`bench datasets`: the images there are."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.cells.detection_sets import SHAPES, SIZES
from bench.cli.options import AsJson, answer
from bench.cli.terminal import print_rows
from bench.data.catalogue import CATALOGUE, DatasetInfo, image_folders
from bench.data.coco_layout import boxed_sets
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
    """Return every known data set, with boxes or without, and every folder of images in `root`."""
    boxed = boxed_sets(root)
    there = [(info, info.present(root)) for info in CATALOGUE.values()]
    there += [(_boxed(name, root), is_there) for name, is_there in boxed.items()]
    there += [
        (DatasetInfo(name, "images", None, None, None, str(path)), True)
        for name, path in image_folders(root).items()
        if path.name not in boxed
    ]
    return [asdict(info) | {"present": is_there} for info, is_there in there]


def _boxed(name: str, root: Path) -> DatasetInfo:
    images = sum(SIZES[name]) if name in SIZES else None
    what, how = "images with boxes", f"{root / name} in COCO format"
    if name == SHAPES:
        what, how = "drawn shapes with boxes", "drawn in code"
    return DatasetInfo(name, what, images, None, None, how)


def print_datasets(records: Sequence[Record]) -> None:
    """Print one line a data set."""
    heads = ["data set", "what", "images", "classes", "MB", "there", "how"]
    rows = [
        [
            *(_entry(r[key]) for key in ("name", "what", "images", "classes", "size_mb")),
            Entry("yes" if r["present"] else "no"),
            Entry(r["how"]),
        ]
        for r in records
    ]
    print_rows("", heads, rows)


def _entry(value: object) -> Entry:
    return Entry("" if value is None else str(value))
