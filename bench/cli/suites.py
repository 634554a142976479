"""`bench suites`, `bench schema` and `bench init`: list, describe and copy suites."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.cells.baseline import without_baselines
from bench.cells.cell import Cell
from bench.cells.groups import telling_settings
from bench.cli.options import AsJson, Have, answer, paper_names, scale_names, suite_names
from bench.cli.selection import (
    check_scale_known,
    command_words,
    had,
    of_sound_suites,
    select_scales,
    tell_invalid_files,
)
from bench.cli.terminal import listed, print_line
from bench.cli.workspace import Workspace, command_line
from bench.errors import BenchError, choices
from bench.papers.file import paper_schema
from bench.papers.reader import load_paper, load_papers
from bench.record import Json
from bench.results.store import State, Store
from bench.suites.expand import expand
from bench.suites.load import find_suite, known_suites, load_suite
from bench.suites.reference import suite_schema
from bench.suites.shipped import HERE, copy_suites, shipped_suites
from bench.suites.suite import Suite
from bench.text import counted, value_text

SCHEMAS: dict[str, Callable[[Path], Json]] = {
    "suites": suite_schema,
    "papers": lambda _: paper_schema(),
}


def suites(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(help="A suite to describe in full.", autocompletion=suite_names),
    ] = None,
    search: Annotated[
        str | None, typer.Option(help="List only suites with all of these words in their name or "
            "title.")
    ] = None,
    paper: Annotated[
        str | None, typer.Option(help="List only suites of this paper.", autocompletion=paper_names)
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="List only scales that train on this data set, such as "
            "cifar10.")
    ] = None,
    scale: Annotated[
        str | None, typer.Option(help="List only this scale.", autocompletion=scale_names)
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="List each suite with its title and scales.")
    ] = False,
    have: Have = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """List the suites by paper, or describe one.

    With --all or a filter, print each suite's title, scales, and numbers of finished and all cells.
    """
    is_filtered = bool(search or paper or dataset or scale)
    if name is not None:
        if is_filtered or every:
            raise BenchError(
                "the name of a suite cannot be combined with --all, --search, --paper, "
                "--dataset or --scale"
            )
        record = describe_suite(context.obj, name, had(have))
        answer([record], lambda _: print_suite(record, context.obj), as_json)
        return
    check_scale_known(scale, context.obj.suites)
    if paper is not None:
        load_paper(paper, context.obj.suites)
    records = describe_suites(
        context.obj, had(have), search=search or "", paper=paper, dataset=dataset, scale=scale,
        count_cells=every or is_filtered or as_json,
    )  # fmt: skip
    if dataset is not None and not records:
        check_data_set(context.obj, dataset)
    printed = print_suites if every or is_filtered else print_names
    answer(records, lambda _: printed(records, context.obj), as_json)


def schema(
    context: typer.Context,
    of: Annotated[
        str, typer.Argument(help="The files that the schema describes: suites or papers.")
    ] = "suites",
) -> None:
    """Print the JSON schema of suite files or paper files, for editors.

    Raises:
        BenchError: the kind of file is unknown.
    """
    if of not in SCHEMAS:
        raise BenchError(
            f"schema {of}: there is no schema for this kind of file. {choices(of, list(SCHEMAS))}"
        )
    print(json.dumps(SCHEMAS[of](context.obj.suites), indent=1))


def describe_suites(
    workspace: Workspace,
    have: Sequence[Path] = (),
    *,
    search: str = "",
    paper: str | None = None,
    dataset: str | None = None,
    scale: str | None = None,
    count_cells: bool = True,
) -> list[Json]:
    """Return the suites with their scales; report and skip invalid ones.

    Args:
        have: folders of exported tables whose cells count as finished.
        search: words that the name, title or artifacts of a suite must contain.
        paper, dataset, scale: restrict the list to these; None means all.
        count_cells: whether to count the cells of all suites. Otherwise, suites without any run of
            their experiment list no scales.

    Raises:
        SuiteError: all suites are invalid; the last suite's error is raised.
    """
    store = Store(workspace.results, have=have)
    tell_invalid_files(workspace.suites)

    def record_of(path: Path) -> Json:
        suite = load_suite(path)
        text = f"{suite.name} {suite.title} {' '.join(suite.reproduces)}".lower()
        named = all(word in text for word in search.lower().split())
        asked = named and paper in (None, suite.paper)
        names = [name for name in suite.scales if asked and scale in (None, name)]
        expanded = names if count_cells or store.names(suite.experiment) else []
        cells = {name: expand(suite, name, path) for name in expanded}
        scales = {
            name: _counts(store, scale_cells)
            for name, scale_cells in cells.items()
            if dataset is None or dataset in datasets_of(scale_cells)
        }
        return _record(suite) | {"scales": scales}

    records = of_sound_suites(known_suites(workspace.suites).values(), record_of)
    return [record for record in records if record["scales"] or not count_cells]


def describe_suite(workspace: Workspace, name: str, have: Sequence[Path] = ()) -> Json:
    """Return a suite's description, with the cells, data sets and axes of its scales.

    Args:
        workspace: folders of suites and results.
        name: name of the suite or path of its file.
        have: folders of exported tables whose cells count as finished.
    """
    selections = select_scales(find_suite(name, workspace.suites), workspace)
    suite, path, paper = selections[0].suite, selections[0].path, selections[0].paper
    store, scales = Store(workspace.results, have=have), {}
    for selection in selections:
        non_baselines = without_baselines(selection.cells)
        scales[selection.scale] = _counts(store, selection.cells) | {
            "protocol": suite.scales[selection.scale].protocol,
            "what": suite.scales[selection.scale].what,
            "datasets": datasets_of(selection.cells),
            "seeds": sorted({cell.seed for cell in non_baselines}),
            "axes": {n: _values(n, non_baselines) for n in telling_settings(non_baselines)},
        }
    return _record(suite) | {
        "scales": scales,
        "file": str(path),
        "default_scale": suite.scale,
        "experiment": suite.experiment,
        "claims": {name: paper.claim(name).claim for name in suite.claims},
        "assumed": {name: a.model_dump() for name, a in suite.assumed.items()},
        "tables": [table.title for table in suite.tables],
        "figures": [figure.title for figure in suite.figures],
        "notes": suite.all_notes(),
    }


def datasets_of(cells: Sequence[Cell]) -> list[str]:
    """Return the data sets of these cells."""
    return sorted({name for cell in cells if (name := cell.settings.get("dataset"))})


def check_data_set(workspace: Workspace, dataset: str) -> None:
    """Raise a BenchError if no suite uses the data set."""
    known: set[str] = set()
    for path in known_suites(workspace.suites).values():
        with suppress(BenchError):
            suite = load_suite(path)
            for scale in suite.scales:
                known |= set(datasets_of(expand(suite, scale, path)))
    if dataset not in known:
        raise BenchError(
            f"--dataset {dataset}: no suite uses this data set. {choices(dataset, sorted(known))}"
        )


def _record(suite: Suite) -> Json:
    return {
        "name": suite.name,
        "title": suite.title,
        "paper": suite.paper,
        "artifacts": suite.reproduces,
    }


def _counts(store: Store, cells: Sequence[Cell]) -> Json:
    """Return how many cells there are, are done, and of these are baselines that suites share."""
    done = [c for c, s in zip(cells, store.states(cells), strict=True) if s.state == State.DONE]
    shared = len(done) - len(without_baselines(done))
    return {"cells": len(cells), "done": len(done), "baselines_done": shared}


def _values(name: str, cells: Sequence[Cell]) -> list[Any]:
    return list(dict.fromkeys(cell.settings.get(name) for cell in cells))


def print_names(records: Sequence[Json], workspace: Workspace) -> None:
    """Print the suite names by paper, and the command that shows more."""
    begun = {r["name"] for r in records if any(map(_own_done, r["scales"].values()))}
    for paper, title, of_paper in _by_paper(records, workspace):
        print_line(f"{paper or 'No paper'}{title}, {counted(len(of_paper), 'suite')}:")
        names = (f"{r['name']}{'*' * (r['name'] in begun)}" for r in of_paper)
        print_line("  ".join(names), indent="  ")
    if begun:
        print_line("* marks suites that have finished cells other than shared baselines.")
    for what, words in {
        "title and scales of each suite": ["suites", "--all"],
        "suites of one paper": ["suites", "--paper", "dcl"],
        "full description of one suite": ["suites", records[0]["name"] if records else "NAME"],
    }.items():
        print_line(f"`{command_line(workspace, *words)}`: {what}")
    _print_whose(workspace)


def print_suites(records: Sequence[Json], workspace: Workspace) -> None:
    """Print each suite's name, title and number of finished cells per scale."""
    for paper, title, of_paper in _by_paper(records, workspace):
        print_line(f"{paper or 'No paper'}{title}")
        for record in of_paper:
            counts = ", ".join(f"{name} {_done_text(v)}" for name, v in record["scales"].items())
            print_line(f"{record['name']}: {counts}", indent="  ")
            print_line(record["title"], indent="      ")
    print_line(f"{counted(len(records), 'suite')} (for each scale: finished cells/all cells).")
    if records:
        one = command_line(workspace, "suites", records[0]["name"])
        print_line(f"`{one}` describes a suite in full.")
    _print_whose(workspace)


