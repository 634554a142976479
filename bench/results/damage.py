"""Finished cells with corrupt files, which count as missing."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path

from bench.errors import Damaged
from bench.files.regular import check_zip
from bench.results.attempts import begin_attempt
from bench.results.digests import ENCODER, MOST_BYTES, SMALL, check_files
from bench.results.folder import CellFolder
from bench.results.owner import Owner

UNTIL = "until `bench run` computes it again"
AS_MISSING = f"it counts as missing {UNTIL}"
"""Text that reports a damaged cell."""


def damage_of(folder: CellFolder, *, whole: bool = False) -> str | None:
    """Return which file of a finished cell is corrupt, and how; None if none is.

    Args:
        folder: folder of a cell or a trained encoder.
        whole: whether to read all files, not only settings, summary and provenance.

    Raises:
        StoreError: a file cannot be read.
    """
    try:
        vouched = check_files(folder.path, MOST_BYTES if whole else SMALL)
        if whole or not vouched:
            folder.result()
        if whole and not vouched:
            folder.history(finished=True)
            folder.arrays()
            check_zip(folder.path / ENCODER)
    except Damaged as fault:
        return str(fault)
    return None


def discard(folder: CellFolder, is_damaged: Callable[[CellFolder], bool]) -> bool:
    """Remove the files of a damaged cell under a claim, so the cell is recomputed.

    Attempts are kept. Returns False if a living process holds the cell and will handle it.

    Args:
        folder: folder of a cell or a trained encoder.
        is_damaged: function that checks for damage again under the claim.
    """
    attempt = begin_attempt(folder.attempts, Owner.me(), "", retry_before=math.inf)
    if attempt is None:
        return False
    if folder.is_done and not is_damaged(folder):
        attempt.end("done")
        return True
    _remove(folder.summary_file)  # first: without it the cell is not done
    for path in folder.path.iterdir():
        if path != folder.attempts:
            _remove(path)
    attempt.end("interrupted")
    return True


def _remove(path: Path) -> None:
    """Remove what has a name: a file, a link, a folder in the place of a file."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
