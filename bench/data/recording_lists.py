"""Lists of recordings with their parts and labels, without torch.

A user's folder has a table `recordings.csv` or the layout `train/<word>/*.wav` and
`test/<word>/*.wav`. Four corpora are read in their published layouts.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from bench.cells.speech import AUDIO_SETS, TASKS, TONES
from bench.data.catalogue import is_there
from bench.errors import DataError, DataMissing, DataTorn

ENDINGS = (".wav", ".flac")
OTHER_ENDINGS = (".mp3", ".ogg", ".opus", ".m4a", ".aac", ".aif", ".aiff")
TABLE = "recordings.csv"
PARTS = ("train", "test")
COLUMNS = ("file", "part", *TASKS)
WHERE = f"{TABLE}, or train/<word>/*.wav and test/<word>/*.wav (or .flac)"


class ListedRecording(NamedTuple):
    """A recording: its file, its part, and its label for each task, empty if unlabelled."""

    path: Path
    part: str
    speaker: str = ""
    word: str = ""


def check_recordings(name: str, root: Path) -> None:
    """Raise DataMissing unless a set of recordings exists; no recording is opened."""
    if name == TONES:
        return
    folder = root / name
    wanted = [KNOWN[name].mark] if name in KNOWN else [TABLE, "train"]
    if not any((folder / mark).exists() for mark in wanted):
        rule = f"needs {KNOWN[name].where}" if name in KNOWN else f"needs {WHERE}"
        raise DataMissing(
            f"{name}: {folder} has no recordings; the folder {rule}; see docs/how-to/speech.md."
        )


def recording_sets(root: Path) -> dict[str, bool]:
    """Return whether sets of recordings exist: the known ones, and folders below root.

    For a folder without a table, the first file of a class decides.
    """
    tables = [path.parent.name for path in root.glob(f"*/{TABLE}")]
    firsts = (next(folder.glob("*/*"), None) for folder in root.glob("*/train"))
    heard = [f.parents[2].name for f in firsts if f is not None and f.suffix.lower() in ENDINGS]
    names = dict.fromkeys([*AUDIO_SETS, *sorted({*tables, *heard})])
    return {name: is_there(check_recordings, name, root) for name in names}


def list_recordings(name: str, root: Path) -> list[ListedRecording]:
    """Return the recordings of a folder, sorted by name or in table order.

    Args:
        name: name of a known corpus or of a folder below the root.
        root: the folder of data sets.

    Raises:
        DataMissing: there are no recordings.
        DataTorn: the table is invalid. The message names the line.
        DataError: a class is in the test part only.
    """
    check_recordings(name, root)
    folder = root / name
    if name in KNOWN:
        rows = list(KNOWN[name].rows(folder))
    elif (folder / TABLE).exists():
        rows = list(_with_one_spelling(_of_table(folder, folder / TABLE)))
    else:
        rows = list(_with_one_spelling(_of_folders(folder)))
    if not any(row.part == "train" for row in rows):
        raise DataMissing(f"{name}: {folder} has no training recordings.")
    for task in TASKS:
        known = {getattr(row, task) for row in rows if row.part == "train"}
        for row in rows:
            if getattr(row, task) not in known:
                label = getattr(row, task) or "(none)"
                why = (
                    f"{row.path}: the {task} {label} occurs only in the test part, not in the "
                    "train part"
                )
                if task == "speaker" and row.word:
                    why += (
                        f"; to test words on new speakers, remove the column `speaker` from {TABLE}"
                    )
                raise DataError(why)
    return rows


def _files(folder: Path, pattern: str, endings: Sequence[str] = ENDINGS) -> list[Path]:
    found = (path for path in folder.glob(pattern) if path.suffix.lower() in endings)
    return sorted(
        path
        for path in found
        if not any(name.startswith(".") for name in path.relative_to(folder).parts)
    )


def _of_folders(folder: Path) -> Iterator[ListedRecording]:
    """Yield the recordings of the classes' folders.

    Raises:
        DataTorn: a recording lies elsewhere, or is neither WAV nor FLAC.
    """
    for part in PARTS:
        for path in _files(folder / part, "**/*", ENDINGS + OTHER_ENDINGS):
            if path.suffix.lower() in OTHER_ENDINGS:
                raise DataTorn(f"{path}: only WAV and FLAC files can be read")
            if len(path.relative_to(folder / part).parts) != 2:
                raise DataTorn(
                    f"{path}: recordings must be placed as {part}/<word>/<file>, or listed in a "
                    f"file {TABLE}"
                )
            yield ListedRecording(path, part, word=path.parent.name)


def _with_one_spelling(rows: Iterable[ListedRecording]) -> Iterator[ListedRecording]:
    """Yield the rows as they are.

    Raises:
        DataTorn: two labels of a task differ in case or in spaces alone.
    """
    first: dict[tuple[str, str], ListedRecording] = {}
    for row in rows:
        for task in TASKS:
            label: str = getattr(row, task)
            other = first.setdefault((task, " ".join(label.casefold().split())), row)
            if (spelt := getattr(other, task)) != label:
                raise DataTorn(
                    f"{row.path}: the {task} {label!r} and {spelt!r} of "
                    f"{other.path} differ only in case or spaces; write both in "
                    "the same way, or choose different names"
                )
        yield row


def _of_table(folder: Path, table: Path) -> Iterator[ListedRecording]:
    """Yield the rows of a table with the columns file, part, and speaker, word or both."""
    seen: set[PurePosixPath] = set()
    for line, cells in _csv(table, COLUMNS):
        name, part = cells["file"] or "", cells["part"]
        pure = PurePosixPath(name)
        if not name or pure.is_absolute() or ".." in pure.parts:
            raise DataTorn(f"{table}: line {line}: the file {name!r} must lie below {folder}")
        if pure in seen:
            raise DataTorn(f"{table}: line {line}: the file {name!r} is listed twice")
        if part not in PARTS:
            raise DataTorn(f"{table}: line {line}: part must be train or test, found {part!r}")
        labels = {task: cells[task] for task in TASKS if task in cells}
        for task, label in labels.items():
            if not label.strip():
                raise DataTorn(f"{table}: line {line}: the {task} is missing")
        seen.add(pure)
        yield ListedRecording(folder / name, part, **labels)
    if not seen:
        raise DataTorn(f"{table}: the table has no rows")


def _csv(path: Path, only: Sequence[str] = ()) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number and the cells of each line of a file with a head.

    Args:
        path: the file.
        only: the columns that it may have, of which it has the first two; none: any.

    Raises:
        DataTorn: what is wrong with it.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, strict=True)
            heads = list(reader.fieldnames or ())
            if (why := _head_fault(heads, only)) is not None:
                raise DataTorn(f"{path}: {why}")
            for cells in reader:
                if None in cells or None in cells.values():
                    raise DataTorn(
                        f"{path}: line {reader.line_num}: the row does not have as many fields as "
                        "the header"
                    )
                yield reader.line_num, cells
    except (OSError, ValueError, csv.Error) as fault:
        raise DataTorn(f"{path}: the file cannot be read as a table: {fault}") from fault


def _head_fault(heads: Sequence[str], only: Sequence[str]) -> str | None:
    """Return what is wrong with the names of columns."""
    if twice := [name for name in heads if heads.count(name) > 1]:
        return f"the column {twice[0]!r} is given twice"
    needs = "the table must have the columns file, part, and speaker, word or both"
    if lost := [name for name in only[:2] if name not in heads]:
        return f"{needs}; there is no column {lost[0]!r}"
    if strays := [name for name in heads if only and name not in only]:
        return f"{needs}; the column {strays[0]!r} is not allowed"
    return None


def _fsdd(folder: Path) -> Iterator[ListedRecording]:
    """Yield the Free Spoken Digit Dataset: recordings 0 to 4 of a digit are its test part."""
    for path in _files(folder, "recordings/*"):
        if (name := re.fullmatch(r"(\d)_(\w+)_(\d+)", path.stem)) is None:
            raise DataTorn(f"{path}: the name of the file must be <digit>_<speaker>_<index>")
        digit, speaker, index = name.groups()
        yield ListedRecording(path, "test" if int(index) < 5 else "train", speaker, digit)


def _librispeech(folder: Path) -> Iterator[ListedRecording]:
    """Yield LibriSpeech's three training parts, from which encoders learn; no labels."""
    for path in _files(folder, "train-*/*/*/*"):
        yield ListedRecording(path, "train")


