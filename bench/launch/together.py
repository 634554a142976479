"""Ranks that compute each cell together: the first takes cells and leads, the others follow."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from bench.config.environment import Place, place
from bench.config.pretrain import Pretrain
from bench.config.record import Cell
from bench.errors import Interrupted, LaunchError, RankLost
from bench.launch.slots import visible_gpus
from bench.launch.units import Unit
from bench.launch.worker import (
    Claims,
    claim_unit,
    fail,
    give_up_claims,
    origin_of,
    settle,
    watched,
    write,
)
from bench.signals import listening
from bench.store.owner import Owner
from bench.store.store import Launch, Store

if TYPE_CHECKING:
    from bench.ranks import Ranks

Drain = Callable[[Sequence[Unit], Store, Launch], None]


class OutOfStep(LaunchError):
    """The first rank failed where the others did not: they may be anywhere in a step."""


@contextmanager
def together(cells: Sequence[Cell], store: Store) -> Iterator[Drain | None]:
    """Join the ranks; yield the first one's `drain`, to the others None when all is over.

    Args:
        cells: what is to be computed; of one run all ranks are given the same.
        store: where results go.

    Raises:
        LaunchError: these cells cannot be computed by so many ranks.
        Interrupted: a rank was told to stop, or is gone; checkpoints stay.
    """
    here = place()
    check_cells(cells, here.world_size)
    device = settle(gpu_of(here, visible_gpus()))
    from bench.ranks.start import joined

    with joined(here, device) as ranks:
        if not ranks.first:
            _follow(store, ranks, device)
            yield None
            return
        try:
            yield partial(_lead, ranks=ranks, device=device)
        except (RankLost, OutOfStep):
            raise
        except BaseException:
            with suppress(RankLost):
                ranks.tell(None)
            raise
        ranks.tell(None)


def check_cells(cells: Sequence[Cell], world_size: int) -> None:
    """Raise a LaunchError unless each cell can be computed by so many ranks.

    Only `pretrain` can: toys and classifiers are small, and GPUs would idle unnoticed.
    """
    for cell in cells:
        if not isinstance(cell, Pretrain):
            raise LaunchError(
                f"{cell.experiment} runs on one rank, found {world_size}: leave out torchrun "
                "or --ranks"
            )
        if cell.batch_size % world_size:
            raise LaunchError(
                f"cell {cell.id}: batch_size {cell.batch_size} does not divide among "
                f"{world_size} ranks"
            )


def gpu_of(here: Place, gpus: Sequence[str]) -> str | None:
    """Return the GPU of a rank: of its machine's the one with its number; None without any.

    Raises:
        LaunchError: there are some, but fewer than ranks on this machine.
    """
    if not gpus:
        return None
    if here.local_rank < len(gpus):
        return gpus[here.local_rank]
    if len(gpus) == 1 and not here.meets:  # Slurm has given each task its own
        return gpus[0]
    raise LaunchError(
        f"rank {here.rank} is number {here.local_rank} of its machine, where {len(gpus)} GPUs are "
        "visible: start one rank a GPU"
    )


def _lead(
    units: Sequence[Unit], store: Store, launch: Launch, *, ranks: "Ranks", device: str
) -> None:
    """Claim the cells of the units, have all ranks compute them, and write what came of them."""
    owner = Owner.me()
    for unit in units:
        claims: Claims = {}
        with watched(claims, launch, owner):
            try:
                claim_unit(unit, store, launch, owner, claims)
                if claims:
                    _compute(claims, ranks, device)
            except Exception as error:
                for _, folder, attempt in claims.values():
                    fail(folder, attempt, error)
                told = f"{type(error).__name__}: {error}".splitlines()[0]
                raise OutOfStep(f"the ranks are out of step after {told}") from error
            except (Interrupted, KeyboardInterrupt) as told:
                give_up_claims(claims, told)
                raise


def _compute(claims: Claims, ranks: "Ranks", device: str) -> None:
    from bench.experiments.pretrain import run

    stack = list(claims.values())
    cells = [cell for cell, _, _ in stack if isinstance(cell, Pretrain)]
    began = time.time()
    outcomes = run(ranks.tell(cells), [folder for _, folder, _ in stack], device, ranks)
    origin = origin_of(device, began, len(stack)) | {"ranks": ranks.world_size}
    for claim, outcome in zip(stack, outcomes, strict=True):
        write(claim, outcome, origin)
        del claims[claim[0].id]


def _follow(store: Store, ranks: "Ranks", device: str) -> None:
    """Compute what the first rank says until it says that all is over."""
    from bench.experiments.pretrain import run

    stopped: Interrupted | None = None
    with listening():
        while cells := ranks.tell(list[Pretrain]()):
            try:
                run(cells, [store.folder(cell) for cell in cells], device, ranks)
            except RankLost:
                raise
            except Interrupted as stop:  # agreed on: the first rank says the rest
                stopped = stop
    if stopped is not None:
        raise stopped
