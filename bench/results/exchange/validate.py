"""Whether a entry is what it says it is: nothing that comes from elsewhere is believed unread."""

import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from bench.cells import CELLS
from bench.cells.axes import EVALUATIONS as PROTOCOLS
from bench.cells.cell import Cell, identity
from bench.cells.pretrain import Pretrain
from bench.errors import BenchError, Damaged, StoreError
from bench.files.regular import parse_json
from bench.results.arrays import read_arrays
from bench.results.digests import ENCODER, EVALUATIONS, TRAINED, check_files
from bench.results.exchange.entry import Entry
from bench.results.names import MOST_NAMES, is_history_record, is_metric
from bench.results.provenance import fault_of_provenance
from bench.results.records import unsealed
from bench.text import foreign_text

Arrays = dict[str, np.ndarray[Any, Any]]
CheckEncoder = Callable[[Path], None]  # raises ValueError, with why it is none

MOST_BYTES_OF_LINE = 2**20  # of history


@dataclass(frozen=True)
class Checked:
    """A entry whose every file was found sound."""

    entry: Entry
    names: list[str]
    cell: Cell | None  # None: a trained encoder
    metrics: dict[str, float]
    arrays: Arrays
    verified: bool  # whether its files have digests, which then are right


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
            raise entry.fault(ENCODER, "no cell beside it uses this encoder")
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
    verified = _check_digests(entry)
    settings_file = ENCODER if entry.kind == TRAINED else "cell.json"
    for needed in (settings_file, "provenance.json", "summary.json"):
        if needed not in names:
            raise entry.fault(needed, "is missing")
    cell = None if entry.kind == TRAINED else check_cell(entry)
    known = Pretrain.metrics if cell is None else cell.metrics
    origin = _json(entry, "provenance.json")
    if not isinstance(origin, dict) or (cell is not None and not origin):
        raise entry.fault("provenance.json", "is not a JSON object, or is empty")
    if (why := fault_of_provenance(origin)) is not None:
        raise entry.fault("provenance.json", why)
    metrics = _metrics(entry, "summary.json", _json(entry, "summary.json"), {"metrics"}, known)
    if "history.jsonl" in names:
        _check_history(entry)
    arrays = _arrays(entry) if "arrays.npz" in names else {}
    for name in names:
        if name.startswith(EVALUATIONS):
            _check_evaluation(entry, name)
    if cell is None and encoder is not None:
        _check_encoder(entry, encoder)
    return Checked(entry, names, cell, metrics, arrays, verified)


def _check_digests(entry: Entry) -> bool:
    try:
        return check_files(entry.path, entry.id)
    except Damaged as fault:  # in the words for a file that may come from elsewhere
        name, _, why = str(fault).removeprefix(f"{entry.path}/").partition(": ")
        raise entry.fault(name, why) from fault


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
        raise entry.fault(name, "is not a JSON object")
    if fields.get("experiment") != entry.kind:
        raise entry.fault(name, f"is a cell of experiment {foreign_text(fields.get('experiment'))}")
    kind = CELLS[entry.kind]
    version = kind.model_fields["version"].default
    if fields.get("version") != version:
        actual = foreign_text(fields.get("version"))
        why = f"is of version {actual}; here {entry.kind} has version {version}"
        raise OtherCode(entry.fault(name, why))
    try:
        cell = kind.model_validate(fields)
        actual = cell.id
    except BenchError:
        raise
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_context=False)[0]
        key_path = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        message = foreign_text(f"{key_path}: {message}" if key_path else message)
        raise OtherCode(entry.fault(name, message)) from None
    except Exception as fault:  # of rules between settings, for types that they do not expect
        raise entry.fault(name, f"is not a cell ({foreign_text(str(fault))})") from fault
    if actual != entry.id:
        raise entry.fault(name, f"is the cell {actual}, not that of its folder")
    return cell


def _metrics(
    entry: Entry, name: str, record: Any, keys: set[str], known: Iterable[str]
) -> dict[str, float]:
    if not isinstance(record, dict) or set(record) != keys:
        raise entry.fault(name, f"is not a JSON object of {', '.join(sorted(keys))}")
    metrics = record["metrics"]
    if not isinstance(metrics, dict) or not all(map(is_metric, metrics.values())):
        raise entry.fault(name, "holds no finite metrics")
    for metric in metrics:
        if metric not in known:
            raise entry.fault(name, f"{entry.kind} has no metric {foreign_text(metric)}")
    if not metrics and name == "summary.json":
        raise entry.fault(name, "holds no finite metrics")
    return metrics


def _check_evaluation(entry: Entry, name: str) -> None:
    try:
        record = unsealed((entry.path / name).read_bytes())
    except ValueError as fault:
        why = f"is not JSON of finite numbers ({foreign_text(str(fault))})"
        raise entry.fault(name, why) from fault
    keys = {"evaluation", "protocol", "metrics"}
    _metrics(entry, name, record, keys, Pretrain.metrics)
    if record["evaluation"] not in list(PROTOCOLS) or not isinstance(record["protocol"], dict):
        raise entry.fault(name, f"is not an evaluation: {', '.join(PROTOCOLS)}")
    fields = {"training": entry.id, "evaluation": record["evaluation"]} | record["protocol"]
    if f"{EVALUATIONS}/{identity(fields)}.json" != name:
        raise entry.fault(name, f"is the evaluation {identity(fields)}, not that of its name")


def _check_history(entry: Entry) -> None:
    number, names = 0, set[str]()
    with (entry.path / "history.jsonl").open("rb") as file:
        while line := file.readline(MOST_BYTES_OF_LINE):
            number += 1
            try:
                record = parse_json(line) if line.endswith(b"\n") else None
            except ValueError:
                record = None
            if record is None or not is_history_record(record):
                raise entry.fault(
                    "history.jsonl", f"line {number} is not a record of finite metrics"
                )
            names |= record.keys()
            if len(names) > MOST_NAMES:
                raise entry.fault("history.jsonl", f"has more than {MOST_NAMES} metrics")


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
        raise entry.fault(ENCODER, f"holds no weights ({foreign_text(str(fault))})") from fault


def _arrays(entry: Entry) -> Arrays:
    try:
        return read_arrays(entry.path / "arrays.npz")
    except ValueError as fault:
        raise entry.fault("arrays.npz", f"holds no arrays of numbers ({fault})") from fault


def _json(entry: Entry, name: str) -> Any:
    try:
        return parse_json((entry.path / name).read_bytes())
    except ValueError as fault:
        raise entry.fault(
            name, f"is not JSON of finite numbers ({foreign_text(str(fault))})"
        ) from fault
