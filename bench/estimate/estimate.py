"""What is predicted of a cell."""

from dataclasses import dataclass

from bench.cells.cell import Cell


@dataclass(frozen=True)
class Estimate:
    """What is predicted of one cell; seconds of a worker, None where nothing is known."""

    cell: Cell
    kind: str
    training: str | None  # what cells that are left share; None: nothing, or it is done already
    shared_s: float | None  # of the training, once for all that share it
    own_s: float | None
    peak_memory_gb: float | None
    device_peak_gb: float | None
    source: str  # finished, probe, model, unknown; done or failed: it will not be computed
    message: str  # the source in words
    is_near: bool = True  # from this machine and cells of its kind, or it will not be computed

    @property
    def is_left(self) -> bool:
        """Whether it will be computed."""
        return self.source not in ("done", "failed")
