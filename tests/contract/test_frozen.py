"""What was measured keeps its name and its form: ids, and the bytes of exported tables.

A change here is a change of science or of a format: it raises a version, and CHANGELOG says why.
"""

import hashlib

import pytest

from bench.cells.coordinates import EVALUATIONS
from bench.cells.pretrain import Pretrain
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.paths import ROOT

FIRST_CELLS = {
    ("eqco-table-9", "paper"): "5063b3748802ca72",
    ("eqco-theorems", "paper"): "a9592e936c2311e2",
    ("mutual-information-table-3", "paper"): "83d26d22c6e8541a",
    ("mutual-information-figure-6", "paper"): "00cb7b0d56bb0eb1",
    ("dcl-propositions", "cpu"): "7de0ce6159304091",
    ("dcl-table-17", "paper"): "c2d385b373039d6b",
    ("cifar10-jpeg", "gpu"): "cc84fea9d1f7d25e",
}
"""Of each experiment the id of the first cell of a suite at a scale."""
GRADIENT_NORM = "8c80de1021e2ef24"  # of eqco-theorems too, in its second grid
TRAINING = "d059c81fc383a687"  # of the first cell of cifar10-jpeg at gpu
EVALUATION_IDS = {
    "knn": "c7d45f8d22f7cbfa",
    "linear": "2c57349877c8dc16",
    "few-shot": "1bfbb66c805ec45a",
    "geometry": "a714c6f98d181bbf",
    "weights": "d9685bc7899eca50",
    "warped-knn": "970874a33e284da9",
    "warped-linear": "2cb953f460c9bf78",
    "warped-few-shot": "3ebd30ce975e897c",
}
EXPORTED = {
    "gaussian-mi.csv": "490373fe6872e71a",
    "gaussian-mi.history.csv": "85533756ac500fd5",
    "gradient-norm.csv": "5d38b11c318a0c84",
    "identity.csv": "9e59857cfb6a4130",
    "optimal-bound.csv": "4c5960314400a3d9",
    "pretrain.arrays.npz": "68f01def2ca40cb9",
    "pretrain.csv": "5b705ff7be153f55",
    "pretrain.history.csv": "a4deab96aa6ced4c",
    "spirals.arrays.npz": "89d0e6d8d1be7948",
    "spirals.csv": "25dc3d77d2430790",
    "spirals.history.csv": "7ce04485e7060304",
    "supervised.csv": "543d8e388971a53e",
    "supervised.history.csv": "d9de44a9ce6a7683",
    "vince-gaussian.csv": "6fefebdf110828f5",
    "vince-gaussian.history.csv": "b034188bdea0daa7",
}
"""The first digits of the SHA-256 of each exported table of the reference runs."""


@pytest.mark.parametrize(("name", "scale"), FIRST_CELLS)
def test_ids_of_cells_stay(name: str, scale: str) -> None:
    path = ROOT / "suites" / f"{name}.yaml"
    cells = expand(load_suite(path), scale, path)
    assert cells[0].id == FIRST_CELLS[name, scale]


def test_ids_of_the_second_grid_of_a_suite_stay() -> None:
    path = ROOT / "suites" / "eqco-theorems.yaml"
    cells = expand(load_suite(path), "paper", path)
    assert next(c.id for c in cells if c.experiment == "gradient-norm") == GRADIENT_NORM


def test_ids_of_trainings_and_evaluations_stay() -> None:
    path = ROOT / "suites" / "cifar10-jpeg.yaml"
    cell = expand(load_suite(path), "gpu", path)[0]
    assert isinstance(cell, Pretrain)
    assert cell.training_id == TRAINING
    assert {name: cell.evaluation_id(name) for name in EVALUATIONS} == EVALUATION_IDS


def test_exported_tables_of_the_reference_runs_stay() -> None:
    tables = sorted((ROOT / "results" / "reference").iterdir())
    digests = {p.name: hashlib.sha256(p.read_bytes()).hexdigest()[:16] for p in tables}
    assert digests == EXPORTED
