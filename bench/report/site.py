"""The site: a page per suite and scale, a page per artifact, the index; draws what has changed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from bench.analysis.claims import Place, artifact_places
from bench.errors import StoreError
from bench.files.atomic import copy_whole
from bench.files.messages import tell
from bench.papers.reader import PAPERS, load_paper
from bench.report.artifact import Coverage, write_artifact
from bench.report.facts import SectionFacts
from bench.report.fingerprint import code, fingerprint, inputs_of
from bench.report.index import write_index
from bench.report.parallel import Grid, Task, each_done
from bench.report.progress import followed
from bench.report.questions import questions
from bench.report.summary import Summary
from bench.report.written import Written
from bench.results.reader import Results
from bench.suites.suite import Layout, Suite

ASSETS = Path(__file__).parent / "assets"


@dataclass
class Site:
    """What there is to draw, and what was drawn."""

    to: Path
    results: Results
    grids: Sequence[Grid]  # all suites and scales of the folder of suites
    formats: Sequence[str]
    drawn: list[Path] = field(default_factory=list)
    pages: list[Path] = field(default_factory=list)  # drawn or unchanged

    @cached_property
    def written(self) -> Written:
        """The digests of its files."""
        return Written(self.to)

    def write(self, asked: Sequence[str] | None) -> Path:
        """Draw the pages of the suites asked for, or of all that have results; return the index.

        Args:
            asked: the folders of suites and scales; None for all with results.
        """
        _copy_assets(self.to)
        try:
            return self._write(asked)
        finally:
            self.written.save()

    def _write(self, asked: Sequence[str] | None) -> Path:
        shown = [g for g in self.grids if (g.done if asked is None else g.folder in asked)]
        named = {grid.suite.name for grid in shown}
        places = [
            place
            for place in artifact_places(self._suites())
            if asked is None or named & set(place.suites)
        ]
        stale = {g.folder for g in shown if self._is_stale(g.folder + "/index", self._of(g))}
        old = [p for p in places if self._is_stale(f"{p.paper}/{p.id}", self._of_place(p))]
        all_inputs = fingerprint(
            code(),
            *(f"{g.folder} {g.done} {self._of(g)}" for g in self.grids),
            *self._pictures(shown),
        )
        index_is_old = self._is_stale("index", all_inputs)
        names = [
            "index",
            *(f"{g.folder}/index" for g in shown),
            *(f"{p.paper}/{p.id}" for p in places),
        ]
        self.pages = [self.to / (name + suffix) for name in names for suffix in (".html", ".md")]
        facts, summaries = self._gather(stale, old, asked or (), everything=index_is_old)
        for place in old:
            self._write_artifact(place, facts)
        if index_is_old:
            pages = write_index(self.to, summaries, self._suites(), inputs=all_inputs)
            self._note("index", pages)
        return self.to / "index.html"

    def _pictures(self, shown: Sequence[Grid]) -> list[str]:
        """Return which figures the index may show: those drawn before or now."""
        figures = {question.suite: question.figure for question in questions()}
        folders = {grid.folder for grid in shown}
        named = {
            grid.folder: f"{grid.folder}/{figures[grid.suite.name]}.svg"
            for grid in self.grids
            if grid.suite.name in figures and grid.done
        }
        return [
            name
            for folder, name in named.items()
            if folder in folders or (self.to / name).is_file()
        ]

    def _gather(
        self, stale: set[str], old: Sequence[Place], asked: Sequence[str], *, everything: bool
    ) -> tuple[dict[str, SectionFacts], list[Summary]]:
        """Judge one suite after the other and draw those whose page is stale.

        Returns the facts that artifacts' pages need, and a summary of each. One whose results
        cannot be read is left out, and reported.

        Raises:
            StoreError: it was asked for.
        """
        needed = {name for place in old for name in place.suites}
        tasks = [
            Task(g, self.to, self.formats, g.folder in stale, tells, self._of(g))
            for g in self.grids
            for tells in [g.suite.name in needed and bool(g.done)]
            if g.folder in stale or tells or (everything and g.done)
        ]
        facts: dict[str, SectionFacts] = {}
        summaries: list[Summary] = []
        outcomes = followed(each_done(tasks, self.results), len(tasks), "judging and drawing")
        for task, outcome in zip(tasks, outcomes, strict=True):
            if outcome.summary is None:
                if task.grid.folder in asked:
                    raise StoreError(str(outcome.fault))
                tell(f"left out: {outcome.fault}")
                self._leave_out(task.grid)
                continue
            summaries.append(outcome.summary)
            if outcome.written:
                self._note(f"{task.grid.folder}/index", outcome.written)
            if outcome.facts:
                facts[task.grid.folder] = outcome.facts
        return facts, summaries

    def _leave_out(self, grid: Grid) -> None:
        folder = self.to / grid.folder
        self.pages = [page for page in self.pages if page.parent != folder]

    def _write_artifact(self, place: Place, facts: dict[str, SectionFacts]) -> None:
        paper = load_paper(place.paper)
        grids = [grid for grid in self.grids if grid.suite.name in place.suites]
        pages = write_artifact(
            paper.artifact(place.id),
            paper,
            self.to,
            Coverage(
                sections=[facts[grid.folder] for grid in grids if grid.folder in facts],
                layout=_layout(grids, place.id),
                to_run=[
                    (g.suite.name, g.scale, g.suite.scales[g.scale].what)
                    for g in grids
                    if not g.done
                ],
                reason=place.reason,
                formats=self.formats,
            ),
            inputs=self._of_place(place),
        )
        self._note(f"{place.paper}/{place.id}", pages)

    def _note(self, name: str, files: Sequence[Path]) -> None:
        """Keep what was written of a page."""
        self.written.note(name, files)
        self.drawn += [path for path in files if path.suffix in (".html", ".md")]

    def _suites(self) -> list[Suite]:
        return list({grid.suite.name: grid.suite for grid in self.grids}.values())

    def _of(self, grid: Grid) -> str:
        return fingerprint(grid.inputs, *self.formats)

    def _of_place(self, place: Place) -> str:
        grids = [g for g in self.grids if g.suite.name in place.suites]
        printed = PAPERS[place.paper].read_text()
        of_grids = (self._of(g) for g in grids)
        return fingerprint(code(), printed, place.reason or "", *self.formats, *of_grids)

    def _is_stale(self, page: str, inputs: str) -> bool:
        """Whether a page was drawn from other inputs, or is not any more what was written."""
        path = self.to / f"{page}.html"
        return inputs_of(path) != inputs or not self.written.is_whole(page)


def _layout(grids: Iterable[Grid], artifact: str) -> Layout | None:
    """Return how the paper prints the artifact, as the first suite that compares it says."""
    layouts = (c.layout for g in grids for c in g.suite.compare if c.artifact == artifact)
    return next((layout for layout in layouts if layout), None)


def _copy_assets(to: Path) -> None:
    folder = to / "assets"
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(ASSETS.iterdir()):
        if path.is_file():
            copy_whole(path, folder / path.name)
