"""What kinds of thing a cell does: one file an experiment, each with `run(cells, folders, device)`.

`run` takes cells that may be stacked (equal `stack_key`, checkpoints of one step) and returns one
outcome for each.
"""

from importlib import import_module

from bench.experiments.outcome import Failure, Outcome, Result, Run


class _Experiments(dict[str, Run]):
    """The `run` of each experiment, by its name: `gaussian-mi` is that of `gaussian_mi.py`.

    A file is loaded when it is asked for: libraries that only others use cost workers seconds.
    """

    def __missing__(self, name: str) -> Run:
        run: Run = import_module(f"bench.experiments.{name.replace('-', '_')}").run
        self[name] = run
        return run


EXPERIMENTS = _Experiments()

__all__ = ["EXPERIMENTS", "Failure", "Outcome", "Result"]
