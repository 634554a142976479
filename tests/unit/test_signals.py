"""A signal at an unlucky moment: it is not lost, and no traceback is printed."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from bench import cli, signals
from bench.cells.groups import make_stacks
from bench.errors import INTERRUPTED, Interrupted
from bench.launch.local import LocalQueue
from bench.launch.worker import Assignment
from bench.results.store import Store
from bench.signals import deaf, end_if_stopped, listening, stoppable
from tests.fakes.toys import make_cells

Heard = list[int]


@pytest.fixture
def heard() -> Iterator[Heard]:
    """Signals that came where `bench` heeds none, in place of the end of this process."""
    found: Heard = []
    before = signal.signal(signal.SIGTERM, lambda number, _: found.append(number))
    yield found
    signal.signal(signal.SIGTERM, before)


class Dropper:
    """Python drops what its finaliser raises."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGTERM)


def test_a_signal_in_a_finaliser_is_not_lost(
    heard: Heard, capsys: pytest.CaptureFixture[str]
) -> None:
    def work() -> None:
        with stoppable():
            Dropper()
            with listening() as told_to_stop:
                assert told_to_stop()

    with pytest.raises(Interrupted, match="signal 15"):
        work()
    assert (heard, capsys.readouterr().err) == ([], "")


def test_other_faults_of_finalisers_are_printed(
    heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Faulty:
        def __del__(self) -> None:
            raise ValueError("faulty")

    dropped: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: dropped.append(str(told.exc_value)))
    with stoppable():
        Faulty()
    assert dropped == ["faulty"]


def test_a_signal_that_a_library_caught_is_raised_again(heard: Heard) -> None:
    def work() -> None:
        with stoppable():
            with contextlib.suppress(BaseException):
                signal.raise_signal(signal.SIGTERM)
            end_if_stopped()

    with pytest.raises(Interrupted):
        work()
    end_if_stopped()  # it is over


LOOKED_AT = (signals.__file__, contextlib.__file__)


class Moment:
    """Raises a signal before or after a call of a built-in, where Python answers signals."""

    def __init__(self, left: int, number: int) -> None:
        self.left, self.number = left, number

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event not in ("c_call", "c_return") or frame.f_code.co_filename not in LOOKED_AT:
            return
        self.left -= 1
        if self.left == -1:
            sys.setprofile(None)
            signal.raise_signal(self.number)


def waits() -> None:
    """Heed signals for a while, the queue's way."""
    with stoppable():
        with listening() as told_to_stop:
            told_to_stop()
        with stoppable():
            end_if_stopped()


@pytest.fixture
def young() -> Iterator[None]:
    """Collecting garbage costs little."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("young")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_at_any_moment(heard: Heard, number: int) -> None:
    """It ends the block, or comes before or after it; what was there before is there again."""
    known = [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT, signals.WARNING)]
    ends = set()
    for moment in range(1000):
        heard.clear()
        at, before = Moment(moment, number), sys.getprofile()
        try:
            sys.setprofile(at)
            waits()
            end = "heard" if heard else "after the end"
        except (Interrupted, KeyboardInterrupt) as stop:
            end = type(stop).__name__
        finally:
            sys.setprofile(before)
        gc.collect()  # of blocks whose end was not even begun
        assert (signals._Received.heeding, signals._Received.listening) == (0, 0), moment
        if number == signal.SIGTERM:
            after = [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT, signals.WARNING)]
            assert after == known, moment
        if at.left >= 0:
            break
        ends.add(end)
    assert moment > 20
    assert "Interrupted" in ends


def test_told_to_stop_while_a_worker_starts(
    tmp_path: Path, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker is not forgotten: it is told to stop as the others are."""
    told: list[str] = []

    class Worker:
        _process: Any

        def __init__(self) -> None:
            self._process = self

        def done(self) -> bool:
            return False

        def terminate(self) -> None:
            told.append("terminate")

        def wait(self, **_: float) -> None:
            told.append("wait")

    def start(self: LocalQueue, *_: Any) -> Any:
        worker = Worker()
        os.kill(os.getpid(), signal.SIGTERM)
        return worker

    monkeypatch.setattr(LocalQueue, "_start", start)
    cells, store = make_cells(2), Store(tmp_path)

    def work() -> None:
        with stoppable(), store.announce(cells) as launch:
            assignment = Assignment(make_stacks(cells, 1), store, tmp_path, launch)
            LocalQueue(assignment, [None]).run(lambda _: False)

    with pytest.raises(Interrupted):
        work()
    assert told == ["terminate", "wait"]


@pytest.mark.parametrize("number", [signal.SIGINT, signals.WARNING])
def test_told_to_stop_while_deaf_to_it(heard: Heard, number: int) -> None:
    """What comes while a process is begun is heard afterwards, and never by that process."""

    def work() -> None:
        with stoppable(), listening() as told_to_stop:
            with deaf():
                signal.raise_signal(number)
                told.append(subprocess.check_output(["sh", "-c", f"kill -{number} $$; echo lives"]))
                assert not told_to_stop()
            assert told_to_stop()

    told: list[bytes] = []
    with pytest.raises(Interrupted):
        work()
    assert told == [b"lives\n"]


def test_ctrl_c_before_the_command_line_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unlucky:
        @property
        def main(self) -> None:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "bench.cli.app", Unlucky())
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == INTERRUPTED
