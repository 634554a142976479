"""What the reference runs cost: the table of README, from the provenance of exported cells.

Cells that train as one batch share their time. Each process computed on one thread, so seconds are
those of one core, of a machine that did other work too.

    python -m benchmarks.reference_times [--to README.md]    # prints the table, or writes it there
"""

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from bench.results.reader import Done, Results
from bench.suites.expand import expand
from bench.suites.load import load_suite, suite_paths

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- reference times: begin -->\n", "<!-- reference times: end -->\n"
HEADS = ("suite", "scale", "cells", "seconds per cell", "all cells, core-minutes", "memory, GB")


def table(results: Path = ROOT / "results" / "reference") -> str:
    """Return a row for each suite and scale of which every cell has a reference result."""
    lines = [HEADS, ("---",) * 2 + ("---:",) * 4, *rows(results)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def rows(folder: Path) -> Iterator[Sequence[str]]:
    """Yield the entries of each row."""
    results = Results(folder)
    for path in suite_paths(ROOT / "suites").values():
        suite = load_suite(path)
        for scale in suite.scales:
            cells = expand(suite, scale, path)
            done = results.finished(cells)
            if len(done) == len(cells):
                yield suite.name, scale, *(str(entry) for entry in costs(done))


def costs(done: Done) -> Iterator[str]:
    """Yield the number of cells, seconds per cell, core-minutes in all, and peak memory."""
    seconds = [f.provenance["wall_s"] / f.provenance.get("stack", 1) for _, f in done]
    memory = max(f.provenance["peak_memory_gb"] for _, f in done)
    yield str(len(done))
    yield f"{median(seconds):.2g}"
    yield f"{sum(seconds) / 60:.2g}"
    yield f"{memory:.1f}"


def main() -> None:
    """Print the table, or write it into a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, help="the page, between the marks in it")
    to = parser.parse_args().to
    if to is None:
        print(table(), end="")
        return
    page = to.read_text()
    to.write_text(re.sub(f"(?<={BEGIN}).*(?={END})", lambda _: table(), page, flags=re.DOTALL))


if __name__ == "__main__":
    main()
