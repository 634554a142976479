"""Every method of the papers runs, is a point and nothing more, and stands on the page."""

import ast
import re
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from bench.cells.losses import LOSSES
from bench.cli.methods import describe_methods
from bench.report.methods import methods_page
from bench.suites.presets import elsewhere, paper_presets
from bench.suites.reference import AXES, settings_reference
from tests.fakes.cells import METHODS, covering, each, small_cell, training_of
from tests.fakes.paths import ROOT
from tests.fakes.workspace import Workspace

BENCH = ROOT / "bench"


def published_names() -> set[str]:
    """Return every name that a measured row calls its method."""
    names = set()
    for path in (BENCH / "papers" / "data").glob("*.yaml"):
        for artifact in yaml.safe_load(path.read_text())["artifacts"]:
            if artifact.get("source") == "measured":
                rows = [artifact["setting"] | row for row in artifact["rows"] or [{}]]
                names |= {str(row["method"]).lower() for row in rows if row.get("method")}
    return names


@pytest.mark.slow
def test_every_published_method_is_a_preset_or_told_why_not() -> None:
    known = set(paper_presets()) | set(elsewhere())
    assert published_names() <= known
    assert set(elsewhere()) <= published_names()


@pytest.mark.slow
@pytest.mark.parametrize("method", each(METHODS))
def test_every_method_takes_a_step(method: str) -> None:
    begun = {"uniform_epochs": 0} if paper_presets()[method].settings.get("uniform_epochs") else {}
    training = training_of(small_cell(method, epochs=1, **begun))
    training.online.train()
    for step in range(training.steps):
        training.step(step)
    line = training.probes.line()
    assert ("surrogate" in line) != ("train_loss" in line)
    assert ("surrogate" in line) == (training.cell.loss == "gradient")
    assert ("q_b" in line) == (training.cell.tau is not None)
    assert -1 <= line["positive_similarity"] <= 1


CROSSED: list[dict[str, Any]] = [
    {"symmetric": False},
    {"symmetric": True},
    {"target": "stop-gradient"},
    {"negatives": "queue", "K": 8, "queue_start": "random"},
    {"negatives": "batch", "negative_views": "keys", "K": None},
    {"loss": "dcl", "tau": 0.1},
    {"loss": "cosine", "negatives": "none"},
    {"neighbours": "none"},
    {"views": "multi-crop", "local_size": 8},
    {"cutmix": True},
    {"colour": "rgb"},
    {"norm": "bn"},
    {"witness": "bilinear"},
    {"negative_branch": "online"},
]


@pytest.mark.slow
@pytest.mark.parametrize("changes", CROSSED, ids=str)
@pytest.mark.parametrize(
    "methods",
    [covering(), pytest.param(METHODS, marks=pytest.mark.all_presets)],
    ids=["covering", "all"],
)
def test_a_crossing_trains_or_is_refused(changes: dict[str, Any], methods: list[str]) -> None:
    """Whatever passes the record's checks takes a step."""
    refused = 0
    for method in methods:
        if paper_presets()[method].settings.get("drawn") == "ball" and "anneal" in method:
            continue  # as the others
        try:
            cell = small_cell(method, epochs=2, **changes)
        except ValidationError:
            refused += 1
            continue
        training = training_of(cell)
        training.online.train()
        training.step(training.steps - 1)
    assert refused < len(methods)


@pytest.mark.parametrize("method", METHODS)
def test_naming_what_a_preset_says_changes_nothing(method: str) -> None:
    cell = small_cell(method)
    for name in ("loss", "target", "negatives", "neighbours", "drawn"):
        assert small_cell(method, **{name: getattr(cell, name)}).id == cell.id


