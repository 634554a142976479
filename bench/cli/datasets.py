"""`bench datasets`: the images there are."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.cells.detection_sets import SHAPES, SIZES
from bench.cli.options import AsJson, answer
from bench.cli.terminal import print_rows
from bench.data.catalogue import CATALOGUE, image_folders
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
            {"name": name, "what": "images", "how": str(path), "present": True}
            for name, path in image_folders(root).items()
            if path.name not in boxed
        ),
    ]


def _boxed_record(name: str, root: Path, there: bool) -> Record:
    drawn = name == SHAPES
    return {
        "name": name,
        "what": "drawn shapes with boxes" if drawn else "images with boxes",
        **({"images": sum(SIZES[name])} if name in SIZES else {}),
        "how": "drawn in code" if drawn else f"{root / name} in COCO format",
        "present": there,
    }


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
