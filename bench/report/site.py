"""The site: pages per suite and scale, pages per artifact, and the index."""

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import track

from bench.analysis.claims import Mention, artifact_places
from bench.analysis.evidence import gather
from bench.analysis.others import ClaimKey, SeenByOthers, seen_claims
from bench.cells.baseline import without_baselines
from bench.cells.cell import Cell
from bench.environment import cores
from bench.errors import StoreError
from bench.files.atomic import copy_whole
from bench.files.messages import tell
from bench.papers.questions import questions
from bench.papers.reader import Paper
from bench.report.artifact import Coverage, write_artifact
from bench.report.errata import write_errata
from bench.report.index import write_index
from bench.report.others import write_others
from bench.report.questions import all_findings, write_questions
from bench.report.section import SectionFacts, section_facts, write_section
from bench.report.summary import Summary, summarise
from bench.results.reader import Results
from bench.suites.others import beside
from bench.suites.suite import Layout, Suite

ASSETS = Path(__file__).parent / "assets"
FEW = 6  # drawings that are done before other processes have started
MOST_PROCESSES = 4
Step = TypeVar("Step")


@dataclass(frozen=True)
class ScaleOfSuite:
    """A suite at a scale with its cells, before judging."""

    suite: Suite
    scale: str
    cells: list[Cell]
    paper: Paper
    has_results: bool  # of its own: many suites share baselines
    paper_cells: Sequence[Cell] = ()  # of the suite's scale `paper`

    @property
    def folder(self) -> str:
        """Folder of its pages, relative to the site's folder."""
        return f"{self.suite.name}/{self.scale}"


def has_results(cells: Sequence[Cell], results: Results) -> bool:
    """Return whether a cell other than baselines is finished."""
    return any(results.has(cell) for cell in without_baselines(cells))


@dataclass(frozen=True)
class _Task:
    """What to do with a suite at a scale."""

    of: ScaleOfSuite
    to: Path
    formats: Sequence[str]
    draws: bool  # its pages
    needs_facts: bool  # for the pages of its artifacts


@dataclass(frozen=True)
class _Judged:
    """What is kept of a suite at a scale when its results are released."""

    summary: Summary | None  # None where its results cannot be read
    facts: SectionFacts | None
    pages: list[Path]
    fault: str = ""  # why they cannot


