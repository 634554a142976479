"""One number per seed of the cells that belong to a printed value: a metric, a gain, a spread."""

from collections.abc import Sequence
from statistics import stdev

from bench.cells.cell import Cell
from bench.cells.groups import CellIndex
from bench.papers.reader import PublishedValue
from bench.suites.printed_rows import wanted_settings
from bench.suites.suite import Comparison, Suite


def base_of(
    cell: Cell,
    value: PublishedValue,
    comparison: Comparison,
    suite: Suite,
    index: CellIndex,
) -> Cell | None:
    """Return the cell whose metric a gain is taken over, None where none or several could be.

    It has the same seed, the row's settings but for those of `gain_over`, and agrees with `cell`
    in what else varies among such cells.

    Args:
        cell: whose gain is taken.
        value: the printed gain.
        comparison: the block of the suite that says which cells belong to which rows.
        suite: the suite.
        index: the cells to look among.
    """
    wanted = wanted_settings(value, comparison, suite) | comparison.gain_over | {"seed": cell.seed}
    return _base(cell, index.where(wanted))


def _base(cell: Cell, bases: Sequence[Cell]) -> Cell | None:
    of_seed = [base for base in bases if base.seed == cell.seed]
    varied = {
        k: v for k, v in cell.settings.items() if len({b.settings.get(k) for b in of_seed}) > 1
    }
    alike = [base for base in of_seed if all(base.settings.get(k) == v for k, v in varied.items())]
    return alike[0] if len(alike) == 1 else None


def _gains(
    pairs: Sequence[tuple[Cell, Cell | None]], metric: str, metrics: dict[str, dict[str, float]]
) -> list[float]:
    """Return the paired differences of the seeds with both cells done."""
    pairs_of_values = [
        (metrics.get(cell.id, {}).get(metric), metrics.get(base.id, {}).get(metric))
        for cell, base in pairs
        if base is not None
    ]
    return [a - b for a, b in pairs_of_values if a is not None and b is not None]


def numbers_of_seeds(
    cells: Sequence[Cell],
    comparison: Comparison,
    metrics: dict[str, dict[str, float]],
    bases: Sequence[Cell],
) -> list[float]:
    """Return one number per seed: the metric, its gain, or what is made of it over an axis.

    Args:
        cells: of one reading, all seeds.
        comparison: says which metric, gain or reduction.
        metrics: of the finished cells, by id.
        bases: the cells that a gain may be taken over.

    Raises:
        ValueError: a seed is there twice, as if it were two.
    """
    if comparison.gain_over:
        return _gains([(c, _base(c, bases)) for c in cells], comparison.metric, metrics)
    values = [(c, metrics[c.id].get(comparison.metric)) for c in cells if c.id in metrics]
    pairs = [(value, cell) for cell, value in values if value is not None]
    if comparison.over is None:
        seeds = [cell.seed for _, cell in pairs]
        if len(set(seeds)) < len(seeds):
            raise ValueError(f"{comparison.artifact}: seeds {seeds} of one reading")
        return [value for value, _ in pairs]
    numbers = []
    for seed in dict.fromkeys(cell.seed for cell in cells):
        of_seed = [(value, cell) for value, cell in pairs if cell.seed == seed]
        if not of_seed or len(of_seed) < sum(cell.seed == seed for cell in cells):
            continue  # the axis is not done as a whole
        if comparison.argmax:
            best = max(of_seed, key=lambda pair: pair[0])[1]
            numbers.append(float(best.settings[comparison.over]))
        elif len(of_seed) > 1:
            numbers.append(stdev(value for value, _ in of_seed))
    return numbers
