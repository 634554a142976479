"""`bench datasets`: the images there are."""

from collections.abc import Sequence
from dataclasses import asdict, fields
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
    known = [asdict(info) | {"present": info.present(root)} for info in CATALOGUE.values()]
    boxed = boxed_sets(root)
    return [
        *known,
        *(_boxed_record(name, root, there) for name, there in boxed.items()),
        *(
            _record(name, "images", None, str(path), present=True)
            for name, path in image_folders(root).items()
            if path.name not in boxed
        ),
    ]


def _boxed_record(name: str, root: Path, there: bool) -> Record:
    images = sum(SIZES[name]) if name in SIZES else None
    if name == SHAPES:
        return _record(name, "drawn shapes with boxes", images, "drawn in code", present=there)
    how = f"{root / name} in COCO format"
    return _record(name, "images with boxes", images, how, present=there)


def _record(name: str, what: str, images: int | None, how: str, *, present: bool) -> Record:
    """Return the record of a data set that is not in the catalogue."""
    unknown = dict.fromkeys(field.name for field in fields(DatasetInfo))
    return unknown | {
        "name": name, "what": what, "images": images, "how": how, "present": present
    }  # fmt: skip


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
