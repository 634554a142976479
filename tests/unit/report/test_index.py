"""The first page: counts that add up, answers, scales named by their data, own suites."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.analysis.claims import claims_of_artifact
from bench.analysis.verdicts import ClaimVerdict, EvidenceKind
from bench.papers.questions import question_named, questions
from bench.papers.reader import PAPERS, load_paper
from bench.report.questions import answers
from bench.report.summary import Summary, scale_words
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.image_site import write_image_results, write_image_suites
from tests.fakes.paths import SUITES
from tests.fakes.site import write_site

pytestmark = pytest.mark.slow
HOLDS, NOT_SEEN = ClaimVerdict.HOLDS, ClaimVerdict.NOT_SEEN


def counts(page: Path) -> dict[str, list[int]]:
    """Return the numbers of the table of counts, by kind of evidence."""
    text = page.read_text().partition("claims by verdict**")[2].partition("\n\nAn ")[0]
    rows = [line.strip("| ").split(" | ") for line in text.strip().splitlines()[2:]]
    return {kind: list(map(int, numbers)) for kind, *numbers in rows}


def test_counts_stay_apart_by_kind_of_evidence(image_site: Path) -> None:
    found = counts(image_site / "index.md")
    assert list(found) == [
        "images at the published protocol", "images at a reduced scale",
        "toy experiments at the published protocol", "identities and theorems",
    ]  # fmt: skip
    artifacts, values, *claims = found.pop("images at a reduced scale")
    assert (values, sum(claims[:2]) > 0, artifacts > 0) == (0, True, True)
    assert all(not any(numbers) for numbers in found.values()), "made-up images alone"
    text = (image_site / "index.md").read_text()
    assert "No experiment on images was run at the published protocol." in text
    marks = re.findall(r'class="mark-of-claim ([a-z-]+)"', (image_site / "index.html").read_text())
    assert len(marks) == sum(len(load_paper(name).claims) for name in PAPERS)
    assert "fails" not in marks


def test_an_artifact_counts_as_measured_on_its_own_data_alone(image_site: Path) -> None:
    """DCL's Table 1 on ImageNet, beside cells on CIFAR-10: a link, no verdict."""
    page = (image_site / "dcl" / "table-1-imagenet1k.md").read_text()
    told = "Effects measured on other data than the paper's have no verdict: "
    assert f"{told}[dcl-table-1, scale cifar]" in page
    assert "## Effects: published and measured" not in page
    suite_page = (image_site / "dcl-table-1" / "cifar" / "index.md").read_text()
    assert "## Effects on other data" in suite_page
    own = (image_site / "dcl" / "table-1-cifar10.md").read_text()
    assert "## Effects: published and measured" in own


def test_an_artifacts_page_has_the_claims_that_name_it(image_site: Path) -> None:
    text = (image_site / "dcl" / "table-1-imagenet1k.md").read_text()
    found = set(re.findall(r'<a id="dcl-table-1-(?:cifar|cpu)-([a-z0-9-]+)"', text))
    paper = load_paper("dcl")
    named = {c.id for c in claims_of_artifact(paper, paper.artifact("table-1-imagenet1k"))}
    suite = load_suite(SUITES / "dcl-table-1.yaml")
    assert found == named & set(suite.claims) != set(suite.claims)


def test_digits_are_called_digits(image_site: Path) -> None:
    for name in ("index.html", "index.md", "dcl/table-1-cifar10.html", "dcl/table-1-cifar10.md"):
        text = (image_site / name).read_text()
        assert "digits at 16x16, small network" in text, name
        assert "CIFAR-10 at 24x24, small network" in text, name
    text = (image_site / "index.md").read_text()
    told = re.findall(r"\[dcl-table-1 cpu\]\([^)]*\) \(([^)]*)\)", text)
    assert set(told) == {"digits at 16x16, small network, 20 epochs"}


def test_a_scale_is_named_by_its_data() -> None:
    path = SUITES / "dcl-table-1.yaml"
    suite = load_suite(path)
    assert scale_words(expand(suite, "gpu", path)[:1], published=True) == "published protocol"
    smoke = expand(suite, "smoke", path)
    words = scale_words(smoke, published=False)
    assert words == "256 images of digits at 16x16, small network, 1 epoch"
    boxed = SUITES / "eqco-table-8.yaml"
    words = scale_words(expand(load_suite(boxed), "cpu", boxed), published=False)
    assert words == "drawn shapes after pretraining on digits at 16x16, small network, 20 epochs"
    toy = SUITES / "eqco-table-9.yaml"
    assert scale_words(expand(load_suite(toy), "smoke", toy), published=False) == "reduced protocol"


def test_questions_are_of_suites_claims_and_figures_there_are() -> None:
    for question in questions():
        suite = load_suite(SUITES / f"{question.suite}.yaml")
        assert suite.paper == question.paper
        assert question.scale in suite.scales
        assert set(question.claims) <= set(suite.claims)
        drawn = {figure.name for figure in suite.figures}
        assert question.figure in drawn | {f"effects-{c.artifact}" for c in suite.compare}
        where = [c.where for name in question.claims for c in suite.claims[name]]
        assert any(question.where.items() <= own.items() for own in where)


def test_without_results_an_answer_says_so_and_what_to_run() -> None:
    suites = [load_suite(SUITES / f"{q.suite}.yaml") for q in questions()]
    for answer in answers([], suites):
        assert answer.verdict == ClaimVerdict.NOT_TESTED
        assert answer.text == "Not tested yet"
        assert (
            answer.command == f"bench run {answer.question.suite} --scale {answer.question.scale}"
        )
    assert answers([], []) == []


