"""What kinds of thing a cell does: one file an experiment, each with `run(cells, folders, device)`.

`run` takes cells that may be stacked (equal `stack_key`, checkpoints of one step) and returns one
outcome for each; of cells that span ranks (`batch_over_ranks`) it takes the ranks as well.
`folders` are the cells' own, in the same order; `device` is cpu or cuda.

Where a few steps of a cell are timed otherwise than by cutting its settings (`cuttable`), the file
has a `probe(cell, data, device, clock)` too: `data` is the folder of data sets, `clock` tells
seconds, and nothing is kept. It raises what computing the cell would raise.
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
    """Return the probe that an experiment has of its own, if it has one."""
    return getattr(_module(experiment), "probe", None)


def _module(experiment: str) -> ModuleType:
    return import_module(f"bench.experiments.{experiment.replace('-', '_')}")


__all__ = ["EXPERIMENTS", "Failure", "Outcome", "Result", "probe_of"]
