"""When work is recorded and when it is replayed, with stand-ins for what a GPU does of it."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
import torch

from bench.train.graphs import WARM, Recorded


class MadeUpGraph:
    """A graph that tells when it is replayed; recorded work is not done."""

    def __init__(self, told: list[str]) -> None:
        self.told = told

    def replay(self) -> None:
        self.told.append("replay")


class MadeUpStream:
    def wait_stream(self, other: object) -> None:
        assert isinstance(other, MadeUpStream)
        assert other is not self


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    told: list[str] = []

    @contextmanager
    def recording(*_: Any, **named: Any) -> Iterator[None]:
        assert named["capture_error_mode"] == "thread_local"  # other threads draw and write
        told.append("record")
        yield
        assert told.pop() == "work"

    monkeypatch.setattr("torch.cuda.Stream", MadeUpStream)
    here = MadeUpStream()
    monkeypatch.setattr("torch.cuda.current_stream", lambda: here)
    monkeypatch.setattr("torch.cuda.stream", lambda _: nullcontext())
    monkeypatch.setattr("torch.cuda.CUDAGraph", lambda: MadeUpGraph(told))
    monkeypatch.setattr("torch.cuda.graph", recording)
    return told


def run(recorded: Recorded, told: list[str], decided: object) -> None:
    recorded.run(lambda: told.append("work"), decided, lambda: told.append("before"))


def test_after_some_times_it_is_recorded_and_replayed(told: list[str]) -> None:
    recorded = Recorded("cuda")
    for _ in range(WARM + 3):
        run(recorded, told, (40, None))
    done = ["before", "work"] * WARM + ["before", "record", "replay"] + ["before", "replay"] * 2
    assert told == done
    assert recorded.replays == 3


def test_where_the_host_decides_otherwise_it_is_recorded_anew(told: list[str]) -> None:
    recorded = Recorded("cuda")
    for decided in (1, 2, 3, *[4] * (WARM + 1), *[5] * (WARM + 1)):
        run(recorded, told, decided)
    assert told.count("record") == 2
    assert told.count("work") == 3 + 2 * WARM


def test_on_a_cpu_it_is_done_each_time() -> None:
    told: list[str] = []
    recorded = Recorded("cpu")
    for _ in range(WARM + 2):
        run(recorded, told, 0)
    assert told == ["before", "work"] * (WARM + 2)


@pytest.mark.gpu
def test_a_gpu_replays_what_it_recorded() -> None:
    recorded, x = Recorded("cuda"), torch.zeros((), device="cuda")

    def work() -> None:
        x.add_(1)

    for _ in range(WARM + 4):
        recorded.run(work, 0, lambda: None)
    assert recorded.replays == 4
    assert x.item() == WARM + 4
