"""What a command speaks of: a suite, a scale, its cells, its paper and the results."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bench.analysis.check import check_suite
from bench.analysis.protocol import check_scale
from bench.config.grid import expand
from bench.config.load import find_suite, load_suite
from bench.config.record import Cell
from bench.config.suite import Scalar, Suite
from bench.config.yaml_file import scalar
from bench.errors import BenchError
from bench.published.reader import Paper
from bench.store.store import Store

if TYPE_CHECKING:
    from bench.analysis.needed import Sets
    from bench.report.page import Evidence


@dataclass(frozen=True)
class Selection:
    """The cells of a suite at a scale that a command was asked about."""

    suite: Suite
    path: Path
    scale: str
    cells: list[Cell]
    paper: Paper
    results: Path

    @cached_property
    def store(self) -> Store:
        """The results folder."""
        return Store(self.results)

    def claim_sets(self) -> "Sets":
        """Return the cells that each claim needs, seed by seed."""
        from bench.analysis.needed import needed_by_claims  # loads pandas

        return needed_by_claims(self.suite, self.cells)

    def printed_sets(self) -> "Sets":
        """Return the cells that stand beside each printed value, seed by seed."""
        from bench.analysis.needed import needed_by_printed  # loads pandas

        return needed_by_printed(self.suite, self.cells, self.paper)

    def evidence(self) -> "Evidence":
        """Return measured beside published, and the verdicts."""
        from bench.report.page import gather
        from bench.store.export import Results

        return gather(self.suite, self.scale, self.cells, self.paper, Results(self.results))


def select(
    name: str,
    suites: Path,
    results: Path,
    *,
    scale: str | None = None,
    where: list[str] | None = None,
    seeds: str | None = None,
) -> Selection:
    """Return what a command line chose.

    Raises:
        BenchError: a mistake in the suite or in the choice.
    """
    path = find_suite(name, suites)
    suite = load_suite(path)
    chosen = scale or suite.scale
    cells = expand(suite, chosen, path, seeds=_seeds(seeds), where=_where(where or []))
    paper = check_suite(suite, path)
    if not where:  # some of the cells say nothing of the scale
        check_scale(suite, chosen, cells, paper)
    return Selection(suite, path, chosen, cells, paper, results)


def select_scales(path: Path, results: Path) -> list[Selection]:
    """Return all cells of a suite, scale by scale.

    Raises:
        BenchError: a mistake in the suite.
    """
    suite = load_suite(path)
    paper = check_suite(suite, path)
    found = []
    for scale in suite.scales:
        cells = expand(suite, scale, path)
        check_scale(suite, scale, cells, paper)
        found.append(Selection(suite, path, scale, cells, paper, results))
    return found


def _seeds(text: str | None) -> list[int] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise BenchError(
            f"--seeds {text}: expected whole numbers with commas between, such as 0,1,2"
        )
    return list(dict.fromkeys(int(part) for part in parts))


def _where(texts: list[str]) -> dict[str, list[Scalar]]:
    """Return setting -> allowed values of texts such as `K=64,128`."""
    rules: dict[str, list[Scalar]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        if not name.strip() or not values or "=" in values:
            raise BenchError(
                f"--where {text}: expected one SETTING=VALUE[,VALUE...], such as K=64,128; "
                "give --where again for another setting"
            )
        found = [scalar(value.strip()) for value in values.split(",")]
        rules.setdefault(name.strip(), []).extend(found)
    return rules
