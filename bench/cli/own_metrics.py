"""Metrics of one's own on the command line: whether their folders are trusted, and a first try."""

from collections.abc import Iterable

from bench.cells.cell import Cell
from bench.cells.pretrain import EncoderCell
from bench.errors import CellFailure, LaunchError
from bench.loss_files import trusted_folders
from bench.metric_files import FOLDERS, trusted_metric
from bench.results.store import State, Store


def untrusted_metrics(cells: Iterable[Cell]) -> list[str]:
    """Return a line for each metric whose code may not be run."""
    there = ", ".join(map(str, trusted_folders()))
    why = f"{there} has no such file" if there else "none of it is run unless you trust its folder"
    return [
        f"{setting} '{name}' is your own code: {why}; name the folder of {name}.py by --trust"
        for setting, name, identity in dict.fromkeys(_named(cells))
        if trusted_metric(setting, name, identity) is None
    ]


def try_own_metrics(cells: Iterable[Cell], store: Store | None) -> None:
    """Try each metric of one's own before anything is computed.

    Raises:
        LaunchError: in one line: code that is not trusted, or what is wrong with it.
    """
    own = [cell for cell in cells if isinstance(cell, EncoderCell) and any(_named([cell]))]
    if store is not None and own:
        states = store.states(own)
        own = [c for c, s in zip(own, states, strict=True) if s.state != State.DONE]
    for line in untrusted_metrics(own):
        raise LaunchError(line)
    for cell in {tuple(_named([cell])): cell for cell in own}.values():
        from bench.experiments.metric_trial import try_metrics  # loads torch

        try:
            try_metrics(cell)
        except CellFailure as fault:
            raise LaunchError(str(fault)) from None


def _named(cells: Iterable[Cell]) -> Iterable[tuple[str, str, str]]:
    """Yield each metric's setting, name and digest."""
    for cell in cells:
        for setting in FOLDERS:
            if (name := getattr(cell, setting, None)) is not None:
                yield setting, name, getattr(cell, f"{setting}_file")