@dataclass
class Site:
    """A site to write, and its written pages."""

    to: Path
    results: Results
    scales: Sequence[ScaleOfSuite]  # all of the folder of suites
    formats: Sequence[str]
    papers: Mapping[str, Paper]  # all that the folder's suites may name
    pages: list[Path] = field(default_factory=list)

    def write(self, asked: Sequence[str] | None) -> Path:
        """Write the pages of the selected suites, or the whole site; return the start page.

        The index covers all results. It is written only with the whole site, or if it does not
        exist.

        Args:
            asked: folders of suites and scales; None means all with results.
        """
        folder = self.to / "assets"
        for path in sorted(ASSETS.iterdir()):
            if path.is_file():
                copy_whole(path, folder / path.name)
        shown = {s.folder for s in self.scales if asked is None and s.has_results} | {
            *(asked or [])
        }
        named = {s.suite.name for s in self.scales if s.folder in shown}
        suites = list({s.suite.name: s.suite for s in self.scales}.values())
        places = [
            place
            for place in artifact_places(suites, self.papers.values())
            if asked is None or named & set(place.suites)
        ]
        index = self.to / "index.html"
        everything = asked is None or not index.is_file()
        if asked is None:
            self._tell_of_pages_without_results()
        facts, summaries = self._judge(shown, places, asked or (), everything=everything)
        seen = seen_claims(suite for suite in suites if suite.paper is not None)
        for place in places:
            self._write_artifact(place, facts, seen)
        if everything:
            found = all_findings(summaries, suites)
            self.pages += write_others(self.to, seen, self.papers)
            self.pages += write_errata(self.to, self.papers)
            self.pages += write_questions(self.to, found, seen, facts.values())
            papers = list(self.papers.values())
            first = write_index(self.to, summaries, suites, papers, seen, found, facts.values())
            self.pages = [*first, *self.pages]
        return index if everything or not asked else self.to / asked[0] / "index.html"

    def _tell_of_pages_without_results(self) -> None:
        """Name each folder of pages whose results are gone.

        The folder stays, because the reason may be a wrong folder of results.
        """
        for of in self.scales:
            folder = self.to / of.folder
            if not of.has_results and (folder / "index.md").is_file():
                tell(
                    f"{folder}: these pages show earlier results: no cell of {of.suite.name} at "
                    f"scale {of.scale} is finished now. If this is right, remove the folder."
                )

    def _judge(
        self, shown: set[str], places: Sequence[Mention], asked: Sequence[str], *, everything: bool
    ) -> tuple[dict[str, SectionFacts], list[Summary]]:
        """Judge suite after suite and write the pages of those that are shown.

        Returns the facts that artifacts' pages need, and a summary of each. One whose results
        cannot be read is left out with a message.

        Raises:
            StoreError: it was asked for.
        """
        needed = {name for place in places for name in place.suites}
        if everything:
            needed |= {question.map for question in questions() if question.map}
        tasks = [
            _Task(s, self.to, self.formats, s.folder in shown, needs_facts)
            for s in self.scales
            for needs_facts in [s.suite.name in needed and s.has_results]
            if s.folder in shown or needs_facts or (everything and s.has_results)
        ]
        facts: dict[str, SectionFacts] = {}
        summaries: list[Summary] = []
        judged = with_progress(_each_judged(tasks, self.results), len(tasks), "judging and drawing")
        for task, done in zip(tasks, judged, strict=True):
            if done.summary is None:
                if task.of.folder in asked:
                    raise StoreError(done.fault)
                tell(f"left out: {done.fault}")
                continue
            summaries.append(done.summary)
            self.pages += done.pages
            if done.facts:
                facts[task.of.folder] = done.facts
        return facts, summaries

    def _write_artifact(
        self, place: Mention, facts: dict[str, SectionFacts], seen: Mapping[ClaimKey, SeenByOthers]
    ) -> None:
        paper = self.papers[place.paper]
        scales = [s for s in self.scales if s.suite.name in place.suites]
        coverage = Coverage(
            sections=[facts[s.folder] for s in scales if s.folder in facts],
            layout=_layout(scales, place.id),
            to_run=[
                (s.suite.name, s.scale, s.suite.scales[s.scale].what)
                for s in scales
                if not s.has_results
            ],
            reason=place.reason,
            formats=self.formats,
            others=beside(paper, place.id, {s.suite.name: s.suite for s in scales}.values()),
            seen={claim: found for (of, claim), found in seen.items() if of == paper.id},
        )
        self.pages += write_artifact(paper.artifact(place.id), paper, self.to, coverage)


def _layout(scales: Iterable[ScaleOfSuite], artifact: str) -> Layout | None:
    """Return how the paper prints the artifact, as the first suite that compares it says."""
    layouts = (c.layout for s in scales for c in s.suite.compare if c.artifact == artifact)
    return next((layout for layout in layouts if layout), None)


def _each_judged(tasks: Sequence[_Task], results: Results) -> Iterator[_Judged]:
    """Yield what each task gives, in order; many tasks run in parallel."""
    processes = min(cores(), MOST_PROCESSES)
    if processes == 1 or sum(task.draws for task in tasks) < FEW:
        yield from (_judged(task, results) for task in tasks)
        return
    with ProcessPoolExecutor(processes, initializer=_open, initargs=(results.root,)) as pool:
        yield from pool.map(_judged_here, tasks)


def _judged(task: _Task, results: Results) -> _Judged:
    try:
        return _judged_and_drawn(task, results)
    except StoreError as fault:  # histories and arrays are read when figures are drawn
        return _Judged(None, None, [], str(fault))


def _judged_and_drawn(task: _Task, results: Results) -> _Judged:
    of = task.of
    evidence = gather(of.suite, of.scale, of.cells, of.paper, results, of.paper_cells)
    facts: SectionFacts | None = None
    pages: list[Path] = []
    if task.draws or task.needs_facts:
        facts = section_facts(evidence, task.formats)
    if facts and task.draws:
        pages = write_section(evidence, facts, task.to / of.folder)
        gc.collect()  # figures hold themselves in circles
    kept = replace(facts, cells=None) if facts and task.needs_facts else None
    return _Judged(summarise(evidence), kept, pages)


_opened: list[Results] = []


def _open(root: Path) -> None:
    _opened.append(Results(root))


def _judged_here(task: _Task) -> _Judged:
    return _judged(task, _opened[0])


def with_progress(steps: Iterable[Step], total: int, what: str) -> Iterable[Step]:
    """Yield the steps, with a progress bar on standard error if it is a terminal."""
    error = Console(stderr=True)
    hidden = not error.is_terminal
    return track(steps, what, total, console=error, transient=True, disable=hidden)
