"""`bench doctor`: check the machine, the suites and the results."""

import os
import platform
import shutil
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import typer

from bench.cli.options import AsJson, answer
from bench.cli.selection import select_scales
from bench.cli.terminal import print_rows
from bench.cli.workspace import Workspace
from bench.environment import cores, visible_gpus
from bench.errors import BenchError, StoreError
from bench.files.yaml_file import GROUPS, plugin_folders
from bench.papers.reader import load_papers
from bench.results.digests import DIGESTS
from bench.results.inspect import Inspected, inspect
from bench.results.store import Store
from bench.suites.load import known_suites
from bench.text import counted

PACKAGES = (
    "torch", "torchvision", "faiss-cpu", "submitit", "numpy", "pandas", "scikit-learn",
    "matplotlib", "seaborn", "pydantic",
)  # fmt: skip

MOST_STRAYS = 5  # that are listed

Finding = dict[str, Any]


def doctor(context: typer.Context, as_json: AsJson = False) -> None:
    """Check the machine, the suites and the results."""
    findings = examine(context.obj)
    answer(findings, print_findings, as_json)
    raise typer.Exit(any(finding["state"] == "bad" for finding in findings))


def examine(workspace: Workspace) -> list[Finding]:
    """Return findings as {what, state: ok or bad, detail}."""
    gpus = visible_gpus()
    return [
        _finding("python", True, f"{sys.version.split()[0]} on {platform.platform()}"),
        *(_package(name) for name in PACKAGES),
        _finding("cores", True, f"{cores()} usable of {os.cpu_count()}"),
        _finding(
            "gpus",
            True,
            f"{len(gpus)} visible ({', '.join(gpus)})" if gpus else "no GPU is visible",
        ),
        _finding(
            "slurm", True, shutil.which("sbatch") or "no command `sbatch` was found on the path"
        ),
        _checked("published facts", lambda: _published(workspace)),
        _checked("plug-ins", _plugins),
        _checked("suites", lambda: _suites(workspace)),
        _checked("results", lambda: _results(workspace.results)),
        _checked("cells", lambda: _cells(workspace.results)),
    ]


def print_findings(findings: Sequence[Finding]) -> None:
    """Print one line per finding."""
    rows = [[f["state"], f["what"], f["detail"]] for f in findings]
    print_rows("", ["", "what", "found"], rows)


def _finding(what: str, fine: bool, detail: str) -> Finding:
    return {"what": what, "state": "ok" if fine else "bad", "detail": detail}


def _package(name: str) -> Finding:
    try:
        return _finding(name, True, version(name))
    except PackageNotFoundError:
        return _finding(name, False, "not installed")


def _checked(what: str, look: Callable[[], str]) -> Finding:
    try:
        return _finding(what, True, look())
    except BenchError as error:
        return _finding(what, False, str(error))


def _published(workspace: Workspace) -> str:
    papers = load_papers(workspace.suites).values()
    values = sum(len(paper.values) for paper in papers)
    return f"{len(papers)} papers, {values} values, {sum(len(p.claims) for p in papers)} claims"


def _plugins() -> str:
    """Name installed packages that bring suites or methods."""
    brought: dict[str, list[str]] = {}
    for group in GROUPS:
        for plugin in dict.fromkeys(folder.plugin for folder in plugin_folders(group)):
            brought.setdefault(plugin, []).append(group.removeprefix("bench."))
    details = (f"{plugin}: {', '.join(sorted(kinds))}" for plugin, kinds in sorted(brought.items()))
    return "; ".join(details) or "none installed"


def _suites(workspace: Workspace) -> str:
    paths = known_suites(workspace.suites)
    for path in paths.values():
        select_scales(path, workspace)
    return f"{len(paths)} in {workspace.suites}, all valid"


def _results(folder: Path) -> str:
    new = not folder.exists()
    Store(folder).check_writable()
    free = shutil.disk_usage(folder).free / 1e9
    if new:
        folder.rmdir()
    return f"{folder} can be written ({free:.0f} GB free)"


def _cells(folder: Path) -> str:
    """Look at every file of finished cells, trained encoders and exported tables."""
    inspected = inspect(folder)
    if inspected.faults:
        remedy = [
            "`bench run` computes damaged cells again, and encoders that a missing cell needs; "
            "other damaged encoders can be deleted"
        ]
        only_tables = len(inspected.faults) == inspected.damaged_tables
        raise StoreError("; ".join([*inspected.faults, *([] if only_tables else remedy)]))
    counts = f"{counted(inspected.cells, 'cell')} and {counted(inspected.encoders, 'encoder')}"
    parts = [f"{counts} are finished and readable"]
    if inspected.unverified:
        parts.append(
            f"{inspected.unverified} of them could not be verified, because they have no digests"
        )
    if inspected.tables:
        parts.append(_tables_text(inspected))
    if inspected.strays:
        listed = ", ".join(map(str, inspected.strays[:MOST_STRAYS]))
        parts.append(
            f"{counted(len(inspected.strays), 'file or folder')} that bench never reads ({listed})"
        )
    if inspected.other:
        parts.append(
            f"{len(inspected.other)} folders of experiments that this version of bench "
            f"does not have ({inspected.other[0]})"
        )
    return "; ".join([*parts, "`bench verify` computes cells again and compares the results"])


def _tables_text(inspected: Inspected) -> str:
    """Say how many files of exported tables there are, and how many have no digest."""
    text = counted(inspected.tables, "file") + " of exported tables"
    if inspected.unverified_tables:
        return f"{text}, {inspected.unverified_tables} of them without a digest in {DIGESTS}"
    return f"{text}, all with the digests recorded in {DIGESTS}"
