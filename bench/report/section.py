"""The pages of one suite at one scale, with their figures and tables as files."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

from bench.analysis.compare import Compared
from bench.analysis.evidence import Evidence
from bench.files.atomic import write_whole
from bench.report.facts import PICTURE_FORMATS, TABLE_FORMATS, SectionFacts
from bench.report.formats import to_csv, to_latex
from bench.report.origin import citation
from bench.report.pictures import size_attributes
from bench.report.templates import render

WRITERS = {"tex": to_latex, "csv": to_csv}
FORMATS = (*PICTURE_FORMATS, *TABLE_FORMATS)


def write_section(
    evidence: Evidence, facts: SectionFacts, folder: Path, *, inputs: str
) -> list[Path]:
    """Write the pages, figures and tables of a suite at a scale; return all files.

    Args:
        evidence: cells, results and what was judged of them.
        facts: what the pages say.
        folder: where the pages go.
        inputs: fingerprint of what they were written from.
    """
    folder.mkdir(parents=True, exist_ok=True)
    suite, written = evidence.suite, _draw(evidence, facts, folder)

    def write(name: str, text: str) -> None:
        write_whole(folder / name, text.encode())
        written.append(folder / name)

    tables = [table for _, artifact_tables in facts.artifacts for table in artifact_tables]
    tables += [effects.table for effects in facts.effects.values()]
    for table in [*tables, *facts.measured, *([facts.rooms] if facts.rooms else [])]:
        for kind in facts.formats:
            write(f"{table.name}.{kind}", WRITERS[kind](table))
    write("compare.csv", compare_csv(evidence.compared))
    write("index.md", render("suite.md.j2", facts=facts))
    text = render(
        "suite.html.j2",
        facts=facts,
        size=size_attributes(folder),
        cite=citation(f"{suite.name}-{evidence.scale}", suite.title, facts.origin),
        inputs=inputs,
        title=f"{suite.name}, {evidence.scale}",
        root="../../",
        crumbs=[("Papers", "../../index.html"), (f"{suite.name}, {evidence.scale}", None)],
    )
    write("index.html", text)
    return written


def _draw(evidence: Evidence, facts: SectionFacts, folder: Path) -> list[Path]:
    """Draw the figures of a suite at a scale and those of its effects; return their files."""
    from bench.figures.effects import draw_effects
    from bench.figures.panels import draw_figure, save

    suite, written = evidence.suite, list[Path]()
    for figure in facts.figures:
        canvas = draw_figure(
            figure,
            suite,
            evidence.cells,
            evidence.done,
            evidence.paper,
            rooms=evidence.rooms,
            published=evidence.is_published,
        )
        if canvas is not None:
            written += save(canvas, folder / figure.name, facts.pictures)
    for effects in facts.effects.values():
        canvas = draw_effects(effects.rows)
        if canvas is not None:
            written += save(canvas, folder / effects.table.name, facts.pictures)
    return written


def compare_csv(rows: Sequence[Compared]) -> str:
    """Return every compared value with where it comes from, as CSV."""
    buffer = io.StringIO()
    records = [
        row.record()
        | {
            "room": json.dumps(row.room.record()) if row.room else "",
            "row": json.dumps(row.row),
            "published_row": row.published.row + 1,
            "cells": " ".join(row.cells),
        }
        for row in rows
    ]
    if records:
        writer = csv.DictWriter(buffer, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {k: "; ".join(v) if isinstance(v, list) else v for k, v in r.items()} for r in records
        )
    return buffer.getvalue()
