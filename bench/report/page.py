"""The page of one suite at one scale: tables, claims, figures, assumptions, errata, provenance."""

import csv
import io
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from bench.analysis.claims import Judged, judge_claims
from bench.analysis.compare import Compared, compare
from bench.analysis.frame import finished_cells
from bench.config.checks import Check
from bench.config.presets import presets
from bench.config.record import Cell
from bench.config.suite import Suite
from bench.published.reader import Artifact, Claim, Paper, Protocol
from bench.report.formats import to_markdown
from bench.report.measured import measured_table
from bench.report.tables import LEGEND, make_tables, summary_line
from bench.store.export import Finished, Results
from bench.store.files import write_whole

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


@dataclass(frozen=True)
class Evidence:
    """Everything that is known of a suite at a scale."""

    suite: Suite
    scale: str
    paper: Paper
    cells: list[Cell]
    done: list[tuple[Cell, Finished]]
    compared: list[Compared]
    judged: list[Judged]


def gather(suite: Suite, scale: str, cells: list[Cell], paper: Paper, results: Results) -> Evidence:
    """Read the finished cells and judge them."""
    done = finished_cells(cells, results)
    return Evidence(
        suite=suite,
        scale=scale,
        paper=paper,
        cells=cells,
        done=done,
        compared=compare(suite, cells, done, paper),
        judged=judge_claims(suite, scale, cells, done, paper),
    )


def write_page(evidence: Evidence, folder: Path) -> Path:
    """Write index.md, its figures and compare.csv into the folder; return the page."""
    from bench.figures.panels import draw_figure, save

    folder.mkdir(parents=True, exist_ok=True)
    drawn, missing = [], []
    for figure in evidence.suite.figures:
        canvas = draw_figure(figure, evidence.suite, evidence.cells, evidence.done, evidence.paper)
        if canvas is None:
            missing.append(figure.title)
        else:
            save(canvas, folder / figure.name)
            drawn.append(figure)
    write_whole(folder / "compare.csv", _to_csv(evidence.compared).encode())
    page = folder / "index.md"
    write_whole(page, render(evidence, drawn, missing).encode())
    return page


