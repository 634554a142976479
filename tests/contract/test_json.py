"""What `--json` answers: the keys of each verb's document, as the reference lists them."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.experiments import EXPERIMENTS, Outcome
from bench.results.owner import Owner
from bench.results.store import State, Store
from tests.fakes.paths import ROOT, SUITES
from tests.fakes.results import alter, cells_of
from tests.fakes.slurm import MadeUpSlurm, submitted
from tests.fakes.suites import SUITE, changed
from tests.fakes.workspace import Workspace

# Mappings whose keys are settings, metrics or names, shown as `*`.
NAMED_BY_DATA = {
    "assumed", "at", "axes", "claims", "column", "config", "coordinates", "failed", "group",
    "metrics", "further_differences", "of", "origin", "over", "row", "scales", "settings",
    "unknown_jobs", "versions", "where",
}  # fmt: skip
PAGE = (ROOT / "docs" / "reference" / "json.md").read_text()
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
KEYS = {
    name: {
        key
        for values in re.findall(r"^\| (`.*?) \| ", text, re.MULTILINE)
        for key in re.findall(r"`([^`]+)`", values)
    }
    for name, text in SECTIONS.items()
}


def paths(value: Any, at: str = "") -> Iterator[str]:
    """Yield the path of every value: `[]` is an entry of a list, `*` a key that is data."""
    if isinstance(value, dict):
        by_data = at.rpartition(".")[2] in NAMED_BY_DATA
        if by_data and not value:
            yield f"{at}.*"
        for key, below in value.items():
            yield from paths(below, f"{at}.{'*' if by_data else key}".removeprefix("."))
    elif isinstance(value, list):
        if not value:
            yield f"{at}[]"
        records = {tuple(entry) for entry in value if isinstance(entry, dict)}
        assert len(records) < 2, f"{at}: records of different keys"
        for entry in value:
            yield from paths(entry, f"{at}[]")
    else:
        yield at


def refuse(*_: Any) -> list[Outcome]:
    raise RuntimeError("no such luck")


@pytest.fixture
def documents(
    workspace: Workspace, slurm: MadeUpSlurm, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """Return an answer of each verb, with something in every list that a verb can fill."""
    answers: dict[str, Any] = {}

    def ask(name: str, *words: str) -> None:
        answers[name] = workspace.call(*words, "--json").json

    changes = {
        "grid.mi_true": [2, 10],
        "claims.toy-mi-steady.0.where.mi_true": 2,
        "grid.K": [8, 64],
        "fixed.steps": 20,
        "compare.0.baseline": {"loss": "infonce", "alpha": None},
    }
    path = workspace.suite(changed(SUITE, changes))
    results, other = workspace.root / "results", workspace.root / "other"
    done = ("--where", "mi_true=2", "--executor", "inline")
    assert workspace.call("run", "small", *done).status == 0
    ask("plan", "plan", "small", "--limit-gpu-hours", "1")
    with monkeypatch.context() as patch:
        patch.setitem(EXPERIMENTS, "gaussian-mi", refuse)
        ask("run", "run", "small", "--executor", "inline")
    cells = cells_of(path, "tiny")
    slurm.begin(submitted(Path("results"), [cell.id for cell in cells]))
    ask("status", "status", "small")
    failed = next(c for c in cells if Store(results).states([c])[0].state == State.FAILED)
    ask("logs", "logs", failed.id)
    ask("cancel", "cancel", "small")
    slurm.alive = []

    for name, words in {
        "suites": "suites",
        "suites NAME": "suites small",
        "methods": "methods simo",
        "methods --to": "methods --to pages",
        "datasets": "datasets",
        "doctor": "doctor",
        "show": "show small",
        "compare": "compare small",
        "compare --effects": "compare small --effects",
        "claims SUITE": "claims small",
        "claims": "claims",
        "others": "others",
        "others SOURCE": f"--suites {SUITES} others dcl-nakhli",
        "others PAPER/ARTIFACT": f"--suites {SUITES} others dcl/table-1-cifar10",
        "others CLAIM": f"--suites {SUITES} others dclw-order",
        "questions": f"--suites {SUITES} questions",
        "questions NAME": f"--suites {SUITES} questions dclw-weights",
        "versus": "versus eqco infonce",
        "report": "report small",
        "export to an archive": "export small --to cells.tar",
        "export to tables": "export small --to tables",
        "import": "--results other import cells.tar",
    }.items():
        ask(name, *words.split())

    first, second, third = sorted(p.name for p in (other / "gaussian-mi").iterdir())[:3]
    alter(other / "gaussian-mi" / first / "summary.json", metrics={"mi_lower_bound": 1.0})
    alter(other / "gaussian-mi" / second / "cell.json", version=99)
    ask("compare A B", "compare", "results", "other")
    shutil.rmtree(results / "gaussian-mi" / third)
    (busy,) = (cell for cell in cells if cell.id == third)
    assert Store(results).folder(busy).claim(busy, Owner.me(), "x") is not None
    ask("merge", "merge", "other")
    alter(results / "gaussian-mi" / first / "summary.json", metrics={"mi_lower_bound": 1.0})
    ask("verify", "verify", "small")
    return answers


@pytest.mark.slow
def test_the_keys_of_every_json_document(documents: dict[str, Any]) -> None:
    assert documents.keys() == KEYS.keys()
    other = {
        name: sorted(set(paths(document)) ^ KEYS[name]) for name, document in documents.items()
    }
    assert {name: keys for name, keys in other.items() if keys} == {}
