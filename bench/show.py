"""How what the verbs found out is shown to a person."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from bench.launch.progress import duration
from bench.report.tables import LEGEND, Entry, make_tables, summary_line
from bench.report.terminal import console, print_rows, print_table
from bench.store.store import State

MOST_SHOWN = 40  # cells that a verb lists

USUAL = ("None", "Resources", "Priority", "Dependency", "JobArrayTaskLimit", "BeginTime")
"""Reasons for which jobs wait that will pass by themselves."""

Record = dict[str, Any]


def print_suites(records: Sequence[Record]) -> None:
    """Print one line a suite."""
    rows = [
        [
            Entry(r["name"]),
            Entry(r["paper"] or ""),
            Entry(", ".join(r["artifacts"])),
            Entry(", ".join(f"{k} {v['done']}/{v['cells']}" for k, v in r["scales"].items())),
            Entry(r["title"]),
        ]
        for r in records
    ]
    print_rows("", ["suite", "paper", "artifacts", "cells done", "title"], rows)


def print_plan(record: Record) -> None:
    """Print the grid and the prediction."""
    cells = record["cells"]
    heads = ["id", "state", *cells[0]["axes"]]
    rows = [
        [Entry(c["id"]), Entry(c["state"]), *(Entry(_told(v)) for v in c["axes"].values())]
        for c in cells[:MOST_SHOWN]
    ]
    print_rows(f"{record['suite']} at scale {record['scale']}", heads, rows)
    if len(cells) > MOST_SHOWN:
        print(f"... and {len(cells) - MOST_SHOWN} more (--json lists all)")
    _print_kinds(record["predicted"])
    print(
        f"{len(cells)} cells, {record['missing']} to run. {_told_prediction(record['predicted'])}"
    )
    if "limited" in record:
        print_limited(record["limited"], file=sys.stdout)


def _told(value: Any) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _print_kinds(p: Record) -> None:
    """Print what is predicted of each kind of cell."""
    hours = "core-hours" if p["gpu_hours"] is None else "GPU-hours"
    heads = ["kind", "cells", "each", hours, "memory", f"on {p['slots']} worker(s)", "from"]
    rows = [
        [
            Entry(k["kind"]),
            Entry(str(k["cells"])),
            Entry(_or_unknown(k["cell_s"], duration)),
            Entry(_or_unknown(k["core_s"], lambda s: f"{s / 3600:.3g}")),
            Entry(_memory(k)),
            Entry(_or_unknown(k["wall_s"], duration)),
            Entry(k["told"]),
        ]
        for k in p["by_kind"]
    ]
    if rows:
        print_rows("to run", heads, rows)


def _or_unknown(value: float | None, told: Callable[[float], str]) -> str:
    return "?" if value is None else told(value)


def _memory(p: Record) -> str:
    host = "?" if p["peak_memory_gb"] is None else f"{p['peak_memory_gb']:.1f} GB"
    device = p["device_peak_gb"]
    return host if device is None else f"{host}, GPU {device:.1f} GB"


def _told_prediction(p: Record) -> str:
    if not p["by_kind"]:
        return "Nothing is left."
    if p["wall_s"] is None:
        return (
            "Time and memory are not known before cells of this kind have run; --probe times a "
            "few steps."
        )
    return (
        f"Predicted: {duration(p['wall_s'])} on {p['slots']} worker(s), {_memory(p)} a worker "
        f"(from {p['based_on_cells']} finished cells)."
    )


def print_limited(limited: Record, file: TextIO | None = None) -> None:
    """Print what fits in a limit of hours, on standard error if nothing else is said."""
    of = limited["of"]
    if of == "core-hours":
        of = "core-hours (no GPU is used: --limit-gpu-hours limits them)"
    lines = [
        f"Within {limited['limit_hours']:g} {of}: {limited['cells']} of {limited['of_cells']} "
        f"cells, {limited['hours']:.3g} hours."
    ]
    for claim in limited["claims"]:
        seeds, name = claim["seeds"], claim["claim"]
        if seeds:
            alone = "; one seed gives no interval" if len(seeds) == 1 else ""
            told = (
                f"{len(seeds)} of {claim['of_seeds']} seeds ({', '.join(map(str, seeds))}{alone})"
            )
            lines.append(f"  testable: {name}: {told}")
        else:
            why = "" if claim["of_seeds"] else " at this scale"
            lines.append(f"  not testable{why}: {name}")
    print("\n".join(lines), file=file or sys.stderr)


def print_counts(record: Record) -> None:
    """Print how a run ended."""
    given = record.get("submitted")
    if given is not None and given["cells"]:
        print(
            f"submitted {given['cells']} cells in {given['jobs']} jobs ({given['arrays']} arrays, "
            f"logs: {given['logs']}); `bench status {given['suite']} --watch` follows"
        )
    elif given is not None:
        print("nothing to submit: every cell is over, runs or is queued")
    waiting = f", {given['waiting']} queued or running" if given else ""
    print(f"{record['done']} done, {record['failed']} failed, {record['missing']} missing{waiting}")
    _print_failures(record["failures"])


def _print_failures(failures: Sequence[Record]) -> None:
    for failure in failures[:10]:
        log = f" (log: {failure['log']})" if failure["log"] else ""
        print(f"  {failure['id']} failed: {failure['reason']}: {failure['message']}{log}")
    if len(failures) > 10:
        print(f"  ... and {len(failures) - 10} more")


def print_status(record: Record) -> None:
    """Print the cells by state."""
    told = ", ".join(f"{record[state]} {state}" for state in State if record[state])
    left = record["left_core_s"]
    more = f"; about {duration(left)} of work left" if left else ""
    print(f"{record['suite']} at scale {record['scale']}: {record['cells']} cells: {told}{more}")
    if not record["slurm_answers"]:
        print("  Slurm does not answer: what was submitted last counts as queued")
    _print_jobs(record["jobs"])
    _print_failures(record["failures"])


def _print_jobs(jobs: Sequence[Record]) -> None:
    """Print how many jobs are in each state, and the logs of those that run."""
    if not jobs:
        return
    counts = Counter(job["state"].lower() for job in jobs)
    print(f"  Slurm: {', '.join(f'{n} {state}' for state, n in counts.items())}")
    for job in [job for job in jobs if job["state"] == "RUNNING"][:10]:
        print(f"    job {job['job']} runs (log: {job['log']})")
    stuck = Counter(
        j["reason"] for j in jobs if j["state"] == "PENDING" and j["reason"] not in USUAL
    )
    for reason, n in stuck.items():
        print(f"    {n} pending: {reason}")


def print_cancelled(record: Record) -> None:
    """Print what was stopped."""
    print(f"{len(record['jobs'])} jobs and {len(record['launchers'])} launchers were told to stop")
    for name in record["elsewhere"]:
        print(f"  launcher {name}: on another machine, stop it there")


def print_comparison(evidence: Any) -> None:
    """Print the tables in the paper's layout, and the verdicts."""
    suite = evidence.suite
    what = suite.scales[evidence.scale].what
    print(f"{suite.name} at scale {evidence.scale}: {what}")
    print(f"{len(evidence.done)} of {len(evidence.cells)} cells done")
    if not evidence.compared:
        print("The suite compares no printed value; `bench claims` judges the paper's sentences.")
        return
    layouts = {c.artifact: c.layout for c in reversed(suite.compare)}
    for table in make_tables(evidence.compared, layouts):
        print()
        print_table(table)
    print(f"\n{LEGEND}\n{summary_line(evidence.compared)}")
    departures = sorted({d for row in evidence.compared for d in row.departures})
    if departures:
        print(f"departs from the published protocol: {'; '.join(departures)}")