def test_answers_come_from_the_results(image_site: Path) -> None:
    text = (image_site / "index.md").read_text()
    assert "**Does DCL help at small batch?** [Yes, on CIFAR-10 at 24x24, small network, " in text
    assert re.search(
        r"kNN accuracy, DCL - InfoNCE at CIFAR-10, batch size 32: \+4\.\d+ .*; paper \+4\.8", text
    )
    assert "computed on 2026-11-18" in text
    assert "Made-up Processor (CPU)" in text


def test_an_answer_points_to_the_suites_note_on_it(image_site: Path) -> None:
    """At the claim that it rests on, where the note stands; answers without one do not."""
    text = (image_site / "index.md").read_text()
    links = re.findall(r"\[note on the numbers\]\(([^)]+)\)", text)
    assert 0 < len(links) < len(questions())
    assert any("small-batch-cifar-stl10" in link for link in links)
    for page, anchor in (link.split("#") for link in links):
        section = (image_site / page).read_text().partition(f'id="{anchor}"')[2]
        assert "\nNote: " in section.partition("<a id=")[0]


@pytest.mark.parametrize(
    ("name", "verdict", "low", "high", "text"),
    [
        ("dcl-small-batch", NOT_SEEN, 0.1, 1.3, "By less than the paper reports, on"),
        (
            "dcl-small-batch",
            NOT_SEEN,
            -0.1,
            1.3,
            "Not as much as the claim requires, on",
        ),
        ("dcl-small-batch", NOT_SEEN, -2.0, -1.0, "Not seen on"),
        ("dcl-small-batch", HOLDS, 2.5, 3.0, "Yes, on"),
        ("negatives", HOLDS, 2.5, 3.0, "Less sensitive, on"),
    ],
)
def test_an_answer_says_no_more_and_no_less_than_its_check(
    name: str, verdict: ClaimVerdict, low: float, high: float, text: str
) -> None:
    question = question_named(name)
    suite = load_suite(SUITES / f"{question.suite}.yaml")
    (claim,) = question.claims
    checks = [one.model_dump(mode="json") for one in suite.claims[claim]]
    check = next(one for one in checks if question.is_answered_by(claim, one["where"]))
    row = {
        "claim": claim, "check": check, "verdict": verdict,
        "groups": 1, "n": 5,
        "effect": (low + high) / 2, "low": low, "high": high, "threshold": 2.4,
        "smallest_effect": 0.9, "published_words": None, "stand_in_for": None, "level": 0.95,
        "why": None, "sides": None, "others": [], "group": {}, "spread": None, "freedom": None,
        "notes": [], "judged": True, "unlearned": [],
        "subject": "kNN, dcl - infonce", "required": "above 2.4", "unit": "points",
    }  # fmt: skip
    summary = Summary(
        suite.name, "cifar", "small digits", "", "dcl", EvidenceKind.IMAGES_REDUCED,
        False, True, 1, 1, {}, frozenset(), {},
        {claim: verdict}, {}, [row], None,
    )  # fmt: skip
    (answer,) = answers([summary], [suite])
    assert answer.text == f"{text} small digits"
    assert answer.claims == {}
    assert answer.noted is None
    unsure = row | {"verdict": "cannot tell", "why": "dcl is not detectably above baseline"}
    (answer,) = answers([replace(summary, checks=[unsure])], [suite])
    assert answer.text.startswith("Undecided")
    assert answer.lines[0].endswith("; dcl is not detectably above baseline")
    assert answer.claims == {claim: verdict}, "the claim's own verdict"


OWN: dict[str, Any] = {
    "name": "own", "title": "A suite of mine", "experiment": "pretrain", "scale": "cpu",
    "scales": {"cpu": {"like": "digits", "seeds": [0, 1]}}, "seeds": [0],
    "fixed": {"method": "simclr", "tau": 0.1, "optimizer": "sgd", "lr_schedule": "cosine"},
    "grid": {"loss": ["infonce", "dcl"]},
    "tables": [{"title": "kNN top-1 (%)", "metric": "knn_top1", "rows": ["loss"]}],
}  # fmt: skip


def test_own_suites_make_a_site_of_their_own(tmp_path: Path) -> None:
    suites = tmp_path / "suites"
    suites.mkdir()
    (suites / "own.yaml").write_text(yaml.safe_dump(OWN))
    write_site(suites, tmp_path / "to", write_image_results(suites, tmp_path / "results"))
    for page in ("index.html", "index.md"):
        text = (tmp_path / "to" / page).read_text()
        assert "Reproduction of five papers" not in text
        assert text.index("A suite of mine") < text.index("eqco")
    text = (tmp_path / "to" / "own" / "cpu" / "index.md").read_text()
    assert "mean [lowest to highest], n = 2" in text
    assert re.search(r"\| dcl \| \d+\.\d+ \[\d+\.\d+ to \d+\.\d+\] \|", text)


def test_the_same_results_give_the_same_bytes(image_site: Path, tmp_path: Path) -> None:
    suites = write_image_suites(tmp_path / "suites")
    write_site(suites, tmp_path / "to", write_image_results(suites, tmp_path / "results"))
    for name in ("index.html", "index.md", "dcl/table-1-cifar10.html"):
        assert (tmp_path / "to" / name).read_bytes() == (image_site / name).read_bytes(), name
