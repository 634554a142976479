"""Objectives of one's own on the command line: which folders are trusted, and a first try."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from bench.cells.cell import Cell
from bench.cells.pretrain import EncoderCell, Pretrain
from bench.cli.own_metrics import try_own_metrics, untrusted_metrics
from bench.errors import CellFailure, LaunchError
from bench.files.atomic import write_whole
from bench.files.messages import tell
from bench.loss_files import TRUST, trust, trusted, trusted_folders
from bench.results.store import State, Store
from bench.text import counted

Trust = Annotated[
    list[Path] | None,
    typer.Option(
        envvar=TRUST,
        help="A folder of objectives of your own, whose code may be run. May be repeated.",
    ),
]


def trust_folders(folders: list[Path] | None) -> None:
    """Let this command run the code in these folders, and in no others.

    Raises:
        BenchError: one of them is not there.
    """
    trust(folders or [])


def untrusted(cells: Iterable[Cell]) -> list[str]:
    """Return a line for each objective and metric whose code may not be run."""
    cells = list(cells)
    there = ", ".join(map(str, trusted_folders()))
    why = f"{there} has no such file" if there else "none of it is run unless you trust its folder"
    return [
        f"loss '{cell.loss}' is your own code: {why}; name the folder of {cell.loss}.py by --trust"
        for cell in _with_own_losses(cells)
        if trusted(cell.loss, str(cell.loss_file)) is None
    ] + untrusted_metrics(cells)


def check_own_code(cells: Iterable[Cell], store: Store | None = None) -> None:
    """Try each objective of one's own once before anything is computed, and keep its code.

    Args:
        cells: to be computed.
        store: keeps a copy of the code, by which its cells are known as stale once it is edited.

    Raises:
        LaunchError: in one line: code that is not trusted, or what is wrong with it.
    """
    cells = list(cells)
    try_own_metrics(cells, store)
    if store is not None:
        cells = [cell for cell, state in _own_states(cells, store) if state != State.DONE]
    own = _with_own_losses(cells)
    for line in untrusted(own):
        raise LaunchError(line)
    for cell in own:
        from bench.experiments.loss_trial import try_loss  # loads torch

        try:
            try_loss(cell)
        except CellFailure as fault:
            raise LaunchError(str(fault)) from None
        file = trusted(cell.loss, str(cell.loss_file))
        if store is not None and file is not None:
            write_whole(store.code_of(cell) / f"{cell.loss_file}.py", file.source)


def _own_states(cells: Iterable[Cell], store: Store) -> list[tuple[Cell, State]]:
    """Return the cells with an objective of one's own, and their states; most runs have none."""
    own = [cell for cell in cells if _own_file(cell) is not None]
    states = store.states(own) if own else []
    return [(cell, state.state) for cell, state in zip(own, states, strict=True)]


def tell_edited(cells: Iterable[Cell], store: Store) -> None:
    """Tell for each objective of one's own how many cells its former code has computed."""
    states = _own_states(cells, store)
    stale = Counter(cell.settings["loss"] for cell, state in states if state == State.STALE)
    for loss, count in stale.items():
        tell(
            f"loss '{loss}' was edited: {counted(count, 'cell')} of its former code "
            f"{'is' if count == 1 else 'are'} stale; `bench run` computes them again"
        )


def _own_file(cell: Cell) -> str | None:
    return getattr(cell, "loss_file", None)


def _with_own_losses(cells: Iterable[Cell]) -> list[Pretrain]:
    """Return a cell of each objective of one's own and of each choice of its parameters."""
    found: dict[tuple[object, ...], Pretrain] = {}
    for cell in cells:
        if isinstance(cell, EncoderCell) and _own_file(cell) is not None:
            key = (cell.loss, cell.tau, *sorted(cell.parameters.items()))
            found.setdefault(key, cell.trained)
    return list(found.values())
