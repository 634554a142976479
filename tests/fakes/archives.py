"""Stores with finished cells, archives made of any members, and pictures of a store's files."""

import io
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.cells.cell import Cell
from bench.cells.pretrain import Pretrain
from bench.cells.toys import GradientNorm
from bench.files.atomic import write_whole
from bench.results.archives import unpacked
from bench.results.attempts import begin_attempt
from bench.results.folder import CellFolder
from bench.results.inspect import CheckEncoder
from bench.results.merge import Merged, MergedFolder, merge
from bench.results.owner import Owner
from bench.results.records import sealed
from bench.results.store import Store
from tests.fakes.cells import small_cell
from tests.fakes.toys import make_cells

ORIGIN: dict[str, Any] = {
    "code": {"commit": "abc", "dirty": False},
    "packages": {"torch": "2.6.0"},
    "wall_s": 3.5,
}


def fill(
    store: Store, cell: Cell, value: float = 0.5, arrays: Sequence[float] = (1.0, 2.0)
) -> CellFolder:
    """Let a cell be done here, as a worker does it."""
    folder = store.folder(cell)
    attempt = folder.claim(cell, Owner.me(), "x")
    assert attempt is not None
    folder.append_history({"step": 1, "loss": value})
    metric = "gradient_norm" if isinstance(cell, GradientNorm) else "knn_top1"
    metrics = {name: 9.0 for name in cell.evaluation_metrics} | {metric: value}
    folder.finish(metrics, {"a": np.array(arrays)} if arrays else {}, ORIGIN)
    attempt.end("done")
    return folder


def fill_trained(store: Store, cell: Pretrain, value: float = 0.5) -> CellFolder:
    """Let the encoder of a cell be trained here, and evaluated once."""
    folder = CellFolder(store.root / "trained" / cell.training_id)
    attempt = begin_attempt(folder.attempts, Owner.me(), "")
    assert attempt is not None
    write_weights(folder.path / "encoder.pt", {"weight": torch.full((3,), value)})
    record = {"evaluation": "knn", "protocol": cell.evaluation("knn"), "metrics": {"knn_top1": 9.0}}
    file = folder.path / "evaluations" / f"{cell.evaluation_id('knn')}.json"
    write_whole(file, sealed(record))
    folder.finish({"train_loss": value}, {}, ORIGIN)
    attempt.end("done")
    return folder


def write_weights(path: Path, value: Any) -> None:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    write_whole(path, buffer.getvalue())


def filled_store(root: Path, count: int = 3) -> tuple[Store, list[Cell]]:
    """Return a store with done cells of two experiments and one encoder."""
    store, cells = Store(root), [*make_cells(count), small_cell()]
    for cell in cells:
        fill(store, cell, 0.5 + len(cell.experiment) + cell.seed)
    fill_trained(store, small_cell())
    return store, cells


def picture(root: Path) -> dict[str, bytes | None]:
    """Return every file and folder below."""
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else None
        for path in root.rglob("*")
    }


def results(root: Path) -> dict[str, bytes | None]:
    """Return every file below that travels."""
    found = picture(root)
    return {name: c for name, c in found.items() if c is not None and "attempts" not in name}


def all_members_of(file: Path) -> list[tuple[tarfile.TarInfo, bytes]]:
    """Return what an archive holds, the digest of all of it left out."""
    with tarfile.open(file) as archive:
        return [
            (info, opened.read())
            for info in archive.getmembers()
            if info.name != "sha256" and (opened := archive.extractfile(info)) is not None
        ]


def members_of(file: Path) -> list[tuple[tarfile.TarInfo, bytes]]:
    """Return what an archive holds, digests left out, so that it may be changed."""
    found = all_members_of(file)
    return [(info, content) for info, content in found if not info.name.endswith("digests.json")]


def write_members(
    file: Path, members: Sequence[tuple[tarfile.TarInfo, bytes]], mode: str = "w"
) -> None:
    with tarfile.open(file, mode, format=tarfile.USTAR_FORMAT) as archive:  # type: ignore[call-overload]
        for info, content in members:
            archive.addfile(info, io.BytesIO(content) if info.isreg() else None)


def no_encoder(path: Path) -> None:
    raise AssertionError(f"{path} was looked at")


def bring_in(file: Path, store: Store, check: CheckEncoder = no_encoder) -> Merged:
    with unpacked(file) as folder:
        return merge([MergedFolder(folder, encoders=True)], store, check)