def _voxceleb1(folder: Path) -> Iterator[ListedRecording]:
    """Yield VoxCeleb1 by its split for identification, without the validation part."""
    parts = {"1": "train", "3": "test"}
    for number, line in enumerate(_text(folder / "iden_split.txt").splitlines(), 1):
        digit, _, name = line.strip().partition(" ")
        if digit not in ("1", "2", "3") or name.count("/") != 2 or ".." in name:
            raise DataTorn(
                f"{folder / 'iden_split.txt'}: line {number}: found {line!r}, expected a part "
                "(1, 2 or 3) and <id>/<video>/<file>"
            )
        if digit in parts:
            yield ListedRecording(folder / "wav" / name, parts[digit], speaker=name.split("/")[0])


def _fluent(folder: Path) -> Iterator[ListedRecording]:
    """Yield Fluent Speech Commands: an intent is action, object and location together."""
    for part in PARTS:
        for line, cells in _csv(table := folder / "data" / f"{part}_data.csv"):
            try:
                intent = " ".join(cells[key] for key in ("action", "object", "location"))
                yield ListedRecording(folder / cells["path"], part, word=intent)
            except KeyError as fault:
                raise DataTorn(f"{table}: line {line}: the column {fault} is missing") from fault


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, ValueError) as fault:
        raise DataTorn(f"{path}: the file cannot be read: {fault}") from fault


class _Corpus(NamedTuple):
    rows: Callable[[Path], Iterator[ListedRecording]]
    mark: str  # what shows that it is there
    where: str


KNOWN = {
    "fsdd": _Corpus(_fsdd, "recordings", "recordings/<digit>_<speaker>_<index>.wav"),
    "librispeech": _Corpus(
        _librispeech, "train-clean-100", "train-clean-100/<speaker>/<chapter>/*.flac and the like"
    ),
    "voxceleb1": _Corpus(_voxceleb1, "iden_split.txt", "iden_split.txt and wav/<id>/<video>/*.wav"),
    "fluent-speech-commands": _Corpus(_fluent, "data", "data/train_data.csv and wavs/"),
}
"""Corpora that are read as they are published."""
