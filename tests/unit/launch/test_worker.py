"""The loop that claims, computes and settles: unequal checkpoints, faults, who is told of them."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from bench.cells.cell import Cell
from bench.errors import DataFailure
from bench.experiments import EXPERIMENTS
from bench.experiments.outcome import Result
from bench.files.atomic import to_json, write_whole
from bench.launch import worker
from bench.launch.distributed import OutOfStep, _lead
from bench.launch.worker import Assignment, compute_stacks, run_worker
from bench.results.attempts import begin_attempt
from bench.results.owner import Owner
from bench.results.store import State, Store
from tests.fakes.processes import dead_owner
from tests.fakes.results import states
from tests.fakes.toys import make, make_cells, record_often, stop_at_checkpoint

LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
LATER = """
import json, faiss, sklearn.linear_model, threadpoolctl
print(json.dumps({one["filepath"]: one["num_threads"] for one in threadpoolctl.threadpool_info()}))
"""  # libraries that are loaded after the process was configured
KEPT = ("summary.json", "history.jsonl", "cell.json")


def run(store: Store, cells: Sequence[Cell]) -> None:
    with store.announce(cells) as launch:
        run_worker(Assignment([list(cells)], store, Path(), launch))


def results(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.name in KEPT
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("beside", "sizes"),
    [
        ("step", [2, 2]),
        ("nothing", [2, 2]),  # a checkpoint of an earlier version: its reader knows
        ("torn", [2, 2]),
        ("too early", [4, 1, 1, 1, 1]),  # killed between the checkpoint and its step
    ],
)
def test_cells_that_have_come_unequally_far_end_as_uninterrupted_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: str, sizes: list[int]
) -> None:
    record_often(monkeypatch)
    cells = make("spirals-batch")
    whole, store = Store(tmp_path / "whole"), Store(tmp_path / "stopped")
    run(whole, cells)
    monkeypatch.setenv("BENCH_CHECKPOINT_S", "0")
    with monkeypatch.context() as patch:
        stop_at_checkpoint(1, patch)
        with pytest.raises(KeyboardInterrupt):
            run(store, cells[:2])
    for folder in map(store.folder, cells[:2]):
        assert folder.checkpoint_step()
        if beside == "nothing":
            folder.step_file.unlink()
        elif beside == "torn":
            folder.step_file.write_text("{")
        elif beside == "too early":
            write_whole(folder.step_file, to_json({"step": 0}))
    computed: list[int] = []
    compute = EXPERIMENTS["spirals"]

    def noted(cells: Any, folders: Any, device: str) -> Any:
        computed.append(len(cells))
        return compute(cells, folders, device)

    monkeypatch.setitem(EXPERIMENTS, "spirals", noted)
    run(store, cells)
    assert computed == sizes
    assert results(store.root) == results(whole.root)
    assert not list(store.root.rglob("checkpoint.*"))


def test_a_fault_of_the_store_ends_the_claims_and_harms_no_other_stack(tmp_path: Path) -> None:
    """Say, a disk that does not answer while a result is written."""
    store = Store(tmp_path)
    cells: list[Cell] = [*make_cells(3)]
    asked: list[list[Cell]] = []

    def compute(cells: Sequence[Cell], _: Any) -> Any:
        asked.append(list(cells))
        return ([] if len(asked) == 1 else [ValueError("no")] * len(cells)), {}

    with store.announce(cells) as launch:
        compute_stacks(Assignment([cells[:2], cells[2:]], store, Path(), launch), compute)
    assert asked == [cells[:2], cells[2:]]
    messages = [state.message for state in store.states(cells)]
    short = "ValueError: zip() argument 2 is shorter than argument 1"
    assert messages == [short, short, "ValueError: no"]


def enlarge(*shape: int) -> torch.Tensor:
    return torch.empty(shape)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (lambda: enlarge(10**14), "oom"),
        (lambda: enlarge(2**31, 2**31, 4), "oom"),
        (lambda: np.empty(10**14), "oom"),
        (lambda: enlarge(2) @ enlarge(3), "code"),
    ],
)
def test_what_memory_does_not_hold_is_told_as_such(
    tmp_path: Path, fault: Callable[[], Any], reason: str
) -> None:
    store = Store(tmp_path)
    cells: list[Cell] = [*make_cells(1)]
    with store.announce(cells) as launch:
        compute_stacks(Assignment([cells], store, Path(), launch), lambda *_: fault())
    (state,) = store.states(cells)
    assert (state.state, state.reason) == (State.FAILED, reason)


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e51])
def test_a_number_of_which_nothing_can_be_made_is_no_result(tmp_path: Path, value: float) -> None:
    store = Store(tmp_path)
    cells: list[Cell] = [*make_cells(1)]
    with store.announce(cells) as launch:
        assignment = Assignment([cells], store, Path(), launch)
        compute_stacks(assignment, lambda *_: ([Result({"gradient_norm": value})], {}))
    (state,) = store.states(cells)
    told = (State.FAILED, "diverged", f"gradient_norm is {value}")
    assert (state.state, state.reason, state.message) == told


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (DataFailure("a\nb.wav: is empty"), "a\\nb.wav: is empty"),
        (ValueError("first\nsecond"), "ValueError: first"),
    ],
)
def test_a_failure_is_kept_in_one_line(tmp_path: Path, fault: Exception, message: str) -> None:
    """A name with a line's end is written out; of a library's text the first line is kept."""
    store = Store(tmp_path)
    cells: list[Cell] = [*make_cells(1)]

    def fail(*_: Any) -> Any:
        raise fault

    with store.announce(cells) as launch:
        compute_stacks(Assignment([cells], store, Path(), launch), fail)
    (state,) = store.states(cells)
    assert state.message == message


def test_a_result_says_that_other_code_was_submitted(tmp_path: Path) -> None:
    store, cells = Store(tmp_path), make_cells(1)
    with store.announce([*cells]) as launch:
        assignment = Assignment([[*cells]], store, Path(), launch, "commit 0123")
        compute_stacks(assignment, lambda *_: ([Result({"gradient_norm": 1.0})], {}))
    assert store.folder(cells[0]).provenance()["submitted"] == "commit 0123"


def test_a_fault_on_the_first_rank_is_told_and_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, cells = Store(tmp_path), make_cells(2)

    def broken(*_: Any, **__: Any) -> Any:
        raise ValueError("no such luck\nand more")

    monkeypatch.setattr("bench.launch.distributed._compute", broken)
    with store.announce(cells) as launch:
        assignment = Assignment([[cell] for cell in cells], store, Path(), launch)
        with pytest.raises(OutOfStep) as error:
            _lead(assignment, ranks=None, device="cpu")  # type: ignore[arg-type]
    assert (
        str(error.value)
        == "the ranks can no longer continue together, because of ValueError: no such "
        "luck"
    )
    assert states(store, cells) == ["failed", "missing"]
    assert store.states(cells)[0].message == "ValueError: no such luck"


def test_a_claim_that_cannot_be_made_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk nothing would ever be claimed, and a launcher would try for ever."""
    store, cells = Store(tmp_path), make_cells(1)

    def full(*_: Any) -> bool:
        raise OSError(28, "No space left on device")

    with store.announce(cells) as launch:
        monkeypatch.setattr("bench.results.attempts.write_new", full)
        with pytest.raises(OSError, match="No space left on device"):
            run_worker(Assignment([[*cells]], store, Path(), launch))


