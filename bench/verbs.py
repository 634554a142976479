"""What each verb finds out, as the record of its `--json`."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.config.environment import data_root
from bench.config.grid import expand
from bench.config.load import load_suite, suite_paths
from bench.config.presets import presets
from bench.config.record import Cell
from bench.errors import BenchError, choices
from bench.select import Selection, select, select_scales
from bench.store.store import State, Store

Record = dict[str, Any]


def check_scale_known(scale: str | None, suites: Path) -> None:
    """Raise a BenchError if no suite has a scale of that name."""
    if scale is None:
        return
    known = dict.fromkeys(s for p in suite_paths(suites).values() for s in load_suite(p).scales)
    if scale not in known:
        raise BenchError(f"--scale {scale}: no suite has it. {choices(scale, list(known))}")


def describe_suites(suites: Path, results: Path) -> list[Record]:
    """Return every suite with its scales; one that cannot be read is told on standard error."""
    store, records = Store(results), []
    for name, path in suite_paths(suites).items():
        try:
            suite = load_suite(path)
            scales = {}
            for scale in suite.scales:
                cells = expand(suite, scale, path)
                done = sum(s.state == State.DONE for s in store.states(cells))
                scales[scale] = {"cells": len(cells), "done": done}
        except BenchError as error:
            print(f"bench: {error}", file=sys.stderr)
            continue
        records.append(
            {
                "name": name,
                "title": suite.title,
                "paper": suite.paper,
                "artifacts": suite.reproduces,
                "scales": scales,
            }
        )
    return records


def describe_methods(name: str | None) -> list[Record]:
    """Return every preset, or one, with its coordinates and their sources."""
    if name is not None and name not in presets():
        raise BenchError(f"no method '{name}'. {choices(name, list(presets()), 'bench methods')}")
    return [
        {
            "name": label,
            "what": preset.what,
            "family": preset.family,
            "like": preset.like,
            "coordinates": {k: c._asdict() for k, c in preset.coordinates.items()},
        }
        for label, preset in presets().items()
        if name in (None, label)
    ]


def write_methods(folder: Path) -> Record:
    """Write every method as its coordinates on one page; return its path."""
    from bench.config.presets import elsewhere
    from bench.config.reference import settings_reference
    from bench.report.methods import methods_page
    from bench.store.files import write_whole

    page = folder / "methods.md"
    text = methods_page(describe_methods(None), elsewhere(), settings_reference())
    write_whole(page, text.encode())
    return {"pages": [str(page)]}


def describe_datasets(get: str | None) -> list[Record]:
    """Return every data set known and every folder of images there; download one first."""
    from bench.data.catalogue import CATALOGUE, download, image_folders

    root = data_root()
    if get is not None:
        download(get, root)
    known = [asdict(info) | {"present": info.present(root)} for info in CATALOGUE.values()]
    return known + [
        {"name": name, "what": "images", "how": str(path), "present": True}
        for name, path in image_folders(root).items()
    ]


def describe_comparison(evidence: Any) -> list[Record]:
    """Return every printed value beside what was measured."""
    return [row.record() for row in evidence.compared]


def describe_claims(
    suites: Path, results: Path, *, paper: str | None, scale: str | None
) -> list[Record]:
    """Return every claim of the papers, or of one, at each scale that has results.

    Raises:
        BenchError: no such paper or scale, or a suite that cannot be read.
    """
    from bench.analysis.all_claims import JudgedScale, claim_rows
    from bench.analysis.check import check_suite
    from bench.analysis.claims import judge_claims
    from bench.analysis.coverage import claim_places
    from bench.analysis.frame import finished_cells
    from bench.published.reader import load_paper
    from bench.store.export import Results

    if paper is not None:
        load_paper(paper)
    check_scale_known(scale, suites)
    loaded = {path: load_suite(path) for path in suite_paths(suites).values()}
    kept, found = Results(results), []
    for path, suite in loaded.items():
        if not suite.claims or paper not in (None, suite.paper):
            continue
        of = check_suite(suite, path)
        for name in suite.scales if scale is None else {scale} & suite.scales.keys():
            cells = expand(suite, name, path)
            done = finished_cells(cells, kept)
            if done:
                judged = judge_claims(suite, name, cells, done, of)
                found.append(JudgedScale(suite, name, judged))
    places = claim_places(list(loaded.values()))
    return claim_rows([p for p in places if paper in (None, p.paper)], found, scale)


def describe_moved(here: Path, there: Path, cells: Sequence[Cell] | None = None) -> Record:
    """Return what moved from one results folder to another: of these cells, or of all.

    Raises:
        BenchError: one of them is no folder of results.
    """
    from bench.analysis.moved import moved
    from bench.store.export import Results

    only = None if cells is None else [(cell.experiment, cell.id) for cell in cells]
    found = moved(Results(here), Results(there), only)
    record = found.record()
    if not (record["same"] or record["moved"] or record["only_here"] or record["only_there"]):
        raise BenchError(f"{here}, {there}: neither holds a finished cell to compare")
    return record


def report_formats(text: str) -> list[str]:
    """Return the formats that a list with commas names, in their order.

    Raises:
        BenchError: one of them is none.
    """
    from bench.report.section import FORMATS

    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in FORMATS:
            raise BenchError(f"--formats {text}: found '{name}'. {choices(name, list(FORMATS))}")
    return [name for name in FORMATS if name in names]


def write_reports(
    suites: Path,
    results: Path,
    names: Sequence[str],
    *,
    scale: str | None,
    to: Path,
    formats: Sequence[str],
) -> Record:
    """Write the site; return its index, its pages and which of them were drawn.

    Args:
        suites: the folder of suites.
        results: the folder of results.
        names: the suites whose pages are wanted, at `scale` or their own; none for all that have
            results.
        scale: for those named; without names only this scale is looked at.
        to: the folder to write into.
        formats: what is written beside pages and SVG: png, pdf, tex, csv.
    """
    from bench.report.site import Site
    from bench.report.terminal import followed
    from bench.report.work import Grid, grid_of
    from bench.store.export import Results

    if not names:
        check_scale_known(scale, suites)
    known = Results(results)
    grids: list[Grid] = []
    asked = [select(name, suites, results, scale=scale) for name in names]
    paths = suite_paths(suites) | {s.suite.name: s.path for s in asked}
    for name, path in followed(paths.items(), len(paths), "reading results"):
        try:
            own = select_scales(path, results)
        except BenchError as error:
            if not names or name in {s.suite.name for s in asked}:
                raise
            print(f"bench: left out: {error}", file=sys.stderr)
            continue
        grids += [
            grid_of(s.suite, s.scale, path, s.cells, s.paper, known)
            for s in own
            if names or scale in (None, s.scale)
        ]
    site = Site(to, known, grids, formats)
    index = site.write([f"{s.suite.name}/{s.scale}" for s in asked] if names else None)
    drawn = [str(page) for page in site.drawn]
    return {"index": str(index), "pages": [str(page) for page in site.pages], "drawn": drawn}


def export_selections(chosen: Sequence[Selection], to: Path, *, encoders: bool) -> Record:
    """Write the finished cells of the selections as tables, or as one archive where `to` is .tar.

    Raises:
        BenchError: nothing is finished, the name of `to` says something else, or encoders are
            asked for in tables.
    """
    from bench.store.archive import SUFFIXES, export_archive
    from bench.store.export import export_cells

    archive = to.name.endswith(SUFFIXES)
    if not archive and to.suffix in (".csv", ".gz", ".parquet", ".tgz", ".xz", ".zip"):
        raise BenchError(f"--to {to}: expected a folder, for CSV tables, or a .tar or .tar.gz file")
    if not archive and encoders:
        raise BenchError(f"--encoders: tables hold none; --to {to}.tar exports them")
    if not any(s.state == State.DONE for c in chosen for s in c.store.states(c.cells)):
        told = ", ".join(f"{s.suite.name} ({s.scale})" for s in chosen)
        raise BenchError(f"{told}: no finished cell in {chosen[0].results}, nothing to export")
    if archive:
        cells = [cell for selection in chosen for cell in selection.cells]
        counted = export_archive(cells, chosen[0].store, to, encoders=encoders)
        return {"cells": counted.cells, "encoders": counted.encoders, "file": str(to)}
    done = [export_cells(selection.cells, selection.store, to) for selection in chosen]
    return {"cells": sum(done), "folder": str(to)}


def import_archives(files: Sequence[Path], results: Path) -> Record:
    """Add the cells of archives to the results folder."""
    from bench.store.merge import Archive

    return _merge([Archive(file) for file in files], results)


def merge_folders(folders: Sequence[Path], results: Path, *, encoders: bool) -> Record:
    """Add the finished cells of other results folders to this one."""
    from bench.store.merge import Folder

    return _merge([Folder(folder, encoders) for folder in folders], results)


def _merge(sources: Sequence[Any], results: Path) -> Record:
    from bench.store.merge import merge

    def check_encoder(path: Path) -> None:
        from bench.experiments.trained import check_encoder as check  # loads torch

        check(path)

    return asdict(merge(sources, Store(results), check_encoder))
