"""Texts that people read: the suites' notes and the manual."""

import pytest

from tests.fakes.paths import ROOT

SIGNS = "±†"  # of measured numbers
TEXTS = [
    *ROOT.glob("*.md"),
    *(path for name in ("suites", "docs") for path in (ROOT / name).rglob("*")),
]


@pytest.mark.parametrize("suffix", [".md", ".yaml"])
def test_no_letter_stands_for_lost_digits(suffix: str) -> None:
    """A careless replacement once wrote `takesâ0 steps` for `takes 420 steps`."""
    paths = [path for path in TEXTS if path.suffix == suffix]
    assert paths
    strange = {
        str(path.relative_to(ROOT)): letters
        for path in paths
        if (letters := {c for c in path.read_text() if not c.isascii()} - set(SIGNS))
    }
    assert strange == {}
