"""Time a cell of `gaussian-mi`: stacked, against the plain per-cell loop and against the floor.

The plain loop is what one would write for a single cell: two `nn.Sequential`, autograd on the
public loss, `torch.optim.Adam`. The floor is the step's multiply-adds at the rate that this
machine's best square float32 matrix product reaches on one core. One thread throughout.

    python -m benchmarks.gaussian_mi [--steps 100] [--repeats 5]
"""

import argparse
import time
from collections.abc import Callable

import torch
from torch import nn

from bench.cells.toys import GaussianMI
from bench.data.streams import Purpose
from bench.experiments.gaussian_mi import Critics
from bench.losses import in_batch, infonce

STACKS = (1, 2, 5, 10, 30)


def make_cells(K: int, count: int) -> list[GaussianMI]:
    """Return cells as the suite eqco-table-9 has them."""
    points = [
        (seed, mi, loss, alpha)
        for seed in range(3)
        for mi in (2.0, 4.0, 6.0, 8.0, 10.0)
        for loss, alpha in (("infonce", None), ("eqco", 512.0))
    ]
    return [
        GaussianMI.model_validate(
            {
                "experiment": "gaussian-mi", "mi_true": mi, "d": 20, "loss": loss, "alpha": alpha,
                "K": K, "steps": 5000, "optimizer": "adam", "lr": 5e-4, "eval_repeats": 1000,
                "hidden_layers": 1, "hidden_units": 256, "activation": "relu",
                "embedding_dim": 256, "output_relu": True, "tau": 1.0,
                "margin_count": "negatives", "bound_constant": "one-plus-alpha", "seed": seed,
            }
        )
        for seed, mi, loss, alpha in points[:count]
    ]  # fmt: skip


def stacked(K: int, count: int) -> Callable[[int], None]:
    """Return the step of a stack."""
    critics = Critics(make_cells(K, count), "cpu")

    def step(number: int) -> None:
        with torch.no_grad():
            critics.step(number)

    return step


def plain(K: int) -> Callable[[int], None]:
    """Return the step of one cell as one would write it."""
    critics = Critics(make_cells(K, 1), "cpu")  # for its data alone
    towers = [
        nn.Sequential(nn.Linear(20, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
        for _ in range(2)
    ]
    adam = torch.optim.Adam([p for tower in towers for p in tower.parameters()], lr=5e-4)

    def step(number: int) -> None:
        x, y = critics.inputs(Purpose.TRAIN, number)
        loss = infonce(*in_batch(towers[0](x) @ towers[1](y).T), tau=1.0).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


def matmul_rate(n: int = 512) -> float:
    """Return multiply-adds a second of a square product, the best of many."""
    a, b, c = torch.randn(n, n), torch.randn(n, n), torch.empty(n, n)
    return n**3 / min(_timed(lambda _: torch.mm(a, b, out=c), 1) for _ in range(100))


def _timed(step: Callable[[int], object], steps: int) -> float:
    began = time.perf_counter()
    for number in range(steps):
        step(number)
    return (time.perf_counter() - began) / steps


def main() -> None:
    """Print one line a K and stack size; times are the best of the repeats, taken in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"{'K':>4} {'stack':>5} {'ms/cell':>8} {'floor ms':>8} {'x floor':>8} {'plain/stacked':>13}"
    )
    for K in (64, 128, 256, 512):
        cell = make_cells(K, 1)[0]
        towers = 2 * K * cell.hidden_units * (2 * cell.d + 3 * cell.embedding_dim)
        macs = towers + 3 * K**2 * cell.embedding_dim  # of both encoders and the critic
        steps = max(3, options.steps * 64 // K)
        runs = {0: plain(K)} | {count: stacked(K, count) for count in STACKS}
        best = dict.fromkeys(runs, float("inf"))
        rate = 0.0
        for _ in range(options.repeats):
            rate = max(rate, matmul_rate())
            for count, step in runs.items():
                step(0)
                best[count] = min(best[count], _timed(step, steps) / max(1, count))
        floor = macs / rate
        for count in STACKS:
            mine = best[count]
            print(
                f"{K:4d} {count:5d} {mine * 1e3:8.2f} {floor * 1e3:8.2f} {mine / floor:8.2f} "
                f"{best[0] / mine:13.2f}"
            )


if __name__ == "__main__":
    main()
