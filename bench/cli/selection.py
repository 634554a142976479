"""Cells that a command line selects, and the data sets that they need."""

import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TypeVar

from bench.cells.baseline import without_baselines
from bench.cells.cell import Cell
from bench.cells.detection import Detection
from bench.cells.finetune import FineTune
from bench.cells.groups import shards
from bench.cells.speech import AnySpeech
from bench.cli.own_code import tell_edited, trust_words
from bench.cli.workspace import Workspace, command_line
from bench.data.catalogue import (
    check_boxed,
    check_list,
    check_present,
    imagenet_folder,
    published_list,
)
from bench.data.recording_lists import check_recordings
from bench.errors import BenchError, DataError, SuiteError, choices, collected, raise_all
from bench.files.messages import tell_once
from bench.files.yaml_file import scalar
from bench.papers.reader import Paper
from bench.results.names import table_files
from bench.results.store import Store
from bench.suites.expand import check_exclusions, expand
from bench.suites.load import find_suite, known_suites, load_suite
from bench.suites.own_files import invalid_files
from bench.suites.protocol import check_scale
from bench.suites.suite import PAPER, Scalar, Suite
from bench.suites.validate import check_chosen, check_suite
from bench.text import value_text

SHARD = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")
SEEDS = re.compile(r"([0-9]{1,15})(?:-([0-9]{1,15}))?")  # one, or a range with both ends
MOST_SEEDS = 100_000  # of a range
_HAVING = ("plan", "run", "status")  # verbs with `--have`
_COMPUTING = ("run", "resume", "verify")  # verbs that need `--trust`
_SHARDED = ("plan", "run", "resume", "status")  # verbs with `--shard`
Selected = dict[str, list[Scalar]]  # the values of settings
Seen = TypeVar("Seen")


@dataclass(frozen=True)
class Selection:
    """The cells of a suite at a scale that a command selects."""

    suite: Suite
    path: Path
    scale: str
    cells: list[Cell]
    paper: Paper
    workspace: Workspace
    have: tuple[Path, ...] = ()  # folders of exported tables, whose cells count as done
    changes: Selected = field(default_factory=dict)  # settings not the suite's
    narrowed: tuple[str, ...] = ()  # --where and --seeds, as on the command line

    @property
    def results(self) -> Path:
        """The results folder or folder of exported tables."""
        return self.workspace.results

    @cached_property
    def store(self) -> Store:
        """The results folder."""
        return Store(self.results, have=self.have)

    @cached_property
    def paper_cells(self) -> list[Cell]:
        """The cells of the suite's scale `paper`; none if it has no such scale."""
        return expand(self.suite, PAPER, self.path) if PAPER in self.suite.scales else []

    @property
    def title(self) -> str:
        """The suite, the scale and the changed settings, for messages."""
        changes = "; ".join(f"{k} = {value_text(v)}" for k, v in self.changes.items())
        return f"{self.suite.name} at scale {self.scale}" + (f" with {changes}" if changes else "")

    @property
    def words(self) -> str:
        """The command-line arguments that describe the selection."""
        return " ".join([command_words(self.suite.name, self.scale, self.changes), *self.narrowed])

    @property
    def whole(self) -> "Selection":
        """All of the suite's own cells at the scale."""
        return replace(self, changes={}, narrowed=())

    def command(self, verb: str) -> str:
        """Return the complete command for this selection, with its folders, for copying."""
        have = self.have if verb in _HAVING else ()
        done = [f"--have {shlex.quote(str(folder))}" for folder in have]
        if verb in _COMPUTING:
            done += trust_words(self.cells, self.path.parent)
        words = self.words
        if verb not in _SHARDED:
            kept = tuple(w for w in self.narrowed if not w.startswith("--shard "))
            words = replace(self, narrowed=kept).words
        return command_line(self.workspace, verb, words, *done)


