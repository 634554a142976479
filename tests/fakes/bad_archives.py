"""Archives that must be refused: what is changed in a sound one, and what is said of it."""

import io
import pickle
import tarfile
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from bench.files.atomic import to_json
from tests.fakes.toys import make_cells

Members = list[tuple[tarfile.TarInfo, bytes]]


def info_of(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE, link: str = "") -> Any:
    made = tarfile.TarInfo(name)
    made.size, made.type, made.linkname = size, kind, link
    return made


def add(name: str, content: bytes = b"x", **changes: Any) -> Callable[[Members], Members]:
    """Return what adds a member in the place that it has by its name."""
    extra = (info_of(name, len(content), **changes), content)
    return lambda found: sorted([*found, extra], key=lambda member: member[0].name.split("/"))


def put(file: str, content: bytes) -> Callable[[Members], Members]:
    """Return what gives the first file of that name another content."""

    def change(found: Members) -> Members:
        place = next(i for i, (info, _) in enumerate(found) if info.name.endswith(file))
        changed = (info_of(found[place][0].name, len(content)), content)
        return [*found[:place], changed, *found[place + 1 :]]

    return change


def drop(file: str) -> Callable[[Members], Members]:
    return lambda found: [member for member in found if not member[0].name.endswith(file)]


def settings_of(**changes: Any) -> bytes:
    return to_json(make_cells(1)[0].model_dump(mode="json") | changes)


