"""Time what the machinery itself costs: expanding a grid, its ids, the status of a full store.

The limits are promises of the project; each line prints measured over limit.

    python -m benchmarks.grid
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.results.store import Store
from bench.suites.expand import expand
from bench.suites.load import load_suite

SUITE = Path(__file__).parents[1] / "suites" / "eqco-table-9.yaml"


def tell(what: str, seconds: float, limit: float) -> None:
    """Print a time beside its limit."""
    print(f"{what:45} {seconds:6.2f} s  {seconds / limit:5.2f} of the limit of {limit} s")


def main() -> None:
    """Print one line a promise."""
    suite = load_suite(SUITE)
    wide = {"mi_true": [i / 10 for i in range(1, 101)], "K": list(range(2, 102))}
    many = suite.model_copy(update={"grid": wide, "seeds": list(range(5))})
    began = time.perf_counter()
    cells = expand(many, "paper", SUITE)
    tell(f"expand {len(cells)} cells", time.perf_counter() - began, 2.0)

    with tempfile.TemporaryDirectory() as folder:
        store, some = Store(Path(folder)), cells[:10_000]
        for cell in some:
            path = store.folder(cell).path
            path.mkdir(parents=True)
            (path / "summary.json").write_text('{"metrics": {}}')
        began = time.perf_counter()
        store.states(some)
        tell("states of 10000 finished cells", time.perf_counter() - began, 1.0)

    command = [sys.executable, "-m", "bench", "--help"]
    times = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - began)
    tell("bench --help, best of 5", min(times), 0.3)


if __name__ == "__main__":
    main()
