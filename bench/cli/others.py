"""`bench others`: what other projects measured, beside the papers' numbers and claims."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.analysis.others import SeenByOthers, seen_claims
from bench.cli.options import AsJson, answer
from bench.cli.terminal import print_line, print_rows
from bench.cli.workspace import Workspace
from bench.errors import BenchError, choices
from bench.papers.others import OthersRow, sources
from bench.papers.others import others as all_rows
from bench.papers.reader import PAPERS, load_paper
from bench.record import Json
from bench.report.tables import Entry
from bench.suites.load import known_suites, load_suite
from bench.suites.metric_words import metric_words
from bench.suites.others import Counterpart, beside, check_source, counterparts
from bench.suites.printed_effects import printed_points
from bench.suites.suite import Suite
from bench.text import counted, value_text

MOST_SETTINGS = ("method", "loss", "arch", "epochs", "batch_size", "tau", "K")


def others(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            help="A source, a claim (small-batch-cifar-stl10) or an artifact "
            "(dcl/table-1-cifar10); default: the list of sources."
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(help="Check a source file of your own: what is understood and comparable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what other projects measured beside the papers' numbers and claims.

    Differences are formed inside one source only. None of these numbers decides a claim.
    """
    workspace: Workspace = context.obj
    if check is not None:
        rows = check_source(check, workspace.suites)
        records = _with_artifacts(rows, workspace)
        answer(records, lambda _: print_source(records), as_json)
    elif name is None:
        records = [_source_record(rows) for rows in sources(all_rows()).values()]
        answer(records, print_sources, as_json)
    elif name in sources(all_rows()):
        records = _with_artifacts(sources(all_rows())[name], workspace)
        answer(records, lambda _: print_source(records), as_json)
    elif "/" in name:
        records = artifact_records(name, workspace)
        answer(records, print_artifact, as_json)
    else:
        seen = claim_seen(name, workspace)
        answer(seen.record(), lambda _: print_seen(seen), as_json)


def claim_seen(claim: str, workspace: Workspace) -> SeenByOthers:
    """Return what other projects' numbers say of a claim.

    Raises:
        BenchError: no suite has a claim of this name.
    """
    suites = _suites_of(None, workspace)
    known = list(dict.fromkeys(name for suite in suites for name in suite.claims))
    if claim not in known:
        every = [*sources(all_rows()), *known]
        raise BenchError(f"{claim}: no source or claim has this name. {choices(claim, every)}")
    found = seen_claims(suite for suite in suites if claim in suite.claims)
    return next((seen for (_, name), seen in found.items() if name == claim), SeenByOthers([]))


def artifact_records(name: str, workspace: Workspace) -> list[Json]:
    """Return each printed row of an artifact with the numbers of other projects beside it.

    Raises:
        BenchError: no paper has an artifact of this name.
    """
    paper_name, _, artifact = name.partition("/")
    if paper_name not in PAPERS:
        raise BenchError(f"{name}: no paper '{paper_name}'. {choices(paper_name, list(PAPERS))}")
    load_paper(paper_name).artifact(artifact)
    paper = load_paper(paper_name)
    return [
        {
            "row": found.value.row_settings,
            "metric": found.metric,
            "published": found.value.value,
            "others": [_beside(other) for other in found.others],
        }
        for found in beside(paper, artifact, _suites_of(paper_name, workspace))
    ]


def _suites_of(paper: str | None, workspace: Workspace) -> list[Suite]:
    loaded = [load_suite(path) for path in known_suites(workspace.suites).values()]
    return [s for s in loaded if s.paper is not None and paper in (None, s.paper)]


def _beside(found: Counterpart) -> Json:
    more = {"differences": found.differences, "unknown": found.unknown}
    return found.row.record() | more


def _with_artifacts(rows: Sequence[OthersRow], workspace: Workspace) -> list[Json]:
    """Return the rows of a source, each with the artifacts that it is a counterpart of."""
    places: dict[int, list[str]] = {}
    for suite in _suites_of(None, workspace):
        paper = load_paper(str(suite.paper))
        for comparison, value in printed_points(suite, paper):
            for found in counterparts(value, comparison, suite, paper, rows):
                names = places.setdefault(found.row.position, [])
                name = f"{paper.id}/{value.artifact}"
                if name not in names:
                    names.append(name)
    return [row.record() | {"artifacts": places.get(row.position, [])} for row in rows]


