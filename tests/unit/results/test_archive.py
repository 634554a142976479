"""Archives: the same bytes for the same cells, and nothing believed that comes from elsewhere."""

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

from bench.errors import BenchError, StoreError
from bench.experiments.encoder_folder import check_encoder
from bench.files.atomic import to_json, whole_file
from bench.results.archives import export_archive
from bench.results.digests import write_digests
from bench.results.store import Store
from tests.fakes.archives import (
    all_members_of,
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
from tests.fakes.bad_archives import (
    HOME,
    NO_PART_OF_A_CELL,
    REFUSED,
    Harm,
    encoder_members,
    info_of,
    put,
    settings_of,
)
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
    with pytest.raises(StoreError, match=r"summary\.json: the SHA-256 of this file differs from"):
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
        ({"w": Harm()}, "the file does not hold valid weights (Weights only load failed"),
        ([torch.zeros(1)], "the file does not hold valid weights (the file has no named tensors)"),
        ({"w": 1.0}, "the file does not hold valid weights ('w' is not a tensor)"),
        (
            {"w": torch.tensor([1.0, torch.nan])},
            "the file does not hold valid weights ('w' holds numbers that are not ",
        ),
        (
            {"w": torch.full((2,), torch.inf)},
            "the file does not hold valid weights ('w' holds numbers that are not fi",
        ),
        (
            {"w": torch.empty(2, device="meta")},
            "the file does not hold valid weights ('w' is not a dense tensor of numbers)",
        ),
        (
            {"w": torch.eye(2).to_sparse()},
            "the file does not hold valid weights ('w' is not a dense tensor of numbers)",
        ),
        (
            {"w": torch.zeros(1).expand(2**40)},
            "the file does not hold valid weights (the tensors need more numbers than the",
        ),
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
    with pytest.raises(
        StoreError, match=r"evaluations/.*: the file holds evaluation .*, which does not"
    ):
        bring_in(tmp_path / "x.tar", Store(tmp_path / "here"), check_encoder)


@pytest.mark.parametrize("name", ["x.tar", "x.tar.gz"])
def test_an_archive_that_ends_early_is_refused(tmp_path: Path, name: str) -> None:
    """Wherever it ends: after the last member too, where `tarfile` notices nothing."""
    there, cells = filled_store(tmp_path / "there", 2)
    file = tmp_path / name
    export_archive(cells, there, file, encoders=False)
    whole = file.read_bytes()
    with tarfile.open(file) as tar:
        ends = [member.offset for member in tar.getmembers()]
        ends.append(tar.offset + tarfile.BLOCKSIZE)
    for end in ends if name == "x.tar" else (10, len(whole) // 2, len(whole) - 8, len(whole) - 1):
        file.write_bytes(whole[:end])
        with pytest.raises(
            StoreError, match=rf"{name}: this file cannot be unpacked \("
        ) as refused:
            bring_in(file, Store(tmp_path / "here"))
        assert "\n" not in str(refused.value)
    file.write_bytes(whole)
    assert bring_in(file, Store(tmp_path / "here")).added == 3


def test_an_archive_with_a_digest_of_its_own_is_read(tmp_path: Path) -> None:
    """Earlier versions of this code wrote one, as the last member."""
    file = one_cell_archive(tmp_path)
    digest = hashlib.sha256(file.read_bytes()).hexdigest().encode()
    write_members(file, [*all_members_of(file), (info_of("sha256", len(digest)), digest)])
    assert bring_in(file, Store(tmp_path / "here")).added == 1


def test_what_is_no_part_of_a_finished_cell_is_ignored(tmp_path: Path) -> None:
    file = one_cell_archive(tmp_path)
    members = all_members_of(file)
    bring_in(file, Store(tmp_path / "plain"))
    others = [(info_of(name, 1), b"x") for name in NO_PART_OF_A_CELL]
    write_members(file, [*members, *others, *encoder_members("0" * 16)])
    assert bring_in(file, Store(tmp_path / "here"), check_encoder).added == 1
    assert set(picture(tmp_path / "here")) == set(picture(tmp_path / "plain"))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"version": 2},
            "the cell was computed by version 2 of gradient-norm, but this code has version 1",
        ),
        ({"tua": 1}, "tua: Extra inputs are not permitted"),
    ],
)
def test_a_cell_of_other_code_is_left_out(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    file, here = one_cell_archive(tmp_path), Store(tmp_path / "here")
    write_members(file, put("cell.json", settings_of(**change))(members_of(file)))
    merged = bring_in(file, here)
    assert (merged.added, merged.left_out[0]["why"]) == (0, f"{HOME}/cell.json: {why}")


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
    """Bytes are changed or cut off."""
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
        f"{path}: this file cannot be unpacked (the file is not a tar archive, or it is "
        "damaged); archives are written by `bench export SUITE --to FILE.tar`"
    )


def test_what_cannot_be_written_is_named_as_it_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "cells.tar"
    with pytest.raises(OSError, match="No such file") as raised, whole_file(path):
        raise FileNotFoundError(2, "No such file", str(next(tmp_path.iterdir())))
    assert raised.value.filename == str(path)
