"""What the provenance of a result says of the processor."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench.results import provenance

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
