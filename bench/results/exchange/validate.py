"""Whether a entry is what it says it is: nothing that comes from elsewhere is believed unread."""

import json
import math
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from bench.cells import CELLS
from bench.cells.cell import Cell, identity
from bench.cells.coordinates import EVALUATIONS as PROTOCOLS
from bench.cells.pretrain import Pretrain
from bench.errors import BenchError, StoreError
from bench.results.exchange.entry import ENCODER, EVALUATIONS, MOST_BYTES, TRAINED, Entry

Arrays = dict[str, np.ndarray[Any, Any]]
CheckEncoder = Callable[[Path], None]  # raises ValueError, with why it is none

MOST_ARRAYS = 1000
MOST_BYTES_OF_LINE = 2**20  # of history
MOST_DIGITS = 40  # of a whole number
NUMBERS = "biufc"  # kinds of numpy types that may be in arrays


@dataclass(frozen=True)
class Checked:
    """A entry whose every file was found sound."""

    entry: Entry
    names: list[str]
    cell: Cell | None  # None: a trained encoder
    metrics: dict[str, float]
    arrays: Arrays


class OtherCode(StoreError):
    """A cell of another version of its experiment, or of settings that this code has not."""


def check_all(
    entries: Iterable[Entry], trainings: set[str], encoder: CheckEncoder
) -> Iterator[Checked]:
    """Yield the entries, each found sound; cells come before the encoders that they speak of.

    Args:
        entries: what is to be checked.
        trainings: the training ids of the cells so far; those of the entries are added.
        encoder: looks at a file of weights.

    Raises:
        StoreError: in one line, which file is wrong and how.
    """
    for entry in entries:
        checked = check(entry, encoder)
        if checked.cell is None and entry.id not in trainings:
            raise entry.fault(ENCODER, "no cell beside it speaks of this encoder")
        if checked.cell is not None and checked.cell.training_id is not None:
            trainings.add(checked.cell.training_id)
        yield checked


def check(entry: Entry, encoder: CheckEncoder | None = None) -> Checked:
    """Return the entry with its numbers.

    Args:
        entry: what is to be checked.
        encoder: looks at a file of weights; None leaves them unread.

    Raises:
        StoreError: in one line, which file is wrong and how.
    """
    names = entry.names()
    own = ENCODER if entry.kind == TRAINED else "cell.json"
    for needed in (own, "provenance.json", "summary.json"):
        if needed not in names:
            raise entry.fault(needed, "is missing")
    cell = None if entry.kind == TRAINED else check_cell(entry)
    known = Pretrain.metrics if cell is None else cell.metrics
    origin = _json(entry, "provenance.json")
    if not isinstance(origin, dict) or (cell is not None and not origin):
        raise entry.fault("provenance.json", "is no JSON object that says anything")
    metrics = _metrics(entry, "summary.json", _json(entry, "summary.json"), {"metrics"}, known)
    if "history.jsonl" in names:
        _check_history(entry)
    arrays = _arrays(entry) if "arrays.npz" in names else {}
    for name in names:
        if name.startswith(EVALUATIONS):
            _check_evaluation(entry, name)
    if cell is None and encoder is not None:
        _check_encoder(entry, encoder)
    return Checked(entry, names, cell, metrics, arrays)


def check_cell(entry: Entry) -> Cell:
    """Return the cell that a entry says it is.

    Raises:
        OtherCode: this code has no such version or setting.
        StoreError: it is no cell, or another one.
    """
    name = "cell.json"
    if name not in entry.names():
        raise entry.fault(name, "is missing")
    fields = _json(entry, name)
    if not isinstance(fields, dict):
        raise entry.fault(name, "is no JSON object")
    if fields.get("experiment") != entry.kind:
        raise entry.fault(name, f"is a cell of experiment {_told(fields.get('experiment'))}")
    kind = CELLS[entry.kind]
    version = kind.model_fields["version"].default
    if fields.get("version") != version:
        found = _told(fields.get("version"))
        why = f"is of version {found}; here {entry.kind} has version {version}"
        raise OtherCode(entry.fault(name, why))
    try:
        cell = kind.model_validate(fields)
        found = cell.id
    except BenchError:
        raise
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        told = first["msg"].removeprefix("Value error, ")
        told = _told(f"{place}: {told}" if place else told)
        raise OtherCode(entry.fault(name, told)) from None
    except Exception as fault:  # of rules between settings, for types that they do not expect
        raise entry.fault(name, f"is no cell ({_told(str(fault))})") from fault
    if found != entry.id:
        raise entry.fault(name, f"is the cell {found}, not that of its folder")
    return cell


