"""Whatever launchers, kills, damage and imports do in whatever order: no cell is lost or changed.

Each cell is there once with its right bytes, or missing; `status` says which. The steps are the
same each time; with BENCH_LONG=1 they are others each time (those of a seed: --hypothesis-seed).
"""

import os
import shutil
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bench.cells.cell import Cell
from bench.errors import StoreError
from bench.experiments import Outcome
from bench.experiments.outcome import Result
from bench.files.messages import forget_warnings
from bench.launch.worker import Assignment, compute_stacks
from bench.results.archives import export_archive
from bench.results.attempts import all_attempts
from bench.results.digests import DIGESTS
from bench.results.folder import CellFolder, Folders, damage_of
from bench.results.inspect import inspect
from bench.results.reader import Finished, Results
from bench.results.store import State, Store
from tests.fakes.archives import ORIGIN, bring_in
from tests.fakes.simulated import Simulated, alive, current, simulate
from tests.fakes.toys import make_cells

CELLS = make_cells(3)
BYTES = ("cell.json", "summary.json", "history.jsonl", "arrays.npz")
SOME = st.lists(st.sampled_from(range(len(CELLS))), min_size=1, max_size=len(CELLS), unique=True)
MOST = 3  # processes at once
TURNS = st.lists(st.tuples(st.integers(0, MOST - 1), st.integers(1, 25)), min_size=1, max_size=9)
LONG = bool(os.environ.get("BENCH_LONG"))


AT_WORK: list[tuple[str, Simulated | None]] = []  # ids of cells, and who computes them
TWICE: list[str] = []  # ids of cells that two living processes computed at once


def compute(cells: Sequence[Cell], folders: Folders) -> tuple[list[Outcome], dict[str, Any]]:
    """Compute what depends on the cell alone, with a history and a checkpoint on the way."""
    outcomes: list[Outcome] = []
    others = {name for name, process in AT_WORK if process in alive()}
    TWICE.extend(cell.id for cell in cells if cell.id in others)
    AT_WORK.extend((cell.id, current()) for cell in cells)
    for cell, folder in zip(cells, folders, strict=True):
        folder.rewind_history(0)
        for step in (1, 2):
            folder.append_history({"step": step, "loss": cell.seed + 1 / step})
            folder.checkpoint_file.write_bytes(b"x")
            folder.note_step(step)
        arrays = {"a": np.full(3, cell.seed, dtype=np.float32)}
        outcomes.append(Result({"gradient_norm": cell.seed + 0.5}, arrays))
    AT_WORK[:] = [(name, process) for name, process in AT_WORK if process is not current()]
    return outcomes, dict(ORIGIN)


def launch(root: Path, cells: Sequence[Cell], retry_before: float = 0.0) -> None:
    """Compute what is missing, as `bench run` does, but wait for nobody."""
    store = Store(root)
    store.check_writable()
    store.discard_damaged(cells)
    for cell, state in zip(cells, store.states(cells), strict=True):
        if state.state == State.DONE:
            store.folder(cell).remove_checkpoint()
    with store.announce(cells, retry_before=retry_before) as launch:
        stacks = [list(cells[:2]), *([cell] for cell in cells[2:])]
        compute_stacks(Assignment(stacks, store, root, launch), compute)


def bytes_of(root: Path, cell: Cell) -> dict[str, bytes]:
    folder = Store(root).folder(cell).path
    return {name: (folder / name).read_bytes() for name in BYTES if (folder / name).exists()}


def someone_is_alive(_: object) -> bool:
    return bool(alive())


def there_is_room(_: object) -> bool:
    return len(alive()) < MOST


