"""How often a verdict is wrong: truths are planted, and the code that judges results judges them.

Every predicate, with 3 and 5 seeds, equal and unequal spread of the runs (ratio 3), claims of 1 to
12 checks, and values beside printed ones. The unit of every effect is the standard deviation of one
run. Exit status 1 where a false verdict comes more often than its nominal rate plus three standard
errors of the simulation, or where a verdict that is due comes less often than it must.

    python -m benchmarks.verdicts [--draws 2000] [--only exceeds]
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
from pydantic import TypeAdapter

from bench.analysis.claims import by_claim, judge_claims
from bench.analysis.statistics import t_interval
from bench.analysis.verdicts import judge_value
from bench.cells.cell import Cell
from bench.papers.reader import load_paper
from bench.results.reader import Finished
from bench.suites.checks import Check
from bench.suites.load import load_suite
from bench.suites.suite import Scale

CLAIM = "qb-mean-to-one"  # of any paper: its checks are replaced by the planted ones
SUITE = Path(__file__).parents[1] / "suites" / "dcl-figure-1.yaml"
METRIC = "linear_top1"
SCALE = "cpu"
NOMINAL = 0.05
FAILS = "not seen at this scale"  # what failing is called at the planted, reduced scale
CHECK: TypeAdapter[Check] = TypeAdapter(Check)
Settings = dict[str, Any]
OWN, THEIRS = {"loss": "dcl"}, {"loss": "infonce"}


@dataclass(frozen=True)
class Planted:
    """What the code that judges asks of a cell."""

    settings: Settings
    seed: int
    experiment: str = "pretrain"

    @cached_property
    def id(self) -> str:
        """The cell's name."""
        return f"{sorted(self.settings.items())} {self.seed}"

    @cached_property
    def known(self) -> Settings:
        """What cells are chosen by."""
        return {"experiment": self.experiment} | self.settings

    @cached_property
    def but_seed(self) -> str:
        """What cells of one point have in common."""
        return str(sorted(self.settings.items()))

    def step_of(self, metric: str) -> float | None:
        """Return the step in which the metric moves: far below its noise."""
        return 1e-6 if metric == METRIC else None


def level(settings: Settings) -> float:
    """Return a truth without any effect."""
    return 0.0 * len(settings)


def even(settings: Settings) -> float:
    """Return the same spread everywhere."""
    return 1.0 + 0.0 * len(settings)


def loud_own(settings: Settings) -> float:
    """Return a spread three times as large on the check's own side."""
    return 3.0 if settings["loss"] == "dcl" else 1.0


def loud_theirs(settings: Settings) -> float:
    """Return a spread three times as large on the side compared with."""
    return 1.0 if settings["loss"] == "dcl" else 3.0


def loud_start(settings: Settings) -> float:
    """Return a spread three times as large at the first value of the axis as elsewhere."""
    return 3.0 if settings["x"] == 1 else 1.0


def loud_end(settings: Settings) -> float:
    """Return a spread that grows threefold along an axis of five."""
    return float(1 + (settings["x"] - 1) / 2)


@dataclass(frozen=True)
class Situation:
    """A planted truth, the checks of a claim on it, and what may be said of it how often."""

    name: str
    checks: list[Settings]
    axes: Mapping[str, Sequence[Any]]
    truth: Callable[[Settings], float] = level
    wrong: tuple[str, ...] = ()  # verdicts that are false
    due: str | None = None  # the verdict that is right
    least: dict[int, float] = field(default_factory=dict)  # how often it must come, by seeds
    spreads: tuple[Callable[[Settings], float], ...] = (even,)

    def counts(self, seeds: int, draws: int, spread: Any) -> Counter[str]:
        """Return how often each verdict came."""
        draw = np.random.default_rng(seeds)
        names, values = list(self.axes), product(*self.axes.values())
        points = [dict(zip(names, point, strict=True)) for point in values]
        cells = [Planted(point, seed) for point in points for seed in range(seeds)]
        mean = np.array([self.truth(c.settings) for c in cells])
        sd = np.array([spread(c.settings) for c in cells])
        checks = [CHECK.validate_python({"metric": METRIC} | check) for check in self.checks]
        plain = Scale(what="planted", protocol="reduced")
        changes = {"claims": {CLAIM: checks}, "scales": {SCALE: plain}}
        suite = load_suite(SUITE).model_copy(update=changes)
        judged_as, counts = cast("list[Cell]", cells), Counter[str]()
        for _ in range(draws):
            numbers = mean + sd * draw.standard_normal(len(cells))
            done = [
                (c, Finished({METRIC: float(v), "bound": 0.0}, {}))
                for c, v in zip(judged_as, numbers, strict=True)
            ]
            judged = judge_claims(suite, SCALE, judged_as, done, load_paper("dcl"))
            ((_, verdict, _),) = by_claim(judged)
            counts[str(verdict)] += 1
        return counts


