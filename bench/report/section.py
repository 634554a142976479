"""Pages of one suite at one scale: their facts and files."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.analysis.claims import Judged, by_claim
from bench.analysis.compare import Compared
from bench.analysis.compared_effects import OtherEffect
from bench.analysis.doubts import MARK, doubt_lines, doubts_of
from bench.analysis.evidence import Evidence
from bench.analysis.room import LABELS, UNTRAINED, Room, apart, raw_inputs
from bench.analysis.verdicts import ClaimVerdict
from bench.cells.baseline import BASELINES
from bench.cells.cell import Cell, varied_settings
from bench.cells.groups import telling_settings
from bench.files.atomic import write_whole
from bench.papers.reader import Artifact, Claim, Paper, Protocol
from bench.report.effects import ArtifactEffects, artifact_effects, other_data_table
from bench.report.formats import to_csv, to_latex
from bench.report.learning_curves import learning_curves, trainings
from bench.report.measured import measured_table, own_tables
from bench.report.page import Page
from bench.report.paper_table import metric_head, printed_notes
from bench.report.summary import Origin, citation, origin_of, scale_words
from bench.report.tables import (
    Entry,
    Table,
    counts_text,
    make_tables,
    mean_text,
    setting_entry,
    summary_line,
    tolerance_notes,
)
from bench.results.reader import Finished
from bench.suites.figure import Figure
from bench.suites.own_files import own_code
from bench.suites.presets import paper_presets, resolved
from bench.suites.suite import Suite
from bench.text import ONE_SEED, csv_text, value_text

PICTURE_FORMATS = ("png", "pdf")  # beside SVG, which the pages show
WRITERS = {"tex": to_latex, "csv": to_csv}
FORMATS = (*PICTURE_FORMATS, *WRITERS)
MOST_MISSING = 8  # groups of cells that a page lists
ORIGINS = {
    "code.bench": "bench",
    "code.commit": "commit",
    "code.dirty": "changed since the commit",
    "packages.torch": "torch",
    "packages.numpy": "numpy",
    "python": "Python",
    "machine.processor": "processor",
    "machine.cores": "cores",
    "device": "device",
    "dataset": "fingerprint of the data set",
}
ROOM_TITLE = (
    "Trivial baselines, supervised accuracy and headroom (%; mean ± 95 % interval over seeds)"
)


@dataclass(frozen=True)
class SectionFacts:
    """Facts of a suite at a scale for pages in Markdown and HTML."""

    suite: Suite
    scale: str
    words: str  # its data and network, or that its protocol is the published one
    paper: Paper
    published_scale: bool  # whether the scale follows the published protocol
    caution: str | None  # what a published scale of one seed cannot decide
    counts: str  # cells done, and values by verdict
    counts_of: dict[str, str]  # the same of each artifact
    unfinished: dict[str, list[str]]  # settings of cells, by what is the matter with them
    artifacts: list[tuple[Artifact, list[Table]]]
    compared: dict[str, list[Compared]]  # by artifact, of printed rows with a measured number
    effects: dict[str, ArtifactEffects]  # by artifact, of those with a measured one
    other_effects: list[OtherEffect]  # on other data sets than the published numbers
    measured: list[Table]
    rooms: Table | None  # of accuracies
    missing_rooms: str | None  # what of them is not computed yet
    not_learned: list[str]  # sides of checks, with the numbers
    tolerances: list[str]
    deviations: list[str]  # from the paper, those first that may matter most
    doubts: list[str]  # why numbers that are marked mean nothing
    judged: list[tuple[Claim, ClaimVerdict, list[Judged]]]
    figures: list[Figure]  # that can be drawn
    curves: Figure | None  # how the trainings went
    assumed: list[tuple[str, str, str, str]]  # setting, value, why, values at this scale
    gaps: list[tuple[str, str, str, str]]  # methods, setting, value, source
    errata: list[tuple[str, str]]  # where, and what
    errata_of_protocols: list[tuple[str, str]]
    origins: dict[str, str]
    trusted: list[str]  # folders beside the suites with the user's own code
    origin: Origin | None
    cells: Table | None  # every finished cell
    formats: list[str]  # of tables, as files beside the page
    pictures: list[str]  # formats of figures

    @property
    def what(self) -> str:
        """Description of the scale in the suite."""
        return self.suite.scales[self.scale].what

    @property
    def unstated(self) -> list[str]:
        """What the paper leaves open of the experiment."""
        return [u for protocol in _protocols(self.suite, self.paper) for u in protocol.unstated]

    @property
    def raw_inputs(self) -> str:
        """Name of the raw inputs: raw pixels, or log-mel statistics for speech."""
        metrics = [table.metric for table in self.suite.tables]
        return raw_inputs(metrics[0] if metrics else "")

    @property
    def other_data(self) -> Table | None:
        """Effects on data sets that the paper does not use, without verdicts."""
        return other_data_table(self.other_effects) if self.other_effects else None

    @property
    def on_other_data(self) -> set[str]:
        """Artifacts related to these effects."""
        return {name for one in self.other_effects for name in one.artifacts}

    @property
    def folder(self) -> str:
        """Folder of its pages, relative to the site's folder."""
        return f"{self.suite.name}/{self.scale}"

    @property
    def missing_figures(self) -> list[str]:
        """Titles of figures that cannot be drawn."""
        return [f.title for f in self.suite.figures if f not in self.figures]

    def outcomes(self, artifact: str) -> str:
        """Return the counts of published effects by verdict; empty without effects."""
        rows = self.effects[artifact].rows if artifact in self.effects else []
        return counts_text(row.verdict for row in rows if row.measured)

    @property
    def artifacts_not_compared(self) -> list[Artifact]:
        """Artifacts without a comparison at this scale."""
        return [a for a, tables in self.artifacts if not tables and a.id not in self.effects]

    @property
    def main_figure(self) -> tuple[str, str] | None:
        """Name and title of the main figure; None without figures."""
        tables = [e.table for name, e in self.effects.items() if self.outcomes(name)]
        effects = [(t.name, f"{t.title}; published effects are open circles") for t in tables]
        return next(iter([*effects, *((f.name, f.caption) for f in self.figures)]), None)

    @property
    def untested(self) -> list[tuple[Claim, str]]:
        """Claims that were not tested at this scale, with the reasons."""
        return [
            (claim, "; ".join(dict.fromkeys(row.missing or "" for row in rows)))
            for claim, verdict, rows in self.judged
            if verdict == ClaimVerdict.NOT_TESTED
        ]

    @property
    def tested(self) -> list[tuple[Claim, ClaimVerdict, list[Judged]]]:
        """Claims that were tested, with verdicts and checks."""
        return [one for one in self.judged if one[1] != ClaimVerdict.NOT_TESTED]


