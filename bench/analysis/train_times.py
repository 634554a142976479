"""How long encoders were trained, from the provenance of cells: for claims about running times."""

from collections.abc import Mapping
from math import log2

from bench.results.reader import Finished

METRIC = "log2_train_hours"
HOUR_S = 3600
MACHINE = (
    "trained.machine.system", "trained.machine.processor", "trained.machine.cores",
    "trained.device", "trained.threads", "trained.ranks", "trained.step", "device_name", "packed",
)  # fmt: skip
"""What must be alike for times to be compared."""


def train_times(finished: Mapping[str, Finished]) -> dict[str, dict[str, float]]:
    """Return the logarithm to base 2 of the hours that training a cell's encoder took, by id.

    Its differences are those of ratios: 1 is twice as long. A training that was resumed is left
    out, for nobody knows its hours; and so are all where they ran on different machines.
    """
    timed = {
        name: kept.provenance
        for name, kept in finished.items()
        if kept.provenance.get("trained.resumed_at") == 0
        and kept.provenance.get("trained.wall_s", 0.0) > 0
    }
    if len({tuple(origin.get(key) for key in MACHINE) for origin in timed.values()}) > 1:
        return {}
    return {
        name: {METRIC: log2(origin["trained.wall_s"] / HOUR_S)} for name, origin in timed.items()
    }
