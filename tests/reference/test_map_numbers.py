"""The differences that README and the notes of maps name are those of the reference results."""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import permutations
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bench.analysis.contrasts import difference
from bench.analysis.statistics import Estimate, Interval
from bench.cells.cell import Cell
from bench.suites.load import load_suite
from tests.fakes.differences import gain_of, has, measured_in, notes_of, shown
from tests.fakes.paths import ROOT, SUITES

TEXT = " ".join((ROOT / "README.md").read_text().split())
DCL = {"optimizer": "sgd", "batch_size": 32, "width": 16, "view_strength": 1.0, "epochs": 5}
QUEUE = {"method": "moco-v2", "loss": "infonce"}
MUON = {"optimizer": "muon", "batch_size": 256, "symmetric": False}
UNIGRAD = {"method": "unigrad"}
AS_SEARCHED = {"epochs": 5, "width": 16, "view_strength": 1.0}
CONFIGURATION = ("optimizer", "epochs", "width", "view_strength", "batch_size", "tau")
SIMCO = MUON | {"method": "simco"}

INTERVAL = re.compile(r"[+-]?\d+\.\d+ (?:points )?\[-?\d+\.\d+, -?\d+\.\d+\]")
CHANGED = (
    "method", "loss", "alpha", "K", "momentum", "optimizer", "batch_size", "tau", "symmetric",
    "epochs", "width", "view_strength", "ball_share",
)  # fmt: skip
PART_OF = {"method": {"loss", "alpha", "K", "momentum", "tau"}, "loss": {"alpha"}}
"""Settings that may change together with the method or the loss."""
METRICS = ("knn_top1", "linear_top1", "warped_knn_top1")


@pytest.mark.parametrize(
    ("suite", "scale", "one", "than", "words"),
    [
        ("map-dcl", "cifar", DCL | {"tau": 0.03, "loss": "dcl"}, {"loss": "infonce"},
         "DCL gains {+} at temperature 0.03"),
        ("map-dcl", "cifar", DCL | {"tau": 0.07, "loss": "dcl"}, {"loss": "infonce"},
         "temperature 0.03, {+} at 0.07 (published +4.8)"),
        ("map-dcl", "cifar", DCL | {"epochs": 45, "tau": 0.07, "loss": "dcl"}, {"loss": "infonce"},
         "and at 0.07 {+} after 45 instead of 5 epochs"),
        ("map-dcl", "cifar", DCL | {"width": 64, "tau": 0.07, "loss": "dcl"}, {"loss": "infonce"},
         "5 epochs and {+} with four times the width"),
        ("map-negatives", "cifar", QUEUE | {"optimizer": "sgd", "K": 4096}, {"K": 16},
         "MoCo v2 (batch size 128) changes by {+} with SGD"),
        ("map-negatives", "cifar", QUEUE | {"optimizer": "muon", "K": 4096}, {"K": 16},
         "with SGD and by {+} with Muon"),
        ("map-dual-temperature", "cifar", SIMCO | {"loss": "dual-temperature"}, MUON | QUEUE,
         "SimCo is {} above MoCo v2 (Muon, batch size 256)"),
        ("map-dual-temperature", "cifar", SIMCO | {"loss": "infonce"}, MUON | QUEUE,
         "with InfoNCE instead, SimCo is {} above"),
        ("map-dual-temperature", "cifar100", SIMCO | {"loss": "dual-temperature"}, MUON | QUEUE,
         "these three leads are {},"),
        ("map-dual-temperature", "cifar100", SIMCO | {"loss": "infonce"}, MUON | QUEUE,
         "5.2], {} and"),
        ("map-dual-temperature", "cifar",
         SIMCO | {"loss": "dual-temperature", "symmetric": True}, QUEUE,
         "With a symmetric loss, the lead is {}."),
        ("map-dual-temperature", "cifar100",
         SIMCO | {"loss": "dual-temperature", "symmetric": True}, QUEUE, "and {}. - ["),
        ("map-temperature", "cifar", {"loss": "infonce", "tau": 0.07}, {"tau": 1.0},
         "to 1, InfoNCE loses {} and"),
        ("map-temperature", "cifar", {"loss": "dcl", "tau": 0.07}, {"tau": 1.0},
         "DCL loses {}."),
        *[
            ("map-families", "cifar", {"method": name, "momentum": 0.0}, UNIGRAD, words)
            for name, words in [
                ("simclr-momentum", "momentum encoder (Muon), SimCLR is {} above UniGrad,"),
                ("vicreg-momentum", "above UniGrad, VICReg {}, Barlow"),
                ("barlow-twins-momentum", "Barlow Twins {}, MoCo"),
                ("moco", "MoCo {}. A momentum"),
            ]
        ],
        *[
            ("map-families", "cifar", {"method": name, "momentum": 0.99}, {"momentum": 0.0}, words)
            for name, words in [
                ("moco", "changes MoCo by {+}, UniGrad"),
                ("simclr-momentum", "and SimCLR by {}. Corrected"),
                ("unigrad", "UniGrad by {+} and SimCLR"),
            ]
        ],
        ("map-which-negatives", "cpu", {"method": "ball", "ball_share": 1.0},
         {"ball_share": 0.03}, "the memory bank lower BALL's accuracy by {}."),
        *[
            ("map-which-negatives", "cifar",
             {"optimizer": "muon", "method": name, "ball_share": 0.03}, {"ball_share": 1.0}, words)
            for name, words in [
                ("ball", "change that of BALL by {+} and"),
                ("ring", "that of RING by {+}; corrected"),
            ]
        ],
    ],
)  # fmt: skip
def test_a_difference_in_readme_is_that_of_the_cells(
    suite: str, scale: str, one: dict[str, Any], than: dict[str, Any], words: str
) -> None:
    metric = "knn_top1" if scale.startswith("cifar") else "warped_knn_top1"
    number = interval_of(suite, scale, one, than, metric)
    assert words.replace("{+}", f"+{number}").replace("{}", number) in TEXT