def select(
    workspace: Workspace,
    name: str,
    *,
    scale: str | None = None,
    where: list[str] | None = None,
    seeds: str | None = None,
    have: Sequence[Path] | None = None,
    changes: list[str] | None = None,
) -> Selection:
    """Return the selection that the command-line arguments describe.

    Args:
        name: name of the suite or path of its file.
        scale: name of the scale; None means the suite's default scale.
        where: conditions such as `K=64,128`; all must hold.
        seeds: seeds such as `0,1,2` or `0-4`, which replace those of the suite.
        have: folders of exported tables whose cells count as finished.
        changes: settings such as `epochs=2` that replace the suite's.

    Raises:
        BenchError: the suite or an argument is invalid.
    """
    selection = choose(
        workspace,
        name,
        scale=scale,
        where=_settings("--where", where),
        seeds=_seeds(seeds),
        have=have,
        changes=_settings("--set", changes),
    )
    if scale is None:
        _tell_other_scales(selection)
    tell_edited(selection.cells, selection.store)
    narrowed = [f"--where {shlex.quote(text)}" for text in where or ()]
    if seeds is not None:
        narrowed.append(f"--seeds {shlex.quote(seeds)}")
    return replace(selection, narrowed=tuple(narrowed))


def sharded(chosen: Sequence[Selection], shard: str | None) -> list[Selection]:
    """Return the selections restricted to one part, such as `3/16`: the third of 16.

    The cells of all selections are divided together. Cells that share a training are in one part.

    Raises:
        BenchError: `shard` has the wrong form or is out of range.
    """
    if shard is None:
        return list(chosen)
    found = SHARD.fullmatch(shard)
    part, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= part <= parts:
        raise BenchError(f"--shard {shard}: expected PART/PARTS, from 1/16 to 16/16 for 16 parts")
    cells = list({cell.id: cell for s in chosen for cell in s.cells}.values())
    ids = {cell.id for cell in shards(cells, parts)[part - 1]}
    return [
        replace(
            selection,
            cells=[cell for cell in selection.cells if cell.id in ids],
            narrowed=(*selection.narrowed, f"--shard {shard}"),
        )
        for selection in chosen
    ]


def choose(
    workspace: Workspace,
    name: str,
    *,
    scale: str | None = None,
    where: Selected | None = None,
    seeds: Sequence[int] | None = None,
    have: Sequence[Path] | None = None,
    changes: Selected | None = None,
) -> Selection:
    """Return a selection, like `select`, from values instead of text."""
    path = find_suite(name, workspace.suites)
    suite = load_suite(path)
    chosen = scale or suite.scale
    faults: list[BenchError] = []
    with collected(faults):
        cells = expand(suite, chosen, path, seeds=seeds, where=where, changes=changes)
    with collected(faults):
        paper = check_suite(suite, path)
    tell_invalid_files(path.parent, but=faults)
    raise_all(faults, SuiteError)
    if not where and not changes:  # some of the cells, or others, say nothing of the scale
        check_scale(suite, chosen, cells, paper)
    check_found(suite, path, {} if changes else {chosen: cells}, narrowed=bool(where))
    given, limits = dict(changes or {}), dict(where or {})
    narrowed = [f"--where {k}={','.join(map(value_text, v))}" for k, v in limits.items()]
    if seeds is not None:
        narrowed.append(f"--seeds {','.join(map(str, seeds))}")
    return Selection(
        suite, path, chosen, cells, paper, workspace, had(have), given, tuple(narrowed)
    )


def command_words(
    suite: str, scale: str, changes: Mapping[str, Sequence[Scalar]] | None = None
) -> str:
    """Return the arguments that select a suite's cells: `dcl-table-1 --scale smoke --set K=64`."""
    given = [f"--set {k}={','.join(map(value_text, v))}" for k, v in (changes or {}).items()]
    return " ".join([suite, f"--scale {scale}", *given])


