"""Typed JSON records that processes exchange: attempts, launches and submissions.

Some records, including evaluations, contain their own digest: `sha256` is the digest of the record
without this key.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import NonNegativeFloat, PositiveInt, ValidationError, model_validator

from bench.errors import Damaged
from bench.files.atomic import to_json
from bench.files.messages import warn
from bench.files.regular import parse_json, read_regular, sha256_of
from bench.record import Record

SEAL = "sha256"
MOST_BYTES = 64 * 2**20


class OwnerRecord(Record):
    """A process (`bench.results.owner.Owner`)."""

    host: str
    machine: str
    pid: int
    started: str
    job: str


class AttemptRecord(Record):
    """One execution of a cell (`bench.results.attempts.Attempt`)."""

    attempt: PositiveInt
    owner: OwnerRecord
    launch: str
    state: Literal["running", "done", "failed", "interrupted"]
    began: NonNegativeFloat  # seconds since 1970
    ended: NonNegativeFloat | None
    reason: str | None
    message: str | None

    @model_validator(mode="after")
    def _ended(self) -> "AttemptRecord":
        if self.state != "running" and self.ended is None:
            raise ValueError("the attempt has ended, but the time of its end is missing")
        return self


class LaunchRecord(Record):
    """Queue of a running launcher (`bench.results.store.Launch`)."""

    owner: OwnerRecord
    cells: list[str]
    retry_before: NonNegativeFloat


class SubmissionRecord(Record):
    """Jobs submitted to Slurm or another executor (`bench.launch.slurm.jobs.Submission`)."""

    cells: list[str]
    profile: dict[str, Any]
    code: str | None = None
    executor: str = "slurm"


class EvaluationRecord(Record):
    """Result of one evaluation of a trained encoder."""

    evaluation: str
    protocol: dict[str, Any]
    metrics: dict[str, float]


def read_record(path: Path, kind: type[Record], what: str) -> dict[str, Any] | None:
    """Return a record; None if the file does not exist.

    Args:
        path: path of the file.
        kind: class of the record.
        what: name of the record with its article, for messages: "an attempt".

    Raises:
        Damaged: the file is not regular, has no such record, or is corrupt.
        StoreError: the file cannot be read.
    """
    content = read_regular(path, MOST_BYTES)
    if content is None:
        return None
    try:
        record = unsealed(content)
        kind.model_validate(record)
    except ValueError as fault:  # of pydantic too
        raise Damaged(
            f"{path}: the file is not a record of {what} ({first_line(fault)})"
        ) from fault
    return dict(record)


def read_records(
    paths: Iterable[Path], kind: type[Record], what: str, so: str
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the files with their records; damaged ones are reported and omitted.

    Args:
        so: consequence of the damage, for the warning.
    """
    for path in paths:
        try:
            record = read_record(path, kind, what)
        except Damaged as fault:
            warn(f"{fault}; {so}")
        else:
            if record is not None:
                yield path, record


def sealed(record: dict[str, Any]) -> bytes:
    """Return a record as JSON that contains its own digest."""
    return to_json(record | {SEAL: sha256_of(to_json(record))})


def unsealed(content: bytes) -> Any:
    """Return a record without its digest, after verifying it.

    Raises:
        ValueError: the digest is wrong, or the content is not JSON with finite numbers.
    """
    record = parse_json(content)
    if not isinstance(record, dict) or SEAL not in record:
        return record
    plain = {name: value for name, value in record.items() if name != SEAL}
    if sealed(plain) != content:
        raise ValueError(f"the record was edited: its value of {SEAL} does not match its content")
    return plain


def first_line(fault: ValueError) -> str:
    """Return the first error as one line."""
    if not isinstance(fault, ValidationError):
        return str(fault).partition("\n")[0]
    first = fault.errors(include_url=False, include_context=False, include_input=False)[0]
    key_path = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"{key_path}: {message}" if key_path else message
