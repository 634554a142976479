"""How what the verbs found out is shown to a person."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from bench.report.tables import LEGEND, Entry, make_tables, summary_line, tolerance_lines
from bench.report.terminal import console, print_rows, print_table, setting_text

MOST_SHOWN = 40  # cells that a verb lists
MOST_NAMED = 3  # in a line

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


def print_comparison(evidence: Any) -> None:
    """Print the tables in the paper's layout, and the verdicts."""
    suite = evidence.suite
    what = suite.scales[evidence.scale].what
    print(f"{suite.name} at scale {evidence.scale}: {what}")
    hint = (
        ""
        if evidence.done
        else f"; `bench run {suite.name} --scale {evidence.scale}` computes them"
    )
    print(f"{len(evidence.done)} of {len(evidence.cells)} cells done{hint}")
    if not evidence.compared:
        print("The suite compares no printed value; `bench claims` judges the paper's sentences.")
        return
    layouts = {c.artifact: c.layout for c in reversed(suite.compare)}
    for table in make_tables(evidence.compared, layouts):
        print()
        print_table(table)
    print(f"\n{LEGEND}\n{summary_line(evidence.compared)}")
    print("\n".join(f"tolerance of {told}" for told in tolerance_lines(evidence.compared)))
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


def print_all_claims(records: Sequence[Record]) -> None:
    """Print each claim of the papers at each scale that has results."""
    rows = [
        [
            Entry(r["verdict"]),
            Entry(f"{r['paper']}/{r['claim']}"),
            Entry(f"{r['suite']} at {r['scale']} ({r['protocol']})" if r["suite"] else ""),
            Entry(_interval(r) if r["effect"] is not None else r["lacking"] or ""),
            Entry("" if r["threshold"] is None else f"{r['threshold']:.3g}"),
            Entry(str(r["n"] or "")),
        ]
        for r in records
    ]
    heads = ["verdict", "claim", "suite and scale", "effect [95 % interval]", "threshold", "n"]
    print_rows("", heads, rows)
    counts = Counter(r["verdict"] for r in records)
    claims = len({(r["paper"], r["claim"]) for r in records})
    told = ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
    print(f"{claims} claims, each at every scale that has results: {told}")
    if not any(r["suite"] for r in records):
        print("no suite has results here yet; `bench run SUITE` computes them")


def _interval(record: Record) -> str:
    if record["low"] is None:
        return f"{record['effect']:.3g}"
    return f"{record['effect']:.3g} [{record['low']:.3g}, {record['high']:.3g}]"


def print_moved(record: Record) -> None:
    """Print which cells moved between two results, the groups beyond noise first."""
    print(
        f"{record['same']} cells the same to the bit, {len(record['moved'])} moved, "
        f"{record['only_here']} only in the first, {record['only_there']} only in the second"
    )
    odd = [cell["id"] for cell in record["moved"] if not cell["versions"]]
    if odd:
        names = ", ".join(odd[:MOST_NAMED]) + (" ..." if len(odd) > MOST_NAMED else "")
        print(
            f"{len(odd)} moved although code, packages and machine are the same: altered, or not "
            f"the same to the bit twice ({names}); `bench verify` tells which side"
        )
    for metric in record["metrics"]:
        print(
            f"{metric['metric']}: {metric['moved']} cells, "
            f"by {metric['largest_difference']:.3g} at most"
        )
    for cell in (c for c in record["moved"] if not c["metrics"]):
        parts = [*(["history"] if cell["history"] else []), *cell["arrays"]]
        print(f"{cell['experiment']} {cell['id']}: the same metrics, other {', '.join(parts)}")
    groups = record["groups"]
    if groups:
        rows = [_group_row(group, groups) for group in groups[:MOST_SHOWN]]
        heads = ["beyond noise", "metric", "settings", "seeds", "first", "second"]
        print_rows("", [*heads, "difference [95 % interval]"], rows)
        print(
            f"{record['beyond_noise']} of {len(groups)} means that differ did so beyond noise"
            + (f"; {len(groups) - MOST_SHOWN} more with --json" if len(groups) > MOST_SHOWN else "")
        )


def _group_row(group: Record, groups: Sequence[Record]) -> list[Entry]:
    varied = {
        k: v
        for k, v in group["settings"].items()
        if any(other["settings"].get(k) != v for other in groups)
    }
    told = "one seed" if group["chance"] is None else "yes" if group["beyond_noise"] else "no"
    settings = ", ".join(f"{k} {_value(v)}" for k, v in varied.items())
    return [
        Entry(told),
        Entry(group["metric"]),
        Entry(settings or group["experiment"]),
        Entry(f"{group['n_here']}, {group['n_there']}"),
        Entry(f"{group['here']:.5g}"),
        Entry(f"{group['there']:.5g}"),
        Entry(_interval(group | {"effect": group["difference"]})),
    ]


def print_pages(record: Record) -> None:
    """Print what was written: a page, or a site's index and how much of it was drawn again."""
    if "index" in record:
        drawn = len(record["drawn"])
        pages = len(record["pages"])
        print(f"{record['index']}: {pages} pages, {drawn} drawn, the others unchanged")
        return
    for page in record["pages"]:
        print(page)


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
    return str(value).lower() if isinstance(value, bool) else setting_text(value)


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
