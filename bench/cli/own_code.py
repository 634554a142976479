"""The user's own code on the command line: trusted folders and a first test run."""

import shlex
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from bench.cells.architectures import OF_TIMM
from bench.cells.cell import Cell
from bench.cells.pretrain import EncoderCell, Pretrain
from bench.errors import CellFailure, LaunchError
from bench.files.atomic import write_whole
from bench.files.messages import tell
from bench.loss_files import TRUST, LossFile, trust, trusted, trusted_folders
from bench.metric_files import FOLDERS, MetricFile, trusted_metric
from bench.results.store import State, Store
from bench.suites.own_files import own_code
from bench.text import counted

Trust = Annotated[
    list[Path] | None,
    typer.Option(
        envvar=TRUST,
        help="Allow the code of losses, methods or metrics in this folder to run. May be repeated.",
    ),
]


def trust_folders(folders: list[Path] | None) -> None:
    """Allow this command to run code in these folders only.

    Raises:
        BenchError: a folder does not exist.
    """
    trust(folders or [])


def untrusted(cells: Iterable[Cell]) -> list[str]:
    """Return one line per objective, method or metric whose code is not trusted."""
    cells = list(cells)
    code = [
        (_kind(cell), cell.loss)
        for cell in _with_own_losses(cells)
        if trusted(cell.loss, str(cell.loss_file)) is None
    ]
    code += [
        (setting, name)
        for setting, name, identity in dict.fromkeys(m for cell in cells for m in _metrics_of(cell))
        if trusted_metric(setting, name, identity) is None
    ]
    there = ", ".join(map(str, trusted_folders()))
    why = (
        f"the trusted folder {there} does not hold its file"
        if there
        else "bench runs such code only from folders that you trust"
    )
    return [
        f"{kind} '{name}' is your own code: {why}; add --trust with the folder of {name}.py"
        for kind, name in code
    ]


def trust_words(cells: Iterable[Cell], suites: Path) -> list[str]:
    """Return the command-line options that allow a command on these cells to run their code.

    Args:
        cells: the cells to compute.
        suites: folder of suites. If no folder is trusted, the code is in subfolders of this folder.
    """
    folders = dict.fromkeys(name.split("/")[0] for name in own_code(cells))
    paths = (trusted_folders() if folders else []) or [suites / name for name in folders]
    return [f"--trust {shlex.quote(str(path))}" for path in paths]


def check_own_code(cells: Iterable[Cell], store: Store | None = None) -> None:
    """Test each objective, method, metric and timm network before a run.

    Args:
        cells: the cells to compute.
        store: results folder with copies of the code, which show whether cells are stale after an
            edit.

    Raises:
        LaunchError: the code is not trusted or fails.
    """
    cells = [c for c in cells if _own_file(c) is not None or _metrics_of(c) or _of_timm(c)]
    if store is not None and cells:
        states = store.states(cells)
        cells = [c for c, s in zip(cells, states, strict=True) if s.state != State.DONE]
    for line in untrusted(cells):
        raise LaunchError(line)
    encoders = [cell for cell in cells if isinstance(cell, EncoderCell)]
    metrics = {
        (*_metrics_of(cell), *sorted(cell.parameters.items())): cell
        for cell in encoders
        if _metrics_of(cell)
    }
    networks = {(cell.arch, cell.image_size): cell for cell in encoders if _of_timm(cell)}
    own = _with_own_losses(cells)
    try:
        _try(metrics.values(), networks.values(), own)
    except CellFailure as fault:
        raise LaunchError(str(fault)) from None
    if store is not None:
        _keep([*own, *metrics.values()], store)


def _keep(cells: Iterable[EncoderCell], store: Store) -> None:
    """Copy the code that these cells name into the store."""
    for cell in cells:
        kept: list[tuple[str, LossFile | MetricFile | None]] = [
            (setting, trusted_metric(setting, name, digest))
            for setting, name, digest in _metrics_of(cell)
        ]
        for setting, file in [*kept, ("loss", trusted(cell.loss, str(cell.loss_file)))]:
            if file is not None:
                write_whole(store.code_of(cell, setting) / f"{file.identity}.py", file.source)


def _try(
    metrics: Iterable[EncoderCell], networks: Iterable[EncoderCell], own: Iterable[Pretrain]
) -> None:
    """Try a metric, network, or objective or method of each of these cells."""
    if not (metrics or networks or own):
        return
    from bench.experiments import loss_trial  # loads torch

    for cell in metrics:
        loss_trial.try_metrics(cell)
    for cell in networks:
        loss_trial.try_network(cell)
    for trained in own:
        (loss_trial.try_method if trained.target == "own" else loss_trial.try_loss)(trained)


def _metrics_of(cell: Cell) -> list[tuple[str, str, str]]:
    """Return setting, name and digest of each metric of the user."""
    named = [(setting, getattr(cell, setting, None)) for setting in FOLDERS]
    return [(s, name, getattr(cell, f"{s}_file")) for s, name in named if name is not None]


def tell_edited(cells: Iterable[Cell], store: Store) -> None:
    """Report how many cells each former version of the user's code has computed."""
    own = [cell for cell in cells if _own_file(cell) is not None or _metrics_of(cell)]
    states = store.states(own) if own else []  # most runs have none
    stale = Counter(
        (setting if setting != "loss" else _kind(cell.trained), getattr(cell, setting))
        for cell, state in zip(own, states, strict=True)
        for setting in state.edited
        if isinstance(cell, EncoderCell)
    )
    for (kind, name), count in stale.items():
        tell(
            f"{kind} '{name}' was edited: `bench run` repeats {counted(count, 'cell')} that the "
            "earlier code computed"
        )


def _own_file(cell: Cell) -> str | None:
    return getattr(cell, "loss_file", None)


def _of_timm(cell: Cell) -> bool:
    return str(getattr(cell, "arch", "")).startswith(OF_TIMM)


def _kind(cell: Pretrain) -> str:
    return "method" if cell.target == "own" else "loss"


def _with_own_losses(cells: Iterable[Cell]) -> list[Pretrain]:
    """Return a cell of each objective of the user and of each choice of its parameters."""
    found: dict[tuple[object, ...], Pretrain] = {}
    for cell in cells:
        if isinstance(cell, EncoderCell) and _own_file(cell) is not None:
            key = (cell.loss, cell.tau, *sorted(cell.parameters.items()))
            found.setdefault(key, cell.trained)
    return list(found.values())