def test_the_linear_gain_with_a_rate_for_each_loss_is_that_of_the_cells() -> None:
    one = DCL | {"tau": 0.07, "loss": "dcl"}
    number = interval_of("map-dcl", "cifar", one, {"loss": "infonce"}, "linear_top1")
    assert f"With its own learning rate for each loss, DCL's gain at 32 is +{number}." in TEXT


def test_the_linear_difference_of_moco_with_sgd_is_that_of_the_cells() -> None:
    sides = ({"method": "moco"}, UNIGRAD)
    number = interval_of("unigrad-table-2", "cifar", *sides, "linear_top1", seeds=3)
    assert f"MoCo's linear accuracy differs from UniGrad's by +{number}." in TEXT


@pytest.mark.parametrize(
    ("method", "than", "shown", "noted"),
    [
        ("ring", "ir-nce", "RING differs from IR with the InfoNCE loss by {} (published +3.5)", ""),
        ("ring", "la", "and from LA by +{} (published +2.9)", "RING leads LA by {} points"),
        ("ring", "la-nce", "", "and LA-NCE by {} points of linear accuracy"),
        ("ir", "ir-nce", "the original IR from IR with InfoNCE by +{} (published -16.9)",
         "the linear accuracy of IR differs from that of IR-NCE by {} points."),
    ],
)  # fmt: skip
def test_the_linear_differences_of_objectives_with_a_bank_are_those_of_the_cells(
    method: str, than: str, shown: str, noted: str
) -> None:
    suite, sides = "mutual-information-table-1", ({"method": method}, {"method": than})
    number = interval_of(suite, "cifar", *sides, "linear_top1", seeds=3)
    assert shown.format(number) in TEXT
    assert noted.format(number) in first_note(suite)


FIGURE_5, FIGURE_7 = (f"mutual-information-figure-{number}" for number in (5, 7))
IR, WITNESS = {"method": "ir"}, {"method": "ir-nce", "witness": "dot"}
NNCLR = {"method": "nnclr", "loss": "dcl"}


@pytest.mark.parametrize(
    ("suite", "one", "than", "words"),
    [
        ("dcl-table-8", NNCLR, {"loss": "infonce"}, "with InfoNCE by +{} points"),
        ("dcl-table-8", NNCLR, {"method": "vicreg-released", "loss": "vicreg"},
         "points and from VICReg by {} points;"),
        (FIGURE_5, IR | {"views": "moco-v1"}, {"views": "none"}, "is +{} points higher."),
        (FIGURE_5, IR | {"views": "flip"}, {"views": "none"}, "accuracy of IR by +{} points"),
        (FIGURE_5, {"method": "cmc", "views": "none"}, IR, "than IR instead of +{}."),
        (FIGURE_7, WITNESS, {"witness": "mlp-1"}, "is {} points above that"),
        (FIGURE_7, WITNESS, {"witness": "mlp-2"}, "and {} points above that"),
        (FIGURE_7, WITNESS, {"witness": "bilinear"}, "it differs by {}"),
        (FIGURE_7, IR | {"bank_rate": 0.5}, {"bank_rate": 0.0}, "IR is {} points more accurate"),
        (FIGURE_7, {"method": "la", "bank_rate": 0.5}, {"bank_rate": 0.0}, "LA differs by {}"),
    ],
)  # fmt: skip
def test_a_difference_in_the_notes_on_cifar10_is_that_of_the_cells(
    suite: str, one: dict[str, Any], than: dict[str, Any], words: str
) -> None:
    number = interval_of(suite, "cifar", one, than, "knn_top1", seeds=3)
    assert words.format(number) in notes_of(suite, "cifar")