def _tell_other_scales(selection: Selection) -> None:
    """Print which other scales have cells, if the default scale is incomplete."""
    if selection.store.kept(selection.cells) == len(selection.cells):
        return
    others = [name for name in selection.suite.scales if name != selection.scale]
    cells = {name: expand(selection.suite, name, selection.path) for name in others}
    kept = {name: selection.store.kept(scale_cells) for name, scale_cells in cells.items()}
    scales = ", ".join(f"{name} ({n} of {len(cells[name])})" for name, n in kept.items() if n)
    if scales:
        print(
            f"bench: {selection.suite.name} is shown at its default scale, {selection.scale}; "
            f"cells were started at {scales}: choose a scale with --scale",
            file=sys.stderr,
        )


def had(folders: Sequence[Path] | None) -> tuple[Path, ...]:
    """Return the results of the folders of `--have`.

    Raises:
        BenchError: a folder has no exported tables.
    """
    for folder in folders or ():
        if not table_files(folder):
            why = "holds no exported tables" if folder.is_dir() else "does not exist"
            raise BenchError(
                f"--have {folder}: this folder {why}; `bench export SUITE --to FOLDER` writes "
                "exported tables"
            )
    return tuple(folders or ())


def check_scale_known(scale: str | None, suites: Path) -> None:
    """Raise a BenchError if no suite has this scale."""
    if scale is None:
        return
    every = of_sound_suites(known_suites(suites).values(), load_suite)
    known = dict.fromkeys(name for suite in every for name in suite.scales)
    if scale not in known:
        raise BenchError(f"--scale {scale}: no suite has this scale. {choices(scale, list(known))}")


def check_scales(selection: Selection) -> None:
    """Check the other scales of a suite, using one seed, and the checks on its own cells.

    Raises:
        BenchError: a scale or a check is invalid, so reports of the suite would fail.
    """
    from bench.analysis.contrasts import check_effects  # loads scipy

    suite, path = selection.suite, selection.path
    scales = [scale for scale in suite.scales if scale != selection.scale]
    if selection.narrowed or selection.changes:  # the scale itself was not looked at as a whole
        scales.append(selection.scale)
    for scale in scales:
        check_scale(suite, scale, _with_one_seed(suite, scale, path), selection.paper)
    faults: list[BenchError] = []
    judged = without_baselines(selection.cells)
    for name, checks in suite.claims.items() if not selection.changes else ():
        for i, check in enumerate(checks):
            with collected(faults, f"{path}: claims.{name}.{i}: "):
                check_effects(check, judged)
    raise_all(faults, SuiteError)


def check_found(
    suite: Suite, path: Path, expanded: Mapping[str, Sequence[Cell]], *, narrowed: bool = False
) -> None:
    """Check that each exclusion and condition matches a cell of some scale.

    Args:
        suite: the suite.
        path: file of the suite.
        expanded: cells by scale. If none of them matches, the other scales are expanded with one
            seed.
        narrowed: whether `expanded` has only some cells of its scales.

    Raises:
        SuiteError: an exclusion or condition matches no cell.
    """
    check_exclusions(suite, path)
    others = (scale for scale in suite.scales if narrowed or scale not in expanded)
    check_chosen(
        suite,
        path,
        chain(
            ([cell for cell in cells if cell.seed == cells[0].seed] for cells in expanded.values()),
            (_with_one_seed(suite, scale, path) for scale in others),
        ),
    )


def _with_one_seed(suite: Suite, scale: str, path: Path) -> list[Cell]:
    """Return the cells of a scale with its first seed: one of each point."""
    return expand(suite, scale, path, seeds=(suite.scales[scale].seeds or suite.seeds)[:1])


def tell_invalid_files(suites: Path, *, but: Iterable[BenchError] = ()) -> None:
    """Report the invalid objectives, methods and metrics next to suites, which no suite can use.

    Args:
        suites: the folder of the suites.
        but: errors of the suite. If one of them is about an invalid file, nothing is reported.
    """
    texts = [str(fault) for fault in invalid_files(suites)]
    if not {str(fault) for fault in but}.intersection(texts):
        for text in texts:
            tell_once(f"this file is left out: {text}")