def npz(content: bytes, method: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        file.writestr("a.npy", content)
    return buffer.getvalue()


def npy(value: Any, **changes: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, value, **changes)
    return buffer.getvalue()


class Harm:
    def __reduce__(self) -> Any:
        return (exec, ("raise SystemExit('ran')",))


FIRST = make_cells(1)[0].id
HOME = f"gradient-norm/{FIRST}"
HUGE = npy(np.zeros(1)).replace(b"(1,)", b"(1000000000000,)")[: 128 + 8]
REFUSED: dict[str, tuple[Callable[[Members], Members], str]] = {
    "up": (add("../x"), "this file cannot be unpacked ('../x' would be extracted to "),
    "symlink": (
        add(f"{HOME}/arrays.npz", b"", kind=tarfile.SYMTYPE, link="/etc/passwd"),
        f"this file cannot be unpacked ('{HOME}/arrays.npz' is a link to an absolute path)",
    ),
    "hardlink": (
        add(f"{HOME}/arrays.npz", b"", kind=tarfile.LNKTYPE, link="x"),
        "this file cannot be unpacked (",
    ),
    "device": (
        add("dev", b"", kind=tarfile.CHRTYPE),
        "this file cannot be unpacked ('dev' is a special file)",
    ),
    "pipe": (
        add("pipe", b"", kind=tarfile.FIFOTYPE),
        "this file cannot be unpacked ('pipe' is a special file)",
    ),
    "extended": (
        add("x", b"", kind=tarfile.XHDTYPE),
        "this file cannot be unpacked (",
    ),
    "size": (
        put("cell.json", b" " * 65537),
        f"{HOME}/cell.json: the file has 65537 bytes, but at most 65536 are allowed",
    ),
    "no-cell": (drop("cell.json"), f"{HOME}/cell.json: this file is missing"),
    "no-summary": (drop("summary.json"), "this folder holds no finished cell"),
    "torn": (
        put("cell.json", b'{"K": 1'),
        f"{HOME}/cell.json: the file cannot be read (Expecting ',' delimiter: line "
        "1 column 8 (char 7))",
    ),
    "deep": (
        put("provenance.json", b'{"a":' + b"[" * 90000 + b"]" * 90000 + b"}"),
        f"{HOME}/provenance.json: the file cannot be read (nested too deeply)",
    ),
    "infinite-origin": (
        put("provenance.json", b'{"wall_s": 1e999}'),
        f"{HOME}/provenance.json: the file cannot be read (1e999 is not finite)",
    ),
    "half-letter": (
        put("provenance.json", b'{"x": "\\ud800"}'),
        f"{HOME}/provenance.json: the file cannot be read ('utf-8' codec can't "
        "encode character '\\ud800' in position 7: surrogates not allowed)",
    ),
    "id": (
        put("cell.json", settings_of(seed=99)),
        f"{HOME}/cell.json: the file describes cell "
        f"{make_cells(1)[0].model_copy(update={'seed': 99}).id}, which is not the "
        "name of its folder",
    ),
    "other-experiment": (
        put("cell.json", settings_of(experiment="spirals")),
        f"{HOME}/cell.json: this is a cell of a different experiment, spirals",
    ),
    "no-metrics": (
        put("summary.json", b'{"metrics": {}}'),
        f"{HOME}/summary.json: the file does not hold finite metrics",
    ),
    "word-metric": (
        put("summary.json", b'{"metrics": {"gradient_norm": true}}'),
        f"{HOME}/summary.json: the file does not hold finite metrics",
    ),
    "infinite": (
        put("summary.json", b'{"metrics": {"gradient_norm": NaN}}'),
        f"{HOME}/summary.json: the file cannot be read (NaN is not finite)",
    ),
    "giant": (
        put("summary.json", b'{"metrics": {"gradient_norm": 1.1e50}}'),
        f"{HOME}/summary.json: the file does not hold finite metrics",
    ),
    "giant-history": (
        put("history.jsonl", b'{"step": 1, "loss": -1e308}\n'),
        f"{HOME}/history.jsonl: the file cannot be read (line 1 is not a record of metrics)",
    ),
    "unknown-metric": (
        put("summary.json", b'{"metrics": {"knn_top1": 1.0}}'),
        f"{HOME}/summary.json: experiment gradient-norm has no metric knn_top1",
    ),
    "history": (
        put("history.jsonl", b'{"step": 1}\n{"step"'),
        f"{HOME}/history.jsonl: the file cannot be read (line 2 is not a record of metrics)",
    ),
    "a formula in a history": (
        put("history.jsonl", b'{"step": 1, "=cmd|calc!A0": 1}\n'),
        f"{HOME}/history.jsonl: the file cannot be read (line 1 is not a record of metrics)",
    ),
    "no-time": (
        put("provenance.json", b'{"wall_s": null}'),
        f"{HOME}/provenance.json: the file cannot be read (wall_s is not a number",
    ),
    "word-time": (
        put("provenance.json", b'{"trained": {"wall_s": "x"}}'),
        f"{HOME}/provenance.json: the file cannot be read (wall_s is not a number",
    ),
    "list-origin": (
        put("provenance.json", b'{"device": [1]}'),
        f"{HOME}/provenance.json: the file cannot be read (device is "
        "not text, a number or a truth value",
    ),
    "nested-origin": (
        put("provenance.json", b'{"a": {"a": {"a": {"a": {}}}}}'),
        f"{HOME}/provenance.json: the file cannot be read (the file is nested too deeply",
    ),
    "terminal-origin": (
        put("provenance.json", b'{"\\u001b[41m": 1}'),
        f"{HOME}/provenance.json: the file cannot be read (\\x1b[41m is not a name",
    ),
    "long-origin": (
        put("provenance.json", to_json({"device": "x" * 1001})),
        f"{HOME}/provenance.json: the file cannot be read (device is "
        "text of more than 1000 characters",
    ),
    "wide-origin": (
        put("provenance.json", to_json({f"k{n}": n for n in range(301)})),
        f"{HOME}/provenance.json: the file cannot be read (the file has more than 300 entries",
    ),
    "array-name": (
        put("arrays.npz", npz(npy(np.zeros(1))).replace(b"a.npy", b"=.npy")),
        f"{HOME}/arrays.npz: the file cannot be read (the name of an "
        "array is not a valid identifier)",
    ),
    "pickled": (
        put("arrays.npz", npz(npy(np.array([Harm()], dtype=object)))),
        f"{HOME}/arrays.npz: the file cannot be read (Object arrays cannot be "
        "loaded when allow_pickle=False)",
    ),
    "not-numpy": (
        put("arrays.npz", npz(pickle.dumps(Harm()))),
        f"{HOME}/arrays.npz: the file cannot be read (array a has type |S",
    ),
    "npz-claims-much": (
        put("arrays.npz", npz(HUGE)),
        f"{HOME}/arrays.npz: the file cannot be read (Unable to allocate 7.28 TiB "
        "for an array with shape (1000000000000,) and data type ",
    ),
    "npz-bomb": (
        put("arrays.npz", npz(bytes(2**26 + 1), zipfile.ZIP_DEFLATED)),
        f"{HOME}/arrays.npz: the file cannot be read (the file has 67108865 bytes when "
        "unpacked, but at most 67108864 are allowed)",
    ),
}

NO_PART_OF_A_CELL = (
    "/etc/passwd", "launches/x.json", f"{HOME}/notes.txt", f"{HOME}/attempts/0001.json",
    f"{HOME}/checkpoint.pt", "unknown/0123456789abcdef/cell.json", "\x1b[2J",
)  # fmt: skip


def encoder_members(name: str) -> Members:
    buffer = io.BytesIO()
    torch.save({"w": torch.zeros(1)}, buffer)
    files = {"encoder.pt": buffer.getvalue(), "provenance.json": b"{}"}
    files["summary.json"] = b'{"metrics": {"train_loss": 1.0}}'
    return [(info_of(f"trained/{name}/{n}", len(c)), c) for n, c in files.items()]
