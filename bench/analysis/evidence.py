"""Everything that the results say of one suite at one scale: what it measured, and the verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from bench.analysis.claims import judge_claims
from bench.analysis.compare import Compared, compare
from bench.analysis.compared_effects import ComparedEffect, compare_effects
from bench.analysis.departures import departures_of_scale
from bench.analysis.judged import ClaimVerdict, Judged, whole_verdict
from bench.analysis.room import Rooms
from bench.cells.baseline import Baseline, baselines_among, without_baselines
from bench.cells.cell import Cell
from bench.papers.reader import Claim, Paper
from bench.results.reader import Done, Results
from bench.suites.stand_in import with_stand_ins
from bench.suites.suite import Suite


@dataclass(frozen=True)
class Evidence:
    """Everything that is known of a suite at a scale; each part is judged when it is asked for."""

    suite: Suite
    scale: str
    paper: Paper
    cells: list[Cell]
    done: Done
    baselines: list[Baseline]  # of the scale, finished or not
    finished_baselines: Done
    rooms: Rooms  # what room accuracies have, from the finished baselines

    @cached_property
    def compared(self) -> list[Compared]:
        """Printed values beside measured ones."""
        rows = compare(self.suite, self.cells, self.done, self.paper)
        return _with_room(rows, self.cells, self.rooms)

    @cached_property
    def effects(self) -> list[ComparedEffect]:
        """Printed effects beside measured ones."""
        return compare_effects(
            self.suite, self.scale, self.cells, self.done, self.paper, self.rooms
        )

    @cached_property
    def judged(self) -> list[Judged]:
        """The checks of the suite's claims, with verdicts."""
        return judge_claims(
            self.suite, self.scale, self.cells, self.done, self.paper, self.finished_baselines
        )

    @property
    def baselines_done(self) -> int:
        """How many baselines are finished."""
        return len(self.finished_baselines)

    @property
    def is_published(self) -> bool:
        """Whether the scale follows the published protocol."""
        return self.suite.scales[self.scale].protocol == "published"

    @property
    def departures(self) -> list[str]:
        """In what the cells depart from what the paper states."""
        return departures_of_scale(self.suite, self.cells, self.paper, self.compared)


def gather(suite: Suite, scale: str, cells: list[Cell], paper: Paper, results: Results) -> Evidence:
    """Read the finished cells; baselines are no part of what is judged.

    Args:
        suite: the suite.
        scale: one of its scales.
        cells: those of the suite at the scale.
        paper: the suite's.
        results: where finished cells are looked up.
    """
    suite, non_baselines = with_stand_ins(suite, scale), without_baselines(cells)
    baselines = baselines_among(cells)
    finished = results.finished(baselines)
    return Evidence(
        suite=suite,
        scale=scale,
        paper=paper,
        cells=non_baselines,
        done=results.finished(non_baselines),
        baselines=baselines,
        finished_baselines=finished,
        rooms=Rooms(suite.scales[scale].baselines, finished),
    )


def _with_room(rows: Sequence[Compared], cells: Sequence[Cell], rooms: Rooms) -> list[Compared]:
    """Return the rows, each accuracy with its room; a gain or a deviation is none."""
    by_id = {cell.id: cell for cell in cells}
    return [
        replace(row, room=rooms.of_cell(row.metric, by_id[row.cells[0]]))
        if row.cells and not row.reduced
        else row
        for row in rows
    ]


def by_claim(judged: Sequence[Judged]) -> list[tuple[Claim, ClaimVerdict, list[Judged]]]:
    """Return each claim with the verdict on it as a whole and its checks."""
    claims = {j.claim.id: j.claim for j in judged}
    rows = {name: [j for j in judged if j.claim.id == name] for name in claims}
    return [(claim, whole_verdict(rows[name]), rows[name]) for name, claim in claims.items()]
