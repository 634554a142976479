"""The scale `gpu`: the published protocol on small images, else CIFAR-10 instead of ImageNet."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.cells.baseline import without_baselines
from bench.cells.cell import Cell
from bench.cells.pretrain import Pretrain
from bench.cells.supervised import Supervised
from bench.data.images import Images, Split, load_digits
from bench.data.views import resized
from bench.experiments import EXPERIMENTS, Result
from bench.papers.reader import Statement, load_paper
from bench.results.store import Store
from bench.suites.expand import expand
from bench.suites.load import load_suite
from bench.suites.presets import paper_presets
from bench.suites.protocol import departures, stated_settings
from bench.suites.suite import Suite
from tests.fakes.departures import departures_of_scale
from tests.fakes.paths import SUITES

SMALL_IMAGES = {"cifar10", "cifar100", "stl10"}
FOLLOWS = {"dataset", "image_size", "stem", "local_size"}
"""What is another on CIFAR-10 than on ImageNet."""
ACCURACIES = ("knn_top1", "linear_top1", "test_top1")
WITHOUT = {
    "dcl-remarks": "SimCLR at batch 8192 does not fit one GPU",
    "eqco-simclr-batch": "SimCLR at batch 8192 does not fit one GPU",
    "mutual-information-figure-1": "its counterpart on CIFAR-10 is mutual-information-figure-5",
    "mutual-information-table-2a": "its counterpart on CIFAR-10 is mutual-information-table-1",
    "unigrad-table-5": "its claim compares with printed accuracies on ImageNet",
}
"""Suites with a claim on an accuracy of images that have no scale `gpu`, and why."""


@cache
def loaded(name: str) -> Suite:
    return load_suite(SUITES / f"{name}.yaml")


@cache
def cells(name: str, scale: str) -> list[Cell]:
    return expand(loaded(name), scale, SUITES / f"{name}.yaml")


@cache
def with_scale_gpu(*protocols: str) -> list[str]:
    suites = (loaded(path.stem) for path in sorted(SUITES.glob("*.yaml")))
    return [
        suite.name
        for suite in suites
        if suite.paper and "gpu" in suite.scales and suite.scales["gpu"].protocol in protocols
    ]


def data_sets(name: str, scale: str) -> set[str]:
    return {cell.settings["dataset"] for cell in cells(name, scale)}


def published() -> list[str]:
    return with_scale_gpu("published")


def in_imagenets_place() -> list[str]:
    reduced = with_scale_gpu("reduced")
    return [name for name in reduced if not data_sets(name, "paper") & SMALL_IMAGES]


NOTHING_STATED = ["mutual-information-figure-10", "mutual-information-figure-9"]
"""The paper states no data set of these figures; CIFAR-10 at its own 32 pixels is taken."""


def told(name: str, found: list[Cell]) -> set[str]:
    """Return what is told of cells, but what no cell can have as stated."""
    suite = loaded(name)
    paper = load_paper(suite.paper or "")
    impossible = {
        departure.text
        for artifact in suite.reproduces
        for cell in found
        for departure in departures(cell, stated_settings(suite, paper, paper.artifact(artifact)))
        if departure.impossible
    }
    return set(departures_of_scale(suite, found, paper)) - impossible


def test_every_gpu_scale_is_of_one_kind() -> None:
    assert set(published()) | set(in_imagenets_place()) | set(NOTHING_STATED) == set(
        with_scale_gpu("published", "reduced")
    )


def test_a_published_gpu_scale_has_no_departures() -> None:
    for name in published():
        found = cells(name, "gpu")
        assert data_sets(name, "gpu") <= SMALL_IMAGES, name
        judged = bool(loaded(name).claims or loaded(name).compare)
        assert len({cell.seed for cell in found}) >= (3 if judged else 1), name
        assert told(name, found) == set(), name


def stated_of(name: str) -> list[Statement]:
    """Return what is stated of all cells of the suite's artifacts, whatever their settings."""
    suite = loaded(name)
    paper = load_paper(suite.paper or "")
    artifacts = map(paper.artifact, suite.reproduces)
    found = [s for artifact in artifacts for s in stated_settings(suite, paper, artifact)]
    return [statement for statement in found if not statement.when]


def test_of_one_epoch_the_epochs_alone_are_told() -> None:
    """Where the paper states how many there are; the cells are not trained."""
    for name in published():
        short = [cell.model_copy(update={"epochs": 1}) for cell in cells(name, "gpu")]
        are_stated = any(statement.stated.get("epochs") for statement in stated_of(name))
        settings = {text.split()[0] for text in told(name, short)}
        assert settings <= {"epochs"}, name
        assert settings or not are_stated, name


def test_an_artifact_on_data_that_no_cell_has_is_not_departed_from() -> None:
    """DCL's Table 1 has five data sets, and CIFAR-10 alone has cells at gpu."""
    suite, paper = loaded("dcl-table-1"), load_paper("dcl")
    assert departures_of_scale(suite, cells("dcl-table-1", "gpu"), paper) == []
    digits = departures_of_scale(suite, without_baselines(cells("dcl-table-1", "cpu")), paper)
    assert {f"dataset = digits, published {name}" for name in ("imagenet1k", "stl10")} <= set(
        digits
    )