def of_sound_suites(
    paths: Iterable[Path], look: Callable[[Path], Seen], *, needed: Collection[Path] = ()
) -> list[Seen]:
    """Apply `look` to each suite; report and skip invalid suites.

    Args:
        paths: files of the suites.
        look: function of a suite file.
        needed: files of suites that must be valid.

    Raises:
        SuiteError: a needed suite is invalid, or all are.
    """
    found, faults = list[Seen](), list[SuiteError]()
    for path in paths:
        try:
            found.append(look(path))
        except SuiteError as fault:
            if path in needed:
                raise
            faults.append(fault)
    if faults and not found:
        raise faults[-1]
    for left_out in faults:
        tell_once(f"this suite is left out: {left_out}")
    return found


def select_scales(path: Path, workspace: Workspace) -> list[Selection]:
    """Return one selection per scale of a suite, each with all cells.

    Raises:
        BenchError: the suite is invalid.
    """
    suite = load_suite(path)
    paper = check_suite(suite, path)
    selections = []
    for scale in suite.scales:
        cells = expand(suite, scale, path)
        check_scale(suite, scale, cells, paper)
        selections.append(Selection(suite, path, scale, cells, paper, workspace))
    check_found(suite, path, {s.scale: s.cells for s in selections})
    return selections


def _seeds(text: str | None) -> list[int] | None:
    if text is None:
        return None
    found = [SEEDS.fullmatch(part.strip()) for part in text.split(",")]
    ranges = [range(int(match[1]), int(match[2] or match[1]) + 1) for match in found if match]
    if len(ranges) < len(found) or not all(0 < len(seeds) <= MOST_SEEDS for seeds in ranges):
        raise BenchError(
            f"--seeds {text}: expected whole numbers or rising ranges, such as 0,1,2 or 0-4,7; a "
            f"number has at most 15 digits, a range at most {MOST_SEEDS} seeds"
        )
    return list(dict.fromkeys(chain.from_iterable(ranges)))


def _settings(option: str, texts: list[str] | None) -> Selected:
    """Return setting -> values of an option's texts such as `K=64,128`."""
    rules: Selected = {}
    for text in texts or []:
        name, _, values = text.partition("=")
        if not name.strip() or not values or "=" in values:
            raise BenchError(
                f"{option} {text}: expected one SETTING=VALUE[,VALUE...], such as K=64,128; "
                f"repeat {option} for another setting"
            )
        scalars = [scalar(value.strip()) for value in values.split(",")]
        rules.setdefault(name.strip(), []).extend(scalars)
    return rules


def missing_data(cells: Sequence[Cell], root: Path) -> Iterator[DataError]:
    """Yield an error for each data set of the cells that is missing in the folder `root`.

    The check covers images, lists of labelled images, boxes and recordings. It reads no file.
    """
    for name in sorted({name for cell in cells for name in cell.looks_at}):
        listed = {
            cell.label_fraction
            for cell in cells
            if isinstance(cell, FineTune) and cell.dataset == name and cell.labelled == "published"
        }
        try:
            check_present(name, root)
            for share in sorted(listed):
                check_list(published_list(imagenet_folder(name, root), share))
        except DataError as fault:
            yield fault
    heard = {name for cell in cells if isinstance(cell, AnySpeech) for name in cell.sets}
    for name in sorted(heard):
        try:
            check_recordings(name, root)
        except DataError as fault:
            yield fault
    boxed = {(cell.detect_dataset, cell.learns) for cell in cells if isinstance(cell, Detection)}
    for name, learns in sorted(boxed):
        try:
            check_boxed(name, root, learns)
        except DataError as fault:
            yield fault
