"""Python API of `import bench`: the commands of the command line, returning tables.

Settings have the names that suite files give them; `docs/reference/python.md` lists every column.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bench.analysis.frame import history_frame, measured_frame, published_frame, record_frame
from bench.cells.baseline import without_baselines
from bench.cells.cell import Cell
from bench.cli.evidence import done_of, evidence_of
from bench.cli.selection import Selected, Selection, choose, command_words
from bench.cli.workspace import Workspace, beside_tables, command_line, workspace_of
from bench.errors import BenchError, DiskFailure, Interrupted, NothingMeasured, choices
from bench.papers.others import others as other_projects
from bench.papers.others import sources
from bench.papers.reader import load_paper, load_papers
from bench.results.reader import Done
from bench.suites.expand import expand
from bench.suites.load import known_suites, load_suite
from bench.suites.suite import Scalar
from bench.text import value_text

if TYPE_CHECKING:
    from bench.experiments.loaded_encoder import LoadedEncoder

Folder = str | Path | None
SettingValues = Mapping[str, Scalar | Sequence[Scalar]]
_ONE = (str, int, float, type(None), np.generic)


def load(
    suite: str,
    *,
    scale: str | None = None,
    where: SettingValues | None = None,
    seeds: Iterable[int] | None = None,
    results: Folder = None,
    suites: Folder = None,
) -> pd.DataFrame:
    """Return the measurements of a suite: one row per finished cell and metric.

    Args:
        suite: name of the suite or path of its file.
        scale: one of the suite's scales; default: the suite's default scale.
        where: only cells with these settings: `{"K": [64, 128], "loss": "dcl"}`.
        seeds: seeds that replace those of the suite.
        results: the folder of results, or of tables that `bench export` wrote; default:
            BENCH_RESULTS, else `results`. If the folder has no cell of the suite, the reference
            results of the package are used, and a line on standard error reports this.
        suites: the folder of suite files; default: BENCH_SUITES, else `suites`.

    Returns:
        Columns: `suite`, `scale`, `cell` (the id), `experiment`, `seed`, `metric`, `value`
        (accuracies in percent, losses and mutual information in nats), `doubt` (why the value is
        unreliable; missing if it is reliable), then each setting by its name in suite files.

    Raises:
        BenchError: an argument or the suite is invalid.
        NothingMeasured: no cell is finished. The message names the command that computes them.

    Examples:
        >>> import bench
        >>> frame = bench.load("eqco-table-9", scale="paper", where={"K": 64, "mi_true": 10})
        >>> bound = frame[frame.metric == "mi_lower_bound"]
        >>> bound.groupby("loss").value.mean().round(2).to_dict()  # nats, over three seeds
        {'eqco': 6.06, 'infonce': 4.07}
    """
    selection = _selected(suite, scale, where, seeds, results=results, suites=suites)
    return measured_frame(selection.suite.name, selection.scale, _done(selection))


def histories(
    suite: str,
    *,
    scale: str | None = None,
    where: SettingValues | None = None,
    seeds: Iterable[int] | None = None,
    results: Folder = None,
    suites: Folder = None,
) -> pd.DataFrame:
    """Return the values recorded during training: one row per finished cell, record and metric.

    Tables exported without `--histories` contain only the metrics in the suite's figures. For some
    suites they contain none.

    Args:
        suite, scale, where, seeds, results, suites: as for `load`.

    Returns:
        Columns: `suite`, `scale`, `cell`, `seed`, `step`, `epoch` (missing for toys), `metric`,
        `value`, then the settings that distinguish the cells (`load` returns all settings by
        `cell`).

    Raises:
        BenchError, NothingMeasured: as `load`; also if no finished cell has a history.

    Examples:
        >>> import bench
        >>> chosen = {"K": 64, "mi_true": 10, "loss": "infonce"}
        >>> frame = bench.histories("eqco-table-9", scale="paper", where=chosen, seeds=[0])
        >>> frame[["step", "value"]].round(2).values[-1].tolist()
        [5000.0, 4.07]
    """
    selection = _selected(suite, scale, where, seeds, results=results, suites=suites)
    frame = history_frame(selection.suite.name, selection.scale, _done(selection))
    if frame.empty:
        raise NothingMeasured(
            f"{selection.suite.name} at scale {selection.scale}: {selection.results} "
            "holds no training history of a finished cell. Exported tables hold all "
            "histories only if `bench export --histories` wrote the tables"
        )
    return frame


def arrays(
    suite: str,
    *,
    scale: str | None = None,
    where: SettingValues | None = None,
    seeds: Iterable[int] | None = None,
    results: Folder = None,
    suites: Folder = None,
) -> dict[str, dict[str, np.ndarray[Any, Any]]]:
    """Return the arrays of finished cells (histograms, points), by cell id and name.

    Tables exported without `--histories` contain only the arrays in the suite's figures.

    Args:
        suite, scale, where, seeds, results, suites: as for `load`.

    Raises:
        BenchError, NothingMeasured: as `load`.

    Examples:
        >>> import bench
        >>> kept = bench.arrays("mutual-information-figure-6", scale="paper", seeds=[0])
        >>> cell, arrays = next(iter(kept.items()))
        >>> sorted(arrays)
        ['label', 'points', 'representation']
    """
    selection = _selected(suite, scale, where, seeds, results=results, suites=suites)
    return {cell.id: finished.arrays for cell, finished in _done(selection)}


def published(
    paper: str | None = None, artifact: str | None = None, *, suites: Folder = None
) -> pd.DataFrame:
    """Return the published values of the papers: one row per value.

    Args:
        paper: id of the paper, such as `dcl`; `bench papers` lists the ids; default: all.
        artifact: a table or figure of the paper, such as `table-1`; default: all.
        suites: as for `load`; papers next to that folder are included.

    Returns:
        Columns: `paper`, `artifact`, `metric`, `value`, `std`, `unit`, `source` (the publication
        that the paper quotes), `note`, then the settings of the value, with the names used in the
        paper.

    Raises:
        BenchError: the paper or artifact does not exist.

    Examples:
        >>> import bench
        >>> frame = bench.published("eqco", "table-9")
        >>> frame[(frame.loss == "infonce") & (frame.K == 64)].value.tolist()  # nats, by true MI
        [1.7, 2.9, 3.6, 3.9, 4.1]
    """
    if paper is None and artifact is not None:
        raise BenchError(
            f"artifact {artifact}: give the argument `paper` too, because artifacts are "
            "named within a paper"
        )
    folder = workspace_of(suites=suites).suites
    chosen = load_papers(folder).values() if paper is None else [load_paper(paper, folder)]
    values = (p.values if artifact is None else p.artifact(artifact).values for p in chosen)
    return published_frame(value for rows in values for value in rows)


def others(
    source: str | None = None, *, suite: str | None = None, suites: Folder = None
) -> pd.DataFrame:
    """Return the numbers measured by other projects, in percent: one row per number.

    Args:
        source: restrict to this source; `bench others` lists the sources.
        suite: restrict to numbers of published values that this suite compares.
        suites: as for `load`.

    Returns:
        The columns of a row of `bench others SOURCE --json`, then the settings that the source
        states. If a suite is given, the columns `artifact`, `published_row` and `published` come
        first.

    Raises:
        BenchError: the source or suite does not exist, or both are given.

    Examples:
        >>> import bench
        >>> frame = bench.others("dcl-nakhli")
        >>> frame[frame.metric == "linear_top1"].value.tolist()[:3]  # percent
        [78.3, 81.47, 83.09]
    """
    if suite is not None:
        from bench.cli.others import suite_records

        if source is not None:
            raise BenchError(
                f"source {source} cannot be combined with a suite; give only one of the two "
                "arguments"
            )
        rows = [
            {"artifact": row["artifact"], "published_row": value_text(row["row"])}
            | {"published": row["published"]}
            | other
            for row in suite_records(suite, workspace_of(suites=suites))
            for other in row["others"]
        ]
        return record_frame(rows, flat="settings")
    known = sources(other_projects())
    if source is not None and source not in known:
        raise BenchError(f"there is no source '{source}'. {choices(source, list(known))}")
    numbers = other_projects() if source is None else known[source]
    return record_frame([row.record() for row in numbers], flat="settings")


def questions(
    name: str | None = None, *, results: Folder = None, suites: Folder = None
) -> pd.DataFrame:
    """Return the effects that papers, other projects and our runs found for disputed questions.

    Args:
        name: one question, such as "dcl-small-batch"; None: all.
        results, suites: as for `load`.

    Returns:
        One row per effect: `question`, then the columns of the effects of `bench questions --json`.

    Raises:
        BenchError: the question or a folder does not exist.

    Examples:
        >>> import bench
        >>> frame = bench.questions("dcl-small-batch")
        >>> sorted(set(frame.kind))
        ['here', 'others', 'published']
    """
    from bench.cli.questions import describe_questions

    found = describe_questions(workspace_of(results=results, suites=suites), name)
    return record_frame(
        [{"question": one.question.name} | row.record() for one in found for row in one.rows]
    )


def compare(
    suite: str,
    *,
    scale: str | None = None,
    where: SettingValues | None = None,
    seeds: Iterable[int] | None = None,
    results: Folder = None,
    suites: Folder = None,
) -> pd.DataFrame:
    """Return measured and published values with verdicts: one row per value and interpretation.

    Args:
        suite, scale, where, seeds, results, suites: as for `load`.

    Returns:
        The columns of `bench compare --json`, with one column per setting of the published row at
        the end. `others` lists the numbers of other projects with their sources; verdicts do not
        use them.

    Raises:
        BenchError, NothingMeasured: as for `load`. Missing cells raise no error.

    Examples:
        >>> import bench
        >>> bench.compare("eqco-table-9", scale="paper").verdict.value_counts().to_dict()
        {'same': 40}
    """
    selection = _selected(suite, scale, where, seeds, results=results, suites=suites)
    rows = [row.record() | {"others": row.others_texts} for row in evidence_of(selection).compared]
    return record_frame(rows, flat="row")


def claims(
    suite: str | None = None,
    *,
    paper: str | None = None,
    scale: str | None = None,
    results: Folder = None,
    suites: Folder = None,
) -> pd.DataFrame:
    """Return the papers' claims, in our words, with verdicts.

    Args:
        suite: return one row per check of this suite's claims. None returns one row per claim and
            scale with results, and `overall`, the verdict over all scales.
        paper: restrict to the claims of this paper; not allowed with a suite.
        scale: one of the suite's scales; default: the suite's default scale. Without a suite:
            restrict to this scale.
        results, suites: as for `load`.

    Returns:
        The columns of `bench claims --json`.

    Raises:
        BenchError: an argument is invalid or a folder does not exist.

    Examples:
        >>> import bench
        >>> frame = bench.claims("eqco-table-9", scale="paper")
        >>> dict(zip(frame.claim, frame.verdict))
        {'toy-mi-steady': 'holds', 'toy-mi-same-at-alpha': 'holds'}
    """
    if suite is None:
        from bench.cli.claims import describe_claims

        workspace = workspace_of(results=results, suites=suites)
        return record_frame(describe_claims(workspace, paper=paper, scale=scale))
    if paper is not None:
        raise BenchError(
            "the argument `paper` selects claims of all suites, so it cannot be "
            "combined with `suite`"
        )
    selection = _selected(suite, scale, None, None, results=results, suites=suites)
    return record_frame([judged.record() for judged in evidence_of(selection).judged])


def run(
    suite: str,
    *,
    scale: str | None = None,
    where: SettingValues | None = None,
    seeds: Iterable[int] | None = None,
    changes: SettingValues | None = None,
    results: Folder = None,
    suites: Folder = None,
    data: Folder = None,
    executor: str = "local",
    jobs: int | None = None,
    retry_failed: bool = False,
) -> dict[str, Any]:
    """Compute the missing cells of a suite like `bench run`; return when all have ended.

    Args:
        suite, scale, where, seeds, results, suites: as for `load`.
        changes: settings that replace the suite's, like `--set`. The cells are then not part of the
            suite.
        data: the folder of data sets; default: BENCH_DATA, else `datasets`.
        executor: `local` (worker processes), `inline` (this process) or `slurm`.
        jobs: number of workers; default: one per GPU, or one per core without GPUs.
        retry_failed: whether failed cells are tried again.

    Returns:
        The numbers of `done`, `failed` and `missing` cells, and the `failures` with their reasons.

    Raises:
        BenchError: an argument is invalid, data are missing, or the disk is full. Failed cells
            raise no error.
        KeyboardInterrupt: the run was interrupted; finished cells are kept.

    Examples:
        >>> import bench
        >>> chosen = {"K": 8, "mi_true": 2, "loss": "eqco"}
        >>> bench.run("eqco-table-9", scale="smoke", where=chosen, seeds=[0], executor="inline")
        {'done': 1, 'failed': 0, 'missing': 0, 'failures': []}
    """
    from bench.cli.run import run_selections
    from bench.launch.options import RunOptions

    selection = _selected(
        suite, scale, where, seeds, changes=changes, results=results, suites=suites
    )
    options = RunOptions(executor=executor, jobs=jobs, retry_failed=retry_failed)
    try:
        return run_selections([selection], options, workspace_of(data=data).data)
    except DiskFailure as failure:
        raise BenchError(str(failure)) from failure
    except Interrupted:
        raise KeyboardInterrupt from None


def load_encoder(
    cell: str | Path, *, results: Folder = None, suites: Folder = None, data: Folder = None
) -> "LoadedEncoder":
    """Return the trained encoder of a cell and the function that prepares its input.

    Args:
        cell: id of the cell, as in the column `cell` of `load`, or a folder written by `bench
            export --as safetensors`.
        results, suites: as for `load`.
        data: the folder of data sets; needed for the pixel mean and standard deviation of a
            `folder:` set.

    Returns:
        `encoder`, a torch module in evaluation mode from float32 (B, 3, S, S) to the features (B,
        D) that the cell's evaluations read, and `preprocess`, which turns a PIL image or uint8
        pixels (3, H, W) or (B, 3, H, W) into the encoder's input.

    Raises:
        BenchError: the cell does not exist, or `results` has no encoder for it (exported tables
            have none). The message names the command that trains one.

    Examples:
        >>> import bench, torch
        >>> chosen = {"loss": "dcl", "batch_size": 64}
        >>> options = {"scale": "smoke", "where": chosen, "seeds": [0]}
        >>> bench.run("dcl-table-1", **options, executor="inline")["done"]
        1
        >>> frame = bench.load("dcl-table-1", **options)
        >>> encoder, preprocess = bench.load_encoder(frame.cell[0])
        >>> image = torch.zeros(3, 16, 16, dtype=torch.uint8)
        >>> tuple(encoder(preprocess(image)[None]).shape), encoder.feature_dim
        ((1, 64), 64)
    """
    if not isinstance(cell, str | Path):
        raise BenchError(
            f"cell {cell!r}: expected the id of a cell, or the path of a folder "
            "with an exported encoder"
        )
    from bench.experiments.loaded_encoder import encoder_of_cell, encoder_of_export

    if (Path(cell) / "config.json").is_file():
        return encoder_of_export(Path(cell))
    workspace = workspace_of(results=results, suites=suites, data=data)
    command = partial(_training_command, workspace=workspace)
    return encoder_of_cell(str(cell), workspace.results, workspace.data, command)


def _training_command(cell: Cell, workspace: Workspace) -> str:
    """Return the command for a cell's seed in the first suite and scale that have the cell."""
    for path in known_suites(workspace.suites).values():
        suite = load_suite(path)
        for scale in suite.scales if suite.experiment == cell.experiment else ():
            if any(other.id == cell.id for other in expand(suite, scale, path, seeds=[cell.seed])):
                words = command_words(suite.name, scale), f"--seeds {cell.seed}"
                return f"`{command_line(beside_tables(workspace), 'run', *words)}`"
    return "`bench run` of the suite that has this cell"