def exceeds(**more: Any) -> Settings:
    """Return the check that one side exceeds the other."""
    return {"check": "exceeds", "where": OWN, "than": THEIRS} | more


SIDES = {"loss": ["dcl", "infonce"]}
GROUPS = SIDES | {"x": range(1, 6)}
AXIS = {"loss": ["dcl"], "x": range(1, 6)}
EIGHT = {"loss": ["dcl"], "x": range(1, 9)}
BOTH_SPREADS = (even, loud_own, loud_theirs)
ALONG = (even, loud_start, loud_end)


def lead(amount: float) -> Callable[[Settings], float]:
    """Return a truth in which the check's own side lies higher by so much."""
    return lambda s: amount * (s["loss"] == "dcl")


def rise(amount: float) -> Callable[[Settings], float]:
    """Return a truth that rises by so much per step of the axis."""
    return lambda s: amount * s["x"]


def first_off(amount: float) -> Callable[[Settings], float]:
    """Return a truth in which the first value of the axis lies higher by so much."""
    return lambda s: amount * (s["x"] == 1)


def simple() -> Iterator[Situation]:
    """Return comparisons of two sides, group by group or on average."""
    either = ("holds", FAILS)
    yield Situation("exceeds 0, true 0", [exceeds()], SIDES, level, either, spreads=BOTH_SPREADS)
    for size, least in ((1.0, {}), (2.0, {3: 0.35, 5: 0.73}), (3.0, {})):
        yield Situation(
            f"exceeds 0, true {size:g}", [exceeds()], SIDES, lead(size), (FAILS,), "holds", least
        )
    yield Situation("exceeds 0 in each of 5 groups, true 0", [exceeds()], GROUPS, level, either,
                    spreads=BOTH_SPREADS)  # fmt: skip
    yield Situation("exceeds 0 in each of 5 groups, true 2", [exceeds()], GROUPS, lead(2.0),
                    (FAILS,), "holds", {3: 0.003, 5: 0.19})  # fmt: skip
    mean = [exceeds(mean=True)]
    yield Situation("exceeds 0, mean of 5 groups, true 0", mean, GROUPS, level, either,
                    spreads=BOTH_SPREADS)  # fmt: skip
    yield Situation("exceeds 0, mean of 5 groups, true 1", mean, GROUPS, lead(1.0), (FAILS,),
                    "holds", {3: 0.48, 5: 0.85})  # fmt: skip
    yield Situation("not lower by more than 1, true -1", [exceeds(by=-1.0)], SIDES, lead(-1.0),
                    either, spreads=BOTH_SPREADS)  # fmt: skip
    yield Situation("not lower by more than 1, true 0", [exceeds(by=-1.0)], SIDES, level,
                    (FAILS,), "holds", {3: 0.09, 5: 0.24})  # fmt: skip
    for within in (0.0, 1.0, 2.0, 4.0):
        check = [{"check": "equal", "where": OWN, "than": THEIRS, "within": within}]
        yield Situation(f"equal within {within:g}, true {within:g}", check, SIDES, lead(within),
                        either, spreads=BOTH_SPREADS)  # fmt: skip
    for within, least in ((2.0, {3: 0.1, 5: 0.48}), (4.0, {3: 0.79, 5: 0.99})):
        check = [{"check": "equal", "where": OWN, "than": THEIRS, "within": within}]
        yield Situation(
            f"equal within {within:g}, true 0", check, SIDES, level, (FAILS,), "holds", least
        )


