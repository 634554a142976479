"""Code of one's own on the command line: which folders are trusted, and a first try."""

import shlex
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from bench.cells.architectures import OF_TIMM
from bench.cells.cell import Cell
from bench.cells.pretrain import EncoderCell, Pretrain
from bench.cli.own_metrics import try_own_metrics, untrusted_metrics
from bench.errors import CellFailure, LaunchError
from bench.files.atomic import write_whole
from bench.files.messages import tell
from bench.loss_files import TRUST, trust, trusted, trusted_folders
from bench.results.store import State, Store
from bench.suites.own_losses import FOLDER
from bench.text import counted

Trust = Annotated[
    list[Path] | None,
    typer.Option(
        envvar=TRUST,
        help="A folder of losses or methods of your own, whose code may run. May be repeated.",
    ),
]


def trust_folders(folders: list[Path] | None) -> None:
    """Let this command run the code in these folders, and in no others.

    Raises:
        BenchError: one of them is not there.
    """
    trust(folders or [])


def untrusted(cells: Iterable[Cell]) -> list[str]:
    """Return a line for each objective, method and metric whose code may not be run."""
    cells = list(cells)
    there = ", ".join(map(str, trusted_folders()))
    why = f"{there} has no such file" if there else "none of it is run unless you trust its folder"
    return [
        f"{_kind(cell)} '{cell.loss}' is your own code: {why}; "
        f"name the folder of {cell.loss}.py by --trust"
        for cell in _with_own_losses(cells)
        if trusted(cell.loss, str(cell.loss_file)) is None
    ] + untrusted_metrics(cells)


def trust_words(cells: Iterable[Cell], suites: Path) -> list[str]:
    """Return the option of a command on these cells; none without an objective of one's own.

    Args:
        cells: that it computes.
        suites: their folder, beside whose files such objectives are by default.
    """
    if all(_own_file(cell) is None for cell in cells):
        return []
    folders = trusted_folders() or (suites / FOLDER,)
    return [f"--trust {shlex.quote(str(folder))}" for folder in folders]


def check_own_code(cells: Iterable[Cell], store: Store | None = None) -> None:
    """Try each objective, method and network of timm before anything is computed; keep the code.

    Args:
        cells: to be computed.
        store: keeps a copy of the code, by which its cells are known as stale once it is edited.

    Raises:
        LaunchError: in one line: code that is not trusted, or what is wrong with it.
    """
    cells = list(cells)
    try_own_metrics(cells, store)
    cells = [cell for cell in cells if _own_file(cell) is not None or _of_timm(cell)]
    if store is not None and cells:
        states = store.states(cells)
        cells = [c for c, s in zip(cells, states, strict=True) if s.state != State.DONE]
    own = _with_own_losses(cells)
    for line in untrusted(own):
        raise LaunchError(line)
    networks = {
        (cell.arch, cell.image_size): cell for cell in cells if isinstance(cell, EncoderCell)
    }
    for cell in (c for c in networks.values() if _of_timm(c)):
        from bench.experiments.loss_trial import try_network  # loads torch

        try:
            try_network(cell)
        except CellFailure as fault:
            raise LaunchError(str(fault)) from None
    for cell in own:
        from bench.experiments.loss_trial import try_loss, try_method

        try:
            try_method(cell) if cell.target == "own" else try_loss(cell)
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
    """Tell for each objective or method how many cells its former code has computed."""
    states = _own_states(cells, store)
    former = [c for c, state in states if state == State.STALE and isinstance(c, EncoderCell)]
    stale = Counter((_kind(cell.trained), cell.loss) for cell in former)
    for (kind, loss), count in stale.items():
        tell(
            f"{kind} '{loss}' was edited: {counted(count, 'cell')} of its former code "
            f"{'is' if count == 1 else 'are'} stale; `bench run` computes them again"
        )


def _own_file(cell: Cell) -> str | None:
    return getattr(cell, "loss_file", None)


def _of_timm(cell: Cell) -> bool:
    return str(cell.settings.get("arch")).startswith(OF_TIMM)


def _kind(cell: Pretrain) -> str:
    return "method" if cell.target == "own" else "loss"


def _with_own_losses(cells: Iterable[Cell]) -> list[Pretrain]:
    """Return a cell of each objective of one's own and of each choice of its parameters."""
    found: dict[tuple[object, ...], Pretrain] = {}
    for cell in cells:
        if isinstance(cell, EncoderCell) and _own_file(cell) is not None:
            key = (cell.loss, cell.tau, *sorted(cell.parameters.items()))
            found.setdefault(key, cell.trained)
    return list(found.values())
