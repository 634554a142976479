"""A folder with two small suites, and the bytes of their finished cells."""

from pathlib import Path

from bench.results.digests import TRAINED
from benchmarks.attacks.child import SECONDS, Answer, bench
from tests.fakes.suites import DIGITS, SUITE, changed, to_yaml

TOYS = changed(
    SUITE, {"fixed.steps": 4, "grid.K": [8], "grid.mi_true": [2, 4], "scale": "tiny", "seeds": [0]}
)
IMAGES = changed(DIGITS, {"fixed.epochs": 1})
NAMES = ("small", "digits")
WHOLE_S = 120.0  # of a core, for all cells
OF_CELL = ("summary.json", "history.jsonl", "cell.json", "arrays.npz")


def write_suites(home: Path) -> None:
    """Write the suites `small` (4 toy cells) and `digits` (2 evaluations of one encoder)."""
    (home / "suites").mkdir(parents=True)
    for suite in (TOYS, IMAGES):
        (home / "suites" / f"{suite['name']}.yaml").write_text(to_yaml(suite))


def undisturbed(home: Path) -> dict[str, bytes]:
    """Compute all cells while nobody disturbs it; return their bytes (`cell_bytes`).

    Raises:
        RuntimeError: not all of them are done.
    """
    answer = run(home, seconds=WHOLE_S)
    if answer.status != 0:
        raise RuntimeError(f"status {answer.status}: {answer.err}")
    return cell_bytes(home)


def run(home: Path, *options: str, seconds: float = SECONDS) -> Answer:
    """Compute what is missing, in one process, in so many seconds of a core."""
    return bench(home, "run", *NAMES, "--executor", "inline", *options, seconds=seconds)


def cell_bytes(home: Path) -> dict[str, bytes]:
    """Return what a finished run leaves that may not depend on how it was run, by its place."""
    return {
        str(path.relative_to(home)): path.read_bytes()
        for name in OF_CELL
        for path in sorted(
            (home / "results").glob(f"*/*/{name}")
        )  # folders of launches come and go
        if path.parent.parent.name != TRAINED
    }


def difference(home: Path, whole: dict[str, bytes]) -> str | None:
    """Return which file of a cell is missing or another one than it was; None if none is."""
    now = cell_bytes(home)
    wrong = [name for name in sorted(now.keys() | whole.keys()) if now.get(name) != whole.get(name)]
    return f"{wrong[0]} is {'missing' if wrong[0] not in now else 'other'}" if wrong else None
