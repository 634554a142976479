"""What kinds of thing a cell does: one file an experiment, each with `run(cells, folders, device)`.

`run` takes cells that may be stacked (equal `stack_key`, checkpoints of one step) and returns one
outcome for each.
"""

from bench.experiments import (
    gaussian_mi,
    gradient_norm,
    optimal_bound,
    pretrain,
    spirals,
    supervised,
    vince_gaussian,
)
from bench.experiments.outcome import Failure, Outcome, Result, Run

EXPERIMENTS: dict[str, Run] = {
    "gaussian-mi": gaussian_mi.run,
    "optimal-bound": optimal_bound.run,
    "gradient-norm": gradient_norm.run,
    "pretrain": pretrain.run,
    "vince-gaussian": vince_gaussian.run,
    "spirals": spirals.run,
    "supervised": supervised.run,
}

__all__ = ["EXPERIMENTS", "Failure", "Outcome", "Result"]
