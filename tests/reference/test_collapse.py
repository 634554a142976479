"""No preset's outputs become alike, but for those that say so: the suite `collapse`, and two."""

from pathlib import Path

import pytest

from bench.cells.baseline import without_baselines
from bench.experiments.evaluations import Evaluator
from bench.results.folder import CellFolder
from bench.results.reader import Results
from bench.suites.expand import expand
from bench.suites.load import load_suite
from bench.suites.presets import shipped_presets
from bench.train.loop import train
from bench.train.sources import open_source
from tests.fakes.cells import pretrain_cell, training_of
from tests.fakes.paths import REFERENCE, SUITES

COLLAPSED = 0.05  # of the unit sphere's 1; untrained networks have 0.12 to 0.23
MARKED = {name for name, preset in shipped_presets().items() if preset.collapses}
PATH = SUITES / "collapse.yaml"
PRESETS = shipped_presets().keys() | {"swav"}  # DINO's outputs become alike
CELLS = without_baselines(expand(load_suite(PATH), "cpu", PATH))


def test_the_suite_has_every_preset() -> None:
    assert {cell.settings["method"] for cell in CELLS} == PRESETS


def test_those_that_collapse_in_the_table_say_so_and_no_others() -> None:
    done = Results(REFERENCE).finished(CELLS)
    spread = {str(cell.settings["method"]): kept.metrics["output_std"] for cell, kept in done}
    assert spread.keys() == PRESETS
    assert {name for name, value in spread.items() if value < COLLAPSED} == MARKED


@pytest.mark.parametrize("method", ["vicreg-released", "vicreg"])
def test_what_is_trained_here_collapses_as_its_preset_says(method: str, tmp_path: Path) -> None:
    settings = next(cell.settings for cell in CELLS if cell.settings["method"] == method)
    small = {
        "experiment": "pretrain",
        "train_images": 640,
        "image_size": 8,
        "width": 8,
        "epochs": 6,
    }
    cell = pretrain_cell(**settings | small)
    (tmp_path / "cell").mkdir()
    training = training_of(cell)
    train(training, CellFolder(tmp_path / "cell"), watch=lambda _: {})
    found = Evaluator([cell], open_source(cell, Path(), "cpu")).spread(cell, training.online)
    assert (found["output_std"] < COLLAPSED) == (method in MARKED), found
