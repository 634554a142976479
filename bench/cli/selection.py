"""What a command speaks of: a suite, a scale, its cells, its paper and the results."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bench.cells.cell import Cell
from bench.cli.workspace import Workspace
from bench.errors import BenchError, choices
from bench.files.yaml_file import scalar
from bench.papers.reader import Paper
from bench.results.store import Store
from bench.results.tables import table_files
from bench.suites.expand import expand
from bench.suites.load import find_suite, load_suite, suite_paths
from bench.suites.protocol import check_scale
from bench.suites.suite import Scalar, Suite
from bench.suites.validate import check_suite


@dataclass(frozen=True)
class Selection:
    """The cells of a suite at a scale that a command was asked about."""

    suite: Suite
    path: Path
    scale: str
    cells: list[Cell]
    paper: Paper
    results: Path
    have: tuple[Path, ...] = ()  # folders of exported tables, whose cells count as done

    @cached_property
    def store(self) -> Store:
        """The results folder."""
        return Store(self.results, have=self.have)

    @property
    def title(self) -> str:
        """The suite and the scale, as messages name them."""
        return f"{self.suite.name} at scale {self.scale}"


def select(
    workspace: Workspace,
    name: str,
    *,
    scale: str | None = None,
    where: list[str] | None = None,
    seeds: str | None = None,
    have: Sequence[Path] | None = None,
) -> Selection:
    """Return what a command line chose.

    Args:
        workspace: the folders.
        name: of the suite, or the path of its file.
        scale: one of the suite's; default: its own.
        where: conditions such as `K=64,128`, all of which must hold.
        seeds: such as `0,1,2`, in place of the suite's.
        have: folders of exported tables, whose cells count as done.

    Raises:
        BenchError: a mistake in the suite or in the choice.
    """
    path = find_suite(name, workspace.suites)
    suite = load_suite(path)
    chosen = scale or suite.scale
    cells = expand(suite, chosen, path, seeds=_seeds(seeds), where=_where(where or []))
    paper = check_suite(suite, path)
    if not where:  # some of the cells say nothing of the scale
        check_scale(suite, chosen, cells, paper)
    return Selection(suite, path, chosen, cells, paper, workspace.results, had(have))


def had(folders: Sequence[Path] | None) -> tuple[Path, ...]:
    """Return the folders of `--have`.

    Raises:
        BenchError: one of them holds no exported tables.
    """
    for folder in folders or ():
        if not table_files(folder):
            raise BenchError(
                f"--have {folder}: no exported tables there; `bench export SUITE --to FOLDER` "
                "writes them"
            )
    return tuple(folders or ())


def check_scale_known(scale: str | None, suites: Path) -> None:
    """Raise a BenchError if no suite has a scale of that name."""
    if scale is None:
        return
    known = dict.fromkeys(s for p in suite_paths(suites).values() for s in load_suite(p).scales)
    if scale not in known:
        raise BenchError(f"--scale {scale}: no suite has it. {choices(scale, list(known))}")


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
