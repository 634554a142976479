"""`bench questions` and `bench.questions`: published, by others and measured here, by one road."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer

import bench
from bench.analysis.evidence import gather
from bench.analysis.others import seen_by_others
from bench.analysis.questions import (
    HERE,
    OTHERS,
    PUBLISHED,
    EffectRow,
    Findings,
    Ours,
    answering,
    findings,
)
from bench.cli.selection import select
from bench.cli.workspace import Workspace as Selected
from bench.errors import PublishedError
from bench.figures.forest import draw_forest, draw_overview
from bench.papers.questions import QUESTIONS, question_named, questions, read_questions
from bench.papers.reader import load_paper
from bench.report.formats import markdown_text, to_markdown
from bench.report.index import write_index
from bench.report.questions import all_findings, maps_of, write_questions
from bench.report.section import section_facts
from bench.results.reader import Results
from bench.suites.load import load_suite, suite_paths
from bench.suites.metric_words import metric_words
from bench.text import first_sentence, number_words
from tests.fakes.paths import ROOT, SUITES
from tests.fakes.workspace import Workspace

REFERENCE = ROOT / "results" / "reference"
DISPUTED = {
    "dcl-small-batch", "temperature", "negatives", "dual-temperature", "which-negatives",
    "families", "momentum-targets", "dclw-weights",
}  # fmt: skip
CHECK = {
    "paper": "mutual-information", "claim": "temperature-matters", "check": {"where": {},
    "metric": "knn_top1"}, "judged": True, "effect": 1.0, "low": 0.5, "high": 1.5, "n": 3,
    "groups": 1, "unit": "points", "subject": "kNN, one - other", "required": "above 0",
    "threshold": 0.0, "why": None, "unlearned": [],
}  # fmt: skip


def test_every_disputed_question_is_there() -> None:
    assert {question.name for question in questions()} >= DISPUTED


def test_without_a_suite_of_its_claims_nothing_is_said_of_a_question(workspace: Workspace) -> None:
    sentences = workspace.call("questions", "temperature", "--json").json["sentences"]
    reason = "not looked up, because no suite tests this question"
    heads = "Published effect", "Measured by other projects", "Measured here"
    assert sentences == [f"{head}: {reason}." for head in heads]


def test_each_scale_of_a_map_with_results_is_shown(workspace: Workspace) -> None:
    roots = "--suites", str(SUITES), "--results", str(REFERENCE)
    told = " ".join(workspace.call(*roots, "questions", "dcl-small-batch").out.split())
    _, *scales = told.split("`bench show map-dcl --scale ")
    assert [text.partition("`")[0] for text in scales] == ["cpu", "cifar"]
    assert all("best kNN accuracy" in text for text in scales)


def test_one_command_says_what_is_known_of_dcl_at_small_batch(workspace: Workspace) -> None:
    roots = "--suites", str(SUITES), "--results", str(REFERENCE)
    found = json.loads(workspace.call(*roots, "questions", "dcl-small-batch", "--json").out)
    published, others, here = found["sentences"]
    assert published.startswith(
        "The papers publish 9 effects for this question; the first is +4.8 points "
        "(DCL - InfoNCE at CIFAR-10, batch size 32, kNN accuracy)."
    )
    rows = {kind: [e for e in found["effects"] if e["kind"] == kind] for kind in ("others", "here")}
    claimed = [e["effect"] for e in rows["others"] if e["says"] == "yes"]
    size = f"({min(claimed):+.1f} to {max(claimed):+.1f} points)"
    assert f"{len(claimed)} effects in agreement with the claims {size}. " in others
    assert " in disagreement with the claims" not in others
    uncounted = others.partition(" points). ")[2]
    assert uncounted == (
        "In other projects, 6 effects of DCL - InfoNCE (+2.1 to +4.1 points) do not count, "
        "because the paper tests the claim with another network. "
        "In other projects, 12 effects of DCL - InfoNCE (-4.2 to +2.0 points) do not count, "
        "because the compared runs also differ in other settings. In other projects, 2 effects of "
        "growth of DCL - InfoNCE with falling batch size (+4.2 to +5.6 points) do not count, "
        "because the paper tests the claim with another network. In other projects, 3 effects of "
        "change over epochs (+3.4 to +5.2 points) do not count, because the paper tests the "
        "claim on other data sets."
    )
    assert (6.3, "cifar10", "yes") in {(e["effect"], e["data"], e["says"]) for e in rows["others"]}
    assert all(e["links"] for e in rows["others"])
    first = rows["here"][0]
    assert number_words(first["effect"], first["low"], first["high"]) in here
    assert first["low"] < first["effect"] < first["high"]
    assert f"; {first['data']}) with the verdict '{first['says']}'." in here


def test_without_results_the_answer_names_the_command(workspace: Workspace) -> None:
    answer = workspace.call("--suites", str(SUITES), "questions", "dclw-weights")
    assert "Measured here: nothing; `bench run dcl-table-2 --scale cifar`" in answer.out
    assert "11 effects in disagreement with the claims (-4.6 to -0.6 points)" in " ".join(
        answer.out.split()
    )


def test_each_effect_of_another_project_is_told_once() -> None:
    """Metrics and settings of one table have the same address, and claims share effects."""
    suites = [load_suite(path) for path in suite_paths(SUITES).values()]
    for found in all_findings([], suites):
        told = [(frozenset(row.links), row.metric, row.effect) for row in found.of(OTHERS)]
        seen = {
            (frozenset(row.link for row in effect.rows), metric_words(effect.metric), effect.value)
            for suite in suites
            for claim in suite.claims
            if (suite.paper, claim) in found.question.all_claims
            for effect, _ in seen_by_others(suite, claim).effects
            if found.question.takes(
                str(suite.paper), claim, effect.check.model_dump(mode="json")["where"]
            )
        }
        assert sorted(told, key=repr) == sorted(seen, key=repr)


def test_a_question_leaves_out_checks_of_further_claims_that_do_not_concern_it() -> None:
    asked = question_named("temperature")
    assert asked.takes("dcl", "tau-robust", {"loss": "infonce"})
    assert not asked.takes("dcl", "tau-robust", {"loss": "dcl"})


def test_a_check_that_is_not_asked_about_stays_out() -> None:
    frame = bench.questions("dclw-weights", results=REFERENCE, suites=SUITES)
    claimed = frame[frame.claim == "dcl/dclw-order"]
    assert set(claimed.kind) == {"published", "others", "here"}
    assert claimed.what.str.lstrip("(").str.startswith("DCLW").all()


@pytest.mark.parametrize(("unlearned", "first"), [([], "cifar"), (["at baseline"], "cpu")])
def test_a_scale_at_the_trivial_baseline_answers_last(unlearned: list[str], first: str) -> None:
    question = question_named("temperature")
    suite = load_suite(SUITES / "mutual-information-figure-10.yaml")
    small = Ours(
        suite.name, "cpu", "digits", False, [CHECK | {"verdict": "holds", "unlearned": []}]
    )
    large = Ours(
        suite.name, "cifar", "CIFAR-10", False,
        [CHECK | {"verdict": "cannot tell", "effect": 2.0, "unlearned": unlearned}],
    )  # fmt: skip
    found = answering(question, suite, [small, large])
    assert found is not None
    assert found.at.scale == first
    here = findings(question, [suite], [small, large]).of(HERE)
    assert here[0].who == f"{suite.name} {first}"
    assert {row.remark for row in here} == {"n = 3, holds if above 0"}
    assert len(here) == 2
    assert answering(question, suite, []) is None


def test_a_mistyped_question_is_one_line(workspace: Workspace) -> None:
    answer = workspace.call("--suites", str(SUITES), "questions", "dcl-small")
    assert answer.status == 2
    assert "there is no question 'dcl-small'. Did you mean 'dcl-small-batch'?" in answer.err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("dcl/few-epochs", "dcl/fewer-epochs", "dcl-small-batch: paper 'dcl' has no claim"),
        ("  paper: dcl\n", "  papers: dcl\n", "papers"),
    ],
)
def test_a_mistake_in_the_file_is_one_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = tmp_path / "questions.yaml"
    path.write_text(QUESTIONS.read_text().replace(old, new, 1))
    with pytest.raises(PublishedError, match=words) as error:
        read_questions(path)
    assert "\n" not in str(error.value)


def test_each_effect_is_a_point_of_the_forest_plot() -> None:
    gain = partial(EffectRow, claim="dcl/c", metric="kNN", unit="points")
    rows = [
        gain(PUBLISHED, "dcl", what="dcl - infonce", data="cifar10", effect=4.8),
        gain(OTHERS, "a", what="dcl (tau 0.1) - infonce (tau 0.2)", data="cifar10", effect=-1.5),
        gain(OTHERS, "b", what="dcl - infonce", data="cifar10", effect=2.5, says="yes"),
        gain(
            HERE, "s cifar", what="dcl - infonce", data="CIFAR-10, small", effect=0.7, low=-0.1,
            high=1.5,
        ),
    ]  # fmt: skip
    (ax,) = draw_forest(rows).axes[:1]
    points = {
        (
            round(float(np.asarray(line.get_xdata())[0]), 6),
            str(line.get_marker()),
            line.get_markerfacecolor(),
        )
        for line in (bar.lines[0] for bar in ax.containers if isinstance(bar, ErrorbarContainer))
    }
    assert {(x, marker) for x, marker, _ in points} == {
        (4.8, "o"), (-1.5, "^"), (2.5, "^"), (0.7, "D"),
    }  # fmt: skip
    filled = {x for x, _, filling in points if filling != "none"}
    assert filled == {2.5, 0.7}
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert " ".join(names[1].splitlines()) == "a, cifar10, kNN: dcl (tau 0.1) - infonce (tau 0.2)"
    assert names[3] == "s cifar, CIFAR-10, kNN: dcl - infonce"


def test_no_end_of_an_interval_is_rounded_to_the_threshold_of_its_verdict() -> None:
    suite = load_suite(SUITES / "mutual-information-figure-10.yaml")
    near = {"effect": 3.5, "low": -0.562, "high": 7.49, "threshold": -0.6, "verdict": "holds"}
    ours = Ours(suite.name, "cpu", "digits", False, [CHECK | near])
    (row,) = findings(question_named("temperature"), [suite], [ours]).of(HERE)
    assert row.number == "+3.50 [-0.56, 7.49]"


def test_the_overview_has_the_leading_effects_of_each_question_in_a_line() -> None:
    """Here and published are the same quantity; effects of other claims stay out."""
    question = next(q for q in questions() if q.name == "dcl-small-batch")
    own = f"{question.paper}/{question.claims[0]}"
    gain = partial(EffectRow, data="cifar10", metric="kNN", unit="points")
    rows = [
        gain(PUBLISHED, "dcl", claim=own, what="at stl10", effect=7.9),
        gain(PUBLISHED, "dcl", claim=own, what="at cifar10", effect=4.8),
        gain(OTHERS, "a", claim=own, what="at cifar10", effect=6.3, says="yes"),
        gain(OTHERS, "a", claim=own, what="at cifar10", effect=-1.5),
        gain(OTHERS, "b", claim="dcl/few-epochs", what="x", effect=3.0, says="no"),
        gain(HERE, "s", claim=own, what="at cifar10", effect=0.7, low=-0.1, high=1.5),
    ]
    found = Findings(question, rows)
    assert [row.effect for row in found.leading] == [4.8, 6.3, 0.7]
    assert found.short == (
        "Published effect: +4.8 points (kNN); effect in other projects: +6.3 points (1 of 1 effect "
        "as claimed); effect measured here: +0.70 [-0.10, 1.50] points (kNN)."
    )
    canvas = draw_overview([found, Findings(question, [])])
    assert canvas is not None
    (ax,) = canvas.axes[:1]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Does DCL help at small batch?"]
    bars = [bar.lines[0] for bar in ax.containers if isinstance(bar, ErrorbarContainer)]
    assert [float(np.asarray(bar.get_xdata())[0]) for bar in bars] == [4.8, 6.3, 0.7]
    nothing = (
        "Published effect: no number for this comparison; effect in other projects: not measured; "
        "effect measured here: not measured."
    )
    assert Findings(question, []).short == nothing
    assert draw_overview([Findings(question, [])]) is None


def test_a_question_has_a_page_with_every_effect_and_a_place_on_the_first_screen(
    tmp_path: Path,
) -> None:
    suites = [load_suite(path) for path in suite_paths(SUITES).values()]
    found = all_findings([], suites)
    pages = write_questions(tmp_path, found, {("dcl", "small-batch-cifar-stl10")}, [])
    assert {page.stem for page in pages} >= DISPUTED
    page = (tmp_path / "questions" / "dcl-small-batch.md").read_text()
    (one,) = (one for one in found if one.question.name == "dcl-small-batch")
    for row in one.rows:
        assert f" {row.number} {row.unit} |" in page
        assert all(f"]({link})" in page for link in row.links)
    assert "(../others.md#dcl-small-batch-cifar-stl10)" in page
    assert (tmp_path / "questions" / "dcl-small-batch.svg").is_file()


def test_the_page_of_a_question_with_a_map_has_its_figures_and_its_table(tmp_path: Path) -> None:
    chosen = select(Selected(SUITES, REFERENCE, ROOT), "map-dcl", scale="cpu")
    evidence = gather(
        chosen.suite, "cpu", chosen.cells, chosen.paper, Results(REFERENCE), chosen.paper_cells
    )
    facts = section_facts(evidence, [])
    (question,) = (one for one in questions() if one.map == "map-dcl")
    write_questions(tmp_path, [Findings(question, [])], [], [facts])
    page = (tmp_path / "questions" / f"{question.name}.md").read_text()
    assert [f"](../map-dcl/cpu/{f.name}.svg)" in page for f in facts.figures] == [True, True]
    assert to_markdown(facts.measured[0]) in page
    assert to_markdown(facts.measured[1]) not in page
    assert "`bench show map-dcl --scale cpu` prints the tables of the map." in page
    assert f"\n## {facts.suite.title}\n" in page
    write_questions(tmp_path, [Findings(question, [])], [], [facts, replace(facts, scale="cifar")])
    page = (tmp_path / "questions" / f"{question.name}.md").read_text()
    for scale in ("cpu", "cifar"):
        assert f"\n## {facts.suite.title} (scale {scale})\n" in page


def test_each_scale_of_a_map_that_is_judged_has_a_note_on_the_question() -> None:
    for question in (one for one in questions() if one.map):
        suite = load_suite(SUITES / f"{question.map}.yaml")
        for scale in suite.scales.values():
            notes = scale.notes or suite.notes
            assert scale.no_verdict or len(notes) >= question.map_note, question.name


def test_each_question_of_a_map_has_the_note_that_answers_it(tmp_path: Path) -> None:
    chosen = select(Selected(SUITES, REFERENCE, ROOT), "map-families", scale="cpu")
    evidence = gather(
        chosen.suite, "cpu", chosen.cells, chosen.paper, Results(REFERENCE), chosen.paper_cells
    )
    facts = section_facts(evidence, [])
    found = [Findings(question_named(name), []) for name in ("families", "momentum-targets")]
    write_questions(tmp_path, found, [], [facts])
    suites = [load_suite(SUITES / f"unigrad-table-{n}.yaml") for n in (2, 3)]
    write_index(tmp_path, [], suites, [load_paper("unigrad")], {}, found, [facts])
    first = (tmp_path / "index.md").read_text()
    notes = chosen.suite.scales["cpu"].notes
    for one, note in zip(found, notes, strict=False):
        page = (tmp_path / "questions" / f"{one.question.name}.md").read_text()
        assert [markdown_text(text) in page for text in notes].count(True) == 1
        assert markdown_text(note) in page
        assert f"{len(evidence.done)} of {len(evidence.cells)} cells done." in page
        finding = f"on {facts.words} (scale cpu, below): {markdown_text(first_sentence(note))}"
        assert f"\n- The map of this question {finding}\n" in page.partition("\n## ")[0]
        assert maps_of(one.question, [facts]) == [(facts, note)]
        assert maps_of(one.question, [smoke := replace(facts, scale="smoke")]) == [(smoke, None)]
        assert f"{facts.words}: {markdown_text(first_sentence(note))} [All effects]" in first


def test_beside_a_number_on_another_metric_stands_the_published_one_of_the_same_comparison() -> (
    None
):
    question = next(q for q in questions() if q.name == "momentum-targets")
    first, claim = "momentum - stop-gradient", "unigrad/momentum-gain"
    rows = [
        EffectRow(PUBLISHED, "unigrad", claim, what, "imagenet1k", "linear", "points", effect)
        for what, effect in (("another comparison", 9.9), (first, 2.2))
    ]
    ours = EffectRow(HERE, "s", claim, first, "digits", "linear on warped images", "points", -1.0)
    assert "Published effect: +2.2 points (linear); " in Findings(question, [*rows, ours]).short
    assert "Published effect: +9.9 points (linear); " in Findings(question, [*rows[:1], ours]).short