class Shared(RuleBasedStateMachine):
    """A results folder that several processes share."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        simulate(self.patch)
        self.top = Path(tempfile.mkdtemp(prefix="shared-"))
        self.right: dict[str, dict[str, bytes]] = {}
        self.whole: dict[str, Finished | None] = {}
        self.root, self.archive = self.top / "results", self.top / "cells.tar"
        self.damaged = self.careful = False
        self.robbed: set[str] = set()  # cells of which a claim was damaged while processes lived
        AT_WORK.clear()
        TWICE.clear()
        self.importer: Simulated | None = None

    @initialize(given=SOME, careful=st.booleans())
    def undisturbed(self, given: list[int], careful: bool) -> None:
        """Note the right bytes; export some cells. Where nobody damages anything more must hold."""
        self.careful = careful
        launch(self.top / "whole", CELLS)
        self.right = {cell.id: bytes_of(self.top / "whole", cell) for cell in CELLS}
        store = Store(self.top / "whole")
        export_archive([CELLS[i] for i in given], store, self.archive, encoders=False)
        self.whole = {cell.id: Results(store.root).find(cell) for cell in CELLS}

    @precondition(there_is_room)
    @rule(chosen=SOME)
    def begin(self, chosen: list[int]) -> None:
        Simulated(self.root, lambda: launch(self.root, [CELLS[i] for i in chosen]))

    @precondition(lambda self: len(alive()) < MOST and (not self.importer or self.importer.over))
    @rule()
    def begin_import(self) -> None:
        """Of several that import the same cell one waits for another: only one at a time."""

        def add() -> None:
            bring_in(self.archive, Store(self.root))

        self.importer = Simulated(self.root, add)

    @precondition(someone_is_alive)
    @rule(turns=TURNS)
    def go_on(self, turns: list[tuple[int, int]]) -> None:
        """Let one, then another, make some changes of files."""
        for which, changes in turns:
            if alive():
                process = alive()[which % len(alive())]
                process.go_on(changes)
                self.check_end(process)

    @precondition(someone_is_alive)
    @rule(which=st.integers(0, MOST - 1))
    def finish(self, which: int) -> None:
        process = alive()[which % len(alive())]
        process.finish()
        self.check_end(process)

    @precondition(someone_is_alive)
    @rule(which=st.integers(0, MOST - 1), changes=st.integers(0, 40))
    def kill(self, which: int, changes: int) -> None:
        process = alive()[which % len(alive())]
        process.go_on(changes)
        process.kill()

    @precondition(lambda self: self.root.exists() and not self.careful)
    @rule(which=st.integers(0, 10**6), kind=st.sampled_from(["flip", "cut", "empty", "remove"]))
    def damage(self, which: int, kind: str) -> None:
        """Damage a file of a finished cell while nobody writes, or a record at any time.

        A cell without digests is read as it stands, so its files are let alone, and digests are not
        taken from what is damaged.
        """
        files = sorted(p for p in self.root.rglob("*") if p.is_file())
        records = [p for p in files if p.parent.name in ("attempts", "launches")]
        vouched = {p.parent for p in files if p.name == DIGESTS}
        done = {p.parent for p in files if p.name == "summary.json"} & vouched
        finished = [p for p in files if p.parent in done]
        files = records if alive() else sorted({*records, *finished})
        if not files:
            return
        path = files[which % len(files)]
        if path.name == DIGESTS and damage_of(CellFolder(path.parent), whole=True) is not None:
            return
        content = path.read_bytes()
        at = which % (len(content) or 1)
        if kind == "remove":
            path.unlink()
        elif kind == "flip" and content:
            path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        else:
            path.write_bytes(content[:at] if kind == "cut" else b"")
        self.damaged = True
        if alive() and path.parent.name == "attempts":
            self.robbed.add(path.parents[1].name)

    def check_end(self, process: Simulated) -> None:
        """A launcher may end early only where a file of its own was damaged."""
        if process.over and process.error is not None:
            assert self.damaged, process.error
            assert isinstance(process.error, StoreError | FileNotFoundError), process.error

    @invariant()
    def status_is_true(self) -> None:
        if not self.root.exists():
            return
        forget_warnings()
        assert self.damaged or not TWICE
        store, read = Store(self.root), Results(self.root)
        for cell, state in zip(CELLS, store.states(CELLS), strict=True):
            folder, found, right = store.folder(cell), read.find(cell), self.whole[cell.id]
            assert right is not None
            assert (state.state == State.DONE) == (found is not None)
            assert state.state != State.FAILED
            if found is None:
                if not alive():
                    assert state.state == State.MISSING
                continue
            assert found.metrics == right.metrics
            if cell.id not in self.robbed:
                assert found.history in (right.history, [])  # none if damaged, and then told
            assert [a.tolist() for a in found.arrays.values()] in (
                [a.tolist() for a in right.arrays.values()],
                [],
            )
            if damage_of(folder, whole=True) is None:
                assert self.wrong_files(cell) == []

    def wrong_files(self, cell: Cell) -> list[str]:
        """Return the files of a finished cell that are not what they should be.

        Where a claim was damaged two may have computed the cell and noted their steps in turn: of
        its history nothing is promised.
        """
        now, right = bytes_of(self.root, cell), self.right[cell.id]
        robbed = cell.id in self.robbed
        wrong = [name for name in BYTES if now.get(name) != right.get(name)]
        return [name for name in wrong if not (robbed and name == "history.jsonl")]

    def teardown(self) -> None:
        """After the last kill one more launcher is enough, and nothing half-written is left."""
        try:
            for process in alive():
                process.kill()
            launch(self.root, CELLS)
            self.status_is_true()
            store = Store(self.root)
            assert {s.state for s in store.states(CELLS)} == {State.DONE}
            assert [self.wrong_files(cell) for cell in CELLS] == [[]] * len(CELLS)
            for cell in CELLS:
                assert not [p for p in store.folder(cell).path.glob(".*") if p.is_file()]
                done = [p for p in all_states(store, cell) if p == "done"]
                assert self.damaged or len(done) <= 1
            assert [fault for fault in inspect(self.root).faults if not self.damaged] == []
        finally:
            self.patch.undo()
            shutil.rmtree(self.top)


def all_states(store: Store, cell: Cell) -> list[str]:
    return [attempt.state for attempt in all_attempts(store.folder(cell).attempts)]


TestShared = Shared.TestCase
TestShared.settings = settings(
    max_examples=100 if LONG else 25, stateful_step_count=25, deadline=None, database=None,
    derandomize=not LONG, phases=(Phase.generate,),  # to find shorter steps takes minutes
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


@pytest.mark.parametrize("then", [5, 20, 10**6])
def test_of_two_launchers_one_computes(
    then: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many changes of files the first has made when the second makes so many."""
    simulate(monkeypatch)
    AT_WORK.clear()
    TWICE.clear()
    for changes in range(1000):
        root = tmp_path / str(changes)
        first, second = (Simulated(root, partial(launch, root, CELLS[:1])) for _ in range(2))
        first.go_on(changes)
        at_end = first.over
        second.go_on(then)
        first.finish()
        second.finish()
        assert (first.error, second.error, TWICE) == (None, None, [])
        assert all_states(Store(root), CELLS[0]).count("done") == 1
        if at_end:
            break
    assert changes > 20
