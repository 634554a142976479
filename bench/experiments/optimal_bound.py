"""EqCo's bound with the optimal critic, the exact density ratio (EqCo, Theorem 1)."""

from collections.abc import Sequence

import numpy as np

from bench.cells.toys import OptimalBound
from bench.data.streams import Purpose, stream
from bench.data.toys import correlate, correlation_for, log_density_ratio, normal_pairs
from bench.experiments.outcome import Outcome, Result
from bench.results.folder import CellFolder

NUMBERS_A_BLOCK = 2_000_000  # of negatives, held at once: memory stays flat in K


def run(cells: Sequence[OptimalBound], folders: Sequence[CellFolder], device: str) -> list[Outcome]:
    """Estimate L_opt (EqCo, Eq. 3, first line) by Monte Carlo in float64."""
    return [Result(_bounds(cell)) for cell in cells]


def _bounds(cell: OptimalBound) -> dict[str, float]:
    """Return log(1 + K e^{m/tau}) - L_opt, and Eq. 6's approximation of it, in nats.

    Cells of one seed share their positive pairs, so that values differ by K and margin alone.
    """
    rho = correlation_for(cell.mi_true, cell.d)
    weight = 1.0 if cell.alpha is None else cell.alpha / cell.K  # e^{m/tau}
    alpha = cell.K * weight
    x, eps = normal_pairs(stream(cell.seed, Purpose.EVALUATE), cell.samples, cell.d)
    log_pos = log_density_ratio(x, correlate(x, eps, rho), rho)
    block = max(1, NUMBERS_A_BLOCK // (cell.K * cell.d))
    sums = []
    for begin in range(0, cell.samples, block):
        rows = x[begin : begin + block, None]
        shape = (len(rows), cell.K, cell.d)
        negatives = stream(cell.seed, Purpose.NEGATIVES, begin).standard_normal(
            shape, dtype=np.float32
        )
        sums.append(np.logaddexp.reduce(log_density_ratio(rows, negatives, rho), axis=1))
    log_neg = np.concatenate(sums)
    exact = np.logaddexp(0, np.log(weight) + log_neg - log_pos).mean()
    approximate = np.logaddexp(0, np.log(alpha) - log_pos).mean()
    constant = np.log1p(alpha)
    return {
        "mi_lower_bound": float(constant - exact),
        "mi_lower_bound_approximate": float(constant - approximate),
    }
