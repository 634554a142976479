"""The pages of one suite at one scale, with their figures and tables as files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.config.record import varied_settings
from bench.report.formats import to_csv, to_latex
from bench.report.page import Evidence, compare_csv, facts
from bench.report.tables import Entry, Table, setting_entry
from bench.report.templates import render
from bench.store.files import write_whole

PICTURES = ("png", "pdf")  # beside SVG, which the pages show
TABLES = {"tex": to_latex, "csv": to_csv}
FORMATS = (*PICTURES, *TABLES)


def section_facts(evidence: Evidence, formats: Sequence[str]) -> dict[str, Any]:
    """Return the facts of a suite at a scale whose figures are drawn already, or will be."""
    from bench.figures.panels import can_be_drawn

    able = [f for f in evidence.suite.figures if can_be_drawn(f, evidence.done)]
    missing = [f.title for f in evidence.suite.figures if f not in able]
    return facts(evidence, able, missing) | {
        "cells": _cells(evidence),
        "formats": [kind for kind in TABLES if kind in formats],
        "pictures": ["svg", *(kind for kind in PICTURES if kind in formats)],
    }


def write_section(
    evidence: Evidence, told: dict[str, Any], folder: Path, *, inputs: str
) -> list[Path]:
    """Write the pages, figures and tables of a suite at a scale; return the pages."""
    from bench.figures.panels import draw_figure, save

    folder.mkdir(parents=True, exist_ok=True)
    suite = evidence.suite
    for figure in told["figures"]:
        canvas = draw_figure(figure, suite, evidence.cells, evidence.done, evidence.paper)
        if canvas is not None:
            save(canvas, folder / figure.name, told["pictures"])
    tables = [table for _, own in told["artifacts"] for table in own]
    for table in [*tables, *told["measured"]]:
        for kind in told["formats"]:
            write_whole(folder / f"{table.name}.{kind}", TABLES[kind](table).encode())
    write_whole(folder / "compare.csv", compare_csv(evidence.compared).encode())
    page = folder / "index.md"
    write_whole(page, render("suite.md.j2", facts=told).encode())
    text = render(
        "suite.html.j2",
        facts=told,
        inputs=inputs,
        title=f"{suite.name}, {evidence.scale}",
        root="../../",
        crumbs=[("Papers", "../../index.html"), (f"{suite.name}, {evidence.scale}", None)],
    )
    write_whole(page.with_suffix(".html"), text.encode())
    return [page, page.with_suffix(".html")]


def _cells(evidence: Evidence) -> Table | None:
    """Return a row a finished cell: what tells it apart, and its metrics as they are kept."""
    if not evidence.done:
        return None
    suite = evidence.suite
    asked = [c.metric for c in suite.compare] + [t.metric for t in suite.tables]
    asked += [check.metric for checks in suite.claims.values() for check in checks]
    asked += [name for f in suite.figures for name in (f.y, f.x)]
    measured = {name for _, finished in evidence.done for name in finished.metrics}
    metrics = [name for name in dict.fromkeys(asked) if name in measured]
    varied = varied_settings(evidence.cells)
    rows = [
        [
            Entry(cell.id),
            setting_entry(cell.seed),
            *(setting_entry(cell.settings.get(name)) for name in varied),
            *(_metric(finished.metrics.get(name)) for name in metrics),
        ]
        for cell, finished in evidence.done
    ]
    return Table("cells", "Finished cells", ["id", "seed", *varied, *metrics], rows)


def _metric(value: float | None) -> Entry:
    return Entry("") if value is None else Entry(repr(value), number=value)
