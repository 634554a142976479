"""Time the draw of K of M negatives for each of N queries against numpy's, on the host.

The peer draws M uniform numbers a query with PCG64, takes the K least by argpartition and sends
their places to the device. On the CPU one thread; on a GPU the copy is part of the peer's time.

    python -m benchmarks.draws [--device cpu] [--repeats 5]
"""

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from bench.data.draws import drawn_by
from bench.data.streams import Purpose, stream

SHAPES = ((256, 510, 64), (1024, 2046, 256), (256, 65536, 4096))


def peer(N: int, M: int, K: int, device: torch.device) -> Callable[[], object]:
    """Return the draw by numpy."""
    draw = stream(0, Purpose.NEGATIVES, 0)

    def once() -> torch.Tensor:
        columns = np.argpartition(draw.random((N, M), dtype=np.float32), K, axis=1)[:, :K]
        return torch.from_numpy(np.ascontiguousarray(columns)).to(device)

    return once


def timed(step: Callable[[], object], device: torch.device) -> float:
    """Return the time of one call in milliseconds: the processor's, or on a GPU the clock's."""
    clock = time.perf_counter if device.type == "cuda" else time.process_time
    began = clock()
    step()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return 1e3 * (clock() - began)


def main() -> None:
    """Print one line a shape; times are the best of the repeats, taken in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    device, key = torch.device(given.device), drawn_by(0, Purpose.NEGATIVES, 0)
    torch.set_num_threads(1)
    print(f"{'N':>5} {'M':>6} {'K':>5} {'ms':>8} {'numpy ms':>8} {'ratio':>6}")
    for N, M, K in SHAPES:
        mine = partial(key.subsets, N, M, K, device)
        steps: list[Callable[[], object]] = [mine, peer(N, M, K, device)]
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(given.repeats + 1):
            for own, step in zip(times, steps, strict=True):
                own.append(timed(step, device))
        ours, peers = (min(own[1:]) for own in times)
        print(f"{N:5d} {M:6d} {K:5d} {ours:8.2f} {peers:8.2f} {peers / ours:6.2f}")


if __name__ == "__main__":
    main()
