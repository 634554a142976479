"""How plans, runs and jobs are shown to a person."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

from bench.launch.progress import duration
from bench.report.tables import Entry
from bench.report.terminal import print_rows, setting_text
from bench.store.store import State

MOST_SHOWN = 40  # cells that are listed
USUAL = ("None", "Resources", "Priority", "Dependency", "JobArrayTaskLimit", "BeginTime")
"""Reasons for which jobs wait that will pass by themselves."""

Record = dict[str, Any]


def print_plan(record: Record) -> None:
    """Print the grid and the prediction."""
    cells = record["cells"]
    heads = ["id", "state", *cells[0]["axes"]]
    rows = [
        [Entry(c["id"]), Entry(c["state"]), *(Entry(setting_text(v)) for v in c["axes"].values())]
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


def _print_kinds(p: Record) -> None:
    """Print what is predicted of each kind of cell."""
    work = "core time" if p["gpu_hours"] is None else "GPU time"
    heads = ["kind", "cells", "each", work, "memory", f"on {p['slots']} worker(s)", "from"]
    rows = [
        [
            Entry(k["kind"]),
            Entry(str(k["cells"])),
            Entry(_or_unknown(k["cell_s"], duration)),
            Entry(_or_unknown(k["core_s"], duration)),
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
    if not Path(record["results"]).exists():
        print(f"  {record['results']}: no such folder of results yet")
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


def print_verified(records: Sequence[Record]) -> None:
    """Print the cells that came out otherwise, by how much, and what else differs."""
    other = [record for record in records if not record["same"]]
    for record in other[:MOST_SHOWN]:
        print(f"{record['experiment']} {record['id']}, seed {record['seed']}: {_drift(record)}")
        for name, m in record["metrics"].items():
            print(f"  {name}: then {json.dumps(m['then'])}, now {json.dumps(m['now'])}")
        for name, (then, now) in record["versions"].items():
            print(f"  {name}: then {then}, now {now}")
    if len(other) > MOST_SHOWN:
        print(f"... and {len(other) - MOST_SHOWN} more (--json lists all)")
    tables = sum(record["only_metrics"] for record in records)
    told = f" ({tables} of exported tables, by their metrics alone)" if tables else ""
    same = len(records) - len(other)
    print(f"{len(records)} cells computed again{told}: {same} the same to the bit")


def _drift(record: Record) -> str:
    if record["error"]:
        return f"failed now: {record['error']}"
    parts = [*(["history"] if record["history"] else []), *record["arrays"]]
    told = f"largest difference of a metric {record['largest_difference']:.3g}"
    if parts:
        return f"{told}; other {', '.join(parts)}"
    alone = not record["only_metrics"] and not record["versions"]
    return told + ("; the summary alone differs: was it altered?" if alone else "")
