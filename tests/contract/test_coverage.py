"""Every artifact and every claim of the papers has suites or a reason, never both."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.analysis import claims
from bench.analysis.claims import Mention, artifact_places, claim_places
from bench.errors import PublishedError
from bench.files.yaml_file import load_yaml
from bench.papers.reader import NOT_COVERED, PAPERS, Paper, load_paper, load_papers
from bench.suites.load import load_suite, suite_paths
from bench.suites.suite import Suite
from tests.fakes.paths import SUITES

LOADED = [load_suite(path) for path in suite_paths(SUITES).values()]
BOTH = pytest.mark.parametrize("places", [artifact_places, claim_places])
SHIPPED = list(load_papers().values())
Places = Callable[[list[Suite], list[Paper]], list[Mention]]


def reasons() -> list[tuple[str, str, str, str]]:
    """Return paper, kind, id and reason of every entry."""
    read: dict[str, dict[str, dict[str, str]]] = load_yaml(NOT_COVERED, PublishedError)
    return [
        (paper, kind, name, reason)
        for paper, kinds in read.items()
        for kind, entries in kinds.items()
        for name, reason in entries.items()
    ]


@BOTH
def test_suites_or_a_reason(places: Places) -> None:
    found = places(LOADED, SHIPPED)
    assert [(p.paper, p.id) for p in found if not p.suites and not p.reason] == []
    assert [(p.paper, p.id) for p in found if p.suites and p.reason] == []
    assert {p.paper for p in found} == set(PAPERS)


@BOTH
def test_without_suites_only_reasons_are_left(places: Places) -> None:
    assert {p.id for p in places([], SHIPPED) if p.suites} == set()
    assert any(p.reason is None for p in places([], SHIPPED))


def test_a_suite_speaks_of_its_own_paper_alone() -> None:
    (theorems,) = [s for s in LOADED if s.name == "eqco-theorems"]
    of_another = theorems.model_copy(update={"paper": "dcl"})
    assert [p.id for p in artifact_places([theorems], SHIPPED) if p.suites] == [
        "theorem-1",
        "theorem-2",
    ]
    assert [p.id for p in artifact_places([of_another], SHIPPED) if p.suites] == []


def test_every_reason_is_of_something_there_is() -> None:
    for paper, kind, name, _ in reasons():
        assert kind in ("artifacts", "claims"), (paper, kind)
        assert name in getattr(load_paper(paper), kind), (paper, name)


def test_reasons_name_suites_and_claims_that_there_are() -> None:
    known = {suite.name for suite in LOADED}
    for *_, name, reason in reasons():
        assert len(reason) > 15, name
        named = re.findall(
            rf"\b(?:{'|'.join(PAPERS)})-(?:table|figure|simo|simclr)[a-z0-9-]*", reason
        )
        assert set(named) <= known, (name, named)


def test_a_reason_for_something_covered_would_be_seen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    both: Any = "eqco:\n  artifacts: {theorem-1: 'why'}\n"
    (tmp_path / "reasons.yaml").write_text(both)
    monkeypatch.setattr(claims, "NOT_COVERED", tmp_path / "reasons.yaml")
    found = {p.id: p for p in artifact_places(LOADED, SHIPPED) if p.paper == "eqco"}
    assert found["theorem-1"].suites
    assert found["theorem-1"].reason == "why"