def section_facts(evidence: Evidence, formats: Sequence[str]) -> SectionFacts:
    """Return the facts of a suite at a scale.

    Args:
        evidence: evidence of the cells.
        formats: formats of files next to the pages: png, pdf, tex, csv.
    """
    from bench.figures.panels import can_be_drawn  # loads matplotlib

    suite, paper, compared = evidence.suite, evidence.paper, evidence.compared
    artifacts = _artifacts(suite, paper)
    rows_of = {a.id: [row for row in compared if row.artifact == a.id] for a in artifacts}
    figures = [f for f in suite.figures if can_be_drawn(f, evidence.cells, evidence.done)]
    return SectionFacts(
        suite=suite,
        scale=evidence.scale,
        words=scale_words(evidence.cells, published=evidence.is_published),
        paper=paper,
        published_scale=evidence.is_published,
        caution=_caution(evidence),
        counts=_counts(evidence, compared),
        counts_of={name: _counts(evidence, rows) for name, rows in rows_of.items()},
        unfinished={"Failed": failed_cells(evidence), "Missing": missing_cells(evidence)},
        artifacts=[(a, _tables(evidence, rows_of[a.id])) for a in artifacts],
        compared={name: [row for row in rows if row.measured] for name, rows in rows_of.items()},
        effects=artifact_effects(evidence.effects),
        other_effects=evidence.other_data,
        measured=_measured(evidence),
        rooms=room_table(evidence, _metrics(evidence)),
        missing_rooms=missing_baselines(evidence),
        not_learned=not_learned(evidence),
        tolerances=tolerance_notes([row for row in compared if row.comparable and row.measured]),
        deviations=evidence.deviations,
        doubts=doubt_lines(evidence.done),
        judged=by_claim(evidence.judged),
        figures=figures,
        curves=learning_curves(figures, trainings(evidence.done)),
        assumed=_assumed(evidence),
        gaps=_preset_gaps(suite, evidence.cells),
        errata=_errata(artifacts),
        errata_of_protocols=_errata_of_protocols(suite, paper),
        origins=_origins(evidence.done),
        trusted=list(dict.fromkeys(name.split("/")[0] for name in own_code(evidence.cells))),
        origin=origin_of(evidence.done),
        cells=_finished_cells(evidence),
        formats=[kind for kind in WRITERS if kind in formats],
        pictures=["svg", *(kind for kind in PICTURE_FORMATS if kind in formats)],
    )


