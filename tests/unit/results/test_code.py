"""What is recorded of the code: a checkout's commit, and its edits as a patch."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.results import provenance as module
from bench.results.provenance import MOST_BYTES_OF_EDITS, code, code_text, keep_edits


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A repository with one file of code."""
    file = tmp_path / "checkout" / "bench" / "a.py"
    file.parent.mkdir(parents=True)
    file.write_text("one = 1\n")
    who = ["-c", "user.name=A", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "bench"], [*who, "commit", "-qm", "Begin"]):
        subprocess.run(["git", "-C", str(file.parents[1]), *words], check=True)
    monkeypatch.setattr(module, "CHECKOUT", file.parents[1])
    forget()
    yield file
    forget()


def forget() -> None:
    code.cache_clear()
    module._edits.cache_clear()


def test_the_edits_of_a_checkout_are_kept_once_and_can_be_applied(
    checkout: Path, tmp_path: Path
) -> None:
    keep_edits(tmp_path / "results")
    assert not (tmp_path / "results").exists()
    committed = code_text(code())
    forget()
    checkout.write_text("one = 2\n")
    keep_edits(tmp_path / "results")
    (patch,) = (tmp_path / "results" / "edits").iterdir()
    assert patch.name == f"{code()['edits']}.patch"
    assert code_text(code()) == f"{committed} with edits {code()['edits']}"
    checkout.write_text("one = 1\n")
    subprocess.run(["git", "apply", str(patch)], cwd=checkout.parents[1], check=True)
    assert checkout.read_text() == "one = 2\n"


def test_long_edits_are_cut_and_say_so(checkout: Path, tmp_path: Path) -> None:
    checkout.write_text("two = 2\n" * MOST_BYTES_OF_EDITS)
    keep_edits(tmp_path)
    (patch,) = (tmp_path / "edits").iterdir()
    text = patch.read_text()
    assert len(text) < MOST_BYTES_OF_EDITS + 100
    assert text.splitlines()[-1].startswith("... the rest is left out: all edits have ")
