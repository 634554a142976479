"""`bench questions`: disputed questions with answers from papers, other projects and our runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from bench.analysis.claims import JudgedScale
from bench.analysis.questions import Findings, Ours, findings
from bench.cells.baseline import without_baselines
from bench.cli.claims import judged_scales
from bench.cli.evidence import results_in
from bench.cli.options import AsJson, answer
from bench.cli.selection import choose, of_sound_suites
from bench.cli.terminal import print_line, print_rows
from bench.cli.workspace import Workspace
from bench.papers.questions import Question, question_named
from bench.papers.questions import questions as all_questions
from bench.report.measured import best_lines
from bench.report.summary import scale_words
from bench.report.tables import Entry
from bench.suites.expand import expand
from bench.suites.load import known_suites, load_suite
from bench.suites.suite import Suite, with_stand_ins


def questions(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            help="Question to answer in full, such as dcl-small-batch; default: all questions, "
            "in short."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Answer disputed questions from published effects, other projects and our own runs.

    With a name: print every effect with its data set, source and interval.
    """
    found = describe_questions(context.obj, name)
    if name is None:
        answer([one.record() for one in found], lambda _: print_questions(found), as_json)
    else:
        best = {} if as_json else map_lines(found[0].question, context.obj)
        answer(found[0].record(), lambda _: print_findings(found[0], best), as_json)


def describe_questions(workspace: Workspace, name: str | None) -> list[Findings]:
    """Return the effects for each question, or for one.

    Args:
        workspace: folders of suites and results.
        name: restrict to this question; None means all.

    Raises:
        BenchError: the question does not exist, or a suite cannot be read.
    """
    asked: list[Question] = all_questions() if name is None else [question_named(name)]
    claims = {pair for question in asked for pair in question.all_claims}
    results = results_in(workspace)
    needed, ours = list[Suite](), list[Ours]()

    def answer_of(path: Path) -> None:
        suite = load_suite(path)
        if any((suite.paper, claim) in claims for claim in suite.claims):
            ours.extend(_ours(of, path) for of in judged_scales(suite, path, results, None))
            needed.append(suite)

    of_sound_suites(known_suites(workspace.suites).values(), answer_of)
    return [findings(question, needed, ours) for question in asked]


def _ours(of: JudgedScale, path: Path) -> Ours:
    """Return the checks of a scale, which the file `path` has, with the scale in words."""
    published = of.suite.scales[of.scale].protocol == "published"
    cells = without_baselines(expand(of.suite, of.scale, path))
    words = scale_words(cells, published=published)
    checks = [judged.record() for judged in of.judged if judged.counts]
    return Ours(of.suite.name, of.scale, words, published, checks)


def print_questions(found: Sequence[Findings]) -> None:
    """Print each question with its summary, and the command that shows more."""
    for one in found:
        print_line(f"{one.question.question} ({one.question.name})")
        for sentence in one.sentences:
            print_line(sentence, indent="    ")
    print_line("`bench questions NAME` shows every effect.")


def map_lines(question: Question, workspace: Workspace) -> dict[str, list[str]]:
    """Return where the question's map has its largest values, by scale with results of the map."""
    path = known_suites(workspace.suites).get(str(question.map))
    if path is None:
        return {}
    results, lines = results_in(workspace), dict[str, list[str]]()
    for scale in load_suite(path).scales:
        selection = choose(workspace, str(question.map), scale=scale)
        if done := results.finished(without_baselines(selection.cells)):
            lines[scale] = best_lines(with_stand_ins(selection.suite, scale), done)
    return lines


def print_findings(found: Findings, best: Mapping[str, Sequence[str]]) -> None:
    """Print the summary of a question, each effect, and lines of its map by scale."""
    print_line(found.question.question)
    for sentence in found.sentences:
        print_line(sentence, indent="    ")
    heads = ["by", "what", "data", "metric", "effect", "unit", "remark", "says"]
    rows = [
        [
            f"{row.kind}: {row.who}", row.what, row.data, row.metric,
            Entry(row.number), row.unit, row.remark, row.says,
        ]
        for row in found.rows
    ]  # fmt: skip
    if rows:
        print_rows("", heads, rows)
    for scale, lines in best.items():
        command = f"bench show {found.question.map} --scale {scale}"
        print_line(f"`{command}` prints the effect over more settings.")
        for line in lines:
            print_line(line, indent="    ")
    for place in dict.fromkeys(row.who for row in found.rows if row.kind == "here"):
        print_line(f"`bench show {' --scale '.join(place.split())}` prints each setting's values.")