NEAR = "near-to-what"
ENTRY, VIEW = {"centre": "entry"}, {"centre": "view"}


@pytest.mark.parametrize(
    ("method", "noted", "shown"),
    [
        ("ring-s-neigh", "is higher by {} points than from the view",
         "and +{} higher if it is measured from the image's stored entry."),
        ("ring-s-neigh-anneal", "and with annealing by {} points.", ""),
        ("ring", "learns with both: the difference is {} points.", ""),
    ],
)  # fmt: skip
def test_the_differences_by_the_centre_of_nearness_are_those_of_the_cells(
    method: str, noted: str, shown: str
) -> None:
    number = interval_of(NEAR, "cifar", {"method": method} | ENTRY, VIEW, "linear_top1", seeds=3)
    assert noted.format(number) in first_note(NEAR)
    assert shown.format(number) in TEXT


@pytest.mark.parametrize(
    ("ring", "words"),
    [("ring", "by {} points without annealing"), ("ring-anneal", "by {} points with annealing;")],
)
def test_the_differences_by_close_neighbours_are_those_of_the_cells(ring: str, words: str) -> None:
    neighbours = {"method": ring.replace("ring", "ring-s-neigh")} | ENTRY
    number = interval_of(NEAR, "cifar", neighbours, {"method": ring}, "linear_top1", seeds=3)
    assert words.format(number) in first_note(NEAR)


def test_the_differences_by_the_centre_of_nearness_on_digits_are_those_of_the_cells() -> None:
    def gain(method: str) -> str:
        sides = ({"method": method} | ENTRY, VIEW)
        return interval_of(NEAR, "cpu", *sides, "warped_linear_top1", seeds=3)

    kinds = ("ball-s-neigh", "ball-s-neigh-anneal", "ring-s-neigh", "ring-s-neigh-anneal")
    gains = sorted(gain(method).split()[0] for method in kinds)
    note = first_note(NEAR, "cpu")
    assert f"is higher by {gains[0]} to {gains[-1]} points than from the view" in note
    assert f"RING gains {gain('ring')} points." in note


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (1, "from epoch 1, its nearest-neighbour accuracy differs by {}"),
        (20, "from epoch 20, by {}"),
    ],
)
def test_the_differences_in_the_note_of_figure_9_are_those_of_the_cells(
    start: int, words: str
) -> None:
    suite, one = "mutual-information-figure-9", {"uniform_epochs": start, "K": 256}
    sides = (one | {"ball_share": 0.1}, {"ball_share": 1.0})
    number = interval_of(suite, "cifar", *sides, "knn_top1", seeds=3)
    assert words.format(number) in first_note(suite)


def test_the_accuracies_in_the_note_of_figure_9_are_those_of_the_cells() -> None:
    suite, late = "mutual-information-figure-9", {"uniform_epochs": 20, "ball_share": 0.1}
    values = [f"{mean_of(suite, 'knn_top1', late | {'K': k}):.1f}" for k in (16, 256, 1024)]
    words = "the accuracy is {} % with K = 16, {} % with 256 and {} % with 1024."
    assert words.format(*values) in first_note(suite)


@pytest.mark.parametrize("scale", ["cifar", "cifar100"])
def test_the_gaps_of_classifiers_in_the_note_are_those_of_the_cells(scale: str) -> None:
    suite = "dcl-table-17"
    sizes = [{"batch_size": size} for size in (32, 128, 256)]
    losses = [mean_of(suite, "train_loss", {"loss": "dcl"} | size, scale) for size in sizes]
    gaps = [
        mean_of(suite, "test_top1", {"loss": "cross-entropy"} | size, scale)
        - mean_of(suite, "test_top1", {"loss": "dcl"} | size, scale)
        for size in sizes
    ]
    note, digits = first_note(suite, scale), 0 if scale == "cifar" else 1
    ends = [f"{loss:.{digits}f}" for loss in losses]
    assert "DCL is {:.1f}, {:.1f} and {:.1f} points less accurate".format(*gaps) in note
    assert "DCL's loss ends at {}, {} and {} nats".format(*ends) in note


