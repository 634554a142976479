"""What the provenance of a result says of the processor."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from bench.results import provenance
from tests.fakes.paths import ROOT

EPYC = "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nstepping\t: 1\n"
OTHER = EPYC.replace(": 17", ": 1")


@pytest.mark.parametrize(
    ("text", "name", "model"),
    [
        (f"{EPYC}\n{OTHER}", "AMD EPYC", "family 25 model 17 stepping 1"),
        (OTHER, "AMD EPYC", "family 25 model 1 stepping 1"),
        ("processor\t: 0\nBogoMIPS\t: 50\n", "arm", None),
        (None, "arm", None),
    ],
)
def test_two_models_of_one_name_are_told_apart(
    text: str | None,
    name: str,
    model: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if text is not None:
        (tmp_path / "cpuinfo").write_text(text, "utf-8")
    monkeypatch.setattr(provenance, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr("platform.processor", lambda: "arm")
    assert provenance.processor.__wrapped__() == name
    assert provenance.processor_model.__wrapped__() == model


@pytest.mark.parametrize(
    ("text", "driver"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5\nGCC", "550.54.15"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.10  Rel", "570.86.10"),
        (None, None),
    ],
)
def test_on_a_gpu_cuda_and_the_driver_are_named(
    text: str | None, driver: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")  # loads it, as a cell on a GPU has
    if text is not None:
        (tmp_path / "version").write_text(text, "utf-8")
    monkeypatch.setattr(provenance, "DRIVER", tmp_path / "version")
    record = provenance.describe("cuda", 1)
    assert (set(record["cuda"]), record["cuda"]["driver"]) == (
        {"runtime", "cudnn", "driver"}, driver,
    )  # fmt: skip
    assert provenance.fault_of_provenance({"trained": record}) is None
    assert "cuda" not in provenance.describe("cpu", 1)


def test_packages_that_compute_numbers_and_the_pins_are_named() -> None:
    record = provenance.describe("cpu", 1)
    assert all(record["packages"][name] for name in ("faiss-cpu", "torchvision", "pycocotools"))
    digest = hashlib.sha256((ROOT / "requirements.txt").read_bytes()).hexdigest()
    assert record["code"]["pins"] == digest[:16]


def test_torch_is_asked_only_where_it_is_loaded() -> None:
    code = (
        "import sys; from bench.results.provenance import describe, fault_of_provenance as fault\n"
        "before = describe('cpu', 1); assert 'torch' not in sys.modules\n"
        "import torch\n"
        "after = describe('cpu', 1)\n"
        "assert fault({'trained': after}) is None\n"
        "now = torch.backends.cpu.get_cpu_capability()\n"
        "print([r['machine']['cpu_capability'] for r in (before, after)] == [None, now])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
