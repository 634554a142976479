"""Recipes of suites are those of their papers in what is cheap to keep at any scale."""

from typing import Any

import pytest

from bench.analysis.deviations import deviations
from bench.cells.baseline import without_baselines
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.paths import SUITES

MEASURED_FIRST = "-first"  # scales whose cells were measured before their recipe was the paper's
OTHER_TEMPERATURE = "eqco-simclr-batch"  # quotes SimCLR; its cpu cells are those of dcl-table-1
EQCO = [
    path.stem
    for path in sorted(SUITES.glob("eqco-*.yaml"))
    if load_suite(path).experiment in ("pretrain", "detection") and path.stem != OTHER_TEMPERATURE
]


def settings_of(name: str, scale: str) -> list[dict[str, Any]]:
    path = SUITES / f"{name}.yaml"
    return [cell.settings for cell in expand(load_suite(path), scale, path)]


@pytest.mark.parametrize("name", EQCO)
def test_eqco_has_the_temperature_of_the_paper_at_every_scale(name: str) -> None:
    path = SUITES / f"{name}.yaml"
    suite = load_suite(path)
    cells = {scale: without_baselines(expand(suite, scale, path)) for scale in suite.scales}
    deviate = {
        scale
        for scale, found in cells.items()
        if any(deviation.name == "tau" for deviation in deviations(found, cells["paper"]))
    }
    assert deviate == {scale for scale in suite.scales if scale.endswith(MEASURED_FIRST)}
    taus = {cell.settings["tau"] for found in cells.values() for cell in found}
    assert 0.2 in taus


@pytest.mark.parametrize("scale", ["paper", "gpu"])
@pytest.mark.parametrize(
    "name", ["dcl-table-1", "dcl-table-2", "dcl-figure-1", "dcl-figure-4", "dcl-figure-5"]
)
def test_dcl_on_small_images_has_the_recipe_of_the_benchmark_it_follows(
    name: str, scale: str
) -> None:
    """frank-xwang/CLD-UnsupervisedLearning; a table compares kNN by its protocol too."""
    small = [s for s in settings_of(name, scale) if not s["dataset"].startswith("imagenet")]
    assert {(s["weight_decay"], s["warmup_epochs"]) for s in small} == {(5e-4, 5)}
    if name.startswith("dcl-table"):
        assert {(s["knn_features"], s["knn_tau"], s["tau"]) for s in small} == {
            ("projector", 0.07, 0.07)
        }


@pytest.mark.parametrize("scale", ["paper", "gpu"])
@pytest.mark.parametrize("name", ["dcl-table-4", "dcl-table-18"])
def test_dcl_with_resnet50_has_the_recipe_of_reference_28(name: str, scale: str) -> None:
    """leftthomas/SimCLR: kNN with its training temperature, each view normalised apart."""
    found = settings_of(name, scale)
    assert {(s["bn_over"], s["knn_tau"]) for s in found} == {("each-view", 0.5)}


@pytest.mark.parametrize("name", ["dcl-table-1", "dcl-table-2"])
def test_dcl_on_imagenet_has_both_learning_rates(name: str) -> None:
    found = [s for s in settings_of(name, "paper") if s["dataset"].startswith("imagenet")]
    assert {s["base_lr"] for s in found} == {0.3, 0.03}
    assert {(s["weight_decay"], s["warmup_epochs"], s["knn_features"]) for s in found} == {
        (1e-6, 10, None)
    }
