"""`--data` reaches what computes, wherever it runs, and leaves no trace in the environment."""

import os

import numpy as np
import pytest
from PIL import Image

from tests.fakes.processes import end
from tests.fakes.suites import DIGITS, REMOVED, changed
from tests.fakes.workspace import Workspace

GREY = changed(DIGITS, {"fixed.dataset": "folder:grey", "fixed.train_images": REMOVED})


@pytest.fixture
def grey(workspace: Workspace) -> Workspace:
    """A suite on images that only `--data sets` names."""
    for i in range(64):
        part = "train" if i < 48 else "test"
        path = workspace.root / "sets" / "grey" / part / str(i % 2) / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((8, 8, 3), 3 * i, dtype=np.uint8)).save(path)
    workspace.suite(GREY, "grey")
    return workspace


@pytest.mark.parametrize("how", [("--executor", "inline"), ("--jobs", "1")])
def test_cells_find_their_data(grey: Workspace, how: tuple[str, ...]) -> None:
    answer = grey.call("--data", "sets", "run", "grey", *how, "--json")
    assert (answer.status, answer.json["failed"]) == (0, 0), answer.out
    assert "BENCH_DATA" not in os.environ
    assert grey.call("run", "grey", "--executor", "inline").status == 2  # it is not remembered


def test_one_class_is_refused_before_anything_is_trained(grey: Workspace) -> None:
    sets = grey.root / "sets" / "grey"
    for part in ("train", "test"):
        (sets / part / "1").rename(sets / f"{part}-1")
    answer = grey.call("--data", "sets", "run", "grey", "--executor", "inline", "--json")
    told = {(f["reason"], f["message"]) for f in answer.json["failures"]}
    why = "folder:grey: the test images have only one class, but at least two are needed"
    assert (answer.status, told) == (1, {("data", why)})
    assert not list((grey.root / "results").rglob("encoder.pt"))


def test_a_probe_finds_its_data(grey: Workspace) -> None:
    plan = grey.call("--data", "sets", "plan", "grey", "--probe", "--json").json
    assert {cell["predicted_from"] for cell in plan["cells"]} == {"probe"}


def test_the_variable_stands_for_the_option(grey: Workspace) -> None:
    status, _, err = end(grey.start("run", "grey", "--executor", "inline", BENCH_DATA="sets"))
    assert status == 0, err