def render(evidence: Evidence, figures: Sequence[Any], missing_figures: Sequence[str]) -> str:
    """Return the page as Markdown."""
    suite, paper = evidence.suite, evidence.paper
    environment = Environment(
        loader=PackageLoader("bench.report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    published = suite.scales[evidence.scale].protocol == "published"
    names = list(dict.fromkeys([*suite.reproduces, *(c.artifact for c in suite.compare)]))
    artifacts = [paper.artifact(name) for name in names]
    layouts = {c.artifact: c.layout for c in reversed(suite.compare)}
    text = environment.get_template("suite.md.j2").render(
        suite=suite,
        scale=evidence.scale,
        paper=paper,
        artifacts=artifacts,
        counts=_counts(evidence),
        tables={
            name: make_tables(rows, layouts)
            for name, rows in _rows_by_artifact(names, evidence.compared)
            if published or any(row.comparable and row.measured for row in rows)
        },
        measured=[t for asked in suite.tables if (t := measured_table(asked, evidence.done))],
        markdown=to_markdown,
        legend=LEGEND,
        differences=sorted({d for row in evidence.compared for d in row.departures}),
        judged=_by_claim(evidence.judged),
        words=words,
        effect=effect_text,
        used=lambda name: _used(name, evidence.cells),
        plain=_plain,
        published_scale=published,
        figures=figures,
        missing_figures=missing_figures,
        gaps=_preset_gaps(suite, evidence.cells),
        unstated=[u for protocol in _protocols(suite, paper) for u in protocol.unstated],
        errata=_errata(suite, paper, artifacts),
        origins=_origins(evidence.done),
    )
    return _without_blank_runs(text)


def _rows_by_artifact(
    names: Sequence[str], compared: Sequence[Compared]
) -> list[tuple[str, list[Compared]]]:
    return [(name, [row for row in compared if row.artifact == name]) for name in names]


def _protocols(suite: Suite, paper: Paper) -> list[Protocol]:
    """Return the paper's protocols that the suite follows."""
    names = [suite.protocol, *suite.protocols.values()]
    return [paper.protocol(name) for name in dict.fromkeys(names) if name]


def _preset_gaps(suite: Suite, cells: Sequence[Cell]) -> list[tuple[str, str, str, str]]:
    """Return what presets fill in that no paper states: methods, setting, value, the source."""
    found: dict[tuple[str, str, str], list[str]] = {}
    known = presets()
    for method in dict.fromkeys(c.settings["method"] for c in cells if "method" in c.settings):
        coordinates = known[method].coordinates if method in known else {}
        own = [cell.settings for cell in cells if cell.settings.get("method") == method]
        for name, (value, source) in coordinates.items():
            taken = value is not None and any(s.get(name) == value for s in own)
            if "not stated" in source and taken and name not in suite.assumed:
                found.setdefault((name, _plain(value), source), []).append(method)
    return [(", ".join(names), *key) for key, names in found.items()]


def _used(name: str, cells: Sequence[Cell]) -> str:
    """Return the values that a setting has in these cells."""
    values = dict.fromkeys(c.settings[name] for c in cells if name in c.settings)
    return ", ".join(_plain(value) for value in values)


def _by_claim(judged: Sequence[Judged]) -> list[tuple[Claim, list[Judged]]]:
    claims = {j.claim.id: j.claim for j in judged}
    return [(claim, [j for j in judged if j.claim.id == name]) for name, claim in claims.items()]


def words(check: Check) -> str:
    """Return a check in words."""
    hidden = {"check", "metric", "where"}
    fields = check.model_dump(exclude=hidden, exclude_none=True, exclude_defaults=True)
    told = ", ".join(f"{name} {_plain(value)}" for name, value in fields.items())
    where = f" where {_plain(check.where)}" if check.where else ""
    return f"`{check.metric}` {check.check} ({told}){where}"


def effect_text(judged: Judged) -> str:
    """Return an effect and its interval."""
    effect = judged.effect
    if effect is None:
        return ""
    if effect.low is None or effect.high is None:
        return f"{effect.mean:.3g}"
    return f"{effect.mean:.3g} [{effect.low:.3g}, {effect.high:.3g}]"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} = {_plain(v)}" for k, v in value.items())
    if isinstance(value, list):
        return " to ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)


def _counts(evidence: Evidence) -> str:
    line = f"{len(evidence.done)} of {len(evidence.cells)} cells done."
    if evidence.compared:
        line += f" Compared values: {summary_line(evidence.compared)}."
    return line


def _errata(suite: Suite, paper: Paper, artifacts: Sequence[Artifact]) -> list[tuple[str, str]]:
    """Return what is recorded as contradictory, misprinted or open about these artifacts."""
    notes = [(f"{a.id}", a.note) for a in artifacts if a.note]
    notes += [(f"{a.id}, row {v.row + 1}", v.note) for a in artifacts for v in a.values if v.note]
    notes += [(f"protocol {p.id}", p.note) for p in _protocols(suite, paper) if p.note]
    return [(place, " ".join(note.split())) for place, note in notes]


def _origins(done: Sequence[tuple[Cell, Finished]]) -> dict[str, str]:
    if not done:
        return {}
    told = {}
    for key, name in ORIGINS.items():
        if not any(key in finished.origin for _, finished in done):
            continue
        counts = Counter(str(finished.origin.get(key)) for _, finished in done)
        told[name] = ", ".join(
            value if len(counts) == 1 else f"{value} ({n} cells)" for value, n in counts.items()
        )
    seconds = sum(finished.origin.get("wall_s", 0.0) for _, finished in done)
    told["seeds"] = ", ".join(str(seed) for seed in sorted({cell.seed for cell, _ in done}))
    told["compute time of all cells"] = f"{seconds:.0f} s"
    return told


def _to_csv(rows: Sequence[Compared]) -> str:
    buffer = io.StringIO()
    records = [row.record() | {"row": json.dumps(row.row)} for row in rows]
    if records:
        writer = csv.DictWriter(buffer, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {k: "; ".join(v) if isinstance(v, list) else v for k, v in r.items()} for r in records
        )
    return buffer.getvalue()


def _without_blank_runs(text: str) -> str:
    lines: list[str] = []
    for line in text.splitlines():
        if line.strip() or (lines and lines[-1]):
            lines.append(line.rstrip())
    return "\n".join(lines).rstrip() + "\n"