def test_the_gains_on_cifar100_in_the_notes_are_those_of_the_cells() -> None:
    note = notes_of("dcl-table-1", "cifar100")
    for size in (32, 64, 128, 256, 512):
        one = {"batch_size": size, "loss": "dcl"}
        gain = interval_of("dcl-table-1", "cifar100", one, {"loss": "infonce"}, "knn_top1")
        assert f" +{gain} {'points at batch size' if size == 32 else 'at'} {size}" in note
    vmf = {"loss": "dclw", "weight": "vmf"}
    note = notes_of("dcl-table-2", "cifar100")
    for loss, text in (("dcl", "DCL, by {} points"), ("infonce", "InfoNCE, by {} points")):
        other = {"loss": loss, "weight": None}
        loss_of = interval_of("dcl-table-2", "cifar100", vmf | other, vmf, "knn_top1")
        assert text.format(loss_of) in note


def test_the_accuracies_of_the_temperatures_in_the_note_are_those_of_the_cells() -> None:
    suite = "mutual-information-figure-10"
    cells, measured = measured_in(suite, "cifar")
    found = defaultdict[float, list[float]](list)
    for cell in cells:
        found[cell.known["tau"]].append(measured.metrics[cell.id]["knn_top1"])
    shown = {tau: f"{fmean(values):.1f}" for tau, values in found.items()}
    low, *_, high = sorted(mean for tau, mean in shown.items() if tau <= 0.1)
    words = first_note(suite)
    assert f"the nearest-neighbour accuracy of the outputs is {low} to {high} %" in words
    assert f"lower at the temperatures 0.5 ({shown[0.5]} %) and 1 ({shown[1.0]} %)." in words


@pytest.mark.parametrize(
    ("metric", "note", "remaining"),
    [
        ("knn_top1", 0, [{"epochs": 45}]),
        ("linear_top1", 2, [{"epochs": 45}, {"tau": 0.03}]),
    ],
)
def test_gains_of_dcl_that_remain_after_correction_are_those_in_the_notes(
    metric: str, note: int, remaining: list[dict[str, Any]]
) -> None:
    corrected = corrected_gains(metric)
    expected = [{**DCL, "tau": 0.07, **changed} for changed in remaining]
    points = [tuple(at[name] for name in CONFIGURATION) for at in expected]
    assert {at for at, gain in corrected.items() if excludes_zero(gain)} == set(points)
    notes = load_suite(SUITES / "map-dcl.yaml").scales["cifar"].notes
    assert f"corrected for {len(corrected)}" in notes[note]
    if metric == "knn_top1":
        assert (
            f"only the gain after 45 epochs is detectable, {bounds(corrected[points[0]])}." in TEXT
        )
        assert f"correction for {len(corrected)}" in notes[0]


@pytest.mark.parametrize("changed", [{"epochs": 45}, {"width": 64}])
def test_corrected_gains_of_dcl_in_the_notes_are_those_of_the_cells(
    changed: dict[str, Any],
) -> None:
    at = {**DCL, "tau": 0.07, **changed}
    point = tuple(at[name] for name in CONFIGURATION)
    texts = [bounds(corrected_gains(metric)[point]) for metric in ("knn_top1", "linear_top1")]
    words = f"corrected for 23, these intervals are {' and '.join(texts)}."
    assert words in first_note("map-dcl")


@cache
def corrected_gains(metric: str) -> dict[tuple[Any, ...], Interval]:
    """Return DCL's gain in each configuration of CIFAR-10, corrected for their number."""
    found = gains_of("cifar", metric)
    return {at: gain.interval(1 - 0.05 / len(found)) for at, gain in found.items()}


def bounds(interval: Interval) -> str:
    return f"[{interval.low:.2f}, {interval.high:.2f}]"


def excludes_zero(interval: Interval) -> bool:
    assert interval.low is not None
    assert interval.high is not None
    return interval.low > 0 or interval.high < 0


