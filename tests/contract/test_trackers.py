"""Histories for TensorBoard and Weights & Biases: by an option, offline, no dependency."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.results.store import Store
from tests.fakes.results import ORIGIN, cells_of
from tests.fakes.suites import SUITE, changed
from tests.fakes.workspace import Workspace

ONE = changed(SUITE, {"grid": {"mi_true": [2], "K": [8]}, "seeds": [0]})
EXPORT = ("export", "small", "--to", "runs", "--as")


@pytest.fixture
def small(workspace: Workspace) -> Workspace:
    """A suite of two finished cells with histories."""
    path, store = workspace.suite(ONE), Store(workspace.root / "results")
    for i, cell in enumerate(cells_of(path, "tiny")):
        folder = store.folder(cell)
        folder.path.mkdir(parents=True)
        for step in (10, 20):
            folder.append_history({"step": step, "mi_lower_bound": i + step / 100})
        folder.finish({"mi_lower_bound": i + 0.25}, {}, ORIGIN | {"began": 1e9})
    return workspace


@pytest.mark.slow
def test_tensorboard_reads_histories_and_final_metrics(small: Workspace) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for _ in range(2):  # once more gives the same, not twice as many points
        answer = small.call(*EXPORT, "tensorboard")
        assert (answer.status, answer.out.splitlines()[-1]) == (0, "2 histories exported to runs")
    assert small.call("export", "small", "--to", "tables", "--histories").status == 0
    answer = small.call("--results", "tables", *EXPORT, "tensorboard")
    assert (answer.status, answer.out.splitlines()[-1]) == (0, "2 histories exported to runs")
    folders = sorted(Path("runs/small-tiny").iterdir())
    names = {cell.id: cell.settings["loss"] for cell in cells_of(Path("suites/small.yaml"), "tiny")}
    assert {path.name.rsplit("-", 1)[1] for path in folders} == set(names)
    for path in folders:
        i = ["infonce", "eqco"].index(names[path.name.rsplit("-", 1)[1]])
        assert path.name.startswith(["infonce", "eqco"][i])
        read = EventAccumulator(str(path))
        read.Reload()
        found = {
            tag: [(e.step, e.value) for e in read.Scalars(tag)] for tag in read.Tags()["scalars"]
        }
        assert found == {
            "mi_lower_bound": [(10, pytest.approx(i + 0.1)), (20, pytest.approx(i + 0.2))],
            "final/mi_lower_bound": [(20, i + 0.25)],
        }


def test_weights_and_biases_gets_settings_and_histories_offline(
    small: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[dict[str, Any]] = []

    def init(**given: Any) -> Any:
        run: dict[str, Any] = {"given": given, "log": [], "summary": {}, "over": False}
        runs.append(run)
        return SimpleNamespace(
            log=lambda record, step: run["log"].append((step, record)),
            summary=run["summary"],
            finish=lambda: run.update(over=True),
        )

    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=init))
    monkeypatch.delenv("WANDB_MODE", raising=False)
    assert small.call(*EXPORT, "wandb").status == 0
    first = runs[0]
    assert (len(runs), first["over"]) == (2, True)
    given = first["given"]
    assert (given["project"], given["mode"], given["dir"]) == ("small-tiny", "offline", "runs")
    assert (given["config"]["loss"], given["config"]["K"]) == ("infonce", 8)
    assert first["log"] == [(10, {"mi_lower_bound": 0.1}), (20, {"mi_lower_bound": 0.2})]
    assert first["summary"] == {"mi_lower_bound": 0.25}


@pytest.mark.parametrize(
    ("form", "module"),
    [
        ("tensorboard", "tensorboard.summary.writer.event_file_writer"),
        ("wandb", "wandb"),
        ("safetensors", "safetensors"),
    ],
)
def test_a_package_that_is_not_there_is_one_line(
    small: Workspace, monkeypatch: pytest.MonkeyPatch, form: str, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    answer = small.call(*EXPORT, form)
    assert (answer.status, answer.err) == (
        2,
        f"bench: --as {form} needs the package {form}: pip install 'contrastive-bench[{form}]'\n",
    )


def test_exports_of_nothing_are_told(small: Workspace) -> None:
    answer = small.call(*EXPORT, "safetensors")
    assert answer.status == 3
    assert (
        answer.err == "bench: small at scale tiny: results holds no trained encoder of these "
        "cells\n"
    )
    answer = small.call("--results", "other", *EXPORT, "tensorboard")
    assert (answer.status, answer.err) == (
        3, "bench: small (tiny): other holds no finished cell, so there is nothing to " "export\n",
    )  # fmt: skip
    answer = small.call("--results", "other", "export", "small", "--to", "x.tar")
    assert (answer.status, Path("x.tar").exists()) == (3, False)
    assert small.call("export", "small", "--to", "tables").status == 0
    answer = small.call("--results", "tables", "export", "small", "--to", "x.tar")
    assert (answer.status, Path("x.tar").exists()) == (2, False)
    assert answer.err.startswith(
        "bench: --results tables: this folder holds exported tables, and only"
    )
    answer = small.call(*EXPORT, "tensorboard", "--histories")
    assert (
        answer.err == "bench: --as decides what is exported, so it cannot be combined with "
        "--encoders or --histories\n"
    )
    assert not Path("runs").exists()
