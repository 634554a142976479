"""Archives: the same bytes for the same cells, and nothing believed that comes from elsewhere."""

import gzip
import hashlib
import json
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.cells.cell import Cell
from bench.errors import BenchError, StoreError
from bench.experiments.encoder_folder import check_encoder
from bench.files.atomic import to_json, whole_file
from bench.results.digests import write_digests
from bench.results.exchange import read_tar as unpack
from bench.results.exchange import write_tar as archive
from bench.results.exchange.write_tar import export_archive
from bench.results.store import Store
from tests.fakes.archives import (
    bring_in,
    fill,
    fill_trained,
    filled_store,
    members_of,
    picture,
    results,
    write_members,
    write_weights,
)
from tests.fakes.bad_archives import REFUSED, Harm, info_of, put
from tests.fakes.cells import small_cell
from tests.fakes.toys import make_cells


@pytest.mark.parametrize("name", ["cells.tar", "cells.tar.gz"])
def test_a_round_trip_is_to_the_byte(tmp_path: Path, name: str) -> None:
    there, cells = filled_store(tmp_path / "there")
    assert export_archive(cells[::-1], there, tmp_path / name, encoders=True) == (4, 1)
    here = Store(tmp_path / "here")
    merged = bring_in(tmp_path / name, here, check_encoder)
    assert (merged.added, merged.encoders, merged.same) == (4, 1, 0)
    assert results(here.root) == results(there.root)
    assert {str(state.state) for state in here.states(cells)} == {"done"}
    again = tmp_path / f"again-{name}"
    export_archive(cells, here, again, encoders=True)
    assert again.read_bytes() == (tmp_path / name).read_bytes()
    assert name == "cells.tar" or again.read_bytes()[4:8] == bytes(4)  # no time


def test_members_have_no_owner_and_no_time_and_tar_reads_them(tmp_path: Path) -> None:
    there, cells = filled_store(tmp_path / "there")
    assert export_archive(cells, there, tmp_path / "x.tar", encoders=False) == (4, 0)
    found = members_of(tmp_path / "x.tar")
    names = [info.name for info, _ in found]
    assert names == sorted(
        name for name in results(there.root) if "trained" not in name and "digests" not in name
    )
    assert {(i.uid, i.gid, i.uname, i.gname, i.mtime, i.mode) for i, _ in found} == {
        (0, 0, "", "", 0, 0o644)
    }
    assert all(content == (there.root / info.name).read_bytes() for info, content in found)


def test_an_archive_appears_whole(tmp_path: Path) -> None:
    there, cells = filled_store(tmp_path / "there")
    (tmp_path / "out").mkdir()
    export_archive(cells[:1], there, tmp_path / "out" / "x.tar", encoders=False)
    before = picture(tmp_path / "out")
    (there.folder(cells[2]).path / "summary.json").write_text("{")
    with pytest.raises(StoreError, match=r"summary\.json: has a SHA-256 that differs from"):
        export_archive(cells, there, tmp_path / "out" / "x.tar", encoders=False)
    assert picture(tmp_path / "out") == before


def one_cell_archive(folder: Path) -> Path:
    there, (cell,) = Store(folder / "there"), make_cells(1)
    fill(there, cell)
    export_archive([cell], there, folder / "x.tar", encoders=False)
    return folder / "x.tar"


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["w", "w:gz"])
@pytest.mark.parametrize("name", REFUSED)
def test_an_archive_is_refused_whole(tmp_path: Path, name: str, mode: str) -> None:
    change, why = REFUSED[name]
    file = one_cell_archive(tmp_path)
    members = members_of(file)
    here, _ = filled_store(tmp_path / "here", 0)
    before = picture(here.root)
    write_members(file, members, mode)
    bring_in(file, Store(tmp_path / "sound"))  # as it was
    write_members(file, change(members), mode)
    with pytest.raises(StoreError) as refused:
        bring_in(file, here, check_encoder)
    told = str(refused.value)
    assert told.startswith(f"{file}: {why}")
    assert "\n" not in told
    assert picture(here.root) == before


def test_an_archive_into_nothing_leaves_nothing(tmp_path: Path) -> None:
    file = one_cell_archive(tmp_path)
    write_members(file, put("summary.json", b"{}")(members_of(file)))
    with pytest.raises(StoreError):
        bring_in(file, Store(tmp_path / "here"))
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"w": Harm()}, "holds no weights (Weights only load failed"),
        ([torch.zeros(1)], "holds no weights (no named tensors)"),
        ({"w": 1.0}, "holds no weights ('w' is not a tensor)"),
        (
            {"w": torch.tensor([1.0, torch.nan])},
            "holds no weights ('w' holds numbers that are not ",
        ),
        ({"w": torch.full((2,), torch.inf)}, "holds no weights ('w' holds numbers that are not fi"),
        ({"w": torch.empty(2, device="meta")}, "holds no weights ('w' holds no dense numbers)"),
        ({"w": torch.eye(2).to_sparse()}, "holds no weights ('w' holds no dense numbers)"),
        ({"w": torch.zeros(1).expand(2**40)}, "holds no weights (tensors of more numbers than the"),
    ],
)
def test_an_encoder_is_weights_alone(tmp_path: Path, value: Any, why: str) -> None:
    there, cell = Store(tmp_path / "there"), small_cell()
    fill(there, cell)
    home = fill_trained(there, cell)
    write_weights(home.path / "encoder.pt", value)
    write_digests(home.path, home.summary_file.read_bytes())
    with zipfile.ZipFile(home.path / "encoder.pt") as packed:
        assert packed.testzip() is None  # it is no torn file
    export_archive([cell], there, tmp_path / "x.tar", encoders=True)
    with pytest.raises(StoreError) as refused:
        bring_in(tmp_path / "x.tar", Store(tmp_path / "here"), check_encoder)
    told = f"{tmp_path}/x.tar: trained/{cell.training_id}/encoder.pt: {why}"
    assert str(refused.value).startswith(told)
    assert not (tmp_path / "here").exists()