def along_an_axis() -> Iterator[Situation]:
    """Return checks on the values along an axis."""
    either = ("holds", FAILS)
    flat = {"check": "flat", "over": "x", "where": OWN}
    for within in (2.0, 4.0):
        yield Situation(f"flat within {within:g} over 5, first off", [flat | {"within": within}],
                        AXIS, first_off(within), either, spreads=ALONG)  # fmt: skip
    yield Situation("flat within 4 over 5, flat", [flat | {"within": 4.0}], AXIS, level, (FAILS,),
                    "holds", {3: 0.24, 5: 0.97})  # fmt: skip
    ordered = [{"check": "ordered", "over": "x", "where": OWN, "direction": "rising"}]
    yield Situation("ordered over 5, all equal", ordered, AXIS, level, either,
                    spreads=ALONG)  # fmt: skip
    for step, least in ((2.0, {3: 0.012, 5: 0.23}), (4.0, {3: 0.43, 5: 0.98})):
        yield Situation(f"ordered over 5, steps of {step:g}", ordered, AXIS, rise(step), (FAILS,),
                        "holds", least)  # fmt: skip
    change = [{"check": "change", "over": "x", "where": OWN, "direction": "rising", "by": 1.0}]
    yield Situation("change by 1, true 1", change, AXIS, rise(0.25), either,
                    spreads=ALONG)  # fmt: skip
    yield Situation("change by 1, true 3", change, AXIS, rise(0.75), (FAILS,), "holds",
                    {3: 0.3, 5: 0.7})  # fmt: skip
    one = [{"check": "peak", "over": "x", "where": OWN, "near": [5, 5]}]
    most = [{"check": "peak", "over": "x", "where": OWN, "near": [1, 7]}]
    yield Situation("peak at 1 of 8, true lead 0.5", one, EIGHT, lambda s: 0.5 * (s["x"] == 5),
                    (FAILS,), spreads=(even, loud_start))  # fmt: skip
    yield Situation("peak at 1 of 8, none", one, EIGHT, level, either,
                    spreads=(even, loud_start))  # fmt: skip
    yield Situation("peak in 7 of 8, none", most, EIGHT, level, either,
                    spreads=(even, loud_start))  # fmt: skip
    yield Situation("peak at 1 of 8, true lead 3", one, EIGHT, lambda s: 3.0 * (s["x"] == 5),
                    (FAILS,), "holds", {3: 0.6, 5: 0.95})  # fmt: skip


def two_sides_along_an_axis() -> Iterator[Situation]:
    """Return checks on how one side moves against the other."""
    either = ("holds", FAILS)
    sides = {"over": "x", "where": OWN, "than": THEIRS}
    grows = [{"check": "gain-grows", "direction": "rising"} | sides]
    yield Situation("gain grows, equal gains", grows, GROUPS, lead(3.0), either,
                    spreads=BOTH_SPREADS)  # fmt: skip
    yield Situation("gain grows, own side worse by 5 to 9", grows, GROUPS,
                    lambda s: -(4.0 + s["x"]) * (s["loss"] == "dcl"), ("holds",))  # fmt: skip
    yield Situation("gain grows by 4", grows, GROUPS, lambda s: s["x"] * (s["loss"] == "dcl"),
                    (FAILS,), "holds", {3: 0.43, 5: 0.95})  # fmt: skip
    less = [{"check": "moves-less", "direction": "rising"} | sides]
    yield Situation("moves less, both flat", less, GROUPS, level, either, spreads=BOTH_SPREADS)
    yield Situation("moves less, both rise by 4", less, GROUPS, rise(1.0), either,
                    spreads=BOTH_SPREADS)  # fmt: skip
    yield Situation("moves less, 0 and 4", less, GROUPS,
                    lambda s: s["x"] * (s["loss"] == "infonce"), (FAILS,), "holds",
                    {3: 0.38, 5: 0.9})  # fmt: skip
    ends = [{"check": "gain-exceeds", "where": OWN | {"x": 5}, "than": THEIRS | {"x": 5},
             "other": OWN | {"x": 1}, "other_than": THEIRS | {"x": 1}}]  # fmt: skip
    yield Situation("gain exceeds another, equal gains", ends, GROUPS, lead(3.0), either,
                    spreads=BOTH_SPREADS)  # fmt: skip
    below = [{"check": "below", "bound": "bound", "where": OWN}]
    yield Situation("below a bound, at it", below, {"loss": ["dcl"]}, level, either)


