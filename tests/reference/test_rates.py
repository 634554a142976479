"""Maps and memory banks train at the rates that are best in their searches, and by nothing else."""

from collections import defaultdict
from collections.abc import Sequence
from math import inf
from statistics import fmean
from typing import Any

import pytest

from bench.cells.cell import Cell
from bench.results.reader import Results
from bench.suites.expand import expand
from bench.suites.load import load_suite
from benchmarks.recipes import chosen, trials_of
from tests.fakes.paths import REFERENCE, ROOT, SUITES

POINT = ("optimizer", "batch_size", "tau", "loss")
SYMMETRY = ("optimizer", "symmetric", "batch_size", "method", "loss")
KNN = ("warped_knn_top1",)


def cells_of(suite: str, scale: str = "cpu") -> list[Cell]:
    path = SUITES / f"{suite}.yaml"
    return [c for c in expand(load_suite(path), scale, path) if c.known.get("loss") is not None]


def best_in(
    suite: str,
    point: Sequence[str],
    searched: Sequence[str],
    scale: str = "cpu",
    *,
    values: int = 3,
    metrics: Sequence[str] = KNN,
    **only: Any,
) -> dict[Any, tuple[Any, ...]]:
    """Return the searched settings with the best mean at each point of a search's cells.

    `only` selects cells by their settings.

    The mean is over the metrics, the seeds and the settings that are not named. A trial that
    diverged is worse than all others.

    Each searched setting has the same number of values.
    """
    accuracies: dict[Any, dict[tuple[Any, ...], list[float]]] = defaultdict(dict)
    results = Results(REFERENCE)
    cells = [c for c in cells_of(suite, scale) if all(c.known[k] == v for k, v in only.items())]
    diverged = {cell.id for cell, _ in results.failed(cells, results.finished(cells))}
    for cell in cells:
        known = cell.known
        kept = results.find(cell)
        assert kept is not None or cell.id in diverged, f"{suite}: {cell.id} is not exported"
        tried = accuracies[tuple(known[name] for name in point)]
        score = fmean(kept.metrics[name] for name in metrics) if kept else -inf
        tried.setdefault(tuple(known[name] for name in searched), []).append(score)
    assert all(len(tried) == values * len(searched) for tried in accuracies.values())
    return {p: max(tried, key=lambda t: fmean(tried[t])) for p, tried in accuracies.items()}


@pytest.mark.parametrize(
    ("of", "scale", "names", "values", "count"),
    [
        ("map-dcl", "cpu", POINT, 3, 220),
        ("map-dcl", "cifar", POINT, 3, 220),
        ("map-temperature", "cpu", POINT, 3, 100),
        ("map-temperature", "cifar", POINT, 3, 100),
        ("map-negatives", "cpu", ("method", "K", "loss"), 3, 60),
        ("map-dual-temperature", "cpu", SYMMETRY, 3, 60),
        ("map-dual-temperature", "cifar", SYMMETRY, 4, 100),
        ("map-dual-temperature", "cifar100", SYMMETRY, 4, 80),  # those of CIFAR-10
        ("map-which-negatives", "cpu", ("method", "ball_share"), 3, 40),
        ("map-which-negatives", "cifar", ("method", "ball_share"), 3, 45),
        ("map-families", "cpu", ("momentum", "method"), 3, 42),
        ("map-families", "cifar", ("momentum", "method"), 3, 70),
    ],
)
def test_each_loss_has_the_rate_of_the_search(
    of: str, scale: str, names: Sequence[str], values: int, count: int
) -> None:
    on, metrics = ("cpu", KNN) if scale == "cpu" else ("cifar", ("knn_top1",))
    best = best_in(f"search-{of}", names, ["base_lr"], on, values=values, metrics=metrics)
    cells = [c for c in cells_of(of, scale) if not is_control(of, scale, c)]
    assert len(cells) == count
    for cell in cells:
        point = {name: cell.known[name] for name in names}
        if "batch_size" in point:
            point["batch_size"] = max(point["batch_size"], 32)  # batch size 8 has the rate of 32
        assert (cell.known["base_lr"],) == best[tuple(point.values())], cell.settings


