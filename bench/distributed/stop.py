"""Being told to stop while others wait: heeded when all ranks do."""

from collections.abc import Callable

from bench.distributed.ranks import Ranks
from bench.errors import CellFailure, Interrupted, Preempted
from bench.signals import warned

GO_ON, STOP, MAKE_WAY, GIVE_UP = range(4)


def agreed(
    heartbeat: Callable[[], None], asked: Callable[[], bool], ranks: Ranks
) -> Callable[[], None]:
    """Return a heartbeat that stops all ranks after the same step.

    Args:
        heartbeat: this rank's own, which may raise a CellFailure.
        asked: whether this rank is to stop.
        ranks: all of which call the heartbeat after every step.
    """

    def of_all_ranks() -> None:
        fault: CellFailure | None = None
        try:
            heartbeat()
        except CellFailure as failure:
            fault = failure
        request = (MAKE_WAY if warned() else STOP) if asked() else GO_ON
        strongest = ranks.greatest(GIVE_UP if fault else request)
        if strongest == GIVE_UP:
            raise fault or CellFailure("another rank gave the training up")
        if strongest == MAKE_WAY:
            raise Preempted("a rank was warned")
        if strongest == STOP:
            raise Interrupted("told to stop")

    return of_all_ranks