def test_what_was_taken_over_is_not_written(tmp_path: Path) -> None:
    store, (cell,) = Store(tmp_path), make_cells(1)
    folder = store.folder(cell)

    def slow(cells: Sequence[Cell], _: Any) -> Any:
        first = folder.last_attempt()
        assert first is not None
        record = first.record | {"attempt": 2, "launch": "another"}
        write_whole(first.path.with_name("0002.json"), to_json(record))
        return EXPERIMENTS["gradient-norm"](cells, None, "cpu"), {}  # type: ignore[arg-type]

    with store.announce([cell]) as launch:
        compute_stacks(Assignment([[cell]], store, Path(), launch), slow)
    assert not folder.is_done
    last = folder.last_attempt()
    assert last is not None
    assert (last.number, last.record["state"]) == (2, "running")


def test_a_cell_that_somebody_computes_is_not_given_up(tmp_path: Path) -> None:
    store, (held, free) = Store(tmp_path), make_cells(2)
    assert begin_attempt(store.folder(held).attempts, Owner.me(), "") is not None
    for cell in (held, free):
        worker.give_up(cell, store, "it was lost", "oom")
    found = store.states([held, free])
    assert [state.state for state in found] == [State.RUNNING, State.FAILED]
    assert (found[1].reason, found[1].message) == ("oom", "it was lost; last output: oom")


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two threads, as users leave it on a machine of two cores."""
    for name in LIMITS:
        monkeypatch.setenv(name, "2")
    of_torch = torch.get_num_threads()
    with threadpool_limits(2):
        yield
    torch.set_num_threads(of_torch)


@pytest.mark.usefixtures("threads")
def test_every_library_computes_with_as_many_threads_as_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else numbers, and how long they take, depend on how many cores there are."""
    import sklearn.linear_model  # noqa: F401 # loaded before the worker begins

    seen: list[dict[str, int]] = []

    def look(cells: Sequence[Cell], *_: Any) -> Any:
        again = [sys.executable, "-c", LATER]
        later = json.loads(subprocess.run(again, check=True, capture_output=True).stdout)
        here = {one["filepath"]: one["num_threads"] for one in threadpool_info()}
        seen.extend([here, later, {name: int(os.environ[name]) for name in LIMITS}])
        return [ValueError("seen")] * len(cells)

    monkeypatch.setitem(EXPERIMENTS, "gradient-norm", look)
    run(Store(tmp_path), make_cells(1))
    assert [set(one.values()) for one in seen] == [{1}, {1}, {1}]
    assert torch.get_num_threads() == 1


def killed(store: Store, cell: Cell, times: int) -> None:
    """Note attempts at a cell whose processes are dead."""
    for _ in range(times):
        assert begin_attempt(store.folder(cell).attempts, dead_owner(), "") is not None


def test_a_cell_that_killed_whole_jobs_is_given_up_and_kills_before_do_not_count(
    tmp_path: Path,
) -> None:
    store, (cell, other) = Store(tmp_path), make_cells(2)
    killed(store, other, 3)
    with store.announce([]) as later:
        pass
    with store.announce([], since=later.since) as launch:
        killed(store, cell, 3)
        run_worker(Assignment([[cell], [other]], store, Path(), launch))
    first, second = store.states([cell, other])
    assert (first.state, first.reason) == (State.FAILED, "oom")
    assert (
        first.message == "the worker of this cell was killed 3 times, possibly because memory was "
        "exhausted"
    )
    assert second.state == State.DONE


def test_cells_whose_worker_was_killed_are_tried_one_by_one(tmp_path: Path) -> None:
    store, cells = Store(tmp_path), make_cells(4)
    sizes: list[int] = []

    def compute(held: Sequence[Cell], _: Any) -> Any:
        sizes.append(len(held))
        return [ValueError("seen")] * len(held), {}

    with store.announce([]) as launch:
        killed(store, cells[1], 1)
        compute_stacks(Assignment([[*cells[:2]], [*cells[2:]]], store, Path(), launch), compute)
    assert sizes == [1, 1, 2]
