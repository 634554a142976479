"""Floor, ceiling and room of an accuracy: what it is with nothing learned, and with labels.

An accuracy tells methods apart only where there is room for it: above what raw inputs and the
untrained network have, below what the same network has that was trained with labels for as many
epochs, by the same evaluation.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from bench.analysis.statistics import Interval, t_interval
from bench.cells.baseline import Baseline
from bench.cells.cell import Cell
from bench.results.reader import Done
from bench.suites.baselines import baseline_cells
from bench.suites.suite import Suite


@dataclass(frozen=True)
class Room:
    """Between which accuracies cells have something to say, each a mean over seeds, in percent."""

    metric: str
    raw: Interval  # of one seed, for raw inputs have none
    untrained: Interval
    labels: Interval

    @property
    def floor(self) -> float:
        """The larger of raw inputs and the untrained network."""
        return max(self.raw.mean, self.untrained.mean)

    @property
    def ceiling(self) -> float:
        """The network that was trained with labels."""
        return self.labels.mean

    @property
    def room(self) -> float:
        """How far the ceiling lies above the floor."""
        return self.ceiling - self.floor


def room_of(
    metric: str, cells: Sequence[Cell], baselines: Done, suite: Suite, scale: str
) -> Room | None:
    """Return the room that a metric has in all of these cells, from their finished baselines.

    Where cells have several networks or data sets, and so baselines, it is from the highest floors
    to the lowest ceiling: ask for those that are compared with each other.

    Args:
        metric: an accuracy.
        cells: of the suite at the scale.
        baselines: finished ones of the suite at the scale (`Evidence.baselines`).
        suite: the suite.
        scale: one of its scales.

    Returns:
        None where the scale has no baselines, one kind of them is not done or does not measure the
        metric, or no cell has any.
    """
    settings = suite.scales[scale].baselines
    if settings is None:
        return None
    wanted = {cell.id for cell in baseline_cells(cells, settings)}
    done = [(c, f.metrics) for c, f in baselines if isinstance(c, Baseline) and c.id in wanted]
    values: dict[str, dict[str, list[float]]] = {"raw": {}, "untrained": {}, "labels": {}}
    for cell, metrics in done:
        if metric in metrics:
            values[cell.baseline].setdefault(_but_seed(cell), []).append(metrics[metric])
    if not all(values.values()):
        return None
    return Room(
        metric=metric,
        raw=_extreme(values["raw"].values(), highest=True),
        untrained=_extreme(values["untrained"].values(), highest=True),
        labels=_extreme(values["labels"].values(), highest=False),
    )


def _extreme(groups: Iterable[list[float]], *, highest: bool) -> Interval:
    chosen = max if highest else min
    return t_interval(chosen(groups, key=fmean))


def _but_seed(cell: Baseline) -> str:
    return cell.model_dump_json(exclude={"seed"})