def test_an_evaluation_is_that_of_its_name(tmp_path: Path) -> None:
    there, cell = Store(tmp_path / "there"), small_cell()
    fill(there, cell)
    home = fill_trained(there, cell)
    export_archive([cell], there, tmp_path / "x.tar", encoders=True)
    (file,) = (home.path / "evaluations").iterdir()
    record = json.loads(file.read_text())
    record["protocol"]["knn_k"] += 1
    del record["sha256"]
    members = put(file.name, to_json(record))(members_of(tmp_path / "x.tar"))
    write_members(tmp_path / "x.tar", members)
    with pytest.raises(StoreError, match=r"evaluations/.*: is the evaluation .*, not that of its"):
        bring_in(tmp_path / "x.tar", Store(tmp_path / "here"), check_encoder)


def test_a_bomb_stops_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "MOST_BYTES_OF_ARCHIVE", 2**20)
    folders = [(info_of("pretrain", kind=tarfile.DIRTYPE), b"")]
    folders += [(info_of(f"pretrain/{n:016x}", kind=tarfile.DIRTYPE), b"") for n in range(2100)]
    write_members(tmp_path / "x.tar.gz", folders, "w:gz")
    with pytest.raises(StoreError, match=r"x\.tar\.gz: more than 1048576 bytes in all$"):
        bring_in(tmp_path / "x.tar.gz", Store(tmp_path / "here"))
    file = one_cell_archive(tmp_path)
    with gzip.open(tmp_path / "tail.tar.gz", "wb") as packed:
        packed.write(file.read_bytes() + bytes(2**24))
    with pytest.raises(StoreError, match=r"tail\.tar\.gz: more than 1048576 bytes in all$"):
        bring_in(tmp_path / "tail.tar.gz", Store(tmp_path / "here"))
    monkeypatch.setattr(archive, "MOST_BYTES_OF_ARCHIVE", 1024)
    cells: list[Cell] = [*make_cells(1)]
    with pytest.raises(StoreError, match="more than 1024 bytes; export fewer"):
        export_archive(cells, Store(tmp_path / "there"), tmp_path / "y.tar", encoders=False)


def test_a_digest_that_is_not_last_is_refused(tmp_path: Path) -> None:
    """Else what follows a second one would not be looked at, and nobody would be told."""
    whole = one_cell_archive(tmp_path).read_bytes()
    first = info_of("sha256", 64).tobuf(tarfile.USTAR_FORMAT) + bytes(512)
    body = first + whole[: -archive.AFTER_CONTENT]
    digest = info_of("sha256", 64).tobuf(tarfile.USTAR_FORMAT)
    digest += hashlib.sha256(body).hexdigest().encode() + bytes(448) + archive.END
    (tmp_path / "y.tar").write_bytes(body + digest)
    with pytest.raises(StoreError, match=r"y\.tar: sha256: is not the last member$"):
        bring_in(tmp_path / "y.tar", Store(tmp_path / "here"))


def test_what_says_that_it_is_huge_is_not_unpacked(tmp_path: Path) -> None:
    info = info_of(f"trained/{'0' * 16}/encoder.pt", 2**32 + 1)
    end = bytes(2 * tarfile.BLOCKSIZE)  # and no byte of content
    (tmp_path / "x.tar").write_bytes(info.tobuf(tarfile.USTAR_FORMAT) + end)
    with pytest.raises(StoreError, match=r"has 4294967297 bytes; at most 4294967296 are allowed$"):
        bring_in(tmp_path / "x.tar", Store(tmp_path / "here"))


@dataclass(frozen=True)
class Sound:
    """An archive's bytes, plain and packed, and what comes of it."""

    files: dict[str, bytes]
    results: dict[str, bytes | None]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    folder = tmp_path_factory.mktemp("sound")
    there, cells = filled_store(folder / "there", 2)
    made = {}
    for name in ("x.tar", "x.tar.gz"):
        export_archive(cells, there, folder / name, encoders=False)
        made[name] = (folder / name).read_bytes()
    bring_in(folder / name, Store(folder / "here"))
    return Sound(made, results(folder / "here"))


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_damaged_archive_is_refused_or_says_the_same(data: st.DataObject, sound: Sound) -> None:
    """Bytes are changed or cut off; the digest tells what no other check finds."""
    name = data.draw(st.sampled_from(sorted(sound.files)))
    content = bytearray(sound.files[name])
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[place:]
    else:
        content[place] = data.draw(st.integers(0, 255))
    with TemporaryDirectory() as folder:
        file, here = Path(folder) / name, Store(Path(folder) / "here")
        file.write_bytes(content)
        told = ""
        try:
            bring_in(file, here)
        except BenchError as refused:
            told = str(refused)
        assert "\n" not in told
        assert results(here.root) == ({} if told else sound.results)
        assert here.root.exists() == (not told)


def test_a_text_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "note.tar"
    path.write_text("a note\n" * 200)
    with pytest.raises(StoreError) as raised:
        bring_in(path, Store(tmp_path / "results"))
    assert str(raised.value) == (
        f"{path}: is not an archive; `bench export SUITE --to FILE.tar` makes one"
    )


def test_what_cannot_be_written_is_named_as_it_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "cells.tar"
    with pytest.raises(OSError, match="No such file") as raised, whole_file(path):
        raise FileNotFoundError(2, "No such file", str(next(tmp_path.iterdir())))
    assert raised.value.filename == str(path)
