"""`bench datasets`: list the data sets of images and recordings."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from bench.cells.datasets import BOXED_SETS, IMAGE_SETS, DatasetInfo
from bench.cells.speech import AUDIO_SETS, TONES
from bench.cli.options import AsJson, answer
from bench.cli.terminal import print_rows
from bench.data.catalogue import boxed_sets, image_folders, is_present, unlabelled_images
from bench.data.load import download
from bench.data.recording_lists import KNOWN, recording_sets
from bench.record import Json


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


def describe_datasets(root: Path) -> list[Json]:
    """Return every known data set and every folder of images or recordings in `root`."""
    boxed, heard = boxed_sets(root), recording_sets(root)
    records = [_known(info, is_present(info.name, root)) for info in IMAGE_SETS.values()]
    records += [
        _known(BOXED_SETS[name], is_there, how=f"{root / name} in COCO format")
        if name in BOXED_SETS
        else _record(name, "images with boxes", is_there, f"{root / name} in COCO format")
        for name, is_there in boxed.items()
    ]
    return (
        records
        + [
            _record(name, _images(path), True, str(path))
            for name, path in image_folders(root).items()
            if path.name not in boxed and path.name not in heard
        ]
        + [
            _record(name, _recordings(name), is_there, _audio_files(name, root))
            for name, is_there in heard.items()
        ]
    )


def _images(folder: Path) -> str:
    """Return what a folder of images holds."""
    return "images" if unlabelled_images(folder) is None else "images without classes"


def _recordings(name: str) -> str:
    """Return what a set of recordings is, with their number where it is known."""
    return f"{sum(AUDIO_SETS[name])} recordings" if name in AUDIO_SETS else "recordings"


def _audio_files(name: str, root: Path) -> str:
    """Return where a set of recordings is looked for."""
    if name == TONES:
        return "drawn in code"
    return f"{root / name}/{KNOWN[name].where}" if name in KNOWN else str(root / name)


def _known(info: DatasetInfo, is_there: bool, how: str = "") -> Json:
    facts = {key: getattr(info, key) for key in ("images", "size_mb", "folder")}
    facts |= {"classes": info.classes or None}
    return _record(info.name, info.what, is_there, info.how or how) | facts


def _record(name: str, what: str, is_there: bool, how: str) -> Json:
    unknown: Json = {"images": None, "classes": None, "size_mb": None}
    return {"name": name, "what": what, **unknown, "how": how, "folder": "", "present": is_there}


def print_datasets(records: Sequence[Json]) -> None:
    """Print one line per data set."""
    heads = ["data set", "what", "images", "classes", "MB", "there", "how"]
    shown = ("name", "what", "images", "classes", "size_mb")
    rows = [
        [*(r[key] for key in shown), "yes" if r["present"] else "no", r["how"]] for r in records
    ]
    print_rows("", heads, rows)
