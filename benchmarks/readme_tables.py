"""The tables of README and of pages of the manual.

What became of values and claims, and what the runs cost, comes from the reference results; the
speed of a step from what `benchmarks.pretrain_step` wrote. Cells that train as one batch share
their time. Each process computed on one thread, so seconds are those of one core, of a machine
that did other work too.

    python -m benchmarks.readme_tables [--write]    # prints the tables, or writes the pages
"""

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from bench.analysis.claims import counts_by_evidence
from bench.analysis.compare import Compared
from bench.analysis.evidence import Evidence, gather
from bench.analysis.others import Seen, seen_claims
from bench.analysis.verdicts import ClaimVerdict, Verdict
from bench.analysis.verdicts import EvidenceKind as Kind
from bench.cli.claims import describe_claims
from bench.cli.selection import select_scales
from bench.cli.workspace import Workspace, workspace_of
from bench.estimate.history import Machine
from bench.papers.reader import PAPERS, load_paper
from bench.results.reader import Results
from bench.suites.load import load_suite, suite_paths
from benchmarks.open_claims import HEADS, MINUTES, UNKNOWN, rows
from benchmarks.recipes import HEADS as RECIPE_HEADS
from benchmarks.recipes import METRICS, chosen, trials_of
from benchmarks.recipes import rows as recipe_rows

ROOT = Path(__file__).parents[1]
SUITES, REFERENCE = ROOT / "suites", ROOT / "results" / "reference"
WORKSPACE = Workspace(SUITES, REFERENCE, ROOT)
PAGES = (
    "README.md",
    "docs/explanation/speed.md",
    "docs/explanation/recipes.md",
    "docs/reference/open-claims.md",
)
RULE = ("---", "---", "---:", "---:", "---")
CLAIM_HEADS = ("paper", "claim", "suite with a check")
CLAIM_RULE = ("---", "---", "---")
RECIPE_RULE = ("---", "---:", "---:", "---:", "---:", "---")
STEPS = ROOT / "benchmarks" / "measured" / "pretrain_step.json"


@cache
def evidence() -> list[Evidence]:
    """Return what the reference results say, of every suite and scale that they have cells of."""
    results, workspace = Results(REFERENCE), workspace_of(suites=SUITES, results=REFERENCE)
    return [
        gather(chosen.suite, chosen.scale, chosen.cells, chosen.paper, results)
        for path in suite_paths(SUITES).values()
        for chosen in select_scales(path, workspace)
        if results.finished(chosen.cells)
    ]


@cache
def claim_records() -> list[dict[str, Any]]:
    """Return the rows of `bench claims --json` for the reference results."""
    return describe_claims(WORKSPACE, paper=None, scale=None)


def verdicts() -> dict[tuple[str, str], str]:
    """Return the verdict on each claim, by paper and claim."""
    return {(row["paper"], row["claim"]): row["overall"] for row in claim_records()}


def reproduced() -> str:
    """Return what became of the published values, and of the claims by kind of evidence."""
    lines = [
        ("paper", "published values", "compared", "verdicts on values", "claims seen by others"),
        ("---", "---:", "---:", "---", "---"),
    ]
    seen = seen_claims(s for s in map(load_suite, suite_paths(SUITES).values()) if s.paper)
    for name in PAPERS:
        own = [row for e in evidence() if e.suite.paper == name for row in e.compared]
        judged = [r for r in own if r.comparable and r.measured and r.published.value is not None]
        counts = Counter(str(v) for v in value_verdicts(judged).values())
        told = _counts(counts, [str(v) for v in Verdict])
        others = Counter(str(found.seen) for (paper, _), found in seen.items() if paper == name)
        by_others = _counts(others, [str(v) for v in Seen])
        values = str(len(load_paper(name).values))
        lines.append((name, values, str(counts.total()), told, by_others))
    return f"{_table(lines)}\n{_claims()}"


def value_verdicts(rows: Sequence[Compared]) -> dict[tuple[str, int], Verdict]:
    """Return one verdict for each published value: the worst of its interpretations and scales.

    Of verdicts that refute, none is worse; the suite's first one counts.
    """
    order = list(reversed(Verdict))
    found: dict[tuple[str, int], list[Verdict]] = defaultdict(list)
    for row in rows:
        found[row.artifact, row.published.row].append(row.verdict)
    return {
        name: next((v for v in verdicts if v.refutes), min(verdicts, key=order.index))
        for name, verdicts in found.items()
    }


def _claims() -> str:
    """Return the claims' verdicts: a row for each kind of evidence, images as published first."""
    columns = [v for v in reversed(ClaimVerdict) if v != ClaimVerdict.NOT_TESTED]
    lines = [("evidence", "claims tested", *map(str, columns)), ("---", *["---:"] * 6)]
    for kind, counts in counts_by_evidence(claim_records()).items():
        if counts or kind == Kind.IMAGES:
            total = str(counts.total() or "none")
            lines.append((str(kind), total, *(str(counts[v]) for v in columns)))
    untested = sum(verdict == ClaimVerdict.NOT_TESTED for verdict in verdicts().values())
    return f"{_table(lines)}\n{untested} of the {len(verdicts())} claims are not tested.\n"