def test_shares_that_differ_from_the_whole_bank_after_correction_are_those_in_the_notes() -> None:
    cells, measured = measured_in("map-which-negatives", "cifar")
    sides = defaultdict[Any, list[Cell]](list)
    for cell in cells:
        if cell.known["optimizer"] == "muon":
            sides[cell.known["method"], cell.known.get("ball_share")].append(cell)
    pairs = {
        at: (own, sides["ring" if at[0] == "ring" else "ball", 1.0])
        for at, own in sides.items()
        if at[1] != 1.0
    }
    texts = {}
    for at, pair in pairs.items():
        found = difference("knn_top1", [pair], measured)
        assert found is not None
        gain = found.interval(1 - 0.05 / len(pairs))
        if excludes_zero(gain):
            texts[at] = bounds(gain)
    assert [len(pairs), len(texts)] == [7, 2]
    shown = " and ".join(texts["ring", share] for share in (0.03, 0.1))
    words = f"these intervals are {shown}, and the other five include 0."
    assert words in first_note("map-which-negatives")


def first_note(suite: str, scale: str = "cifar") -> str:
    """Return the first note of a suite on a scale, on one line."""
    return " ".join(load_suite(SUITES / f"{suite}.yaml").scales[scale].notes[0].split())


def configuration(cell: Cell) -> tuple[Any, ...]:
    return tuple(cell.known[name] for name in CONFIGURATION)


def interval_of(
    suite: str,
    scale: str,
    one: dict[str, Any],
    than: dict[str, Any],
    metric: str,
    *,
    seeds: int = 5,
) -> str:
    """Return a difference with its interval; `than` lists the other side's settings that differ."""
    return shown(gain_of(suite, scale, one, than, metric, seeds=seeds))


def mean_of(suite: str, metric: str, settings: dict[str, Any], scale: str = "cifar") -> float:
    """Return the mean of a metric over the cells with these settings."""
    cells, measured = measured_in(suite, scale)
    return fmean(measured.metrics[cell.id][metric] for cell in cells if has(cell, settings))


@pytest.mark.parametrize(
    ("scale", "settings", "words"),
    [
        ("cifar", {"optimizer": "sgd", "batch_size": [32, 256], **AS_SEARCHED},
         "over the eight configurations with SGD, five epochs, width 16, full views and batch size "
         "32 or 256, the rank correlation between the gain in kNN accuracy and the variation of "
         "q_B (standard deviation divided by mean) is {}"),
        ("cifar", {"optimizer": "muon"}, "over the eight with Muon, it is {}"),
        ("cifar", {}, "over all 23 configurations, it is {}"),
        ("cifar", {"optimizer": "sgd", "tau": 0.07, "batch_size": [8, 32]},
         "over the seven with SGD, temperature 0.07 and batch size 8 or 32, it is {}"),
        ("cpu", {}, "Over the 23 configurations, the rank correlation between gain and variation "
         "is {}"),
        ("cpu", {"optimizer": "sgd", "tau": 0.07, "batch_size": [8, 32]},
         "over the seven with SGD, temperature 0.07 and batch size 8 or 32, it is {}"),
    ],
)  # fmt: skip
def test_a_rank_correlation_in_the_notes_on_dcl_is_that_of_the_configurations(
    scale: str, settings: dict[str, Any], words: str
) -> None:
    assert_correlated(gains(scale, settings), "map-dcl", "q_b_cv", scale, words)


@pytest.mark.parametrize(
    ("scale", "settings", "words"),
    [
        ("cifar", {}, "share of queries with q_B below 0.1 is {}"),
        ("cpu", {}, "share of queries with q_B below 0.1 is {}"),
        ("cifar", {"optimizer": "sgd"}, "Over the 14 configurations with SGD, the rank correlation "
         "between gain and share is {}"),
        ("cifar", {"optimizer": "muon"}, "over the eight with Muon, it is {}"),
    ],
)  # fmt: skip
def test_a_rank_correlation_with_the_share_is_that_of_the_configurations(
    scale: str, settings: dict[str, Any], words: str
) -> None:
    assert_correlated(gains(scale, settings), "map-dcl-q-b", "q_b_low", scale, words)


@pytest.mark.parametrize("scale", ["cpu", "cifar"])
def test_the_share_of_small_q_b_orders_the_configurations_as_its_variation_does(scale: str) -> None:
    variations = means("map-dcl-q-b", "q_b_cv", scale)
    words = "almost as the variation of q_B does (rank correlation {})"
    assert_correlated(variations, "map-dcl-q-b", "q_b_low", scale, words)


