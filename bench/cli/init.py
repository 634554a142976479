"""`bench init`: bench's own suites as files to edit."""

from pathlib import Path
from typing import Annotated

import typer

from bench.cli.options import AsJson, answer
from bench.cli.terminal import print_line
from bench.suites.shipped import HERE, copy_suites
from bench.text import counted


def init(
    folder: Annotated[Path, typer.Argument(help="Where `suites/` is made.")] = Path("."),
    as_json: AsJson = False,
) -> None:
    """Copy bench's own suites to FOLDER/suites, to edit them or to add others beside them."""
    to = folder / HERE
    suites = copy_suites(to)
    record = {"folder": str(to), "suites": suites}
    answer(record, lambda _: _print_copied(to, suites), as_json)


def _print_copied(to: Path, suites: int) -> None:
    print_line(f"{to}: {counted(suites, 'suite')}, copies that bench will not overwrite.")
    where = "" if to == HERE else f" in {to.parent}"
    print_line(f"Commands run{where} use these suites in place of bench's own.")
