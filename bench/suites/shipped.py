"""Suites and reference results that are part of the package."""

import os
import shutil
from pathlib import Path

import bench
from bench.errors import SuiteError

HERE = Path("suites")


def shipped_suites() -> Path:
    """Return the folder of bench's own suites, in the installed package or the checkout."""
    return _shipped("suites", "suites")


def reference_results() -> Path:
    """Return the folder of the reference results, which are exported tables."""
    return _shipped("results", "results/reference")


def _shipped(inside: str, beside: str) -> Path:
    package = Path(bench.__file__).resolve().parent
    installed = package / "shipped" / inside
    return installed if installed.is_dir() else package.parent / beside


def default_suites() -> Path:
    """Return `./suites` if it exists, else the folder of bench's own suites."""
    return HERE if HERE.is_dir() else shipped_suites()


def copy_suites(to: Path) -> int:
    """Copy bench's own suites atomically into a new folder; return their number.

    Raises:
        SuiteError: the folder is not empty, or a part of its path is a file.
    """
    if to.is_symlink() or (to.exists() and not (to.is_dir() and not any(to.iterdir()))):
        raise SuiteError(
            f"{to}: this folder already exists and is not empty, so nothing was copied"
        )
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise SuiteError(
            f"{to.parent}: this path is not a folder, so nothing was copied"
        ) from error
    partial = to.with_name(f".{to.name}.{os.getpid()}")
    try:
        shutil.copytree(shipped_suites(), partial, copy_function=_copy)
        partial.replace(to)  # in the place of an empty folder too
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return len(list(to.glob("*.yaml")))


def _copy(source: str, to: str) -> None:
    """Copy a file; a full disk ends it all, with one line."""
    from bench.files.atomic import disk_failures  # here alone: `bench --help` need not load it

    with disk_failures(Path(to)):
        shutil.copyfile(source, to)
