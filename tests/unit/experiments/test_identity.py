"""Identities: each name is a function, all hold, and a sign error in one is seen by its claim."""

from typing import Any, get_args

import pytest

from bench.analysis.claims import judge_claims
from bench.cells.toys import Identity, IdentityName
from bench.experiments import Result, identities, identity
from bench.papers.reader import load_paper
from bench.results.reader import Finished
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.paths import SUITES


def found(name: str, **changes: Any) -> dict[str, float]:
    settings = {"experiment": "identity", "identity": name, "N": 12, "d": 6, "draws": 3, "seed": 0}
    (outcome,) = identity.run([Identity.model_validate(settings | changes)], [], "cpu")
    assert isinstance(outcome, Result)
    return outcome.metrics


@pytest.mark.slow
@pytest.mark.parametrize("name", get_args(IdentityName))
def test_holds(name: str) -> None:
    metrics = found(name)
    assert metrics
    assert metrics.get("largest_difference", 0.0) < 1e-9
    assert metrics.get("violated_share", 0.0) == 0
    assert metrics.get("smallest_margin", 1.0) > 0


def test_draws_differ_and_the_worst_counts() -> None:
    name = "mean-of-dclw-weight"
    one, many = found(name, draws=1), found(name, draws=4)
    assert many["smallest_margin"] < one["smallest_margin"]
    assert found(name, seed=1) != one
    assert found(name) == found(name)


def failing(name: str) -> set[str]:
    """Compute a suite's smoke scale; return its claims that do not hold."""
    path = SUITES / f"{name}.yaml"
    suite = load_suite(path)
    cells = expand(suite, "smoke", path)
    outcomes = identity.run(cells, [], "cpu")  # type: ignore[arg-type]
    done = [
        (cell, Finished(outcome.metrics, {}))
        for cell, outcome in zip(cells, outcomes, strict=True)
        if isinstance(outcome, Result)
    ]
    judged = judge_claims(suite, "smoke", cells, done, load_paper(str(suite.paper)))
    return {j.claim.id for j in judged if str(j.verdict) != "holds"}


def test_the_sentence_that_is_false_as_printed_fails() -> None:
    """exp(<x, y>/tau) and exp(-||x - y||^2/tau) agree up to a constant with tau halved only."""
    assert failing("dcl-propositions") == {"exp-equivalence"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suite", "function", "claim"),
    [
        ("dcl-propositions", "infonce", "npc-factorisation"),
        ("unigrad-equations", "gradient_form", "unified-gradient"),
        ("mutual-information-lemmas", "neighbour_gain", "la-as-lse-difference"),
        ("dual-temperature-identities", "cross_entropy", "ce-is-special-case"),
        ("dual-temperature-consistency", "q_b", "pn-consistency"),
    ],
)
def test_a_sign_error_fails_the_claim(
    suite: str, function: str, claim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As printed the two potentials do not agree: the sentence is false, whatever the code does.
    assert failing(suite) <= {"exp-equivalence"}
    right = getattr(identities, function)
    monkeypatch.setattr(identities, function, lambda *args, **kw: -right(*args, **kw))
    assert claim in failing(suite)
