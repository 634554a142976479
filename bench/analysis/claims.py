"""The papers' claims as checks on measured results: an effect with an interval, and a verdict.

A check that speaks of many groups of cells (an order at every temperature, equality in every row)
is judged group by group. It *holds* where every group lies where the check says, each at a
one-sided 5 % (an intersection-union test, which needs no correction). It *fails* where a group
lies outside at 5 % for the whole claim: Bonferroni's correction over the groups of a check, Holm's
over the checks of the claim. An equivalence is two one-sided tests at 5 % each. The 90 % interval
reported is the one that decides: its ends are the two one-sided bounds. It is that of the deciding
group, the furthest off. benchmarks/verdicts.py measures the error rates.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import isinf

from bench.analysis.effects import Group, cells_named, groups_of, region_of
from bench.analysis.estimates import Estimates, estimates_of, names_of, others_than
from bench.analysis.grounds import NOT_COMPUTED, Footing, Grounds
from bench.analysis.judged import LEVEL, ClaimVerdict, Judged
from bench.analysis.measured import Measured
from bench.analysis.room import Rooms
from bench.analysis.statistics import ERROR, Estimate, Region
from bench.cells.cell import Cell
from bench.cells.groups import CellIndex
from bench.papers.printed_checks import PrintedCheck, printed_check
from bench.papers.reader import Claim, Paper
from bench.results.reader import Done, Finished
from bench.suites.checks import Check, MovesLess
from bench.suites.suite import Suite

DIRECTION = "the direction, not the size"


def judge_claims(
    suite: Suite,
    scale: str,
    cells: list[Cell],
    done: Done,
    paper: Paper,
    baselines: Done | None = None,
) -> list[Judged]:
    """Return every check of the suite's claims, judged on the finished cells.

    Args:
        suite: the suite.
        scale: one of its scales.
        cells: those that claims speak of.
        done: the finished ones.
        paper: the suite's.
        baselines: the scale's that are finished; where it has some and they are not, nothing is
            judged on an accuracy.

    No check is judged at a scale that only checks that everything runs, or is `unjudged`.
    """
    measured = Measured(scale, cells, done, Rooms(suite.scales[scale].baselines, baselines))
    rows: list[Judged] = []
    for name, checks in suite.claims.items():
        judged = [
            _judge(suite, check, paper.claim(name), measured, printed_check(suite.name, name, i))
            for i, check in enumerate(checks)
        ]
        notes = tuple(suite.notes_on(name, scale))
        rows += [replace(row, notes=notes) for row in _corrected(judged)]
    why = suite.scales[scale].no_verdict
    if why is None:
        return rows
    told = (_cannot_tell(row, why) if row.effect else row for row in rows)
    return [replace(row, is_judged=False) for row in told]


def cells_of_check(check: Check, cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells that a check needs; none where it has no effect among them."""
    needed = cells_named(check, CellIndex(cells))
    nothing = Finished({check.metric: 0.0, getattr(check, "bound", check.metric): 0.0}, {})
    measured = Measured("", needed, [(cell, nothing) for cell in needed])
    groups, _ = groups_of(check, measured, measured.metrics)
    return needed if groups else []


def _judge(
    suite: Suite, written: Check, claim: Claim, measured: Measured, printed: PrintedCheck | None
) -> Judged:
    """Return one check, judged on the scale's stand-in of its metric where it has one."""
    of_scale = suite.scales[measured.scale].stand_in
    stand_in = of_scale.metrics.get(written.metric) if of_scale and not written.at else None
    if stand_in is None:
        return judge_check(written, claim, measured, printed)
    # A size in points is one of the paper's metric: of a stand-in the direction alone is judged.
    sized = getattr(written, "by", 0.0) > 0
    rest = {"by": 0.0, "part": written.part or DIRECTION} if sized else {}
    check = written.model_copy(update={"metric": stand_in} | rest)
    return replace(judge_check(check, claim, measured, printed), stand_in_for=written.metric)