def test_no_module_knows_a_method_by_name() -> None:
    """A name may stand for a view set, a loss or a protocol as well; those words are left out."""
    from bench.cells.axes import ComparisonAxis, DataAndViews, ObjectiveAxis
    from bench.cells.linear_protocols import LINEAR_PROTOCOLS

    literals = {
        str(value)
        for record in (ComparisonAxis, DataAndViews, ObjectiveAxis)
        for field in record.model_fields.values()
        for value in re.findall(r"'([a-z0-9-]+)'", str(field.annotation))
    }
    others = set(LOSSES) | set(LINEAR_PROTOCOLS) | literals
    names = set(paper_presets()) - others
    assert len(names) > 30
    found = [
        (str(path.relative_to(ROOT)), node.value)
        for path in BENCH.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert found == []


@pytest.mark.slow
def test_the_page_of_methods_is_what_the_presets_say() -> None:
    page = (ROOT / "reports" / "reference" / "methods.md").read_text()
    assert page == methods_page(
        describe_methods(ROOT / "suites", None), elsewhere(), settings_reference()
    )


def test_every_setting_is_described() -> None:
    fields = [item for axis in AXES.values() for item in axis.model_fields.items()]
    assert [name for name, field in fields if not field.description] == []


def test_the_page_takes_methods_of_ones_own(workspace: Workspace) -> None:
    folder = workspace.root / "suites" / "methods"
    folder.mkdir()
    one = "{what: x, like: ring, coordinates: {loss: [dcl, me]}}"
    two = "{what: y, like: unigrad, coordinates: {balance: [3.0, me]}}"
    (folder / "own.yaml").write_text(f"one: {one}\ntwo: {two}\n")
    (folder / "single.yml").write_text("three: {what: z, like: ir, coordinates: {K: [9, me]}}")
    assert workspace.call("methods", "--to", "out").status == 0
    page = (workspace.root / "out" / "methods.md").read_text()
    assert "| one | ring |" in page
    assert "| three | ir |" in page
    what = "Number of negatives in the scalar component of dual temperature."
    row = f"| `K_scalar` | whole number | null | {what} |"
    assert row in page
    assert "(presets.md)" in page
    beside = (workspace.root / "out" / "presets.md").read_text()
    assert "| `K` |  |  | 9 | me |" in beside
    assert " comes from the preset [ring](#ring)." in beside
    answer = workspace.call("methods", "ring", "--to", "out")
    assert (answer.status, answer.err.count("\n")) == (2, 1)


def test_what_one_states_of_a_method_of_ones_own_is_no_papers(workspace: Workspace) -> None:
    folder = workspace.root / "suites" / "methods"
    folder.mkdir()
    (folder / "own.yaml").write_text(
        "mine: {what: x, like: simclr, coordinates: {loss: [dcl, my crossing]}}\n"
    )
    (record,) = workspace.call("methods", "mine", "--json").json
    assert record["coordinates"]["loss"]["stated"] == {}
    (simclr,) = workspace.call("methods", "simclr", "--json").json
    assert record["coordinates"]["tau"] == simclr["coordinates"]["tau"]
    assert workspace.call("methods", "--to", "out").status == 0
    assert "| `loss` |  |  | dcl | my crossing |" in (workspace.root / "out/presets.md").read_text()


MISTAKES = {
    "two of a name": (
        "simclr: {what: x, coordinates: {}}",
        "simclr: a method of this name already exists",
    ),
    "like nothing": (
        "own: {what: x, like: simclrr, coordinates: {}}",
        "own.like: no method 'simclrr' is defined before this one. Did you mean 'simclr'? "
        "Allowed here: simclr, ",
    ),
    "no source": (
        "own: {what: x, like: simclr, coordinates: {tau: [0.1]}}",
        "own.coordinates.tau: found [0.1], expected [value, source]",
    ),
    "no such value": (
        "own: {what: x, like: simclr, coordinates: {loss: [dcll, me]}}",
        "own.coordinates.loss: found 'dcll': loss 'dcll' is unknown. Did you mean 'dcl'?",
    ),
    "a word for a number": (
        "own: {what: x, like: simclr, coordinates: {tau: [small, me]}}",
        "own.coordinates.tau: found 'small': Input should be a valid number",
    ),
    "no coordinate": (
        "own: {what: x, like: simclr, coordinates: {taau: [0.1, me]}}",
        "own.coordinates.taau: unknown key. Did you mean 'tau'?",
    ),
    "no mapping": ("- own", "found"),
}


@pytest.mark.parametrize(("text", "told"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_a_methods_file_is_told(workspace: Workspace, text: str, told: str) -> None:
    folder = workspace.root / "suites" / "methods"
    folder.mkdir()
    (folder / "own.yaml").write_text(text)
    answer = workspace.call("methods")
    assert answer.status == 2
    assert answer.err.startswith("bench: suites/methods/own.yaml: ")
    assert told in answer.err
    assert answer.err.count("\n") == 1