def print_claims(evidence: Any) -> None:
    """Print each check of each claim."""
    from bench.report.page import effect_text, words

    rows = [
        [
            Entry(str(j.verdict)),
            Entry(j.claim.id),
            Entry(words(j.check).replace("`", "")),
            Entry(effect_text(j)),
            Entry(f"{j.threshold:.3g}"),
            Entry(str(j.effect.n) if j.effect else j.lacking or ""),
        ]
        for j in evidence.judged
    ]
    heads = ["verdict", "claim", "check", "effect [95 % interval]", "threshold", "n"]
    print_rows(f"{evidence.suite.name} at scale {evidence.scale}", heads, rows)


def print_pages(record: Record) -> None:
    """Print the path of each page."""
    for page in record["pages"]:
        print(page)
    if not record["pages"]:
        print("no suite has results yet", file=sys.stderr)


def print_export(record: Record) -> None:
    """Print how many cells were exported."""
    encoders = f" and {record['encoders']} encoders" if record.get("encoders") else ""
    console().print(
        f"{record['cells']} cells{encoders} in {record.get('folder', record.get('file'))}"
    )


def print_merge(record: Record) -> None:
    """Print what was added, and what was left alone and why."""
    conflicts, busy = record["conflicts"], record["busy"]
    encoders = f" and {record['encoders']} encoders" if record["encoders"] else ""
    print(
        f"{record['added']} cells{encoders} added, {record['same']} the same, "
        f"{len(conflicts)} in conflict, {len(busy)} busy"
    )
    if record["left_out"]:
        print(f"{len(record['left_out'])} left out, such as {record['left_out'][0]['why']}")
    for cell in busy[:MOST_SHOWN]:
        print(f"busy: {cell['experiment']} {cell['id']} is computed here right now")
    for cell in conflicts[:MOST_SHOWN]:
        print(f"conflict: {cell['experiment']} {cell['id']} (kept as it is here)")
        for name, (here, there) in {**cell["metrics"], **cell["origin"]}.items():
            print(f"  {name}: here {json.dumps(here)}, there {json.dumps(there)}")
        if cell["arrays"]:
            print(f"  other arrays: {', '.join(map(ascii, cell['arrays']))}")
    left = max(len(busy) - MOST_SHOWN, 0) + max(len(conflicts) - MOST_SHOWN, 0)
    if left:
        print(f"... and {left} more (--json lists all)")


