"""The papers' stated facts: each key of one kind, and what is known of a cell by name."""

from typing import Any

import pytest

from bench.cells.cell import Cell
from bench.papers.reader import PAPERS, load_paper
from bench.papers.vocabulary import remark_keys, vocabulary
from bench.suites.expand import expand
from bench.suites.facts import agrees, fact_names, facts
from bench.suites.load import load_suite
from bench.suites.paper_keys import faults_of
from tests.fakes.cells import baseline_cell, small_cell
from tests.fakes.paths import SUITES


@pytest.mark.parametrize("paper", PAPERS)
def test_every_stated_key_is_a_setting_or_a_remark(paper: str) -> None:
    """A setting that is compared, or a remark with its reason in vocabulary.yaml."""
    file, faults = faults_of(PAPERS[paper])
    assert file is not None
    assert faults == []


def test_what_is_compared_is_no_remark() -> None:
    remarks, others = remark_keys(), vocabulary().no_cell_has.keys()
    assert not fact_names() & (remarks | others)
    assert not remarks & others


def test_the_vocabulary_has_each_key_once_and_none_in_vain() -> None:
    known = vocabulary()
    keys = [key for kind in known.remarks.values() for key in kind] + list(known.no_cell_has)
    papers = [load_paper(name) for name in PAPERS]
    stated = [s for p in papers for a in p.artifacts.values() for s in a.statements]
    stated += [s for p in papers for name in p.protocols for s in p.statements(name)]
    assert len(keys) == len(set(keys))
    assert set(keys) - {key for s in stated for key in s.stated} == set()
    assert set(known.remarks) == {
        "hardware", "wall time", "other work", "what is measured", "always so", "not run here",
        "remark",
    }  # fmt: skip


def test_what_a_protocol_includes_exists_and_comes_first() -> None:
    for name in PAPERS:
        paper = load_paper(name)
        for protocol in paper.protocols:
            paper.statements(protocol)  # raises where a protocol is included that is not there
    tuned = [s.stated.get("tau") for s in load_paper("dcl").statements("simclr-dcl-imagenet-tuned")]
    assert [tau for tau in tuned if tau] == [0.1, 0.2]


def cell_of(suite: str, scale: str = "paper", **settings: Any) -> Cell:
    path = SUITES / f"{suite}.yaml"
    cells = expand(load_suite(path), scale, path)
    return next(c for c in cells if all(c.settings[k] == v for k, v in settings.items()))


def test_facts_of_views_and_linear_protocol() -> None:
    """SimCLR, App. A; OpenSelfSup's linear protocol (DCL, App. 4)."""
    known = facts(cell_of("dcl-table-1", dataset="imagenet1k"))
    assert {name: known[f"views.{name}"] for name in (
        "count", "local_count", "local_crop", "crop", "flip", "jitter", "jitter_p", "grayscale",
        "blur", "blur_sigma", "solarize",
    )} == {
        "count": 2, "local_count": 0, "local_crop": None, "crop": (0.08, 1.0), "flip": 0.5,
        "jitter": (0.8, 0.8, 0.8, 0.2), "jitter_p": 0.8, "grayscale": 0.2, "blur": 0.5,
        "blur_sigma": (0.1, 2.0), "solarize": 0.0,
    }  # fmt: skip
    assert {name: known[f"linear.{name}"] for name in (
        "optimizer", "base_lr", "lr", "batch_size", "epochs", "schedule", "lr_drops",
        "weight_decay",
    )} == {
        "optimizer": "sgd", "base_lr": 30.0, "lr": 30.0, "batch_size": 256, "epochs": 100,
        "schedule": "step", "lr_drops": (60, 80), "weight_decay": 0.0,
    }  # fmt: skip


def test_a_linear_rate_is_that_of_its_batch() -> None:
    """0.02 for 256 images is 0.32 for 4096 (UniGrad, App. B, with the assumed rule)."""
    assert facts(cell_of("unigrad-table-2"))["linear.lr"] == pytest.approx(0.32)


def test_a_classifier_that_sees_images_as_they_are_has_that_as_a_fact() -> None:
    told = {
        once: facts(small_cell(linear="openselfsup", linear_once=once))["linear.shown"]
        for once in (False, True)
    }
    assert told == {False: "crop-flip", True: "image"}
    assert facts(baseline_cell("raw", linear="openselfsup"))["linear.shown"] == "image"


def test_views_that_differ_and_transforms_that_are_not_applied() -> None:
    byol = facts(small_cell(views="byol"))
    assert byol["views.blur"] == (1.0, 0.1)
    assert byol["views.jitter"] == (0.4, 0.4, 0.2, 0.1)
    assert facts(small_cell(views="simclr-cifar"))["views.blur_sigma"] is None
    assert facts(small_cell(views="flip"))["views.jitter"] is None
    half = facts(small_cell(views="simclr", view_strength=0.5))
    assert half["views.jitter"] == (0.4, 0.4, 0.4, 0.1)
    crops = facts(small_cell("unigrad", views="multi-crop", local_size=8))
    assert (crops["views.count"], crops["views.local_count"]) == (8, 6)
    assert (crops["views.crop"], crops["views.local_crop"]) == ((0.4, 1.0), (0.05, 0.4))


def test_a_cell_without_a_linear_evaluation_has_no_facts_of_one() -> None:
    assert [name for name in facts(small_cell()) if name.startswith("linear.")] == []


def test_a_rate_without_a_rule_is_that_of_the_linear_one() -> None:
    known = facts(small_cell(lr=0.05, batch_size=16))
    assert (known["base_lr"], known["lr_scaling"]) == (0.05 * 256 / 16, "linear")


def test_temperatures_of_the_two_components() -> None:
    assert facts(small_cell("simco", tau=0.1, tau_beta=1.0))["tau_beta_over_tau"] == 10
    assert facts(small_cell("moco-v2", tau=0.1))["tau_beta_over_tau"] == 1


def test_toys_have_data_by_name() -> None:
    assert facts(cell_of("eqco-table-9"))["dataset"] == "correlated-gaussian"
    spirals = facts(cell_of("mutual-information-figure-6"))
    assert (spirals["dataset"], spirals["sgd_momentum"]) == ("two-spirals", 0.9)
    assert "momentum" not in spirals


@pytest.mark.parametrize(
    ("mine", "stated", "expected"),
    [
        (0.1, 0.1, True),
        (0.03 * 256 / 1024 * 1024 / 256, 0.03, True),
        (0.1, [0.07, 0.1], True),
        (0.2, [0.07, 0.1], False),
        ((0.08, 1.0), [0.08, 1.0], True),
        ((0.2, 1.0), [0.08, 1.0], False),
        ((0.2, 1.0), [[0.08, 1.0], [0.2, 1.0]], True),
        (0.08, [0.08, 1.0], True),
        (10, {"above": 0}, True),
        (0, {"above": 0}, False),
        (4096, {"from": 100, "to": 4096}, True),
        (4096, {"above": 100, "below": 4096}, False),
        (None, {"above": 0}, False),
        (None, "not used", True),
        (0, "not used", False),
        ((0.08, 1.0), "used", True),
        (None, "used", False),
        (None, 256, False),
        (1, True, False),
        (True, True, True),
        ("sgd", "lars", False),
    ],
)
def test_ways_to_state_a_value(mine: Any, stated: Any, expected: bool) -> None:
    assert agrees(mine, stated) is expected