def _metrics(
    entry: Entry, name: str, record: Any, keys: set[str], known: Iterable[str]
) -> dict[str, float]:
    if not isinstance(record, dict) or set(record) != keys:
        raise entry.fault(name, f"is no JSON object of {', '.join(sorted(keys))}")
    metrics = record["metrics"]
    if not isinstance(metrics, dict) or not all(map(_is_number, metrics.values())):
        raise entry.fault(name, "holds no finite metrics")
    for metric in metrics:
        if metric not in known:
            raise entry.fault(name, f"{entry.kind} has no metric {_told(metric)}")
    if not metrics and name == "summary.json":
        raise entry.fault(name, "holds no finite metrics")
    return metrics


def _check_evaluation(entry: Entry, name: str) -> None:
    record = _json(entry, name)
    keys = {"evaluation", "protocol", "metrics"}
    _metrics(entry, name, record, keys, Pretrain.metrics)
    if record["evaluation"] not in list(PROTOCOLS) or not isinstance(record["protocol"], dict):
        raise entry.fault(name, f"is no evaluation: {', '.join(PROTOCOLS)}")
    fields = {"training": entry.id, "evaluation": record["evaluation"]} | record["protocol"]
    if f"{EVALUATIONS}/{identity(fields)}.json" != name:
        raise entry.fault(name, f"is the evaluation {identity(fields)}, not that of its name")


def _check_history(entry: Entry) -> None:
    number = 0
    with (entry.path / "history.jsonl").open("rb") as file:
        while line := file.readline(MOST_BYTES_OF_LINE):
            number += 1
            try:
                record = parse_json(line) if line.endswith(b"\n") else None
            except ValueError:
                record = None
            if not isinstance(record, dict) or "step" not in record:
                record = {"step": None}
            if not all(map(_is_number, record.values())):
                raise entry.fault("history.jsonl", f"line {number} is no record of finite metrics")


def _check_encoder(entry: Entry, encoder: CheckEncoder) -> None:
    path = entry.path / ENCODER
    try:
        with zipfile.ZipFile(path) as file:
            entries = file.infolist()
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise ValueError("packed weights")
        if sum(entry.file_size for entry in entries) > path.stat().st_size:
            raise ValueError("it unpacks to more than it is")
        encoder(path)
    except Exception as fault:  # zipfile raises many kinds for a torn file
        raise entry.fault(ENCODER, f"holds no weights ({_told(str(fault))})") from fault


def _arrays(entry: Entry) -> Arrays:
    try:
        return read_arrays(entry.path / "arrays.npz")
    except ValueError as fault:
        raise entry.fault("arrays.npz", f"holds no arrays of numbers ({fault})") from fault


def read_arrays(path: Path) -> Arrays:
    """Return the arrays of an npz file of any origin, within 64 MiB of memory.

    Raises:
        ValueError: it is torn, too large unpacked, or holds something else than numbers.
    """
    try:
        with warnings.catch_warnings(), zipfile.ZipFile(path) as file:
            warnings.simplefilter("error")
            entries = file.infolist()
            names = [entry.filename.removesuffix(".npy") for entry in entries]
            if len(entries) > MOST_ARRAYS or len(set(names)) < len(names):
                raise ValueError(f"more than {MOST_ARRAYS} arrays, or one twice")
            size = sum(entry.file_size for entry in entries)
            if size > MOST_BYTES["arrays.npz"]:
                raise ValueError(f"{size} bytes unpacked, of {MOST_BYTES['arrays.npz']} allowed")
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: np.asarray(file[name]) for name in file.files}
    except Exception as fault:  # zipfile and numpy raise many kinds for a torn file
        raise ValueError(_told(str(fault))) from fault
    for name, array in arrays.items():
        if array.dtype.kind not in NUMBERS:
            raise ValueError(f"{_told(name)} is of type {array.dtype}")
    return arrays


def _json(entry: Entry, name: str) -> Any:
    try:
        return parse_json((entry.path / name).read_bytes())
    except ValueError as fault:
        raise entry.fault(name, f"is no JSON of finite numbers ({_told(str(fault))})") from fault


def parse_json(content: bytes) -> Any:
    """Return the value of UTF-8 JSON whose numbers are finite.

    Raises:
        ValueError: it is not that, or is nested too deeply.
    """
    try:
        value = _DECODER.decode(content.decode())
        if b"\\u" in content:
            json.dumps(value, ensure_ascii=False).encode()  # fails for half of a surrogate pair
    except RecursionError as fault:
        raise ValueError("nested too deeply") from fault
    return value


def _finite(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError(f"{text[:MOST_DIGITS]} is not finite")
    return float(text)


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a whole number of {len(text)} digits")
    return int(text)


_DECODER = json.JSONDecoder(parse_constant=_finite, parse_float=_finite, parse_int=_whole)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _told(value: Any) -> str:
    """Return a foreign value in one short line of plain characters."""
    text = value if isinstance(value, str) else json.dumps(value)
    plain = ascii(text)[1:-1] if isinstance(value, str) else text
    return plain if len(plain) <= 100 else f"{plain[:97]}..."
