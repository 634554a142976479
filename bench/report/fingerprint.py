"""What a page is made from, as one fingerprint: a page whose inputs are the same is left alone."""

import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import bench
from bench.cells.baseline import without_baselines
from bench.cells.cell import Cell
from bench.files.yaml_file import yaml_files
from bench.papers.reader import PAPERS
from bench.results.reader import Results

CODE = ("analysis", "cells", "figures", "files", "papers", "report", "results", "suites")
DIGITS = 16  # of a fingerprint
_META = re.compile(r'<meta name="bench-inputs" content="([0-9a-f]+)">')


def fingerprint(*parts: str) -> str:
    """Return hex digits that change with any of the parts."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:DIGITS]


def fingerprint_of_grid(
    path: Path, paper: str | None, scale: str, cells: Sequence[Cell], results: Results
) -> tuple[str, int]:
    """Return the fingerprint of a suite at a scale with its results, and how many cells are done.

    The suite's file, the methods and shared scales beside it, the paper's file, each cell's id
    with the bytes of its result, bench's version and code (which holds the shipped ones). Baselines
    are not counted: many suites share them, so that they are no results of this one.

    Args:
        path: the suite's file.
        paper: id of its paper; None: no paper.
        scale: name of the scale.
        cells: all cells of the suite at the scale.
        results: where their results are read.
    """
    stamps = [(cell.id, results.stamp(cell)) for cell in cells]
    beside = [
        p for name in ("methods", "scales", "assumed") for p in yaml_files(path.parent / name)
    ]
    texts = [p.read_text() for p in (path, *beside)]
    printed = PAPERS[paper].read_text() if paper else ""
    known = fingerprint(code(), printed, scale, *texts, json.dumps(stamps))
    done = {name for name, stamp in stamps if stamp is not None}
    return known, sum(cell.id in done for cell in without_baselines(cells))


@cache
def code() -> str:
    """Return the fingerprint of bench's own text: what reports are computed and drawn by."""
    root = Path(bench.__file__).parent
    files = sorted(p for part in CODE for p in (root / part).rglob("*") if _is_text(p))
    return fingerprint(
        bench.__version__, *(f"{p.relative_to(root)}\n{p.read_text()}" for p in files)
    )


def _is_text(path: Path) -> bool:
    return path.suffix in (".py", ".yaml", ".j2", ".css", ".js")


def inputs_of(page: Path) -> str | None:
    """Return the fingerprint that a page of HTML was drawn from; None if there is no such page."""
    try:
        with page.open(encoding="utf-8") as file:
            match = _META.search(file.read(2000))
    except OSError:
        return None
    return match[1] if match else None
