"""`bench report`: write the site."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from bench.cells.baseline import without_baselines
from bench.cli.evidence import none_finished
from bench.cli.options import AsJson, AtScale, answer, check_folder
from bench.cli.selection import (
    Selection,
    check_scale_known,
    of_sound_suites,
    select,
    select_scales,
)
from bench.cli.workspace import Workspace
from bench.errors import BenchError, choices
from bench.papers.reader import load_papers
from bench.record import Json
from bench.report.section import FORMATS
from bench.report.site import ScaleOfSuite, Site, has_results, with_progress
from bench.results.reader import Results
from bench.suites.load import known_suites
from bench.suites.suite import PAPER
from bench.text import counted, plain_text


def report(
    context: typer.Context,
    suite: Annotated[
        list[str] | None, typer.Argument(help="Suites to write pages of; default: all suites.")
    ] = None,
    scale: AtScale = None,
    every: Annotated[
        bool,
        typer.Option("--all", help="Write pages of all suites with results (default)."),
    ] = False,
    to: Annotated[Path, typer.Option(help="Folder to write into.")] = Path("reports"),
    formats: Annotated[
        str,
        typer.Option(
            help="Formats to write in addition to the pages and SVG: any of png, pdf, tex, csv."
        ),
    ] = "png,tex,csv",
    as_json: AsJson = False,
) -> None:
    """Write a website: an index, and one page per artifact and per suite.

    With names of suites: write only the pages of these suites and of their artifacts.

    Exit status 3: no cell of a named suite is finished, so no page was written.
    """
    if every and suite:
        raise BenchError("--all writes every suite, so it cannot be combined with names of suites")
    check_folder(to, "report")
    wanted = report_formats(formats)
    record = write_reports(context.obj, suite or [], scale=scale, to=to, formats=wanted)
    answer(record, print_site, as_json)


def report_formats(text: str) -> list[str]:
    """Return the formats in a comma-separated list, in order.

    Raises:
        BenchError: a format is unknown.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in FORMATS:
            raise BenchError(
                f"--formats {text}: there is no format '{name}'. {choices(name, list(FORMATS))}"
            )
    return [name for name in FORMATS if name in names]


def write_reports(
    workspace: Workspace,
    names: Sequence[str],
    *,
    scale: str | None,
    to: Path,
    formats: Sequence[str],
) -> Json:
    """Write the site; return the start page and all written pages.

    Args:
        workspace: folders of suites and results.
        names: suites to write, at `scale` or their default scale; empty for all suites with
            results.
        scale: scale of the named suites. Without names, restrict to this scale.
        to: the folder to write into.
        formats: additional formats besides HTML and SVG: png, pdf, tex, csv.

    Raises:
        NothingMeasured: no cell of a named suite is finished.
    """
    if not names:
        check_scale_known(scale, workspace.suites)
    asked = {  # without their cells, which are many
        (s.suite.name, s.scale): _measured(s).path
        for s in (select(workspace, name, scale=scale) for name in names)
    }
    results = Results(workspace.results)
    named = {name: path for (name, _), path in asked.items()}
    paths = known_suites(workspace.suites) | named

    def scales_of(path: Path) -> list[ScaleOfSuite]:
        selections = select_scales(path, workspace)
        of_paper = next((s.cells for s in selections if s.scale == PAPER), [])
        return [
            ScaleOfSuite(s.suite, s.scale, s.cells, s.paper, done, of_paper)
            for s in selections
            for done in [has_results(s.cells, results)]
            if names or scale in (None, s.scale)
        ]

    read = with_progress(paths.values(), len(paths), "reading results")
    scales = list(chain.from_iterable(of_sound_suites(read, scales_of, needed=named.values())))
    papers = load_papers(workspace.suites)
    papers |= {s.paper.id: s.paper for s in scales if s.suite.paper is not None}
    site = Site(to, results, scales, formats, papers)
    index = site.write([f"{name}/{at}" for name, at in asked] if names else None)
    return {"index": str(index), "pages": [str(page) for page in site.pages]}


def _measured(selection: Selection) -> Selection:
    """Return the selection, if a cell of it ended: no empty page replaces a full one."""
    results = Results(selection.results)
    if not has_results(selection.cells, results) and not results.failed(selection.cells, []):
        raise none_finished(selection, without_baselines(selection.cells), [])
    return selection


def print_site(record: Json) -> None:
    """Print the start page and the number of pages."""
    print(f"{plain_text(record['index'])}: {counted(len(record['pages']), 'page')} written")
