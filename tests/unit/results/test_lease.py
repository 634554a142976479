"""Holding folders: signs of life, release, lost claims, waiting, and what the dead leave."""

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bench.errors import CellFailure, Interrupted, Preempted
from bench.files.atomic import to_json, write_new
from bench.results import lease as module
from bench.results.attempts import Attempt, all_attempts, begin_attempt, read_attempt
from bench.results.folder import CellFolder
from bench.results.lease import Lease, heartbeat
from bench.results.owner import Owner
from bench.results.store import Store
from tests.fakes.processes import OLD, age, dead_owner, wait_until
from tests.fakes.toys import make_cells


def folder_of(root: Path) -> CellFolder:
    (cell,) = make_cells(1)
    return Store(root).folder(cell)


def take_over(attempt: Attempt) -> None:
    """Let another process have begun the next attempt."""
    record = attempt.record | {"attempt": 2, "owner": replace(Owner.me(), pid=1).record()}
    assert write_new(attempt.path.with_name("0002.json"), to_json(record))


def state(folder: CellFolder) -> tuple[str, str | None]:
    last = folder.last_attempt()
    assert last is not None
    return str(last.record["state"]), last.record["reason"]


def test_a_file_is_touched_while_the_block_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.01)
    sign = tmp_path / "sign"
    sign.touch()
    age(sign)
    with heartbeat(sign):
        assert wait_until(sign, young=True)
        sign.unlink()
        time.sleep(0.05)
        assert not sign.exists()  # it is nobody's any more
    sign.touch()
    age(sign)
    time.sleep(0.05)
    assert sign.stat().st_mtime < OLD + 1


def test_every_claim_gives_signs_of_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.01)
    store, cells = Store(tmp_path), make_cells(2)
    with Lease("x") as lease:
        claims = [lease.claim(store.folder(cell), cell) for cell in cells]
        for claim in claims:
            assert claim is not None
            age(claim.attempt.path)
            assert wait_until(claim.attempt.path, young=True)
        assert lease.claim(store.folder(cells[0]), cells[0]) is None  # a living process holds it


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Interrupted("signal 15"), ("interrupted", None)),
        (Preempted("signal 12"), ("interrupted", "preempted")),
        (CellFailure("no"), ("interrupted", None)),
    ],
)
def test_what_is_still_held_is_released(
    tmp_path: Path, error: BaseException, expected: tuple[str, str | None]
) -> None:
    folder = folder_of(tmp_path)

    def hold() -> None:
        with Lease() as lease:
            lease.claim(folder)
            raise error

    with pytest.raises(type(error)):
        hold()
    assert state(folder) == expected


def test_a_result_that_is_there_ends_its_attempt_as_done(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    with Lease() as lease:
        lease.claim(folder)
        folder.finish({"m": 1.0}, {}, {})
    assert state(folder) == ("done", None)


def test_a_claim_on_what_was_finished_meanwhile_computes_nothing_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(tmp_path)
    with Lease() as lease:
        lease.claim(folder)
        folder.finish({"m": 1.0}, {}, {})
    looks = iter([False, True])
    monkeypatch.setattr(CellFolder, "is_done", property(lambda _: next(looks)))
    assert folder.claim(None, Owner.me(), "x") is None
    ended = [(a.state, a.record["message"]) for a in all_attempts(folder.attempts)]
    assert ended == [
        ("done", None),
        ("interrupted", "a different process has finished this cell"),
    ]


def test_a_claim_that_was_taken_over_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(tmp_path)
    with Lease() as lease:
        claim = lease.claim(folder)
        assert claim is not None
        take_over(claim.attempt)
        lease.check()  # it looked a moment ago
        monkeypatch.setattr(module, "HEARTBEAT_S", 0.0)
        with pytest.raises(CellFailure) as lost:
            lease.check()
    assert str(lost.value) == f"another process took over the training in {folder.path}"
    assert state(folder) == ("running", None)  # the other's
    assert read_attempt(claim.attempt.path) == claim.attempt


def test_a_dead_owner_is_not_waited_for(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    assert begin_attempt(folder.attempts, dead_owner(), "") is not None
    with Lease() as lease:
        claim = lease.wait_for(folder)
    assert claim is not None
    assert claim.attempt.number == 2


def test_a_living_owner_is_waited_for_until_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "POLL_S", 0.01)
    folder = folder_of(tmp_path)
    attempt = begin_attempt(folder.attempts, Owner.me(), "")
    assert attempt is not None

    def finish() -> None:
        folder.finish({"m": 1.0}, {}, {})
        attempt.end("done")

    computing = threading.Timer(0.2, finish)
    computing.start()
    with Lease() as lease:
        assert lease.wait_for(folder) is None
    computing.join()
    assert len(list(folder.attempts.iterdir())) == 1


def test_who_waits_can_be_told_to_stop(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    assert begin_attempt(folder.attempts, Owner.me(), "") is not None
    with Lease() as lease, pytest.raises(Interrupted, match=r"^told to stop$"):
        lease.wait_for(folder, lambda: True)


def test_a_launchers_announcement_gives_signs_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.01)
    store = Store(tmp_path)
    with store.announce(make_cells(1)) as launch:
        age(launch.path)
        assert wait_until(launch.path, young=True)
    assert not launch.path.exists()


def test_what_killed_launchers_left_is_removed(tmp_path: Path) -> None:
    """Logs without an announcement, probes; not a living launcher's, nor what Slurm was given."""
    store = Store(tmp_path)
    with store.announce(make_cells(1)) as living:
        names = (living.name, "young", "old", "slurm")
        for name in names:
            (store.launches / name).mkdir()
            (store.launches / name / "1.err").touch()
        half = store.launches / ".0123.json.4567"
        half.touch()
        probes = [tmp_path / name for name in (".probe-1", ".probe-1.link", "..probe-2.3")]
        for path in (*probes, tmp_path / ".probe-young", tmp_path / ".mine"):
            path.touch()
        for path in (living.logs, store.launches / "old", store.launches / "slurm", half, *probes):
            age(path)
        age(tmp_path / ".mine")
        with store.announce(make_cells(1)) as launch:
            left = {path.name for path in store.launches.iterdir()}
        assert left == {living.path.name, launch.path.name, living.name, "young", "slurm"}
        assert {path.name for path in tmp_path.glob(".*")} == {".probe-young", ".mine"}
