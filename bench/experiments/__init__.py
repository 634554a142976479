"""Experiments: one module each, with `run(cells, folders, device)`.

`run` takes cells that may be stacked (equal `stack_key`, checkpoints at the same step) and returns
one outcome per cell. For cells that span ranks (`batch_over_ranks`) it also takes the ranks.
`folders` are the cells' folders in the same order. `device` is cpu or cuda.

By default, a cell is timed with shortened settings (`cuttable`). A module can provide `probe(cell,
data, device, clock)` instead: `data` is the folder of data sets and `clock` returns seconds. A
probe stores nothing. It raises the same errors as the cell.
"""

from importlib import import_module
from types import ModuleType

from bench.experiments.outcome import Failure, Outcome, Probe, Result, Run


class _Experiments(dict[str, Run]):
    """The `run` of each experiment, by its name: `gaussian-mi` is that of `gaussian_mi.py`.

    A file is loaded when it is asked for: libraries that only others use cost workers seconds.
    """

    def __missing__(self, name: str) -> Run:
        run: Run = _module(name).run
        self[name] = run
        return run


EXPERIMENTS = _Experiments()


def probe_of(experiment: str) -> Probe | None:
    """Return the experiment's own probe; None if it has none."""
    return getattr(_module(experiment), "probe", None)


def _module(experiment: str) -> ModuleType:
    return import_module(f"bench.experiments.{experiment.replace('-', '_')}")


__all__ = ["EXPERIMENTS", "Failure", "Outcome", "Result", "probe_of"]