def print_methods(records: Sequence[Record]) -> None:
    """Print the coordinates of all methods side by side, or those of one with their sources."""
    if len(records) == 1:
        (record,) = records
        rows = [
            [Entry(name), Entry(_value(c["value"])), Entry(c["source"])]
            for name, c in record["coordinates"].items()
        ]
        like = f" (like {record['like']})" if record["like"] else ""
        print_rows(record["what"] + like, ["coordinate", record["name"], "source"], rows)
        return
    known = {r["name"]: r["coordinates"] for r in records}
    rows = [
        [Entry(r["name"]), Entry(r["like"] or ""), Entry(r["what"]), Entry(_changes(r, known))]
        for r in records
    ]
    print_rows("", ["method", "like", "what", "but"], rows)
    print("`bench methods NAME` tells every coordinate and where it comes from.")


def _changes(record: Record, known: dict[str, Any]) -> str:
    """Return the coordinates in which a method differs from the one that it is like."""
    base = known.get(record["like"], {})
    if not base:
        return f"see `bench methods {record['name']}`"
    return ", ".join(
        f"{name} {'-' if c['value'] is None else _value(c['value'])}"
        for name, c in record["coordinates"].items()
        if c["value"] != base.get(name, {}).get("value")
    )


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else _told(value)


def print_datasets(records: Sequence[Record]) -> None:
    """Print one line a data set."""
    heads = ["data set", "what", "images", "classes", "MB", "there", "how"]
    rows = [
        [
            *(Entry(str(r.get(key, ""))) for key in ("name", "what", "images", "classes")),
            Entry(str(r.get("size_mb", ""))),
            Entry("yes" if r["present"] else "no"),
            Entry(r["how"]),
        ]
        for r in records
    ]
    print_rows("", heads, rows)