def _source_record(rows: Sequence[OthersRow]) -> Json:
    source = rows[0].source
    return source.model_dump() | {
        "rows": len(rows),
        "data": list(dict.fromkeys(row.dataset for row in rows)),
        "selection": list(dict.fromkeys(row.protocol.selection for row in rows)),
        "runs": list(dict.fromkeys(row.protocol.runs for row in rows)),
    }


def print_sources(records: Sequence[Json]) -> None:
    """Print a line for each source, and how to see more."""
    heads = ["source", "rows", "data", "selected", "runs", "licence"]
    rows = [
        [
            *(Entry(str(r[key])) for key in ("id", "rows")),
            *(_listed(r[key]) for key in ("data", "selection", "runs")),
            Entry(r["licence"]),
        ]
        for r in records
    ]
    print_rows("", heads, rows)
    total = sum(r["rows"] for r in records)
    print_line(f"{counted(total, 'number')} of {counted(len(records), 'source')}.")
    print_line(
        "`bench others SOURCE`, `bench others CLAIM` and `bench others PAPER/ARTIFACT` show more."
    )


def print_source(records: Sequence[Json]) -> None:
    """Print each row of a source, and which artifacts it stands beside."""
    heads = ["row", "data", "metric", "value", "runs", "selected", "beside"]
    rows = [
        [
            _settings_entry(r),
            Entry(r["data"]),
            Entry(metric_words(r["metric"])),
            _number(r["value"]),
            Entry(str(r["runs"])),
            Entry(r["selection"]),
            _listed(r["artifacts"] or ["nothing"]),
        ]
        for r in records
    ]
    print_rows("", heads, rows)
    placed = sum(bool(r["artifacts"]) for r in records)
    print_line(f"{counted(len(records), 'row')} understood, {placed} beside a published number.")


def print_artifact(records: Sequence[Json]) -> None:
    """Print each published number of an artifact with the others' beside it."""
    heads = ["row", "metric", "published", "others", "source", "selected, runs", "differs in"]
    rows = []
    for r in records:
        first = [Entry(_words(r["row"])), Entry(metric_words(r["metric"])), _number(r["published"])]
        for other in r["others"] or [None]:
            rows.append(first + _other_entries(other))
            first = [Entry("")] * 3
    print_rows("", heads, rows)


def print_seen(seen: SeenByOthers) -> None:
    """Print the sentence of a claim, and each effect."""
    print_line(f"Seen by others: {seen.seen}. {seen.summary}")
    heads = ["source", "what", "data", "metric", "effect", "at", "differs further in", "counts as"]
    rows = [
        [
            *(Entry(text) for text in (e.source, e.subject, e.dataset, metric_words(e.metric))),
            Entry(f"{e.value:+.2f}"),
            Entry(_words(e.at)),
            Entry(e.more_words),
            Entry(str(answer) if answer else ""),
        ]
        for e, answer in seen.effects
    ]
    if rows:
        print_rows("", heads, rows)


def _other_entries(other: Json | None) -> list[Entry]:
    if other is None:
        return [Entry("")] * 4
    unknown = f"; not stated: {len(other['unknown'])}" if other["unknown"] else ""
    return [
        _number(other["value"]),
        Entry(other["source"]),
        Entry(f"{other['selection']}, {other['runs']}"),
        Entry(("; ".join(other["differences"]) or "nothing stated") + unknown),
    ]


def _settings_entry(record: Json) -> Entry:
    known = record["settings"]
    return Entry(_words({name: known[name] for name in MOST_SETTINGS if name in known}))


def _words(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value_text(value)}" for name, value in settings.items())


def _listed(values: Sequence[Any]) -> Entry:
    return Entry(", ".join(map(str, values)))


def _number(value: float | None) -> Entry:
    return Entry("" if value is None else f"{value:g}")