def _by_paper(
    records: Sequence[Json], workspace: Workspace
) -> list[tuple[str | None, str, list[Json]]]:
    """Return each paper with its title and suites, then the suites that have none."""
    papers = load_papers(workspace.suites)
    names = [name for name in [*papers, None] if any(r["paper"] == name for r in records)]
    return [
        (
            name,
            f" ({papers[name].title})" if name else "",
            [r for r in records if r["paper"] == name],
        )
        for name in names
    ]


def _own_done(counts: Json) -> int:
    return int(counts["done"] - counts["baselines_done"])


def _done_text(counts: Json) -> str:
    """Return the cells done and in all; baselines alone are no begin."""
    if counts["done"] and not _own_done(counts):
        return f"0/{counts['cells']} (and {counted(counts['done'], 'shared baseline')})"
    return f"{counts['done']}/{counts['cells']}"


def _print_whose(workspace: Workspace) -> None:
    if workspace.suites == shipped_suites():
        print_line("These are bench's own suites; `bench init` copies them here for editing.")


def print_suite(record: Json, workspace: Workspace) -> None:
    """Print a suite's description."""
    print_line(f"{record['name']}: {record['title']}")
    paper = f"{record['paper']}: {', '.join(record['artifacts']) or 'claims alone'}"
    print_line(paper if record["paper"] else "not part of a paper", indent="  ")
    print_line(f"experiment {record['experiment']}; file {record['file']}", indent="  ")
    for name, scale in record["scales"].items():
        default = ", the default" if name == record["default_scale"] else ""
        print_line(
            f"scale {name}{default} ({scale['protocol']}): {scale['what']}; "
            f"{scale['done']} of {counted(scale['cells'], 'cell')} done"
        )
        if scale["datasets"] and "dataset" not in scale["axes"]:
            print_line(f"dataset: {', '.join(scale['datasets'])}", indent="    ")
        for axis, values in scale["axes"].items():
            print_line(f"{axis}: {listed(map(value_text, values))}", indent="    ")
        print_line(f"seed: {listed(map(str, scale['seeds']))}", indent="    ")
    for name, sentence in record["claims"].items():
        print_line(f"claim {name}: {sentence}")
    for name, assumed in record["assumed"].items():
        print_line(f"assumed {name} = {value_text(assumed['value'])}: {assumed['why']}")
    for note in record["notes"]:
        print_line(f"note: {note}")
    words = command_words(record["name"], record["default_scale"])
    print_line(f"Next: `{command_line(workspace, 'plan', words)}`")


def init(
    folder: Annotated[
        Path, typer.Argument(help="Folder in which the folder `suites` is created.")
    ] = Path("."),
    as_json: AsJson = False,
) -> None:
    """Copy bench's own suites to FOLDER/suites, to edit them or to add others."""
    to = folder / HERE
    suites = copy_suites(to)
    record = {"folder": str(to), "suites": suites}
    answer(record, lambda _: _print_copied(to, suites), as_json)


def _print_copied(to: Path, suites: int) -> None:
    print_line(
        f"Copied {counted(suites, 'suite')} to {to}; bench will never overwrite these copies."
    )
    where = "" if to == HERE else f" in {to.parent}"
    print_line(f"Commands run{where} use these suites instead of bench's own.")
