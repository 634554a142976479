"""Results and verdicts of one suite at one scale."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from bench.analysis.beside import effects_with_others, values_with_others
from bench.analysis.claims import Judged, judge_claims
from bench.analysis.compare import Compared, compare
from bench.analysis.compared_effects import (
    ComparedEffect,
    OtherEffect,
    compare_effects,
    on_other_data,
    same_data,
)
from bench.analysis.deviations import deviations_of_scale
from bench.analysis.room import Rooms
from bench.cells.baseline import AnyBaseline, baselines_among, without_baselines
from bench.cells.cell import Cell
from bench.papers.reader import Paper
from bench.results.fitness import Failed
from bench.results.reader import Done, Results
from bench.suites.suite import Suite, with_stand_ins


@dataclass(frozen=True)
class Evidence:
    """Results of a suite at a scale; each property is computed when first used."""

    suite: Suite
    scale: str
    paper: Paper
    cells: list[Cell]
    done: Done
    baselines: list[AnyBaseline]  # of the scale, finished or not
    finished_baselines: Done
    rooms: Rooms  # what room accuracies have, from the finished baselines
    failed: Failed = ()  # cells whose last attempt failed
    paper_cells: Sequence[Cell] = ()  # of the scale `paper`, if the suite has it

    @cached_property
    def compared(self) -> list[Compared]:
        """Published values with measured ones."""
        rows = compare(self.suite, self.cells, self.done, self.paper, failed=self.failed)
        return values_with_others(_with_room(rows, self.cells, self.rooms), self.suite, self.paper)

    @cached_property
    def all_effects(self) -> list[ComparedEffect]:
        """Published and measured effects, including those on other data sets."""
        rows = compare_effects(
            self.suite, self.scale, self.cells, self.done, self.paper, self.rooms
        )
        return effects_with_others(rows, self.suite, self.paper)

    @property
    def effects(self) -> list[ComparedEffect]:
        """Published effects and effects measured on the same data sets."""
        return same_data(self.all_effects)

    @property
    def other_data(self) -> list[OtherEffect]:
        """Effects on data sets that the paper does not use; they have no verdicts."""
        return on_other_data(self.all_effects)

    @cached_property
    def judged(self) -> list[Judged]:
        """The judged checks of the suite's claims."""
        return judge_claims(
            self.suite, self.scale, self.cells, self.done, self.paper, self.finished_baselines,
            self.failed,
        )  # fmt: skip

    @property
    def baselines_done(self) -> int:
        """Number of finished baselines."""
        return len(self.finished_baselines)

    @property
    def is_published(self) -> bool:
        """Whether the scale follows the published protocol."""
        return self.suite.scales[self.scale].protocol == "published"

    @property
    def deviations(self) -> list[str]:
        """Deviations of the cells from the paper, the most important settings first."""
        return deviations_of_scale(self.suite, self.cells, self.paper_cells, self.paper)


def gather(
    suite: Suite,
    scale: str,
    cells: list[Cell],
    paper: Paper,
    results: Results,
    paper_cells: Sequence[Cell] = (),
) -> Evidence:
    """Read the finished cells of a suite at a scale; baselines are not judged.

    Args:
        suite: the suite.
        scale: one of its scales.
        cells: the cells of the suite at the scale.
        paper: the suite's paper.
        results: the results folder that is searched for finished cells.
        paper_cells: cells of the scale `paper`, with which the cells are compared.
    """
    suite, non_baselines = with_stand_ins(suite, scale), without_baselines(cells)
    baselines = baselines_among(cells)
    done = results.finished(non_baselines)
    finished = results.finished_baselines(cells, done)
    return Evidence(
        suite=suite,
        scale=scale,
        paper=paper,
        cells=non_baselines,
        done=done,
        baselines=baselines,
        finished_baselines=finished,
        rooms=Rooms(suite.scales[scale].baselines, finished),
        failed=results.failed(non_baselines, done),
        paper_cells=paper_cells,
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
