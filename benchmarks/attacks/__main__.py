"""Kill, stop and misdate running cells, fill the disk; count what was lost or changed.

    python -m benchmarks.attacks [CATEGORY ...] --seeds 0 1 --attempts 2000
    python -m benchmarks.attacks kills slurm --attempts 500

Attempts are shared equally by categories and seeds; another `--part` of a seed holds other attempts
than its first. Without a name all categories are tried but `slurm`, which starts a cluster of its
own on this machine (`tests/slurm/cluster.sh`). Findings are told with category, seed, part and
number; the exit status is 1 if there are any.
"""

import argparse
import gc
import itertools
import math
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from importlib import import_module
from pathlib import Path

from benchmarks.attacks.attempt import FINDINGS, Attempt, Attempts, Outcome
from benchmarks.attacks.child import load_modules

CATEGORIES = ("clocks", "disk", "kills", "slurm")
ALONE = ("slurm",)  # run only where they are named


def attack(category: str, seed: int, most: int, seconds: float, part: int = 0) -> Iterator[Attempt]:
    """Yield so many attempts of a category, or fewer when the time is over."""
    attempts: Attempts = import_module(f"benchmarks.attacks.{category}").attempts
    deadline = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix=f"attack-{category}-") as folder:
        words = f"{category} {seed} {part}" if part else f"{category} {seed}"
        given = attempts(random.Random(words), Path(folder).resolve())
        with closing(given) as tried:
            for attempt in itertools.islice(tried, most):
                yield attempt
                if time.monotonic() > deadline and not attempt.is_followed:
                    return


def print_counts(counts: Mapping[str, Counter[Outcome]], seconds: Mapping[str, float]) -> None:
    """Print a row for each category and one for all."""
    print(f"{'category':10} attempts " + " ".join(f"{o:>9}" for o in Outcome) + "   seconds")
    rows = [*counts.items(), ("all", sum(counts.values(), Counter()))]
    for name, own in rows:
        spent = seconds.get(name, sum(seconds.values()))
        cells = " ".join(f"{own[o]:9}" for o in Outcome)
        print(f"{name:10} {own.total():8} {cells} {spent:9.0f}")


def main() -> None:
    """Attack, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("category", nargs="*", choices=[[], *CATEGORIES], metavar="category")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--attempts", type=int, default=200, help="of all categories and seeds")
    parser.add_argument("--part", type=int, default=0, help="of the seeds; 0 is the first")
    parser.add_argument("--seconds", type=float, default=math.inf, help="at most, in all")
    parser.add_argument("--verbose", action="store_true", help="print every attempt")
    given = parser.parse_args()
    chosen = given.category or [name for name in CATEGORIES if name not in ALONE]
    shares = len(chosen) * len(given.seeds)
    load_modules()
    counts = {name: Counter[Outcome]() for name in chosen}
    spent = dict.fromkeys(chosen, 0.0)
    for name, seed in itertools.product(chosen, given.seeds):
        began = time.monotonic()
        most = math.ceil(given.attempts / shares)
        tried = attack(name, seed, most, given.seconds / shares, given.part)
        for number, attempt in enumerate(tried):
            counts[name][attempt.outcome] += 1
            if given.verbose or attempt.is_finding:
                place = f"{name}, seed {seed}, part {given.part}, attempt {number}"
                told = f"{place}: {attempt.outcome}: {attempt.what}: {attempt.detail}"
                print(told, file=sys.stderr, flush=True)
        spent[name] += time.monotonic() - began
    print_counts(counts, spent)
    gc.unfreeze()  # else libraries tell at the end that not all was given back
    sys.exit(any(outcome in FINDINGS for own in counts.values() for outcome in own))


if __name__ == "__main__":
    main()
