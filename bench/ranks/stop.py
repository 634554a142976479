"""Being told to stop while others wait: heeded when all ranks do."""

from collections.abc import Callable

from bench.errors import CellFailure, Interrupted, Preempted
from bench.ranks.ranks import Ranks
from bench.signals import warned

GO_ON, STOP, MAKE_WAY, GIVE_UP = range(4)


def agreed(beat: Callable[[], None], asked: Callable[[], bool], ranks: Ranks) -> Callable[[], None]:
    """Return a beat that stops all ranks after the same step.

    Args:
        beat: this rank's own, which may raise a CellFailure.
        asked: whether this rank is to stop.
        ranks: all of which call the beat after every step.
    """

    def together() -> None:
        fault: CellFailure | None = None
        try:
            beat()
        except CellFailure as failure:
            fault = failure
        told = (MAKE_WAY if warned() else STOP) if asked() else GO_ON
        found = ranks.greatest(GIVE_UP if fault else told)
        if found == GIVE_UP:
            raise fault or CellFailure("another rank gave the training up")
        if found == MAKE_WAY:
            raise Preempted("a rank was warned")
        if found == STOP:
            raise Interrupted("told to stop")

    return together