def is_control(of: str, scale: str, cell: Cell) -> bool:
    """Adam has one rate; BALL with SGD on CIFAR-10 has the rate of another search."""
    others = ("adam", "sgd") if (of, scale) == ("map-which-negatives", "cifar") else ("adam",)
    return cell.known["optimizer"] in others


def test_ball_with_sgd_has_the_recipe_of_ring_in_the_search_of_memory_banks() -> None:
    point = ["method", "optimizer", "bank_rate", "lr_schedule", "warmup_epochs"]
    best = best_in(
        "search-bank", point, ["base_lr"], "cifar", metrics=("knn_top1",), optimizer="sgd"
    )
    cells = [c for c in cells_of("map-which-negatives", "cifar") if c.known["optimizer"] == "sgd"]
    assert len(cells) == 10
    for cell in cells:
        known = {**cell.known, "method": "ring"}
        assert (known["base_lr"],) == best[tuple(known[name] for name in point)], cell.settings


def test_the_map_on_cifar10_has_the_chosen_recipe_of_each_method() -> None:
    """The control with SGD has the best rate of SGD."""
    searches = {"moco-v2": "recipe-queue", "simclr": "recipe-batch"}
    cells = cells_of("map-negatives", "cifar")
    assert len(cells) == 75
    for method, search in searches.items():
        done = Results(REFERENCE).finished(cells_of(search, "cifar"))
        trials = trials_of(done, "knn_top1")
        recipe = chosen(trials)
        control = max((t for t in trials if t.optimizer == "sgd"), key=lambda t: t.score)
        own = [cell.known for cell in cells if cell.known["method"] == method]
        assert {(k["optimizer"], k["base_lr"]) for k in own} == {
            (trial.optimizer, trial.base_lr) for trial in (recipe, control)
        }


def test_memory_banks_have_the_rates_of_their_searches() -> None:
    """RING stands for all objectives with chosen negatives."""
    best = best_in("search-bank", ["method"], ["bank_rate", "base_lr"])
    constant = best_in("search-bank-constant", ["method"], ["base_lr"])
    assert len(best) == len(constant) == 2
    figures = {f"figure-{n}": n for n in (1, 2, 4, 7, 8, 9)}
    tables = {f"table-{n}": 0 for n in ("1", "2b", "2c", "2d", "2e", "4")}
    for name, number in (figures | tables).items():
        for cell in cells_of(f"mutual-information-{name}"):
            known = cell.known
            if known["normaliser"] == "constant":
                rates = (0.5, *constant[known["method"],])
            else:
                unchosen = known["method"] in ("ir", "ir-nce")
                rates = best["ir-nce" if unchosen else "ring",]
            assert known["base_lr"] == rates[1], cell.settings
            assert number in (2, 7) or known["bank_rate"] == rates[0], cell.settings


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("figure-5", 24),
        ("figure-7", 27),
        ("figure-8", 18),
        ("figure-9", 18),
        ("figure-10", 21),
        ("table-1", 36),
    ],
)
def test_memory_banks_on_cifar10_have_the_chosen_recipe(name: str, count: int) -> None:
    """IR and LA with a constant normaliser have the best of four rates of Muon.

    All objectives share the update rate with the best mean of IR-NCE and RING.
    """
    done = Results(REFERENCE).finished(cells_of("recipe-bank", "cifar"))
    recipe = chosen(trials_of(done, "knn_top1"))
    constant = best_in(
        "search-bank-constant",
        ["method"],
        ["base_lr"],
        "cifar",
        values=4,
        metrics=("knn_top1",),
        optimizer=recipe.optimizer,
    )
    cells = cells_of(f"mutual-information-{name}", "cifar")
    assert len(cells) == count
    for cell in cells:
        known = cell.known
        own = known["normaliser"] == "constant"
        rate = constant[known["method"],][0] if own else recipe.base_lr
        assert (known["optimizer"], known["base_lr"]) == (recipe.optimizer, rate), cell.settings
    updates = best_in(
        "search-bank",
        ["optimizer"],
        ["bank_rate"],
        "cifar",
        values=2,
        metrics=("knn_top1",),
        optimizer=recipe.optimizer,
    )
    rates = {cell.known["bank_rate"] for cell in cells}
    assert rates == {*updates[recipe.optimizer,], *([0.0] if name == "figure-7" else [])}


