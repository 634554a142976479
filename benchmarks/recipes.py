"""The recipe of each family of methods at the scale `cifar`, by a rule that sees no effect.

The rule stands in `docs/explanation/recipes.md`, with the tables that this module makes of the
reference results of the suites `recipe-*`. Only a family's baseline loss is trained there.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from bench.results.reader import Done

SLOWEST = 1.35  # a trial's core-seconds, over the mean of the cheapest optimiser's trials
METRICS = {"recipe-supervised": "test_top1"}  # of the others: kNN accuracy
TIE = 1.0  # points of accuracy that one seed does not tell apart
PLAINEST = "sgd"  # wins a tie
HEADS = (
    "optimiser",
    "learning rate at 256",
    "held-out accuracy (smallest, largest setting)",
    "score",
    "core-seconds",
    "",
)


@dataclass(frozen=True)
class Trial:
    """One recipe, trained at the family's smallest and largest setting."""

    optimizer: str
    base_lr: float
    accuracies: tuple[float, ...]  # of each setting, percent of the held-out images
    core_s: float  # of a cell with its evaluations, mean over the settings

    @property
    def score(self) -> float:
        """Mean accuracy over the settings."""
        return fmean(self.accuracies)


def trials_of(done: Done, metric: str) -> list[Trial]:
    """Return the trials of a search, the cells of each in the order of the suite.

    Args:
        done: finished cells of the search with their results.
        metric: the accuracy that judges.
    """
    found: dict[tuple[str, float], list[tuple[float, float]]] = defaultdict(list)
    for cell, kept in done:
        numbers = kept.metrics[metric], kept.provenance["cpu_s"]
        found[cell.known["optimizer"], cell.known["base_lr"]].append(numbers)
    return [
        Trial(optimizer, base_lr, tuple(a for a, _ in numbers), fmean(s for _, s in numbers))
        for (optimizer, base_lr), numbers in found.items()
    ]


def chosen(trials: Sequence[Trial]) -> Trial:
    """Return the recipe that the rule takes.

    Args:
        trials: all of a family.

    Raises:
        ValueError: optimisers have unequal numbers of trials, or trials unequal numbers of
            settings.
    """
    by_optimiser = _by_optimiser(trials)
    if len({len(own) for own in by_optimiser.values()}) > 1:
        counts = ", ".join(f"{name} {len(own)}" for name, own in by_optimiser.items())
        raise ValueError(f"unequal numbers of trials: {counts}")
    if len({len(trial.accuracies) for trial in trials}) > 1:
        raise ValueError("some trials lack a setting")
    limit = limit_of(trials)
    within = [[t for t in own if t.core_s <= limit] for own in by_optimiser.values()]
    best = [max(own, key=lambda t: t.score) for own in within if own]
    top = max(trial.score for trial in best)
    tied = [trial for trial in best if trial.score > top - TIE]
    return min(tied, key=lambda t: (t.optimizer != PLAINEST, t.core_s))


def limit_of(trials: Sequence[Trial]) -> float:
    """Return the core-seconds of a cell beyond which a trial is left out."""
    every = _by_optimiser(trials).values()
    return SLOWEST * min(fmean(trial.core_s for trial in own) for own in every)


def rows(trials: Sequence[Trial], best: Trial | None) -> Iterable[tuple[str, ...]]:
    """Return a line of the table for each trial, with what the rule decides about it.

    Args:
        trials: all of a family.
        best: the one that the rule takes; None while some are missing.
    """
    limit = limit_of(trials)
    for trial in sorted(trials, key=lambda t: (t.optimizer != PLAINEST, t.optimizer, t.base_lr)):
        over = "over the time limit" if best and trial.core_s > limit else ""
        yield (
            trial.optimizer,
            f"{trial.base_lr:g}",
            ", ".join(f"{accuracy:.1f}" for accuracy in trial.accuracies),
            f"{trial.score:.1f}",
            f"{trial.core_s:.0f}",
            "taken" if trial == best else over,
        )


def _by_optimiser(trials: Iterable[Trial]) -> dict[str, list[Trial]]:
    found: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        found[trial.optimizer].append(trial)
    return found
