"""Suites judged and drawn one by one, on as many processes as there are cores."""

import gc
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from bench.analysis.evidence import gather
from bench.cells.cell import Cell
from bench.environment import cores
from bench.errors import StoreError
from bench.papers.reader import Paper
from bench.report.facts import SectionFacts, section_facts
from bench.report.fingerprint import fingerprint_of_grid
from bench.report.section import write_section
from bench.report.summary import Summary, summarise
from bench.results.reader import Results
from bench.suites.suite import Suite

FEW = 6  # drawings that are done before other processes have started
MOST_PROCESSES = 4


@dataclass(frozen=True)
class Grid:
    """A suite at a scale: its cells, how many are done, and the fingerprint of it all."""

    suite: Suite
    scale: str
    cells: list[Cell]
    paper: Paper
    done: int
    inputs: str

    @property
    def folder(self) -> str:
        """Where its pages are, below the site's folder."""
        return f"{self.suite.name}/{self.scale}"


def grid_of(
    suite: Suite, scale: str, path: Path, cells: list[Cell], paper: Paper, results: Results
) -> Grid:
    """Return a suite at a scale with what was found of it in the results.

    Args:
        suite: the suite.
        scale: name of the scale.
        path: the suite's file.
        cells: all cells of the suite at the scale.
        paper: the paper with the printed values.
        results: where the cells' results are read.
    """
    inputs, done = fingerprint_of_grid(path, suite.paper, scale, cells, results)
    return Grid(suite, scale, cells, paper, done, inputs)


@dataclass(frozen=True)
class Task:
    """What to do with a suite at a scale."""

    grid: Grid
    to: Path
    formats: Sequence[str]
    draws: bool  # its pages
    tells: bool  # facts for the pages of its artifacts
    inputs: str


@dataclass(frozen=True)
class Outcome:
    """What is kept of a suite at a scale when its results are let go."""

    summary: Summary | None  # None where its results cannot be read
    facts: SectionFacts | None
    written: list[Path]  # files, the pages among them
    fault: str | None = None  # why they cannot


def each_done(tasks: Sequence[Task], results: Results) -> Iterator[Outcome]:
    """Yield the outcome of each task, in order."""
    processes = min(cores(), MOST_PROCESSES)
    if processes == 1 or sum(task.draws for task in tasks) < FEW:
        yield from (_outcome(task, results) for task in tasks)
        return
    with ProcessPoolExecutor(processes, initializer=_open, initargs=(results.root,)) as pool:
        yield from pool.map(_outcome_here, tasks)


def _outcome(task: Task, results: Results) -> Outcome:
    try:
        return _judged_and_drawn(task, results)
    except StoreError as fault:  # histories and arrays are read when figures are drawn
        return Outcome(None, None, [], str(fault))


def _judged_and_drawn(task: Task, results: Results) -> Outcome:
    grid = task.grid
    evidence = gather(grid.suite, grid.scale, grid.cells, grid.paper, results)
    facts: SectionFacts | None = None
    written: list[Path] = []
    if task.draws or task.tells:
        facts = section_facts(evidence, task.formats)
    if facts and task.draws:
        written = write_section(evidence, facts, task.to / grid.folder, inputs=task.inputs)
        gc.collect()  # figures hold themselves in circles
    kept = replace(facts, cells=None) if facts and task.tells else None
    return Outcome(summarise(evidence), kept, written)


_opened: list[Results] = []


def _open(root: Path) -> None:
    _opened.append(Results(root))


def _outcome_here(task: Task) -> Outcome:
    return _outcome(task, _opened[0])
