"""`bench run`: what is missing, cut into units, given to an executor."""

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.config.environment import place, seconds_between_checkpoints
from bench.config.record import Cell
from bench.errors import Interrupted, LaunchError
from bench.launch.predict import predict
from bench.launch.progress import Progress
from bench.launch.slots import slots
from bench.launch.units import make_units
from bench.signals import stoppable
from bench.store.store import CellState, Launch, State, Store

if TYPE_CHECKING:
    from bench.launch.together import Drain

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
    drain: "Drain | None" = None,
) -> list[CellState]:
    """Compute every cell that is not done, on workers or in this process; return the states.

    Failed cells are left alone unless `retry_failed`. Cells that another process computes are
    waited for, and taken over if that process dies. Under torchrun all ranks compute each cell
    together; the first alone writes and reports.

    Args:
        cells: what is to be done.
        store: where results go.
        title: the suites.
        inline: in this process, not by workers.
        jobs: how many workers.
        retry_failed: whether failed cells are tried again.
        drain: what computes units inline; the default joins the ranks, where there are several.
    """
    if drain is None and (ranks := place()).world_size > 1 and (inline or ranks.meets):
        return _run_together(cells, store, title, inline, retry_failed)
    store.check_writable()
    seconds_between_checkpoints()
    before = store.states(cells)
    for cell, state in zip(cells, before, strict=True):
        if state.state == State.DONE:  # its process may have been killed right after its last word
            store.folder(cell).checkpoint_file.unlink(missing_ok=True)
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
                _execute(todo, store, launch, places, report, inline=inline, drain=drain)
            except KeyboardInterrupt:
                raise Interrupted from None
    return store.states(cells)


def _run_together(
    cells: Sequence[Cell], store: Store, title: str, inline: bool, retry_failed: bool
) -> list[CellState]:
    if not inline:
        raise LaunchError("torchrun's ranks compute each cell together: add --executor inline")
    seconds_between_checkpoints()
    from bench.launch.together import together

    with stoppable(), together(cells, store) as drain:
        if drain is None:
            return store.states(cells)
        return run_cells(
            cells, store, title=title, inline=True, retry_failed=retry_failed, drain=drain
        )


def _execute(
    todo: Sequence[Cell],
    store: Store,
    launch: Launch,
    places: Sequence[str | None],
    report: Progress,
    *,
    inline: bool,
    drain: "Drain | None",
) -> None:
    units = make_units(todo, len(places))
    if not inline:
        from bench.launch.local import LocalQueue

        LocalQueue(units, store, launch, places).run(report)
        return
    from bench.launch.worker import drain as drain_alone

    compute = drain or drain_alone
    while not report(store.states(todo)):
        compute(units, store, launch)
        time.sleep(POLL_S)
