"""The verbs that carry finished cells from one results folder to another."""

from pathlib import Path
from typing import Annotated

import typer

from bench.cli_options import AsJson, Scale, SuiteNames, answer

app = typer.Typer()

Encoders = Annotated[bool, typer.Option("--encoders", help="Trained encoders too.")]


@app.command()
def export(
    context: typer.Context,
    suite: SuiteNames,
    to: Annotated[Path, typer.Option(help="Folder of CSV tables, or a .tar or .tar.gz file.")],
    scale: Scale = None,
    encoders: Encoders = False,
    as_json: AsJson = False,
) -> None:
    """Add finished cells to CSV tables that reading verbs take as --results, or archive them."""
    from bench.select import select
    from bench.show import print_export
    from bench.verbs import export_selections

    chosen = [select(name, *context.obj, scale=scale) for name in suite]
    answer(export_selections(chosen, to, encoders=encoders), print_export, as_json)


@app.command("import")
def import_(
    context: typer.Context,
    file: Annotated[list[Path], typer.Argument(help="Archives that `bench export` wrote.")],
    as_json: AsJson = False,
) -> None:
    """Add the cells of archives to the results; exit status 1 if one is here with other numbers."""
    from bench.show import print_merge
    from bench.verbs import import_archives

    record = import_archives(file, context.obj[1])
    answer(record, print_merge, as_json)
    raise typer.Exit(bool(record["conflicts"]))


@app.command()
def merge(
    context: typer.Context,
    folder: Annotated[list[Path], typer.Argument(help="Other results folders.")],
    encoders: Encoders = False,
    as_json: AsJson = False,
) -> None:
    """Add the finished cells of other results folders, as `import` does those of archives."""
    from bench.show import print_merge
    from bench.verbs import merge_folders

    record = merge_folders(folder, context.obj[1], encoders=encoders)
    answer(record, print_merge, as_json)
    raise typer.Exit(bool(record["conflicts"]))