def test_the_accuracies_at_both_update_rates_in_the_texts_are_those_of_the_search() -> None:
    results, found = Results(REFERENCE), {}
    for cell in cells_of("search-bank", "cifar"):
        if cell.known["optimizer"] == "muon":
            kept = results.find(cell)
            assert kept is not None
            found[cell.known["method"], cell.known["bank_rate"]] = f"{kept.metrics['knn_top1']:.1f}"
    half = found["ir-nce", 0.5], found["ring", 0.5]
    high = found["ir-nce", 0.9], found["ring", 0.9]
    note = " ".join(load_suite(SUITES / "search-bank.yaml").notes[-1].split())
    assert "IR-NCE has a kNN accuracy of {} % and RING of {} %;".format(*half) in note
    assert "at 0.9, they have {} and {} %.".format(*high) in note
    page = " ".join((ROOT / "docs/explanation/recipes.md").read_text().split())
    assert f"IR-NCE reaches {half[0]} % with 0.5 and {high[0]} % with 0.9" in page
    assert f"RING {half[1]} and {high[1]} %." in page


def test_losses_with_a_queue_have_the_rates_of_their_search() -> None:
    """A loss's score is its mean over the short and the long queue."""
    best = best_in("search-queue", ["loss"], ["base_lr"], "cpu-dcl", values=4)
    assert len(best) == 2
    for cell in cells_of("dcl-table-5"):
        assert (cell.known["base_lr"],) == best[cell.known["loss"],], cell.settings


def test_classifiers_on_digits_have_the_rates_of_their_search() -> None:
    """A loss's score is its mean over right labels and the largest share of wrong ones."""
    best = best_in("search-classifier", ["loss"], ["base_lr"], values=7, metrics=("test_top1",))
    assert len(best) == 2
    for cell in cells_of("dual-temperature-table-2"):
        assert (cell.known["base_lr"],) == best[cell.known["loss"],], cell.settings


@pytest.mark.parametrize("name", ["dual-temperature-table-2", "dcl-table-17"])
@pytest.mark.parametrize(
    ("scale", "searched"), [("cifar", "cifar-muon"), ("cifar-sgd", "cifar")], ids=["muon", "sgd"]
)
def test_classifiers_on_cifar10_have_the_rates_of_their_search(
    name: str, scale: str, searched: str
) -> None:
    best = best_in(
        "search-classifier", ["loss"], ["base_lr"], searched, values=7, metrics=("test_top1",)
    )
    assert len(best) == 3
    (optimizer,) = {cell.known["optimizer"] for cell in cells_of("search-classifier", searched)}
    for cell in cells_of(name, scale):
        assert (cell.known["base_lr"],) == best[cell.known["loss"],], cell.settings
        assert cell.known["optimizer"] == optimizer


def test_classifiers_on_cifar100_have_the_rates_of_their_search() -> None:
    best = best_in(
        "search-classifier", ["loss"], ["base_lr"], "cifar100", values=7, metrics=("test_top1",)
    )
    assert best == {("cross-entropy",): (0.14,), ("dcl",): (0.0175,)}
    cells = cells_of("dcl-table-17", "cifar100")
    assert len(cells) == 18
    for cell in cells:
        assert (cell.known["base_lr"],) == best[cell.known["loss"],], cell.settings


def test_classifiers_on_cifar10_have_the_recipe_of_their_family() -> None:
    done = Results(REFERENCE).finished(cells_of("recipe-supervised", "cifar"))
    recipe = chosen(trials_of(done, "test_top1"))
    for cell in cells_of("search-classifier", "cifar-muon"):
        known = cell.known
        assert (known["optimizer"], known["lr_schedule"]) == (recipe.optimizer, "triangular")
        assert (known["warmup_epochs"], known["views"]) == (1, "crop-flip")


def test_clip_has_the_rates_of_its_search() -> None:
    """A loss's score is its mean over the small and the large batch, and both directions."""
    point, metrics = ["loss", "learned_tau"], ("image_to_text_top1", "text_to_image_top1")
    best = best_in("dcl-clip", point, ["lr"], "search", metrics=metrics)
    assert len(best) == 4
    for cell in cells_of("dcl-clip"):
        key = cell.known["loss"], cell.known["learned_tau"]
        assert (cell.known["lr"],) == best[key], cell.settings
