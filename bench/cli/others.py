"""`bench others`: numbers of other projects next to the papers' numbers and claims."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.analysis.others import SeenByOthers, seen_claims
from bench.cli.options import AsJson, answer
from bench.cli.selection import of_sound_suites
from bench.cli.terminal import print_line, print_rows
from bench.cli.workspace import Workspace
from bench.errors import BenchError, choices
from bench.papers.others import OthersRow, sources
from bench.papers.others import others as all_rows
from bench.papers.reader import Paper, load_paper, load_papers
from bench.record import Json
from bench.report.tables import Entry
from bench.suites.load import find_suite, known_suites, load_suite
from bench.suites.metric_words import metric_words
from bench.suites.others import beside, check_source, counterparts
from bench.suites.printed_effects import printed_points
from bench.suites.suite import Suite
from bench.text import counted, value_text

MOST_SETTINGS = ("method", "loss", "arch", "epochs", "batch_size", "tau", "K")


def others(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            help="Show numbers of this source, claim (such as small-batch-cifar-stl10), artifact "
            "(dcl/table-1-cifar10) or suite (dcl-table-1); default: list all sources."
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(help="Check your own file of other projects' numbers; list its valid rows."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what other projects measured next to the papers' numbers and claims.

    Differences are computed within one source only. Verdicts do not use these numbers.
    """
    workspace: Workspace = context.obj
    known = sources(all_rows())
    if check is not None:
        if name is not None:
            raise BenchError(
                f"--check {check} cannot be combined with the argument {name}; give only "
                "one of the two"
            )
        rows = _with_artifacts(check_source(check, workspace.suites), workspace)
        answer(rows, print_source, as_json)
    elif name is None:
        answer([_source_record(rows) for rows in known.values()], print_sources, as_json)
    elif name in known:
        answer(_with_artifacts(known[name], workspace), print_source, as_json)
    elif name in known_suites(workspace.suites):
        answer(suite_records(name, workspace), print_artifact, as_json)
    elif "/" in name:
        answer(artifact_records(name, workspace), print_artifact, as_json)
    else:
        seen = claim_seen(name, workspace)
        answer(seen.record(), lambda _: print_seen(seen), as_json)


def claim_seen(claim: str, workspace: Workspace) -> SeenByOthers:
    """Return other projects' results for a claim.

    Raises:
        BenchError: no suite has this claim.
    """
    suites = _suites_of(None, workspace)
    known = list(dict.fromkeys(name for suite in suites for name in suite.claims))
    if claim not in known:
        every = [*sources(all_rows()), *known_suites(workspace.suites), *known]
        raise BenchError(
            f"{claim}: there is no source, suite or claim of this name. {choices(claim, every)}"
        )
    found = seen_claims(suite for suite in suites if claim in suite.claims)
    return next((seen for (_, name), seen in found.items() if name == claim), SeenByOthers([]))


def artifact_records(name: str, workspace: Workspace) -> list[Json]:
    """Return each published row of an artifact with the numbers of other projects.

    Raises:
        BenchError: no paper has this artifact.
    """
    paper_name, _, artifact = name.partition("/")
    papers = load_papers(workspace.suites)
    if paper_name not in papers:
        raise BenchError(
            f"{name}: there is no paper '{paper_name}'. {choices(paper_name, list(papers))}"
        )
    paper = papers[paper_name]
    return _beside_records(paper, paper.artifact(artifact).id, _suites_of(paper_name, workspace))


def suite_records(name: str, workspace: Workspace) -> list[Json]:
    """Return the published rows that a suite compares, with the numbers of other projects.

    Raises:
        BenchError: the suite does not exist.
    """
    suite = load_suite(find_suite(name, workspace.suites))
    if suite.paper is None:
        return []
    paper = load_paper(suite.paper, workspace.suites)
    artifacts = dict.fromkeys(comparison.artifact for comparison in suite.compare)
    return [row for artifact in artifacts for row in _beside_records(paper, artifact, [suite])]


def _beside_records(paper: Paper, artifact: str, suites: Sequence[Suite]) -> list[Json]:
    return [
        {
            "artifact": f"{paper.id}/{artifact}",
            "row": found.value.row_settings,
            "metric": found.metric,
            "published": found.value.value,
            "others": [other.record() for other in found.others],
        }
        for found in beside(paper, artifact, suites)
    ]


def _suites_of(paper: str | None, workspace: Workspace) -> list[Suite]:
    loaded = of_sound_suites(known_suites(workspace.suites).values(), load_suite)
    return [s for s in loaded if s.paper is not None and paper in (None, s.paper)]


def _with_artifacts(rows: Sequence[OthersRow], workspace: Workspace) -> list[Json]:
    """Return the rows of a source, each with the artifacts that it is a counterpart of."""
    places: dict[int, list[str]] = {}
    for suite in _suites_of(None, workspace):
        paper = load_paper(str(suite.paper), workspace.suites)
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
    """Print one line per source, and the command that shows more."""
    heads = ["source", "rows", "data", "selected", "runs", "licence"]
    listed = ("data", "selection", "runs")
    rows = [
        [r["id"], r["rows"], *(_listed(r[key]) for key in listed), r["licence"]] for r in records
    ]
    print_rows("", heads, rows)
    total = sum(r["rows"] for r in records)
    print_line(f"{counted(total, 'number')} of {counted(len(records), 'source')}.")
    print_line(
        "`bench others SOURCE`, `bench others CLAIM` and `bench others PAPER/ARTIFACT` show more."
    )


def print_source(records: Sequence[Json]) -> None:
    """Print each row of a source and the artifacts that it relates to."""
    heads = ["row", "data", "metric", "value", "runs", "selected", "beside"]
    rows = [
        [
            value_text({k: v for k, v in r["settings"].items() if k in MOST_SETTINGS}),
            r["data"], metric_words(r["metric"]), r["value"], str(r["runs"]), r["selection"],
            _listed(r["artifacts"] or ["nothing"]),
        ]
        for r in records
    ]  # fmt: skip
    print_rows("", heads, rows)
    placed = sum(bool(r["artifacts"]) for r in records)
    print_line(
        f"{counted(len(records), 'row')} valid, {placed} of them for a published number of a paper."
    )


def print_artifact(records: Sequence[Json]) -> None:
    """Print each published number of an artifact with the numbers of other projects."""
    if not records:
        print_line("We know of no other project that has measured this artifact.")
    heads = ["row", "metric", "published", "others", "source", "selected, runs", "differs in"]
    for artifact, group in groupby(records, key=lambda r: r["artifact"]):
        rows = []
        for r in group:
            first = [value_text(r["row"]), metric_words(r["metric"]), r["published"]]
            for other in r["others"]:
                chosen = f"{other['selection']}, {other['runs']}"
                rows.append([*first, other["value"], other["source"], chosen, other["protocol"]])
                first = [None, None, None]
        print_rows(artifact, heads, rows)


def print_seen(seen: SeenByOthers) -> None:
    """Print the summary of a claim and each effect."""
    print_line(f"Seen by others: {seen.seen}. {seen.summary}")
    heads = ["source", "what", "data", "metric", "effect", "at", "other differences", "counts as"]
    rows = [
        [
            e.source, e.subject, e.dataset, metric_words(e.metric), Entry(f"{e.value:+.2f}"),
            value_text(e.at), e.more_words, answer,
        ]
        for e, answer in seen.effects
    ]  # fmt: skip
    if rows:
        print_rows("", heads, rows)


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values))
