"""Ranks that compute each cell together: the first claims cells, the others follow.

This module is experimental: it has not run on several GPUs or machines (see `bench.experimental`).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

from bench.cells.cell import Cell
from bench.environment import ProcessPlace, place, visible_gpus
from bench.errors import Interrupted, LaunchError, RankLost
from bench.experimental import Ranks
from bench.experimental.ranks import joined
from bench.experiments import EXPERIMENTS, Outcome
from bench.experiments.outcome import RunOnRanks
from bench.experiments.timing import Stopwatch
from bench.launch.options import check_ranks
from bench.launch.worker import Assignment, compute_stacks, configure_process, provenance_of
from bench.results.folder import Folders
from bench.results.store import Store
from bench.signals import listening

ComputeWithRanks = Callable[[Assignment], None]


class OutOfStep(LaunchError):
    """Raised if the first rank failed and others did not, so the ranks are out of step."""


@contextmanager
def leading(cells: Sequence[Cell], store: Store, data: Path) -> Iterator[ComputeWithRanks | None]:
    """Join the ranks; yield a compute function on the first rank, and None on others at the end.

    Args:
        cells: the cells, equal on all ranks.
        data: the folder of data sets.

    Raises:
        LaunchError: this number of ranks cannot compute these cells.
        Interrupted: a rank was asked to stop or is lost; checkpoints are kept.
    """
    position = place()
    check_ranks(cells, position.world_size)
    device = configure_process(gpu_of(position, visible_gpus()))
    with joined(position, device) as ranks:
        if not ranks.first:
            _follow(store, data, ranks, device)
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


def gpu_of(position: ProcessPlace, gpus: Sequence[str]) -> str | None:
    """Return the GPU of a rank, by its number on this machine; None without GPUs.

    Raises:
        LaunchError: this machine has fewer GPUs than ranks.
    """
    if not gpus:
        return None
    if position.local_rank < len(gpus):
        return gpus[position.local_rank]
    if len(gpus) == 1 and not position.meets:  # Slurm has given each task its own
        return gpus[0]
    raise LaunchError(
        f"rank {position.rank} has local rank {position.local_rank}, but its "
        f"machine has only {len(gpus)} visible GPUs: start one rank per GPU"
    )


def _lead(assignment: Assignment, *, ranks: Ranks, device: str) -> None:
    """Have all ranks compute the cells."""
    try:
        compute_stacks(assignment, partial(_compute, ranks=ranks, device=device), recovers=False)
    except Exception as error:
        cause = f"{type(error).__name__}: {error}".splitlines()[0]
        raise OutOfStep(f"the ranks can no longer continue together, because of {cause}") from error


def _compute(
    cells: Sequence[Cell], folders: Folders, *, ranks: Ranks, device: str
) -> tuple[Sequence[Outcome], dict[str, Any]]:
    """Send the next cells to the other ranks and compute them together."""
    cells = ranks.tell(list(cells))
    watch = Stopwatch(cells[0], device)
    outcomes = _run_of(cells)(cells, folders, device, ranks)
    spent = watch.record(len(cells)) | {"ranks": ranks.world_size}
    spent.pop("cpu_s", None)  # of one rank
    return outcomes, provenance_of(device, spent, cells)


def _follow(store: Store, data: Path, ranks: Ranks, device: str) -> None:
    """Compute the cells that the first rank sends, until it sends none."""
    stopped: Interrupted | None = None
    with listening():
        while cells := ranks.tell(list[Cell]()):
            try:
                _run_of(cells)(cells, store.folders(cells, data), device, ranks)
            except RankLost:
                raise
            except Interrupted as stop:  # agreed on: the first rank says the rest
                stopped = stop
    if stopped is not None:
        raise stopped


def _run_of(cells: Sequence[Cell]) -> RunOnRanks:
    """Return the experiment of these cells, which can run on several ranks."""
    return cast(RunOnRanks, EXPERIMENTS[cells[0].experiment])
