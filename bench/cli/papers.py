"""`bench papers`: list the papers, describe one, or check the file of one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from bench.cli.options import AsJson, answer, paper_names
from bench.cli.selection import of_sound_suites
from bench.cli.terminal import print_line, print_rows
from bench.cli.workspace import Workspace
from bench.errors import BenchError, PublishedError
from bench.files.messages import tell
from bench.papers.file import Fault, PaperFile, paper_name
from bench.papers.reader import (
    Paper,
    check_name,
    load_paper,
    paper_files,
    papers_folder,
    read_paper,
)
from bench.record import Json
from bench.suites.load import known_suites, load_suite
from bench.suites.paper_keys import faults_of
from bench.text import counted, plain_text

WRONG = 2  # exit status: a mistake of the user's


def papers(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(help="A paper, such as dcl.", autocompletion=paper_names),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(help="Check this paper's file, and print one line for each mistake."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the papers, or the recorded facts of one: artifacts, claims and protocols.

    The papers are bench's own, those of plug-ins, and those in `papers/` next to the suites.
    """
    if name is not None:
        if check is not None:
            raise BenchError(
                f"--check {check} cannot be combined with the argument {name}; give only "
                "one of the two"
            )
        facts = describe_paper(context.obj, name)
        answer(facts, _print_paper, as_json)
        return
    if check is None:
        records = describe_papers(context.obj)
        answer(records, lambda _: _print_papers(records, context.obj), as_json)
        return
    record = check_paper(check, context.obj)
    answer(record, _print_check, as_json)
    if record["faults"]:
        raise typer.Exit(WRONG)


def describe_papers(workspace: Workspace) -> list[Json]:
    """Return every paper with its counts; report invalid files on standard error.

    Raises:
        BenchError: two files have the same name.
    """
    records = []
    for path in paper_files(workspace.suites).values():
        try:
            records.append(_record(read_paper(path), path))
        except BenchError as fault:
            tell(str(fault))
    return records


def describe_paper(workspace: Workspace, name: str) -> Json:
    """Return the recorded facts of a paper, with the suites of each artifact and claim.

    Raises:
        BenchError: the paper does not exist, or its file is invalid.
    """
    paper = load_paper(name, workspace.suites)
    suites = of_sound_suites(known_suites(workspace.suites).values(), load_suite)
    mine = [suite for suite in suites if suite.paper == name]
    return _record(paper, paper_files(workspace.suites)[name]) | {
        "address": paper.address,
        "artifacts": [
            {
                "artifact": a.id,
                "what": a.what,
                "locator": a.locator,
                "values": len(a.values),
                "suites": [s.name for s in mine if a.id in s.reproduces],
            }
            for a in paper.artifacts.values()
        ],
        "claims": [
            {
                "claim": c.id,
                "claim_text": c.claim,
                "locator": c.locator,
                "suites": [s.name for s in mine if c.id in s.claims],
            }
            for c in paper.claims.values()
        ],
        "protocols": [
            {"protocol": p.id, "locator": p.locator, "stated": p.stated, "unstated": p.unstated}
            for p in paper.protocols.values()
        ],
    }


def _record(paper: Paper, path: Path) -> Json:
    kinds = ("artifacts", "values", "claims", "protocols")
    counts = {kind: len(getattr(paper, kind)) for kind in kinds}
    head = {"paper": paper.id, "title": paper.title, "authors": paper.authors, "year": paper.year}
    return head | counts | {"file": str(path)}


def check_paper(path: Path, workspace: Workspace) -> Json:
    """Return the content of a paper's file, and each error with its line and key path.

    Raises:
        BenchError: the file is missing or not YAML.
    """
    file, faults = faults_of(path)
    if paper_name(path) in (known := paper_files(_without(path, workspace))):
        try:
            check_name(path, known)
        except PublishedError as error:
            faults.append(Fault(("paper", "id"), str(error).removeprefix(f"{path}: ") + "."))
    return {
        "file": str(path),
        "said": _said(file) if file else None,
        "faults": [fault.line(path) for fault in faults],
    }


def _without(path: Path, workspace: Workspace) -> Path | None:
    """Return the folder of suites whose papers the file may clash with; its own is not one."""
    here = papers_folder(workspace.suites)
    return None if path.parent.resolve() == here.resolve() else workspace.suites


def _said(file: PaperFile) -> str:
    values = sum(len(artifact.rows) for artifact in file.artifacts)
    stated = sum(len(protocol.stated) for protocol in file.protocols)
    parts = [
        f"{counted(len(file.artifacts), 'artifact')} with {counted(values, 'published value')}",
        f"{counted(len(file.protocols), 'protocol')} with {counted(stated, 'stated setting')}",
        counted(len(file.claims), "claim"),
        counted(len(file.equations), "equation"),
    ]
    return f"{file.paper.id}, {file.paper.title} ({file.paper.year}): {', '.join(parts)}"


def _print_papers(records: Sequence[Json], workspace: Workspace) -> None:
    heads = ["paper", "title", "artifacts", "values", "claims", "folder"]
    keys = ("paper", "title", "artifacts", "values", "claims")
    rows = [
        [*(record[key] for key in keys), str(Path(record["file"]).parent)] for record in records
    ]
    print_rows("", heads, rows)
    print_line(f"Further papers are files in {papers_folder(workspace.suites)}.")


def _print_paper(record: Json) -> None:
    where = f", {record['address']}" if record["address"] else ""
    print_line(f"{record['paper']}: {record['title']} ({record['year']}){where}")
    print_line(record["authors"], indent="  ")
    print_line(f"{counted(len(record['artifacts']), 'artifact')}, {record['values']} values:")
    heads = ["artifact", "place", "values", "suites"]
    rows = [
        [a["artifact"], a["locator"], a["values"], ", ".join(a["suites"]) or "none"]
        for a in record["artifacts"]
    ]
    print_rows("", heads, rows)
    print_line(f"{counted(len(record['claims']), 'claim')}:")
    for claim in record["claims"]:
        suites = ", ".join(claim["suites"]) or "none"
        print_line(f"{claim['claim']} ({claim['locator']}; suites: {suites})", indent="  ")
        print_line(claim["claim_text"], indent="      ")
    print_line(f"{counted(len(record['protocols']), 'protocol')}; --json prints their settings:")
    print_line(", ".join(protocol["protocol"] for protocol in record["protocols"]), indent="  ")
    print_line(f"`bench suites --paper {record['paper']}` lists its suites.")


def _print_check(record: Json) -> None:
    for line in record["faults"]:
        print(plain_text(line))
    if not record["faults"]:
        print_line(f"{record['file']}: no mistakes found; {record['said']}.")
