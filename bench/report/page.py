"""What is known of one suite at one scale: tables, claims, assumptions, errata, provenance."""

import csv
import io
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.analysis.claims import ClaimVerdict, Judged, judge_claims, worst
from bench.analysis.compare import Compared, compare
from bench.analysis.frame import finished_cells
from bench.config.checks import Check
from bench.config.presets import presets
from bench.config.record import Cell, varied_settings
from bench.config.suite import Figure, Suite
from bench.published.reader import Artifact, Claim, Paper, Protocol
from bench.report.measured import measured_table
from bench.report.tables import Table, make_tables, summary_line, tolerance_lines
from bench.store.export import Finished, Results

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

    @property
    def is_published(self) -> bool:
        """Whether the scale follows the published protocol."""
        return self.suite.scales[self.scale].protocol == "published"


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


def facts(
    evidence: Evidence, figures: Sequence[Figure], missing_figures: Sequence[str]
) -> dict[str, Any]:
    """Return what the pages say of the suite at the scale, in Markdown and HTML alike.

    Args:
        evidence: what is known.
        figures: those that were drawn.
        missing_figures: titles of those that were not.
    """
    suite, paper = evidence.suite, evidence.paper
    names = list(dict.fromkeys([*suite.reproduces, *(c.artifact for c in suite.compare)]))
    artifacts = [paper.artifact(name) for name in names]
    return {
        "suite": suite,
        "scale": evidence.scale,
        "what": suite.scales[evidence.scale].what,
        "paper": paper,
        "published_scale": evidence.is_published,
        "counts": _counts(evidence, evidence.compared),
        "counts_of": {
            a.id: _counts(evidence, [row for row in evidence.compared if row.artifact == a.id])
            for a in artifacts
        },
        "missing": missing_cells(evidence),
        "artifacts": [(a, _tables(evidence, a.id)) for a in artifacts],
        "measured": [t for asked in suite.tables if (t := measured_table(asked, evidence.done))],
        "tolerances": tolerance_lines(
            [r for r in evidence.compared if r.comparable and r.measured]
        ),
        "differences": sorted({d for row in evidence.compared for d in row.departures}),
        "judged": by_claim(evidence.judged),
        "figures": figures,
        "missing_figures": missing_figures,
        "assumed": [
            (name, _plain(a.value), a.why, _used(name, evidence.cells))
            for name, a in suite.assumed.items()
        ],
        "gaps": _preset_gaps(suite, evidence.cells),
        "unstated": [u for protocol in _protocols(suite, paper) for u in protocol.unstated],
        "errata": _errata(artifacts),
        "errata_of_protocols": _errata_of_protocols(suite, paper),
        "origins": _origins(evidence.done),
    }


def missing_cells(evidence: Evidence) -> list[str]:
    """Return the settings of the cells that are not done, with their seeds."""
    done = {cell.id for cell, _ in evidence.done}
    varied = varied_settings(evidence.cells)
    seeds: dict[str, list[int]] = {}
    for cell in evidence.cells:
        if cell.id not in done:
            known = cell.settings
            told = ", ".join(f"{n} = {_plain(known[n])}" for n in varied if n in known)
            seeds.setdefault(told or "all", []).append(cell.seed)
    lines = [
        f"{told} (seed{'s' if len(own) > 1 else ''} {', '.join(map(str, own))})"
        for told, own in seeds.items()
    ]
    left = len(lines) - MOST_MISSING
    return [*lines[:MOST_MISSING], f"and {left} more"] if left > 0 else lines


def _has_values(evidence: Evidence, rows: Sequence[Compared]) -> bool:
    """Whether this scale has something to say of printed values."""
    compared = any(row.comparable and row.measured for row in rows)
    return bool(rows) and (evidence.is_published or compared)


def _tables(evidence: Evidence, artifact: str) -> list[Table]:
    """Return the tables of an artifact, where this scale has something to say of its values."""
    rows = [row for row in evidence.compared if row.artifact == artifact]
    if not _has_values(evidence, rows):
        return []
    return make_tables(rows, {c.artifact: c.layout for c in reversed(evidence.suite.compare)})


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


def by_claim(judged: Sequence[Judged]) -> list[tuple[Claim, ClaimVerdict, list[Judged]]]:
    """Return each claim with the verdict on it as a whole and its checks."""
    claims = {j.claim.id: j.claim for j in judged}
    rows = {name: [j for j in judged if j.claim.id == name] for name in claims}
    return [
        (claim, worst(j.verdict for j in rows[name]), rows[name]) for name, claim in claims.items()
    ]


def words(check: Check) -> str:
    """Return a check in words."""
    hidden = {"check", "metric", "where"}
    fields = check.model_dump(exclude=hidden, exclude_none=True, exclude_defaults=True)
    told = ", ".join(f"{name} {_plain(value)}" for name, value in fields.items())
    where = f" where {_plain(check.where)}" if check.where else ""
    return f"`{check.metric}` {check.check} ({told}){where}"


def effect_text(judged: Judged) -> str:
    """Return the effect that decides, its interval, and of how many groups it is the worst."""
    effect = judged.effect
    if effect is None:
        return ""
    of = f", worst of {judged.groups}" if judged.groups > 1 else ""
    if effect.low is None or effect.high is None:
        return f"{effect.mean:.3g}{of}"
    return f"{effect.mean:.3g} [{effect.low:.3g}, {effect.high:.3g}]{of}"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} = {_plain(v)}" for k, v in value.items())
    if isinstance(value, list):
        return " to ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)


def _counts(evidence: Evidence, compared: Sequence[Compared]) -> str:
    line = f"{len(evidence.done)} of {len(evidence.cells)} cells done."
    if _has_values(evidence, compared):
        line += f" Compared values: {summary_line(compared)}."
    return line


def _errata(artifacts: Sequence[Artifact]) -> list[tuple[str, str]]:
    """Return what is recorded as contradictory, misprinted or open about these artifacts."""
    notes = [(f"{a.id}", a.note) for a in artifacts if a.note]
    notes += [(f"{a.id}, row {v.row + 1}", v.note) for a in artifacts for v in a.values if v.note]
    return [(place, " ".join(note.split())) for place, note in notes]


def _errata_of_protocols(suite: Suite, paper: Paper) -> list[tuple[str, str]]:
    notes = [(f"protocol {p.id}", p.note) for p in _protocols(suite, paper) if p.note]
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


def compare_csv(rows: Sequence[Compared]) -> str:
    """Return every compared value with where it comes from, as CSV."""
    buffer = io.StringIO()
    records = [
        row.record()
        | {
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
