"""What a GPU is asked while cells compute, with one that is made up."""

import subprocess
import threading
from collections.abc import Iterator
from itertools import repeat
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from bench.experimental import gpu_usage as meter
from bench.experimental.gpu_usage import Meter


class Gpu:
    """Answers as nvidia-smi does; `told` is set when it has given all its answers."""

    def __init__(self, *answers: str) -> None:
        self.answers: Iterator[str] = iter(answers)
        self.told = threading.Event()
        self.asked: list[tuple[str, ...]] = []

    def run(self, command: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        self.asked.append(tuple(command))
        answer = next(self.answers, None)
        if answer is None:
            self.told.set()
            raise FileNotFoundError("nvidia-smi")
        return subprocess.CompletedProcess(command, 0, answer)


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(meter, "SAMPLE_S", 0.0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: None)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Abacus")
    monkeypatch.setattr(
        torch.cuda, "get_device_properties", lambda _: SimpleNamespace(total_memory=80 * 10**9)
    )
    monkeypatch.setattr(torch.cuda, "max_memory_reserved", lambda: 3 * 10**9)
    return monkeypatch


FOUND = {"device_name": "Abacus", "device_total_gb": 80.0, "packed": 2, "device_peak_gb": 3.0}


def measured(cuda: pytest.MonkeyPatch, gpu: Gpu) -> dict[str, Any]:
    cuda.setattr(subprocess, "run", gpu.run)
    with Meter("3", sharing=2) as taken:
        assert gpu.told.wait(20)
        taken._thread.join(20)
    return taken.record()


def test_memory_and_the_mean_of_what_was_busy(cuda: pytest.MonkeyPatch) -> None:
    gpu = Gpu("20\n", "70\n")
    assert measured(cuda, gpu) == FOUND | {"device_busy": pytest.approx(0.45)}
    assert gpu.asked[0][0] == "nvidia-smi"
    assert gpu.asked[0][-2:] == ("-i", "3")


def test_where_nothing_says_how_busy_it_is_nothing_is_told(cuda: pytest.MonkeyPatch) -> None:
    assert measured(cuda, Gpu()) == FOUND
    gpu = Gpu("[N/A]\n")
    cuda.setattr(subprocess, "run", gpu.run)
    with Meter("3", sharing=2) as taken:
        taken._thread.join(20)
    assert taken.record() == FOUND
    assert len(gpu.asked) == 1  # and it is not asked again


def test_it_ends_with_its_block(cuda: pytest.MonkeyPatch) -> None:
    gpu = Gpu()
    gpu.answers = repeat("50\n")
    cuda.setattr(subprocess, "run", gpu.run)
    with Meter("3", sharing=2) as taken:
        pass
    taken._thread.join(20)
    assert not taken._thread.is_alive()
    assert not gpu.told.is_set()


@pytest.mark.parametrize(("gpu", "there"), [("", True), ("0", False)])
def test_on_a_cpu_nothing_is_measured(cuda: pytest.MonkeyPatch, gpu: str, there: bool) -> None:
    cuda.setattr(torch.cuda, "is_available", lambda: there)
    with Meter(gpu, sharing=1) as taken:
        assert not taken._thread.is_alive()
    assert taken.record() == {}