def judge_check(
    check: Check, claim: Claim, measured: Measured, printed: PrintedCheck | None = None
) -> Judged:
    """Return a check judged by itself, as if the claim had no other.

    Args:
        check: one check.
        claim: the sentence it belongs to.
        measured: the cells of a suite at a scale, and the finished ones among them.
        printed: what the check gives on the printed numbers, where they are printed.
    """
    region, threshold = region_of(check)
    needed = cells_named(check, measured.index)
    estimates, missing = estimates_of(check, measured, needed)
    judged = Judged(claim, measured.scale, check, None, threshold, ClaimVerdict.NOT_TESTED)
    judged = replace(judged, printed=printed)
    if not estimates:
        return replace(judged, missing=missing, here=bool(cells_of_check(check, needed)))
    return _verdict(judged, estimates, region, measured)


def _verdict(judged: Judged, effects: Estimates, region: Region, measured: Measured) -> Judged:
    """Return the check with its verdict on all groups, and the effect that decides it.

    One group that fails is enough; else all of them must have grounds to be judged on.
    """
    footings: dict[int, Footing] = {}
    grounded: list[tuple[Grounds, Estimate, Group]] = []
    for group, effect in effects.values():
        if id(group.sides) not in footings:
            footings[id(group.sides)] = Footing(judged.check, group.sides, measured)
        grounds = footings[id(group.sides)].grounds(effect.smallest_effect(ERROR))
        grounded.append((grounds, effect, group))
    fails = [e.p_fails(region) if grounds.are_sound else 1.0 for grounds, e, _ in grounded]
    p_fails = min(1.0, len(grounded) * min(fails))
    failing = [one for one, p in zip(grounded, fails, strict=True) if len(grounded) * p <= ERROR]
    baseless = [one for one in grounded if not one[0].are_sound]
    unsure = [one for one in grounded if one[1].p_holds(region) > ERROR]
    grounds, deciding, group = min(
        failing or baseless or unsure or grounded, key=lambda one: region.margin(one[1].mean)
    )
    names = zip(names_of(effects), effects.values(), strict=True)
    judged = replace(
        judged,
        effect=deciding.interval(LEVEL),
        sides=group.moves() if isinstance(judged.check, MovesLess) else None,
        groups=len(grounded),
        group=next(name for name, (of, _) in names if of is group),
        others=tuple((name, e.interval(LEVEL)) for name, e in others_than(group, effects)),
        spread=deciding.how,
        freedom=None if isinf(deciding.error) else deciding.freedom,
        p_fails=p_fails,
        smallest_effect=deciding.smallest_effect(ERROR),
        room=grounds.room,
        unlearned=tuple(dict.fromkeys(reason for g, *_ in grounded for reason in g.unlearned)),
    )
    if failing:
        return replace(judged, verdict=ClaimVerdict.FAILS)
    if any(grounds.missing for grounds, *_ in baseless):
        return replace(judged, missing=NOT_COMPUTED)
    if baseless:
        return _cannot_tell(judged, str(grounds.why))
    if not unsure:
        return replace(judged, verdict=ClaimVerdict.HOLDS)
    return _unless_too_small(replace(judged, verdict=ClaimVerdict.INCONCLUSIVE))


def _unless_too_small(judged: Judged) -> Judged:
    """Return the check, inconclusive replaced where the printed effect could not have been seen."""
    seen, margin = judged.smallest_effect, judged.printed_margin
    if judged.verdict != ClaimVerdict.INCONCLUSIVE or seen is None or judged.printed is None:
        return judged
    if margin is None or not 0 < margin < seen:
        return judged
    return _cannot_tell(
        judged,
        f"the printed effect, {judged.printed.effect:.2g}, lies {margin:.2g} from the threshold, "
        f"and distances below {seen:.2g} cannot be detected here",
    )


def _cannot_tell(judged: Judged, why: str) -> Judged:
    return replace(judged, verdict=ClaimVerdict.CANNOT_TELL, why=why, missing=None, p_fails=1.0)


def _corrected(checks: list[Judged]) -> list[Judged]:
    """Return a claim's checks, failures withdrawn that Holm's correction does not leave."""
    family = sorted((j for j in checks if j.counts and j.effect), key=lambda j: j.p_fails)
    withdrawn: list[Judged] = []
    for i, judged in enumerate(family):
        if judged.p_fails > ERROR / (len(family) - i):
            withdrawn = [j for j in family[i:] if j.verdict == ClaimVerdict.FAILS]
            break
    return [
        _unless_too_small(replace(j, verdict=ClaimVerdict.INCONCLUSIVE))
        if any(j is other for other in withdrawn)
        else j
        for j in checks
    ]
