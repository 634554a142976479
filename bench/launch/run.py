"""`bench run`: what is missing, cut into units, given to an executor."""

import time
from collections import Counter
from collections.abc import Sequence

from bench.config.environment import seconds_between_checkpoints
from bench.config.record import Cell
from bench.errors import Interrupted
from bench.launch.predict import predict
from bench.launch.progress import Progress
from bench.launch.slots import slots
from bench.launch.units import make_units
from bench.signals import stoppable
from bench.store.store import CellState, Launch, State, Store

POLL_S = 0.1
EXECUTORS = ("local", "inline", "slurm")


def run_cells(
    cells: Sequence[Cell],
    store: Store,
    *,
    title: str,
    inline: bool = False,
    jobs: int | None = None,
    retry_failed: bool = False,
) -> list[CellState]:
    """Compute every cell that is not done, on workers or in this process; return the states.

    Failed cells are left alone unless `retry_failed`. Cells that another process computes are
    waited for, and taken over if that process dies.
    """
    store.check_writable()
    seconds_between_checkpoints()
    before = store.states(cells)
    leave = (State.DONE,) if retry_failed else (State.DONE, State.FAILED)
    todo = [cell for cell, state in zip(cells, before, strict=True) if state.state not in leave]
    if todo:
        places = [None] if inline else slots(jobs)
        over = Counter(state.state for state in before if state.state in leave)
        expected = predict(cells, before, store, places, leave=leave).core_s
        with (
            stoppable(),
            store.announce(todo, retry_before=time.time() if retry_failed else 0.0) as launch,
            Progress(title, over, expected, len(places)) as report,
        ):
            try:
                _execute(todo, store, launch, places, report, inline=inline)
            except KeyboardInterrupt:
                raise Interrupted from None
    return store.states(cells)


def _execute(
    todo: Sequence[Cell],
    store: Store,
    launch: Launch,
    places: Sequence[str | None],
    report: Progress,
    *,
    inline: bool,
) -> None:
    units = make_units(todo, len(places))
    if not inline:
        from bench.launch.local import LocalQueue

        LocalQueue(units, store, launch, places).run(report)
        return
    from bench.launch.worker import drain

    while not report(store.states(todo)):
        drain(units, store, launch)
        time.sleep(POLL_S)
