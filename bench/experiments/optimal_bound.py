"""EqCo's bound with the optimal critic, the density ratio being known (EqCo, Theorem 1)."""

from collections.abc import Sequence

import numpy as np

from bench.config.cells import OptimalBound
from bench.data.gaussians import correlate, correlation_for, log_density_ratio, normal_pairs
from bench.data.streams import Purpose, stream
from bench.experiments.outcome import Outcome, Result
from bench.store.folder import CellFolder

QUERIES_A_BLOCK = 2_000_000  # negatives held at once, to keep memory flat in K


def run(cells: Sequence[OptimalBound], folders: Sequence[CellFolder], device: str) -> list[Outcome]:
    """Estimate L_opt (EqCo, Eq. 3, first line) by Monte Carlo in float64."""
    return [Result(_bounds(cell)) for cell in cells]


def _bounds(cell: OptimalBound) -> dict[str, float]:
    """Return log(1 + K e^{m/tau}) - L_opt, and Eq. 6's approximation of it, in nats."""
    rho = correlation_for(cell.mi_true, cell.d)
    weight = 1.0 if cell.alpha is None else cell.alpha / cell.K  # e^{m/tau}
    alpha = cell.K * weight
    exact, approximate = [], []
    block = max(1, QUERIES_A_BLOCK // (cell.K * cell.d))
    for begin in range(0, cell.samples, block):
        count = min(block, cell.samples - begin)
        generator = stream(cell.seed, Purpose.EVALUATE, begin)
        x, eps = normal_pairs(generator, count, cell.d)
        log_pos = log_density_ratio(x, correlate(x, eps, rho), rho)
        negatives = generator.standard_normal((count, cell.K, cell.d), dtype=np.float32)
        log_neg = np.logaddexp.reduce(log_density_ratio(x[:, None], negatives, rho), axis=1)
        exact.append(np.logaddexp(0, np.log(weight) + log_neg - log_pos))
        approximate.append(np.logaddexp(0, np.log(alpha) - log_pos))
    constant = np.log1p(alpha)
    return {
        "mi_lower_bound": float(constant - np.concatenate(exact).mean()),
        "mi_lower_bound_approximate": float(constant - np.concatenate(approximate).mean()),
    }
