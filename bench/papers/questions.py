"""Disputed questions with the claims that address them: `questions.yaml`."""

from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from bench.errors import PublishedError, choices
from bench.files.validation_errors import explain
from bench.files.yaml_file import load_yaml
from bench.papers.reader import load_paper
from bench.record import Record

QUESTIONS = Path(__file__).parent / "questions.yaml"


class Question(Record):
    """A question of readers and the claims that answer it."""

    name: str
    question: str
    paper: str
    suite: str
    scale: str  # what to run where there is no answer
    claims: list[str]
    where: dict[str, Any]
    figure: str
    more: dict[str, dict[str, Any]] = {}  # settings of checks, by PAPER/CLAIM: further claims
    map: str | None = None  # a suite without a paper that measures the question over more settings
    map_note: int = 1  # place of the note with the answer among the notes of each scale of the map
    holds: str | None = None  # in place of Yes, where the check asks for less than the question

    @property
    def all_claims(self) -> list[tuple[str, str]]:
        """Paper and id of each claim; those that answer the question come first."""
        further = [name.partition("/") for name in self.more]
        return [(self.paper, c) for c in self.claims] + [(p, c) for p, _, c in further]

    def is_answered_by(self, claim: str, where: dict[str, Any]) -> bool:
        """Return whether a check of the question's paper answers the question."""
        return claim in self.claims and self.where.items() <= where.items()

    def takes(self, paper: str, claim: str, where: dict[str, Any]) -> bool:
        """Return whether a check with these settings is relevant to the question."""
        if paper == self.paper and claim in self.claims:
            return self.is_answered_by(claim, where)
        name = f"{paper}/{claim}"
        return name in self.more and self.more[name].items() <= where.items()


_LIST = TypeAdapter(list[Question])


@cache
def questions() -> list[Question]:
    """Return the included questions, in file order."""
    return read_questions(QUESTIONS)


def read_questions(path: Path) -> list[Question]:
    """Return the questions of a file.

    Raises:
        PublishedError: the file cannot be read, or a claim does not exist.
    """
    try:
        found = _LIST.validate_python(load_yaml(path, PublishedError))
    except ValidationError as error:
        raise explain(PublishedError, error, path) from error
    for question in found:
        for paper, claim in question.all_claims:
            try:
                load_paper(paper).claim(claim)
            except PublishedError as error:
                raise PublishedError(f"{path}: {question.name}: {error}") from error
    return found


def question_named(name: str) -> Question:
    """Return a question by name.

    Raises:
        PublishedError: the question does not exist.
    """
    known = {question.name: question for question in questions()}
    if name not in known:
        raise PublishedError(f"there is no question '{name}'. {choices(name, list(known))}")
    return known[name]
