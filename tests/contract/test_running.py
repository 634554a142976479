"""What is told of cells that run or were stopped, and after an interruption."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.cells.cell import Cell
from bench.cli import run as run_module
from bench.errors import Interrupted
from bench.results.attempts import Attempt
from bench.results.folder import CellFolder
from bench.results.owner import Owner
from bench.results.store import CellState, State, Store
from tests.fakes.results import cells_of
from tests.fakes.suites import DIGITS, SUITE, changed
from tests.fakes.workspace import Workspace

SIX = changed(DIGITS, {"grid": {"loss": ["infonce", "dcl"]}, "seeds": [0, 1, 2], "fixed.knn_k": 3})


def begin(root: Path, cell: Cell) -> tuple[CellFolder, Attempt]:
    """Claim a cell; return the folder of its training."""
    store = Store(root)
    attempt = store.folder(cell).claim(cell, Owner.me(), "x")
    assert attempt is not None
    trained = CellFolder(root / "trained" / str(cell.training_id))
    trained.path.mkdir(parents=True)
    return trained, attempt


@pytest.fixture
def begun(workspace: Workspace) -> Workspace:
    """One cell runs, one was stopped with a checkpoint, one before it, one after its training.

    One was claimed, and its worker died before it trained.
    """
    path = workspace.suite(SIX)
    running, bare, stopped, evaluating, claimed, _ = cells_of(path, "tiny")
    root = workspace.root / "results"
    attempts = []
    for cell in (running, bare, stopped):
        trained, attempt = begin(root, cell)
        line = {"step": 8, "epoch": 1, "train_loss": 2.5, "knn_top1": 50.0}
        trained.history_file.write_text(json.dumps(line) + "\n")
        attempts.append(attempt)
    trained.checkpoint_file.write_bytes(b"x")
    trained.note_step(12)
    trained, attempt = begin(root, evaluating)
    trained.summary_file.write_text("{}")
    for stopped_one in (*attempts[1:], attempt, begin(root, claimed)[1]):
        stopped_one.end("interrupted")
    return workspace


def test_status_tells_where_each_begun_cell_stands(begun: Workspace) -> None:
    lines = [line.split(" ", 3) for line in begun.call("status", "digits").out.splitlines()]
    told = [line[3] for line in lines[1:-1]]
    assert told == [
        "infonce, seed 0: running: epoch 1 of 3, loss 2.5, kNN 50.0 %",
        "infonce, seed 1: stopped after 1 attempt, without a checkpoint: "
        "the training will start again",
        "infonce, seed 2: stopped after 1 attempt: checkpoint at epoch 1.5 of 3, 0 s old",
        "dcl, seed 0: stopped after 1 attempt: the training is finished, but "
        "evaluations are missing",
    ]
    assert (
        " ".join(lines[-1]) == "  3 cells stopped: `bench run digits --scale tiny` continues them"
    )


def test_what_continues_them_keeps_the_choice(begun: Workspace) -> None:
    last = begun.call("status", "digits", "--seeds", "1,2").out.splitlines()[-1]
    assert last.endswith("stopped: `bench run digits --scale tiny --seeds 1,2` continues them")


def test_what_continues_them_keeps_the_folder_of_results(begun: Workspace) -> None:
    (begun.root / "results").rename(begun.root / "other")
    last = begun.call("--results", "other", "status", "digits").out.splitlines()[-1]
    assert last.endswith(": `bench --results other run digits --scale tiny` continues them")


def test_steps_are_whole_numbers(workspace: Workspace) -> None:
    path = workspace.suite(changed(SUITE, {"fixed.steps": 5000}))
    store = Store(workspace.root / "results")
    cell = cells_of(path, "tiny")[0]
    attempt = store.folder(cell).claim(cell, Owner.me(), "x")
    assert attempt is not None
    store.folder(cell).checkpoint_file.write_bytes(b"x")
    store.folder(cell).note_step(4200)
    attempt.end("interrupted")
    assert "checkpoint at step 4200 of 5000, " in workspace.call("status", "small").out


def test_status_has_them_as_json(begun: Workspace) -> None:
    rows = begun.call("status", "digits", "--json").json["begun"]
    assert [row["state"] for row in rows] == ["running", *["stopped"] * 3]
    assert list(rows[0]) == [
        "id", "cell", "state", "job", "attempts", "step", "epoch", "of", "loss", "accuracy",
        "accuracy_of", "is_trained", "checkpoint_step", "checkpoint_age_s", "resumes_at",
    ]  # fmt: skip
    assert (rows[0]["epoch"], rows[2]["resumes_at"], rows[3]["is_trained"]) == (1, 1.5, True)


def test_many_begun_cells_are_cut(begun: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.cli.status.MOST_BEGUN", 2)
    lines = begun.call("status", "digits").out.splitlines()
    assert len(lines) == 5
    assert lines[3:] == [
        "  ... and 2 more cells (--json lists all)",
        "  3 cells stopped: `bench run digits --scale tiny` continues them",
    ]


@pytest.mark.parametrize("error", [KeyboardInterrupt, Interrupted])
@pytest.mark.parametrize("verb", ["run", "resume"])
def test_the_advice_after_an_interruption_is_true(
    workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    error: type[BaseException],
) -> None:
    """`run` goes on whether a cell was begun or not; `resume` would refuse where none was."""

    def stop(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(run_module, "run_cells", stop)
    monkeypatch.setattr(run_module, "check_begun", lambda _: None)
    words = ("--results", "my results", verb, "small", "--scale", "tiny", "--jobs", "1")
    answer = workspace.call(*words)
    again = "bench --results 'my results' run small --scale tiny --jobs 1"
    assert (answer.status, answer.out, answer.err) == (
        130, "", "bench: the command was interrupted; finished cells are "
            f"kept; continue with `{again}`\n",
    )  # fmt: skip


def test_other_verbs_promise_nothing(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("bench.cli.status.describe_status", stop)
    answer = workspace.call("status", "small")
    assert (answer.status, answer.err) == (130, "bench: the command was interrupted\n")


def test_a_stopped_queue_says_what_it_waits_for_and_what_was_saved(
    begun: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from bench.launch.local import LocalQueue

    class Worker:
        _process = None

        def done(self) -> bool:
            return False

    def look(self: LocalQueue, report: Callable[..., bool], *, patient: bool) -> bool:
        workers: Sequence[Any] = [Worker()]
        self.workers = list(workers)
        self.remainder.states = [CellState(State.RUNNING)] * len(self.remainder.cells)
        raise KeyboardInterrupt

    monkeypatch.setattr(LocalQueue, "_look", look)
    answer = begun.call("run", "digits", "--jobs", "1")
    assert answer.status == 130
    assert answer.err.splitlines()[:2] == [
        "bench: stopping; waiting for the workers (press Ctrl-C again to stop without waiting)",
        "bench: stopped: 2 running cells will continue from a checkpoint, 3 from the beginning",
    ]
    assert sys.argv[1:3] == ["run", "digits"]


def test_logs_of_a_cell_that_runs(begun: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    running = cells_of(begun.root / "suites" / "digits.yaml", "tiny")[0]
    folder = Store(begun.root / "results").folder(running)
    trained = CellFolder(begun.root / "results" / "trained" / str(running.training_id))
    attempt = folder.last_attempt()
    assert attempt is not None
    lines = ["epoch 1, train_loss 2.5, knn_top1 50", "epoch 2, train_loss 1.5, lr 0.25"]

    def train_on(_: float) -> None:
        trained.append_history({"step": 16, "epoch": 2, "lr": 0.25, "train_loss": 1.5})
        attempt.end("failed", "code", "ValueError: \x1b[31mno")
        folder.write_traceback(attempt, ["Traceback\n", "ValueError\n"])

    monkeypatch.setattr("bench.cli.logs.time.sleep", train_on)
    told = begun.call("logs", running.id[:6], "--follow").out.splitlines()
    assert told[0] == f"pretrain {running.id}, training {running.training_id}"
    assert told[1].startswith("  attempt 1: running, began 20")
    assert told[2:4] == [f"step 8, {lines[0]}", f"step 16, {lines[1]}"]
    assert told[4].startswith("attempt 1: failed, began 20")
    assert told[4].endswith(" (code: ValueError: \\x1b[31mno)")
    assert told[5:] == ["    Traceback", "    ValueError"]
    assert begun.call("logs", running.id).out.splitlines()[2:] == [*told[5:], *told[2:4]]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("x",),
            "cell x: a cell's id has 16 characters, each 0-9 or a-f; give the whole id "
            "or its first characters",
        ),
        (("0" * 16,), f"cell {'0' * 16}: no cell with this id was started in results; "),
        (("",), "logs is followed by an empty argument"),
        (("0", "--follow", "--json"), "--follow and --json cannot be combined: --follow prints"),
    ],
)
def test_mistakes_about_logs(begun: Workspace, words: tuple[str, ...], told: str) -> None:
    answer = begun.call("logs", *words)
    assert (answer.status, answer.err.startswith(f"bench: {told}")) == (2, True)


def test_a_beginning_of_two_ids(begun: Workspace) -> None:
    kind = begun.root / "results" / "pretrain"
    for name in ("a" * 16, "a" * 15 + "b"):
        (kind / name).mkdir()
    answer = begun.call("logs", "aaaa")
    assert (answer.status, answer.err.startswith("bench: cell aaaa: ")) == (2, True)
    assert (
        f"cells have ids that begin with these characters. Allowed here: {'a' * 16}, {'a' * 15}b"
        in answer.err
    )
    assert "is missing" in begun.call("logs", "a" * 16).err
