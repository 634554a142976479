"""Numbers of other projects matched with printed rows and checks."""

from pathlib import Path
from typing import Any

import pytest

from bench.errors import PublishedError
from bench.papers.others import OTHERS
from bench.papers.reader import load_paper
from bench.suites.checks import Exceeds
from bench.suites.load import load_suite
from bench.suites.others import SourceEffect, beside, check_source, source_effects
from tests.fakes.others import written
from tests.fakes.paths import SUITES

SIMCLR = [("simclr", "infonce"), ("simclr", "dcl"), ("simclr", "dclw")]


def effects(metric: str, loss: str, than: str, **both: Any) -> list[SourceEffect]:
    check = Exceeds(
        check="exceeds", metric=metric, where=both | {"loss": loss}, than=both | {"loss": than}
    )
    return source_effects(check, SIMCLR)


@pytest.mark.parametrize("path", sorted(OTHERS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_name_is_known(path: Path) -> None:
    assert check_source(path, SUITES)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"method": "simclear"}, "rows.0: there is no method 'simclear'. Did you mean 'simclr'"),
        ({"metric": "linear"}, "rows.0: there is no metric 'linear'. Did you mean 'linear_top1'"),
        ({"loss": "dlc"}, "rows.0: there is no loss 'dlc'. Did you mean 'dcl'"),
        ({"batchsize": 3}, "rows.0: there is no setting 'batchsize'. Did you mean 'batch_size'"),
    ],
)
def test_an_unknown_name_is_one_line(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    with pytest.raises(PublishedError) as caught:
        check_source(written(tmp_path, **changes), SUITES)
    assert told in str(caught.value)


def test_numbers_that_differ_in_the_loss_alone_are_an_effect() -> None:
    """DCL over SimCLR at batch 32, 64, 128 and 256, by hand from the source's README."""
    found = effects("linear_top1", "dcl", "infonce", dataset="cifar10")
    assert all(e.is_effect for e in found if e.source == "dcl-nakhli")
    of_nakhli = [e for e in found if e.source == "dcl-nakhli"]
    by_batch = {e.at["batch_size"]: e.value for e in of_nakhli}
    assert by_batch == pytest.approx({32: 6.3, 64: 4.1, 128: 2.54, 256: 2.1})


def test_numbers_that_differ_in_more_are_a_contrast() -> None:
    """lightly's SimCLR has tau 0.5 and its DCL 0.1."""
    found = effects("knn_top1", "dcl", "infonce", dataset="cifar10")
    of_lightly = [e for e in found if e.source == "lightly-cifar10"]
    assert sorted(e.value for e in of_lightly) == [-0.8, -0.5, -0.3]
    assert {e.more_words for e in of_lightly} == {"tau 0.1 against 0.5"}


def test_options_of_a_loss_belong_to_it() -> None:
    found = effects("knn_top1", "dclw", "dcl", dataset="cifar10")
    of_lightly = [e for e in found if e.source == "lightly-cifar10" and e.is_effect]
    assert sorted(e.value for e in of_lightly) == [-1.6, -1.1, -0.3]


def test_one_measurement_in_two_places_counts_once() -> None:
    """lightly's table has 1.9, a pull request of it the same with more digits."""
    found = effects("linear_top1", "dcl", "infonce", dataset="imagenet1k", batch_size=256)
    of_lightly = [e for e in found if "lightly" in e.source and e.metric == "linear_top1"]
    assert [round(e.value, 1) for e in of_lightly] == [1.9]


def test_what_a_source_does_not_state_is_unknown() -> None:
    suite = load_suite(SUITES / "dcl-table-1.yaml")
    found = beside(load_paper("dcl"), "table-1-cifar10", [suite])
    row = next(b for b in found if b.value.row_settings == {"batch_size": 128, "loss": "dcl"})
    others = {c.row.source.id: c for b in found if b.value is row.value for c in b.others}
    assert "tau = 0.1, published 0.07" in others["lightly-cifar10"].differences
    assert "tau" in others["lightly-pulls"].unknown
    assert not any(d.startswith("tau") for d in others["lightly-pulls"].differences)


def test_a_number_stands_beside_the_row_with_its_settings_alone() -> None:
    suite = load_suite(SUITES / "dcl-table-1.yaml")
    for found in beside(load_paper("dcl"), "table-1-cifar10", [suite]):
        for other in found.others:
            assert other.row.settings["batch_size"] == found.value.row_settings["batch_size"]
            assert other.row.dataset == "cifar10"
            assert other.row.metric == found.metric