def test_in_imagenets_place_nothing_but_the_data_set_is_another() -> None:
    """And what follows from it; the cells are those of the published scale, in bf16."""

    def compared(name: str, scale: str) -> set[Any]:
        first = [cell.settings for cell in cells(name, scale) if cell.seed == 0]
        other = {*FOLLOWS, "precision"}
        return {tuple((k, v) for k, v in known.items() if k not in other) for known in first}

    for name in in_imagenets_place():
        assert compared(name, "gpu") == compared(name, "paper"), name
        assert data_sets(name, "gpu") == {"cifar10"}, name
        assert loaded(name).scales["gpu"].what.startswith("CIFAR-10 instead of ImageNet"), name
        assert {cell.seed for cell in cells(name, "gpu")} == {0, 1, 2}, name


def test_in_imagenets_place_the_data_set_alone_is_told() -> None:
    for name in in_imagenets_place():
        more = told(name, cells(name, "gpu")) - told(name, cells(name, "paper"))
        settings = {text.split(": ")[-1].split()[0] for text in more}
        assert settings <= FOLLOWS, name
        if name not in ("eqco-figure-4", "eqco-learning-rate"):  # not stated there
            assert "dataset" in settings, name


def test_a_claim_on_an_accuracy_has_a_gpu_scale_or_a_reason() -> None:
    lacking = set()
    for path in sorted(SUITES.glob("*.yaml")):
        suite = loaded(path.stem)
        metrics = {check.metric for checks in suite.claims.values() for check in checks}
        if "paper" in suite.scales and "gpu" not in suite.scales and metrics & set(ACCURACIES):
            is_of_images = isinstance(cells(suite.name, "paper")[0], Pretrain | Supervised)
            lacking |= {suite.name} if is_of_images else set()
    assert lacking == set(WITHOUT)


CUT: dict[str, Any] = {
    "train_images": 80, "epochs": 1, "batch_size": 16, "N": 16, "width": 4, "warmup_epochs": 0,
    "knn_k": 20, "linear_once": True,
}  # fmt: skip
HEAD: dict[str, Any] = {"projector_hidden_dim": 64, "feature_dim": 64}
ENLARGED = {"image_size": 32, "resized_to": 37, "linear_once": False}
ONE_OF_A_FAMILY: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("dcl-table-1", {"loss": "dcl"}, {}),
    ("eqco-figure-2", {"method": "moco-v2", "loss": "eqco", "K": 16}, {"bn_groups": 2}),
    ("unigrad-table-2", {"method": "barlow-twins-momentum"}, {}),
    ("mutual-information-table-1", {"method": "ring-s-neigh"}, ENLARGED),
    ("dcl-table-17", {"loss": "dcl"}, {}),
]  # fmt: skip


@pytest.fixture
def cifar10(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the place of CIFAR-10's images, 600 digits of 32 pixels to train on and 100 to test."""
    digits = load_digits()
    train, test = (
        Split(resized(part.pixels[:n], 32), part.labels[:n])
        for part, n in ((digits.train, 600), (digits.test, 100))
    )
    images = Images("cifar10", 10, 32, digits.mean, digits.std, "0" * 16, train, test)
    monkeypatch.setattr("bench.train.sources.load_images", lambda *_: images)


def cut(name: str, settings: dict[str, Any], changes: dict[str, Any]) -> Cell:
    """Return the first such cell at gpu with 80 images, 5 steps, and a narrow network."""
    found = next(cell for cell in cells(name, "gpu") if settings.items() <= cell.settings.items())
    fields = found.model_dump(exclude={"lr"})
    changed = {k: v for k, v in (CUT | changes).items() if k in fields}
    changed |= {k: v for k, v in HEAD.items() if fields.get(k) is not None}
    if fields["lr_schedule"] == "step":
        changed["lr_drop_epochs"] = "1"
    return type(found).model_validate(fields | changed)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "settings", "changes"), ONE_OF_A_FAMILY)
@pytest.mark.usefixtures("cifar10")
def test_a_cell_runs_to_its_end(
    name: str, settings: dict[str, Any], changes: dict[str, Any], tmp_path: Path
) -> None:
    """Five steps of each family's published cell, with its evaluations, on the CPU."""
    cell = cut(name, settings, changes)
    folders = Store(tmp_path).folders([cell], tmp_path)
    (folder,) = folders
    folder.path.mkdir(parents=True)
    (outcome,) = EXPERIMENTS[cell.experiment]([cell], folders, "cpu")
    assert isinstance(outcome, Result), outcome
    assert all(np.isfinite(value) for value in outcome.metrics.values())
    assert folder.history()[-1]["step"] == 5
    accuracy = "test_top1" if isinstance(cell, Supervised) else "linear_top1"
    assert 0 <= outcome.metrics[accuracy] <= 100


def test_the_families_of_presets_are_run() -> None:
    shown = {settings.get("method", "simclr") for _, settings, _ in ONE_OF_A_FAMILY}
    families = {preset.family for preset in paper_presets().values()}
    assert {paper_presets()[name].family for name in shown} == families
