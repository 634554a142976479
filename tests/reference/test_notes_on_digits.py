"""The numbers in the notes of suites on digits are those of the reference results."""

from collections import defaultdict
from functools import cache
from math import log
from statistics import fmean
from typing import Any

import pytest

from bench.analysis.statistics import t_interval
from bench.cells.baseline import without_baselines
from bench.cells.cell import Cell
from bench.results.reader import Finished, Results
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.differences import gain_of, notes_of, shown
from tests.fakes.paths import REFERENCE, SUITES

SCALE = "cpu"


def cells_of(suite: str, scale: str = SCALE) -> list[Cell]:
    path = SUITES / f"{suite}.yaml"
    return without_baselines(expand(load_suite(path), scale, path))


@cache
def finished(suite: str, scale: str = SCALE) -> list[tuple[Cell, Finished]]:
    return Results(REFERENCE).finished(cells_of(suite, scale))


def notes(suite: str) -> str:
    """Return all notes on digits, on one line."""
    return notes_of(suite, SCALE)


def values(suite: str, metric: str, **settings: Any) -> list[float]:
    return [
        kept.metrics[metric]
        for cell, kept in finished(suite)
        if all(cell.known.get(name) == value for name, value in settings.items())
    ]


def bounds(numbers: list[float]) -> str:
    """Return the range of the numbers with two decimals."""
    low, high = f"{min(numbers):.2f}", f"{max(numbers):.2f}"
    return low if low == high else f"{low} to {high}"


@pytest.mark.parametrize("method", ["byol", "simsiam"])
def test_the_alignment_in_the_note_of_the_eigenspaces_is_that_of_the_cells(method: str) -> None:
    histories = [
        [step["eigenspace_alignment"] for step in kept.history if "eigenspace_alignment" in step]
        for cell, kept in finished("unigrad-eigenspaces")
        if cell.known["method"] == method
    ]
    start, end = (bounds([history[at] for history in histories]) for at in (0, -1))
    name = {"byol": "BYOL", "simsiam": "SimSiam"}[method]
    said = "after the first epoch to {} at the end with {}" if method == "byol" else "to {} with {}"
    assert f"from {start} " in notes("unigrad-eigenspaces")
    assert said.format(end, name) in notes("unigrad-eigenspaces")


def test_the_cosine_and_the_accuracies_in_the_note_of_the_eigenspaces_are_those_of_the_cells() -> (
    None
):
    suite = "unigrad-eigenspaces"
    cosine = bounds(values(suite, "negative_similarity"))
    byol, simsiam = (
        f"{fmean(values(suite, 'warped_knn_top1', method=method)):.1f}"
        for method in ("byol", "simsiam")
    )
    assert f"have a mean cosine of {cosine}" in notes(suite)
    assert f"is {byol} % with BYOL and {simsiam} % with SimSiam" in notes(suite)


def test_the_losses_of_dcl_as_a_classifier_in_the_note_are_those_of_the_cells() -> None:
    suite = "dcl-table-17"
    ends = [t_interval(values(suite, "train_loss", loss="dcl", batch_size=n)) for n in (32, 128)]
    small, large = (f"{e.mean:.1f} ± {(e.high or 0.0) - e.mean:.1f}" for e in ends)
    said = f"DCL's loss ends at {small} nats at batch size 32 and at {large} nats at batch size 128"
    assert said in notes(suite)


def scores(
    suite: str, *point: str, scale: str = SCALE, metric: str = "warped_knn_top1"
) -> dict[tuple[Any, ...], dict[float, float]]:
    """Return the mean of the metric at each learning rate, for each point."""
    found = defaultdict[tuple[Any, ...], dict[float, list[float]]](lambda: defaultdict(list))
    for cell, kept in finished(suite, scale):
        at = tuple(cell.known[name] for name in point)
        found[at][cell.known["base_lr"]].append(kept.metrics[metric])
    return {at: {rate: fmean(of) for rate, of in rates.items()} for at, rates in found.items()}


def test_the_search_with_negatives_from_the_batch_agrees_with_the_rate_on_digits() -> None:
    suite, rate = "search-batch", 0.12
    found = scores(suite, "K", "loss")
    best = {at: max(rates, key=lambda r: rates[r]) for at, rates in found.items()}
    assert {at for at in best if best[at] == rate} == {
        (None, "infonce"), (None, "dcl"), (4, "eqco"),
    }  # fmt: skip
    infonce, dcl, few = (
        f"({found[at][rate]:.1f} %)" for at in ((None, "infonce"), (None, "dcl"), (4, "infonce"))
    )
    less = found[4, "infonce"][0.36] - found[4, "infonce"][rate]
    said = f"InfoNCE {infonce} and DCL {dcl} are best at the learning rate 0.12. With K = 4"
    assert said in notes(suite)
    assert f"EqCo is best at 0.12 too ({found[4, 'eqco'][rate]:.1f} %)" in notes(suite)
    assert f"InfoNCE scores {less:.1f} points less at 0.12 {few} than at 0.36" in notes(suite)