def costs() -> str:
    """Return, per experiment and scale, the seconds of a cell and of all cells, each cell once."""
    seconds: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    memory: dict[tuple[str, str], float] = defaultdict(float)
    seen: set[str] = set()
    for found in evidence():
        for cell, finished in found.done:
            if cell.id in seen:  # of a larger scale or another suite
                continue
            seen.add(cell.id)
            key, origin = (cell.experiment, found.scale), finished.provenance
            seconds[key][cell.id] = origin["wall_s"]  # its share of a stack's
            memory[key] = max(memory[key], origin["peak_memory_gb"])
    lines = [
        ("experiment", "scale", "cells", "seconds per cell", "core-minutes in all", "memory, GB"),
        ("---", "---", "---:", "---:", "---:", "---:"),
    ]
    for (experiment, scale), own in sorted(seconds.items()):
        each, whole = _two_digits(median(own.values())), _two_digits(sum(own.values()) / 60)
        peak = f"{memory[experiment, scale]:.1f}"
        lines.append((experiment, scale, str(len(own)), each, whole, peak))
    return _table(lines)


def speed() -> str:
    """Return how fast a training step is: against the bare network, and against the peer."""
    record = json.loads(STEPS.read_text())
    peer = record["conditions"]["peer"]
    lines = [
        ("width", "batch", "ms per step", "share of the bare network's speed", f"times {peer}"),
        ("---:", "---:", "---:", "---:", "---:"),
    ]
    for step in record["steps"]:
        taken, share, times = step["step_s"], step["bare_share"], step["images_against_peer"]
        sizes = str(step["width"]), str(step["batch"])
        lines.append((*sizes, f"{1e3 * taken:.0f}", f"{share:.2f}", f"{times:.2f}"))
    return _table(lines)


def open_claims() -> str:
    """Return which suites test the claims that nothing tests yet, and what that costs."""
    untested = {claim for claim, verdict in verdicts().items() if verdict == "not tested"}
    names = Counter(f.provenance["machine.processor"] for e in evidence() for _, f in e.done)
    machine = Machine("cpu", names.most_common(1)[0][0])
    lines = rows(WORKSPACE, untested, machine)
    listed = {name for line in lines for name in line[-1].split(", ")}
    known = [float(line[MINUTES]) for line in lines if line[MINUTES] != UNKNOWN]
    parts = [
        f"{len(untested)} of the papers' claims have not been tested by any reference run; "
        f"{len(listed)} of these {len(untested)} claims can be tested on a CPU."
    ]
    if lines:
        parts[0] += (
            " Run separately, the suites with a known time in the table take "
            f"{sum(known) / 60:.1f} core-hours in total."
        )
        parts.append(_table([HEADS, RULE, *lines]))
    suites = [load_suite(path) for path in suite_paths(SUITES).values()]
    checked_by = [
        (paper, claim, ", ".join(s.name for s in suites if s.paper == paper and claim in s.claims))
        for paper, claim in sorted(untested)
    ]
    parts.append(_table([CLAIM_HEADS, CLAIM_RULE, *checked_by]))
    return "\n\n".join(parts)


def recipes() -> str:
    """Return the searches of recipes: every trial, and the one that the rule takes."""
    parts = []
    for found in evidence():
        name, done = found.suite.name, [row for row in found.done if row[0].known.get("optimizer")]
        if not name.startswith("recipe-") or found.scale != "cifar" or not done:
            continue
        trials = trials_of(done, METRICS.get(name, "knn_top1"))
        planned = sum("optimizer" in cell.known for cell in found.cells)
        whole = len(done) == planned
        best = chosen(trials) if whole else None
        state = (
            "" if whole else f" ({len(done)} of {planned} cells are done: nothing is chosen yet)"
        )
        lines = [RECIPE_HEADS, RECIPE_RULE, *recipe_rows(trials, best)]
        parts.append(f"`{name}`{state}:\n\n{_table(lines)}")
    return "\n".join(parts) or "No search for a recipe has run yet.\n"


def _counts(counts: Counter[str], order: Sequence[str]) -> str:
    return ", ".join(f"{counts[v]} {v}" for v in order if counts[v]) or "-"


def _two_digits(number: float) -> str:
    return f"{float(f'{number:.2g}'):g}"


def _table(lines: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


TABLES = {
    "reproduced": reproduced,
    "costs": costs,
    "speed": speed,
    "recipes": recipes,
    "open-claims": open_claims,
}


def marked(name: str, text: str) -> str:
    """Return a table between the marks that it has in a page."""
    return f"<!-- {name}: begin -->\n{text}<!-- {name}: end -->\n"


def with_table(page: str, name: str, text: str) -> str:
    """Return a page with a table between its marks; as it is where it has none."""
    marks = re.escape(marked(name, "\0")).replace("\0", ".*?")
    return re.sub(marks, lambda _: marked(name, text), page, flags=re.DOTALL)


def main() -> None:
    """Print the tables, or write them into the pages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="into the pages, between their marks")
    write = parser.parse_args().write
    for name, table in TABLES.items():
        text = table()
        if not write:
            print(text)
        for path in map(ROOT.joinpath, PAGES if write else ()):
            path.write_text(with_table(path.read_text(), name, text))


if __name__ == "__main__":
    main()