def assert_correlated(values: pd.Series, suite: str, metric: str, scale: str, words: str) -> None:
    """Check that the notes of a suite give the rank correlation of values with a metric of it."""
    notes = notes_of(suite, scale)
    others = means(suite, metric, scale)
    assert values.index.difference(others.index).empty
    values, others = values.align(others, join="inner")
    expected = words.format(f"{values.rank().corr(others.rank()):.2f}")
    assert expected.lower() in notes.lower()


def means(suite: str, metric: str, scale: str) -> pd.Series:
    """Return the means of a metric over InfoNCE's seeds, by configuration."""
    cells, measured = measured_in(suite, scale)
    values = defaultdict[tuple[Any, ...], list[float]](list)
    for cell in cells:
        if cell.known["loss"] == "infonce":
            values[configuration(cell)].append(measured.metrics[cell.id][metric])
    return pd.Series({at: fmean(found) for at, found in values.items()})


def gains(scale: str, settings: dict[str, Any]) -> pd.Series:
    """Return DCL's gain in kNN accuracy in the suite map-dcl, by configuration."""
    metric = "knn_top1" if scale == "cifar" else "warped_knn_top1"
    found = gains_of(scale, metric, **settings)
    return pd.Series({at: gain.interval().mean for at, gain in found.items()})


def gains_of(scale: str, metric: str, **settings: Any) -> dict[tuple[Any, ...], Estimate]:
    """Return DCL's gain over InfoNCE in each configuration of map-dcl with these settings."""
    cells, measured = measured_in("map-dcl", scale)
    points = defaultdict[tuple[Any, ...], dict[str, list[Cell]]](lambda: defaultdict(list))
    for cell in cells:
        if all(cell.known[name] in np.atleast_1d(value) for name, value in settings.items()):
            points[configuration(cell)][cell.known["loss"]].append(cell)
    found = {
        at: difference(metric, [(sides["dcl"], sides["infonce"])], measured)
        for at, sides in points.items()
    }
    return {at: gain for at, gain in found.items() if gain is not None}


@pytest.mark.parametrize("suite", sorted(path.stem for path in SUITES.glob("map-*.yaml")))
def test_each_interval_in_the_notes_of_a_map_is_that_of_two_points(suite: str) -> None:
    unknown = [
        f"{scale}: {text}"
        for scale in load_suite(SUITES / f"{suite}.yaml").scales.keys() - {"smoke"}
        for text, others in intervals_in_notes(suite, scale)
        if not any(text in written(name, scale, text) for name in (suite, *others))
    ]
    assert unknown == []


def intervals_in_notes(suite: str, scale: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each interval of the notes on a scale, with other suites that its sentence names."""
    for note in load_suite(SUITES / f"{suite}.yaml").notes_at(scale):
        for sentence in " ".join(note.split()).split(". "):
            words = sentence.replace(",", "").split()
            others = [w for w in words if w != suite and (SUITES / f"{w}.yaml").exists()]
            for text in INTERVAL.findall(sentence):
                yield text.replace("points ", "").removeprefix("+"), others


def written(suite: str, scale: str, text: str) -> set[str]:
    """Return all differences between two points, with as many decimals as `text` has."""
    decimals = len(text.split()[0].split(".")[1])
    return {
        f"{i.mean:.{decimals}f} [{i.low:.{decimals}f}, {i.high:.{decimals}f}]"
        for i in differences(suite, scale)
    }


@cache
def differences(suite: str, scale: str) -> list[Interval]:
    """Return the differences between all points that differ in one setting, or in its method."""
    cells, measured = measured_in(suite, scale)
    points = defaultdict[str, list[Cell]](list)
    for cell in cells:
        if cell.id in measured.metrics:
            points[cell.but_seed].append(cell)
    sides = [side for side in permutations(points.values(), 2) if one_changed(*side)]
    found = [difference(metric, [side], measured) for metric in METRICS for side in sides]
    return [estimate.interval() for estimate in found if estimate is not None]


def one_changed(one: list[Cell], other: list[Cell]) -> bool:
    values = {n: (one[0].known.get(n), other[0].known.get(n)) for n in CHANGED}
    changed = {n for n, (a, b) in values.items() if a != b and None not in (a, b)}
    for name, parts in PART_OF.items():
        if name in changed:
            changed -= parts
    return len(changed) == 1