def _selected(
    suite: str,
    scale: str | None,
    where: SettingValues | None,
    seeds: Iterable[int] | None,
    *,
    changes: SettingValues | None = None,
    **folders: Folder,
) -> Selection:
    name = text_of("suite", suite, "a suite's name, or the path of its file")
    scale = scale if scale is None else text_of("scale", scale, "the name of a scale")
    numbers = whole_numbers("seeds", seeds)
    rules, given = values_of("where", where), values_of("changes", changes)
    at = workspace_of(**folders)
    return choose(at, name, scale=scale, where=rules, seeds=numbers, changes=given)


def _done(selection: Selection) -> Done:
    return done_of(selection, without_baselines(selection.cells) or selection.cells)


def text_of(argument: str, given: Any, what: str) -> str:
    """Check that an argument is text or a path, and return it as text.

    Args:
        argument: name of the argument, for messages.
        what: description of the expected value, for messages.

    Raises:
        BenchError: the value is neither text nor a path.
    """
    if not isinstance(given, str | os.PathLike):
        raise BenchError(f"{argument} {given!r}: expected {what}")
    return str(os.fspath(given))


def values_of(argument: str, settings: SettingValues | None) -> Selected:
    """Return a list of values for each setting.

    Raises:
        BenchError: the argument is not a mapping, or a value has the wrong type.
    """
    if settings is None:
        return {}
    if not isinstance(settings, Mapping) or not all(isinstance(name, str) for name in settings):
        raise BenchError(
            f"{argument} {settings!r}: expected a mapping of settings, such as {{'K': [64, 128]}}"
        )
    return {name: _listed(f"{argument} {name}", value) for name, value in settings.items()}


def _listed(place: str, value: Any) -> list[Scalar]:
    several = isinstance(value, Iterable) and not isinstance(value, (*_ONE, Mapping))
    values = list(value) if several else [value]
    if not all(isinstance(one, _ONE) for one in values):
        raise BenchError(f"{place}: found {value!r}, expected a value or a list of values")
    return [_plain(one) for one in values]


def whole_numbers(argument: str, numbers: Iterable[int] | None) -> list[int] | None:
    """Return the integers of an argument; None if it is not given.

    Raises:
        BenchError: the argument is empty or not a sequence of non-negative integers.
    """
    if numbers is None:
        return None
    listed = [_plain(n) for n in numbers] if isinstance(numbers, Iterable) else numbers
    whole = isinstance(listed, list) and all(type(n) is int and n >= 0 for n in listed)
    if not (listed and whole):
        raise BenchError(f"{argument} {listed}: expected whole numbers, such as [0, 1, 2]")
    return listed


def _plain(value: Any) -> Any:  # a number of numpy as one of Python
    return value.item() if isinstance(value, np.generic) else value
