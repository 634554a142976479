"""`benchmarks.gpu` in small on a CPU: every way to train is measured and told."""

import json
from pathlib import Path

import pytest

from benchmarks import gpu, pretrain_step


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lightly 1.5", "torchvision 0.20"])
def test_every_way_is_measured(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pretrain_step, "peer_name", lambda: name)
    words = ["--small", "--device", "cpu", "--batches", "4", "--seconds", "0"]
    gpu.main([*words, "--to", str(tmp_path / "gpu.json")])
    records = json.loads((tmp_path / "gpu.json").read_text())["records"]
    assert [record["way"] for record in records] == list(gpu.MAKES)
    assert all(record["images_a_second"] > 0 for record in records)
    assert len(capsys.readouterr().out.splitlines()) == 2 + len(records)
