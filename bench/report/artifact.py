"""The page of one artifact: what was printed, and what each suite and scale has to say of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.files.atomic import write_whole
from bench.papers.reader import Artifact, Paper, PublishedValue
from bench.report.effects import ArtifactEffects, artifact_effects
from bench.report.facts import SectionFacts
from bench.report.tables import Entry, Table, column_head, number, setting_entry
from bench.report.templates import render
from bench.suites.suite import Layout


@dataclass(frozen=True)
class Coverage:
    """What the suites say of an artifact."""

    sections: Sequence[SectionFacts]  # of each suite and scale with results
    layout: Layout | None
    to_run: Sequence[tuple[str, str, str]]  # suite, scale, what: those without results
    reason: str | None  # why no suite speaks of it


def write_artifact(
    artifact: Artifact, paper: Paper, folder: Path, coverage: Coverage, *, inputs: str
) -> list[Path]:
    """Write the pages of an artifact; return all files."""
    page = folder / paper.id / f"{artifact.id}.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    effects, pictures = _effects(artifact, coverage.sections, page)
    known = {
        "artifact": artifact,
        "paper": paper,
        "sections": [
            replace(section, errata=[], counts=section.counts_of[artifact.id])  # errata stand above
            for section in coverage.sections
        ],
        "printed": printed_table(artifact, coverage.layout),
        "curves": _curves(paper.figures.get(artifact.id, {})),
        "notes": _notes(artifact),
        "to_run": coverage.to_run,
        "reason": coverage.reason,
        "effects": effects,
    }
    write_whole(page, render("artifact.md.j2", **known).encode())
    text = render(
        "artifact.html.j2",
        **known,
        inputs=inputs,
        title=f"{paper.id}/{artifact.id}",
        root="../",
        crumbs=[("Papers", "../index.html"), (paper.id, f"../index.html#{paper.id}"),
                (artifact.id, None)],
    )  # fmt: skip
    write_whole(page.with_suffix(".html"), text.encode())
    return [page, page.with_suffix(".html"), *pictures]


def _effects(
    artifact: Artifact, sections: Sequence[SectionFacts], page: Path
) -> tuple[ArtifactEffects | None, list[Path]]:
    """Return the effects of all scales, None where there are none, and their picture's files."""
    from bench.figures.effects import draw_effects
    from bench.figures.panels import save

    own = [s.effects[artifact.id] for s in sections if artifact.id in s.effects]
    rows = [row for effects in own for row in effects.rows]
    found = artifact_effects(rows).get(artifact.id)
    canvas = draw_effects(rows)
    if canvas is None:
        return found, []
    return found, save(canvas, page.with_name(f"{artifact.id}-effects"), ["svg"])


def printed_table(artifact: Artifact, layout: Layout | None) -> Table | None:
    """Return what the paper prints, in its layout where a suite knows it."""
    values = artifact.values
    if not values:
        return None
    keys = list(dict.fromkeys(k for value in values for k in value.row_settings))
    title = f"{artifact.paper}/{artifact.id} as printed"
    several = len({value.metric for value in values}) > 1
    if layout and layout.columns and not several:
        table = _in_columns(title, artifact, keys, layout.columns)
        if sum(bool(entry.row) for row in table.rows for entry in row) == len(values):
            return table  # each value has a place of its own
    heads = [*keys, *(["metric", "value"] if several else [values[0].metric or "value"])]
    rows = [
        [
            *(setting_entry(_flat(value.row_settings.get(k))) for k in keys),
            *([Entry(value.metric or "")] if several else []),
            _printed(value),
        ]
        for value in values
    ]
    return Table(artifact.id, title, heads, rows)


def _in_columns(title: str, artifact: Artifact, keys: Sequence[str], column: str) -> Table:
    values = artifact.values
    names = [key for key in keys if key != column and _tells_rows_apart(key, column, values)]
    columns = list(dict.fromkeys(_flat(value.row_settings.get(column)) for value in values))
    grid: dict[tuple[Any, ...], dict[Any, Entry]] = {}
    for value in values:
        key = tuple(_flat(value.row_settings.get(k)) for k in names)
        grid.setdefault(key, {})[_flat(value.row_settings.get(column))] = _printed(value)
    rows = [
        [*map(setting_entry, key), *(line.get(c, Entry("")) for c in columns)]
        for key, line in grid.items()
    ]
    return Table(
        artifact.id,
        title,
        [*names, *(column_head(column, c) for c in columns)],
        rows,
    )


def _tells_rows_apart(key: str, column: str, values: Sequence[PublishedValue]) -> bool:
    """Whether a key of the rows is more than a consequence of the column."""
    seen: dict[Any, set[str]] = {}
    for value in values:
        own = value.row_settings
        seen.setdefault(_flat(own.get(column)), set()).add(str(own.get(key)))
    return any(len(found) > 1 for found in seen.values())


def _flat(value: Any) -> Any:
    return value if isinstance(value, int | float | str | None) else str(value)


def _printed(value: PublishedValue) -> Entry:
    text = "?" if value.value is None else number(value.value, value.decimals)
    if value.std is not None:
        text += f" ± {value.std:g}"
    place = f"{value.paper}/{value.artifact}, row {value.row + 1}"
    return Entry(text, number=value.value, row=place)


def _curves(figure: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the axes, series and known points of a figure without printed numbers."""
    found = [("across", figure.get("x")), ("up", figure.get("y"))]
    found += [("series", "; ".join(map(_words, figure.get("series") or [])))]
    found += [("known points", "; ".join(map(_words, figure.get("known_points") or [])))]
    return [(name, str(value)) for name, value in found if value]


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    return str(value)


def _notes(artifact: Artifact) -> list[tuple[str, str]]:
    notes = [(artifact.id, artifact.note)]
    notes += [(f"row {value.row + 1}", value.note) for value in artifact.values]
    return [(place, " ".join(note.split())) for place, note in notes if note]
