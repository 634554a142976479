"""Where each artifact and claim of the papers is looked at: its suites, or why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.errors import PublishedError
from bench.files.yaml_file import load_yaml
from bench.papers.reader import NOT_COVERED, PAPERS, load_paper
from bench.suites.suite import Suite


@dataclass(frozen=True)
class Place:
    """One artifact or claim, and the suites that speak of it; the reason where none does."""

    paper: str
    id: str
    suites: list[str]
    reason: str | None = None


def artifact_places(suites: Sequence[Suite]) -> list[Place]:
    """Return every artifact of the papers, in their order."""
    return _places("artifacts", {s.name: (s.paper, _artifacts_of(s)) for s in suites})


def claim_places(suites: Sequence[Suite]) -> list[Place]:
    """Return every claim of the papers, in their order."""
    return _places("claims", {s.name: (s.paper, set(s.claims)) for s in suites})


def _artifacts_of(suite: Suite) -> set[str]:
    return {*suite.reproduces, *(comparison.artifact for comparison in suite.compare)}


def _places(kind: str, named: dict[str, tuple[str | None, set[str]]]) -> list[Place]:
    reasons = load_yaml(NOT_COVERED, PublishedError)
    return [
        Place(
            paper,
            name,
            [suite for suite, (of, names) in named.items() if of == paper and name in names],
            reasons.get(paper, {}).get(kind, {}).get(name),
        )
        for paper in PAPERS
        for name in getattr(load_paper(paper), kind)
    ]