def claims() -> Iterator[Situation]:
    """Return claims of several checks on different cells."""
    for count in (1, 2, 4, 6, 8, 12):
        checks = [exceeds(where=OWN | {"row": i}, than=THEIRS | {"row": i}) for i in range(count)]
        axes = {"row": range(count)} | SIDES
        yield Situation(f"claim of {count} checks, true 0 each", checks, axes, level,
                        ("holds", FAILS), spreads=BOTH_SPREADS)  # fmt: skip
    for count, least in ((2, {3: 0.06, 5: 0.49}), (4, {3: 0.003, 5: 0.25})):
        checks = [exceeds(where=OWN | {"row": i}, than=THEIRS | {"row": i}) for i in range(count)]
        axes = {"row": range(count)} | SIDES
        yield Situation(f"claim of {count} checks, true by 2 each", checks, axes, lead(2.0),
                        (FAILS,), "holds", least)  # fmt: skip


SITUATIONS = (simple, along_an_axis, two_sides_along_an_axis, claims)


def judged_lines(only: str, draws: int) -> Iterator[tuple[str, bool]]:
    """Return a line per situation, seeds and spread, and whether it is in bounds."""
    slack = 3 * (NOMINAL * (1 - NOMINAL) / draws) ** 0.5
    for situation in (s for group in SITUATIONS for s in group() if only in s.name):
        for seeds, spread in product((3, 5), situation.spreads):
            counts = situation.counts(seeds, draws, spread)
            rate = {v: counts[v] / draws for v in ("holds", "cannot tell", FAILS)}
            false = sum(rate[v] for v in situation.wrong)
            least = situation.least.get(seeds, 0.0) if spread is even else 0.0
            due = rate[situation.due] if situation.due else 1.0
            good = false <= NOMINAL + slack and due >= least
            told = " / ".join(f"{100 * rate[v]:5.1f}" for v in rate)
            bound = f"false at most {100 * NOMINAL:g}" if situation.wrong else ""
            power = f", {situation.due} at least {100 * least:g}" if least else ""
            kind = spread.__name__.replace("_", " ")
            yield (
                (
                    f"{situation.name:<46} {seeds}  {kind:<11} {told}   {bound}{power}"
                    f"{'' if good else '   OUT OF BOUNDS'}"
                ),
                good,
            )


def value_lines(draws: int) -> Iterator[tuple[str, bool]]:
    """Return a line per verdict on printed values: how often each comes by spread and distance."""
    draw, slack = np.random.default_rng(0), 3 * (NOMINAL * (1 - NOMINAL) / draws) ** 0.5
    for sd, off, seeds in product((0.1, 0.3, 0.5, 1.0), (0.0, 2.0, 3.0), (2, 3, 5)):
        counts = Counter[str]()
        for _ in range(draws):
            printed = 70 + sd * draw.standard_normal()
            measured = t_interval(list(70 + off + sd * draw.standard_normal(seeds)))
            counts[str(judge_value(printed, 1.05, measured)[0])] += 1
        kinds = ("same", "cannot tell", "smaller", "larger")
        rate = {v: counts[v] / draws for v in kinds}
        # Off by 3 with a tolerance of 1 is another value; printed values have noise of their own.
        good = off < 3 or rate["same"] <= NOMINAL + slack
        told = " / ".join(f"{100 * rate[v]:5.1f}" for v in kinds)
        yield (
            (
                f"a value off by {off:g}, sd of a run {sd:g}, {seeds} seeds: {told}"
                f"{'' if good else '   OUT OF BOUNDS'}"
            ),
            good,
        )


def main() -> None:
    """Print the table; exit with status 1 where a rate is out of bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--only", default="", help="situations whose name contains this")
    given = parser.parse_args()
    print("% holds / cannot tell / not seen")
    bad = 0
    for line, good in judged_lines(given.only, given.draws):
        print(line, flush=True)
        bad += not good
    if not given.only:
        print("% same / cannot tell / smaller / larger")
        for line, good in value_lines(given.draws):
            print(line, flush=True)
            bad += not good
    print(f"{bad} lines out of bounds")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