def _artifacts(suite: Suite, paper: Paper) -> list[Artifact]:
    """Return the artifacts that a suite is about, each once."""
    names = dict.fromkeys([*suite.reproduces, *(c.artifact for c in suite.compare)])
    return [paper.artifact(name) for name in names]


def _caution(evidence: Evidence) -> str | None:
    one = len({cell.seed for cell in evidence.cells}) == 1
    return f"{ONE_SEED[0].upper()}{ONE_SEED[1:]}." if one and evidence.is_published else None


def missing_cells(evidence: Evidence) -> list[str]:
    """Return settings and seeds of cells that are neither finished nor failed."""
    over = {cell.id for cell, _ in [*evidence.done, *evidence.failed]}
    return _listed(evidence, [cell for cell in evidence.cells if cell.id not in over])


def failed_cells(evidence: Evidence) -> list[str]:
    """Return the reasons of failures, each with settings and seeds of its cells."""
    by_reason: dict[str, list[Cell]] = {}
    for cell, reason in evidence.failed:
        by_reason.setdefault(reason, []).append(cell)
    return [f"{r}: {'; '.join(_listed(evidence, cells))}" for r, cells in by_reason.items()]


def _listed(evidence: Evidence, cells: Sequence[Cell]) -> list[str]:
    """Return the settings of cells with their seeds, at most MOST_MISSING of them.

    Settings and seeds that all of these cells share are listed once, at the end.
    """
    telling = telling_settings(evidence.cells) if cells else []
    seeds: dict[tuple[str, ...], list[int]] = {}
    for cell in cells:
        known = {name: cell.settings[name] for name in telling if name in cell.settings}
        texts = tuple(f"{name} = {value_text(v)}" for name, v in known.items())
        seeds.setdefault(texts, []).append(cell.seed)
    several = len(seeds) > 1
    shared = [t for t in next(iter(seeds), ()) if several and all(t in texts for texts in seeds)]
    same_seeds = several and len(set(map(tuple, seeds.values()))) == 1
    lines = []
    for texts, numbers in seeds.items():
        settings_text = ", ".join([t for t in texts if t not in shared] or texts) or "all"
        lines.append(settings_text if same_seeds else f"{settings_text} ({_seeds_text(numbers)})")
    if len(lines) > MOST_MISSING:
        lines[MOST_MISSING:] = [f"and {len(lines) - MOST_MISSING} more"]
    if shared or same_seeds:
        once = [*shared, *([_seeds_text(next(iter(seeds.values())))] if same_seeds else [])]
        lines[-1] += f" (each with {', '.join(once)})"
    return lines


