"""What is known of a suite at a scale is judged part by part."""

from pathlib import Path
from typing import Any

import pytest

from bench.analysis import evidence as module
from bench.analysis.evidence import Evidence, gather
from bench.papers.reader import NO_PAPER
from bench.results.reader import Results
from bench.suites.load import load_suite
from tests.fakes.results import cells_of
from tests.fakes.suites import DIGITS
from tests.fakes.workspace import Workspace

JUDGES = {
    "compared": "compare", "effects": "compare_effects", "judged": "judge_claims",
}  # fmt: skip


@pytest.fixture
def evidence(workspace: Workspace) -> Evidence:
    path, root = workspace.suite(DIGITS, "digits"), Path(workspace.root / "results")
    root.mkdir()
    (scale,) = load_suite(path).scales
    return gather(load_suite(path), scale, cells_of(path, scale), NO_PAPER, Results(root))


@pytest.mark.parametrize("part", JUDGES)
def test_a_part_is_judged_once_and_no_other_with_it(
    evidence: Evidence, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def judge_of(name: str) -> Any:
        def judge(*_: Any, **__: Any) -> list[Any]:
            calls.append(name)
            return []

        return judge

    for name in JUDGES.values():
        monkeypatch.setattr(module, name, judge_of(name))
    assert [getattr(evidence, part), getattr(evidence, part)] == [[], []]
    assert calls == [JUDGES[part]]