def test_the_search_with_a_queue_agrees_with_the_rate_on_digits() -> None:
    suite, chosen = "search-queue", 0.99
    found = scores(suite, "loss", "momentum")
    best = {
        loss: max(((at, r) for at in found if at[0] == loss for r in found[at]),
                  key=lambda t: found[t[0]][t[1]])
        for loss in ("infonce", "eqco")
    }  # fmt: skip
    assert set(best.values()) == {((loss, chosen), 0.12) for loss in best}
    shown = [f"({found[loss, chosen][0.12]:.1f} %)" for loss in best]
    assert "InfoNCE {} and EqCo {} have their best".format(*shown) in notes(suite)


@pytest.mark.parametrize(("scale", "metric"), [(SCALE, "warped_knn_top1"), ("cifar", "knn_top1")])
def test_each_method_of_dcl_table_8_has_the_rate_of_its_search(scale: str, metric: str) -> None:
    """The rates of the search and of the suite are for networks that start alike."""
    point = ("method", "loss", "zero_init_residual")
    tried = scores("search-dcl-table-8", *point, scale=scale, metric=metric)
    best = {at: max(rates, key=lambda rate: rates[rate]) for at, rates in tried.items()}
    used = {
        tuple(cell.known[name] for name in point): cell.known["base_lr"]
        for cell in cells_of("dcl-table-8", scale)
    }
    assert used == best


def test_swav_has_the_same_rate_on_digits_in_both_its_searches() -> None:
    best = scores("search-dcl-table-8", "method", "loss")["swav", "swav"]
    swav = scores("search-prototypes", "method")["swav",]
    assert max(best, key=lambda rate: best[rate]) == max(swav, key=lambda rate: swav[rate])


SEARCHED_AS = {
    "simclr": "simclr-momentum",
    "barlow-twins": "barlow-twins-momentum",
    "simsiam": "byol",
}
"""Methods without a momentum encoder have the rate of the method with one."""


@pytest.mark.parametrize("suite", [
    "unigrad-eigenspaces",
    "unigrad-figure-2",
    *(f"unigrad-table-{number}" for number in (2, 3, 4, 6, 7, 8, 9, 10)),
])  # fmt: skip
def test_each_siamese_method_has_the_rate_of_its_search(suite: str) -> None:
    """A rate beyond the grid counts like those of the grid; all networks start alike."""
    point = ("method", "zero_init_residual")
    grid, ends = (scores("search-siamese", *point, scale=s) for s in (SCALE, "cpu-ends"))
    tried = {at: rates | ends.get(at, {}) for at, rates in grid.items()}
    best = {at: max(rates, key=lambda rate: rates[rate]) for at, rates in tried.items()}
    used = {
        (*(cell.known[name] for name in point), cell.known["base_lr"]) for cell in cells_of(suite)
    }
    assert used == {
        (method, start, best[SEARCHED_AS.get(method, method), start]) for method, start, _ in used
    }


def test_the_entropies_of_dino_in_the_notes_are_those_of_the_cells() -> None:
    entropies = values("search-prototypes", "teacher_entropy", method="dino")
    assert f"is {bounds(entropies)} nats" in notes("dcl-table-8")
    assert log(256) - min(entropies) < 0.03
    assert "within 0.03 nats of ln 256" in notes("search-prototypes")


SIMCLR = {"method": "simclr"}


@pytest.mark.parametrize(("suite", "one", "other", "said"), [
    (
        "dcl-table-8", {"method": "nnclr", "loss": "dcl"},
        {"method": "vicreg-released", "loss": "vicreg"},
        "now a lead over VICReg is not detectable",
    ),
    (
        "unigrad-table-6", SIMCLR | {"target": "stop-gradient"}, SIMCLR | {"target": "shared"},
        "At 1.92, SimCLR's best learning rate in the suite search-siamese, the difference is not "
        "detectable",
    ),
])  # fmt: skip
def test_a_difference_that_a_note_calls_not_detectable_has_an_interval_with_0(
    suite: str, one: dict[str, Any], other: dict[str, Any], said: str
) -> None:
    _, low, high = gain_of(suite, SCALE, one, other, "warped_linear_top1", seeds=10)
    assert low < 0 < high
    assert said in notes(suite)


def test_the_effects_of_cutmix_and_multi_crop_in_the_note_are_those_of_the_cells() -> None:
    suite, plain = "unigrad-table-4", {"views": "moco-v2", "cutmix": False}
    mixed, many = (plain | {"cutmix": True}, plain | {"views": "multi-crop"})
    cutmix, crops = (
        shown(gain_of(suite, SCALE, of, plain, "warped_linear_top1", seeds=10))
        for of in (mixed, many)
    )
    assert f"by {cutmix} points and multi-crop by {crops} points" in notes(suite)
    mean, low, high = gain_of(suite, SCALE, many, plain, "log2_train_hours", seeds=10)
    factor = shown((2**mean, 2**low, 2**high), digits=2)
    assert f"takes {factor} times" in notes(suite)
    assert f"(at most {fmean(values(suite, 'warped_knn_top1', **plain)):.1f} %" in notes(suite)