def _seeds_text(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def _measured(evidence: Evidence) -> list[Table]:
    made = (
        measured_table(t, evidence.done, evidence.rooms, evidence.failed)
        for t in own_tables(evidence.suite, evidence.cells)
    )
    return [table for table in made if table is not None]


def _has_values(evidence: Evidence, rows: Sequence[Compared]) -> bool:
    """Whether this scale has something to say of published values."""
    compared = any(row.comparable and row.measured for row in rows)
    return bool(rows) and (evidence.is_published or compared)


def _tables(evidence: Evidence, rows: Sequence[Compared]) -> list[Table]:
    """Return the tables of an artifact, where this scale has something to say of its values."""
    if not _has_values(evidence, rows):
        return []
    return make_tables(rows, {c.artifact: c.layout for c in reversed(evidence.suite.compare)})


def _protocols(suite: Suite, paper: Paper) -> list[Protocol]:
    """Return the paper's protocols that the suite follows."""
    names = [suite.protocol, *suite.protocols.values()]
    return [paper.protocol(name) for name in dict.fromkeys(names) if name]


def _assumed(evidence: Evidence) -> list[tuple[str, str, str, str]]:
    """Return what the suite assumes: setting, value, why, values at this scale."""
    assumed = evidence.suite.assumed.items()
    return [(n, value_text(a.value), a.why, _used(n, evidence.cells)) for n, a in assumed]


def _preset_gaps(suite: Suite, cells: Sequence[Cell]) -> list[tuple[str, str, str, str]]:
    """Return what presets fill in that no paper states: methods, setting, value, the source."""
    methods_of: dict[tuple[str, str, str], list[str]] = {}
    known = paper_presets()
    for method in dict.fromkeys(c.settings["method"] for c in cells if "method" in c.settings):
        coordinates = known[method].coordinates if method in known else {}
        method_settings = [cell.settings for cell in cells if cell.settings.get("method") == method]
        for name, coordinate in coordinates.items():
            value, source = coordinate.value, coordinate.source
            used = [resolved({**s, name: value})[name] == s.get(name) for s in method_settings]
            taken = value is not None and any(used)
            if "not stated" in source and taken and name not in suite.assumed:
                methods_of.setdefault((name, value_text(value), source), []).append(method)
    return [(", ".join(names), *key) for key, names in methods_of.items()]


def _used(name: str, cells: Sequence[Cell]) -> str:
    """Return the values that a setting has in these cells."""
    values = dict.fromkeys(c.settings[name] for c in cells if name in c.settings)
    return ", ".join(value_text(value) for value in values)


def _counts(evidence: Evidence, compared: Sequence[Compared]) -> str:
    line = f"{len(evidence.done)} of {len(evidence.cells)} cells done."
    if _has_values(evidence, compared):
        line += f" Measured values by verdict: {summary_line(compared)}."
    return line


def _errata(artifacts: Sequence[Artifact]) -> list[tuple[str, str]]:
    """Return the notes on these artifacts' published numbers, each with its place."""
    return [
        (a.id if place == a.id else f"{a.id}, {place}", note)
        for a in artifacts
        for place, note in printed_notes(a)
    ]


def _errata_of_protocols(suite: Suite, paper: Paper) -> list[tuple[str, str]]:
    notes = [(f"protocol {p.id}", p.note) for p in _protocols(suite, paper) if p.note]
    return [(source, " ".join(note.split())) for source, note in notes]


def _origins(done: Sequence[tuple[Cell, Finished]]) -> dict[str, str]:
    if not done:
        return {}
    origins = {}
    for key, name in ORIGINS.items():
        if not any(key in finished.provenance for _, finished in done):
            continue
        counts = Counter(str(finished.provenance.get(key)) for _, finished in done)
        origins[name] = ", ".join(
            value if len(counts) == 1 else f"{value} ({n} cells)" for value, n in counts.items()
        )
    seconds = sum(finished.provenance.get("wall_s", 0.0) for _, finished in done)
    origins["seeds"] = ", ".join(str(seed) for seed in sorted({cell.seed for cell, _ in done}))
    code = own_code(cell for cell, _ in done)
    if code:
        origins["own code"] = ", ".join(f"{name} ({identity})" for name, identity in code.items())
    origins["compute time of all cells"] = f"{seconds:.0f} s"
    return origins


def _finished_cells(evidence: Evidence) -> Table | None:
    """Return a row a finished cell: what tells it apart, and its metrics."""
    if not evidence.done:
        return None
    metrics = _metrics(evidence)
    varied = varied_settings(evidence.cells)
    rows = [
        [
            Entry(cell.id),
            setting_entry(cell.seed),
            *(setting_entry(cell.settings.get(name)) for name in varied),
            *_metric_entries(cell, finished, metrics),
        ]
        for cell, finished in evidence.done
    ]
    return Table("cells", "Finished cells", ["id", "seed", *varied, *metrics], rows)


def _metrics(evidence: Evidence) -> list[str]:
    """Return the metrics that the page speaks of and that were measured."""
    suite = evidence.suite
    asked = [c.metric for c in suite.compare] + [t.metric for t in suite.tables]
    asked += [judged.check.metric for judged in evidence.judged]
    asked += [check.metric for checks in suite.claims.values() for check in checks]
    asked += [name for f in suite.figures for name in f.columns]
    measured = {name for _, finished in evidence.done for name in finished.metrics}
    return [name for name in dict.fromkeys(asked) if name in measured]


def _metric_entries(cell: Cell, finished: Finished, names: Sequence[str]) -> Iterator[Entry]:
    """Yield a cell's metrics, those that mean nothing with the mark."""
    doubts = doubts_of(cell, finished)
    for name in names:
        value = finished.metrics.get(name)
        text = value_text(value, null="")
        yield Entry(f"{text} {MARK}" if name in doubts else text, number=value)


def write_section(evidence: Evidence, facts: SectionFacts, folder: Path) -> list[Path]:
    """Write the pages, figures and tables of a suite at a scale; return the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    suite = evidence.suite
    _draw(evidence, facts, folder)
    tables = [table for _, artifact_tables in facts.artifacts for table in artifact_tables]
    tables += [effects.table for effects in facts.effects.values()]
    tables += [table for table in (facts.other_data, facts.rooms) if table is not None]
    for table in [*tables, *facts.measured]:
        for kind in facts.formats:
            write_whole(folder / f"{table.name}.{kind}", WRITERS[kind](table).encode())
    write_whole(folder / "compare.csv", compare_csv(evidence.compared).encode())
    here = f"{suite.name}, {evidence.scale}"
    return Page(
        "suite.md.j2",
        title=here,
        root="../../",
        crumbs=[("Papers", "../../index.html"), (here, None)],
        values={"facts": facts},
        cite=citation(f"{suite.name}-{evidence.scale}", suite.title, facts.origin),
    ).write(folder / "index.md")


def _draw(evidence: Evidence, facts: SectionFacts, folder: Path) -> None:
    """Draw the figures of a suite at a scale and those of its effects."""
    from bench.figures.effects import draw_effects
    from bench.figures.layout import save
    from bench.figures.panels import draw_figure

    suite = evidence.suite
    drawn = [(figure, evidence.cells, evidence.done) for figure in facts.figures]
    if facts.curves:
        trained = trainings(evidence.done)
        drawn.append((facts.curves, [cell for cell, _ in trained], trained))
    for figure, cells, done in drawn:
        canvas = draw_figure(
            figure,
            suite,
            cells,
            done,
            evidence.paper,
            rooms=evidence.rooms,
            published=evidence.is_published,
            failed=evidence.failed,
        )
        if canvas is not None:
            save(canvas, folder / figure.name, facts.pictures)
    for effects in facts.effects.values():
        canvas = draw_effects(effects.rows)
        if canvas is not None:
            save(canvas, folder / effects.table.name, facts.pictures)


def compare_csv(rows: Sequence[Compared]) -> str:
    """Return CSV of every compared value with its source."""
    records = [
        row.record()
        | {
            "room": json.dumps(row.room.record()) if row.room else "",
            "row": json.dumps(row.row),
            "published_row": row.published.row + 1,
            "cells": " ".join(row.cells),
            "others": row.others_texts,
        }
        for row in rows
    ]
    values = [
        ["; ".join(v) if isinstance(v, list) else v for v in record.values()] for record in records
    ]
    return csv_text([records[0], *values]) if records else ""


def room_table(evidence: Evidence, metrics: Sequence[str]) -> Table | None:
    """Return the headroom of accuracies by data set and network; None if unknown.

    Args:
        evidence: evidence of the cells.
        metrics: measured metrics on the page.
    """
    cells = [cell for cell, _ in evidence.done]
    rooms = [room for name in metrics for room in evidence.rooms.of(name, cells)]
    if not rooms:
        return None
    settings = apart(rooms)
    rows = [
        [
            Entry(metric_head(room.metric)),
            *(setting_entry(dict(room.point)[name]) for name in settings),
            *_numbers(room),
        ]
        for room in rooms
    ]
    once = [list(row) for row in dict.fromkeys(map(tuple, rows))]
    heads = ["metric", *settings, rooms[0].raw_is, UNTRAINED, LABELS, "headroom"]
    return Table("room", ROOM_TITLE, heads, once)


def _numbers(room: Room) -> list[Entry]:
    means = (room.raw, room.untrained, room.labels)
    entries = [Entry(mean_text(mean, 1), number=mean.mean) for mean in means]
    return [*entries, Entry(f"{room.room:.1f}", number=room.room)]


def missing_baselines(evidence: Evidence) -> str | None:
    """Return the missing baselines and the command for them; None if complete."""
    planned, done = len(evidence.baselines), evidence.baselines_done
    if done == planned:
        return None
    command = f"bench run {evidence.suite.name} --scale {evidence.scale}"
    return (
        f"{planned - done} of the {planned} baseline cells, for trivial baselines and supervised "
        f"accuracies, are not computed yet; `{command} --where baseline={','.join(BASELINES)}` "
        "computes these cells."
    )


def not_learned(evidence: Evidence) -> list[str]:
    """Return each side of a check that is not detectably above baseline, with its numbers."""
    return list(dict.fromkeys(reason for judged in evidence.judged for reason in judged.unlearned))
