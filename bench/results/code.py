"""Version of the running code: its commit, and uncommitted edits, which are stored as a patch."""

import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from bench import __version__
from bench.files.atomic import write_whole
from bench.files.regular import sha256_of

CHECKOUT = Path(__file__).resolve().parents[2]
PINS = CHECKOUT / "requirements.txt"
MOST_BYTES_OF_EDITS = 256 * 1024
CUT = "\n... cut here: the edits have {} bytes\n"


@cache
def code() -> dict[str, Any]:
    """Return the version and, in a checkout, the commit and hashes of edits and of the pins."""
    if not (CHECKOUT / ".git").exists():
        return {"bench": __version__, "commit": None, "dirty": None}
    known = {"bench": __version__, "commit": _git("rev-parse", "HEAD"), "dirty": bool(_edits())}
    if PINS.is_file():
        known["pins"] = sha256_of(PINS.read_bytes())[:16]
    return known | ({"edits": sha256_of(_edits().encode())[:16]} if _edits() else {})


def code_text(known: dict[str, Any]) -> str:
    """Return the code version as text: `commit 15e8a6bb with edits 0f3c...`."""
    at = f"commit {known['commit'][:12]}" if known["commit"] else f"bench {known['bench']}"
    return f"{at} with edits {known['edits']}" if known.get("edits") else at


def keep_edits(results: Path) -> None:
    """Write this checkout's edits next to the results, in a file named by their hash."""
    if digest := code().get("edits"):
        path = results / "edits" / f"{digest}.patch"
        if not path.exists():
            whole = _edits().encode()
            cut = CUT.format(len(whole)).encode() if len(whole) > MOST_BYTES_OF_EDITS else b"\n"
            write_whole(path, whole[:MOST_BYTES_OF_EDITS] + cut)


@cache
def _edits() -> str:
    """Return the files that differ from the commit, and the differences; "" if none does."""
    changed = _git("status", "--porcelain", "--", "bench")
    return f"{changed}\n{_git('diff', 'HEAD', '--', 'bench')}" if changed else ""


def _git(*words: str) -> str | None:
    command = ["git", "--no-optional-locks", "-C", str(CHECKOUT), *words]  # it only looks
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
