"""In what a scale deviates from the paper: every setting, those first that may matter most."""

from functools import cache

import pytest

from bench.analysis.deviations import deviations, deviations_of_scale
from bench.cells.baseline import without_baselines
from bench.cells.cell import Cell
from bench.cells.pretrain import Pretrain
from bench.papers.reader import NO_PAPER, load_paper
from bench.suites.expand import expand
from bench.suites.load import load_suite
from bench.text import value_text
from tests.fakes.paths import SUITES
from tests.fakes.suites import DIGITS, changed
from tests.fakes.workspace import Workspace

SUITE = "eqco-figure-2"
SETTINGS = Pretrain.setting_names()
OTHER = 77


@cache
def cells(scale: str, name: str = SUITE) -> list[Cell]:
    path = SUITES / f"{name}.yaml"
    return without_baselines(expand(load_suite(path), scale, path))


def texts(found: list[Cell]) -> list[str]:
    suite = load_suite(SUITES / f"{SUITE}.yaml")
    return deviations_of_scale(suite, found, cells("paper"), load_paper("eqco"))


@pytest.mark.filterwarnings("ignore:Pydantic")  # a changed value may be of another type
@pytest.mark.parametrize("name", SETTINGS)
def test_any_one_setting_that_is_changed_is_named(name: str) -> None:
    cell = cells("paper")[0]
    (told,) = deviations([cell.model_copy(update={name: OTHER})], cells("paper"))
    own = value_text(getattr(cell, name))  # K is an axis: any of its values is as near
    assert told.text.startswith(f"{name} = {OTHER} instead of {own}")


def test_settings_of_presets_are_named_those_first_that_may_matter_most() -> None:
    found = texts(cells("cifar"))
    names = [text.split()[0] for text in found]
    assert names[:3] == ["dataset", "epochs", "arch"]
    assert "momentum = 0.99 instead of 0.999 (for moco-v2)" in found  # MoCo v2's, not the paper's
    assert names.index("alpha") < names.index("lr") < names.index("momentum")
    assert names.index("momentum") < names.index("few_shot")
    assert not {"K", "N", "seed"} & set(names)


def test_the_scale_of_the_paper_does_not_deviate() -> None:
    assert deviations(cells("paper"), cells("paper")) == []
    assert deviations(cells("cifar"), []) == []


def test_along_an_axis_every_value_of_the_paper_is_told() -> None:
    two = [c for c in cells("paper") if c.settings["K"] in (16, 64) and c.settings["alpha"] is None]
    between = [c.model_copy(update={"K": K}) for c in two[:1] for K in (24, 32)]
    (found,) = deviations(between, two[:2])
    assert found.text == "K = 24, 32 instead of 16 or 64"


def test_a_page_and_plan_name_any_setting_that_a_scale_changes(workspace: Workspace) -> None:
    scales = {
        "paper": {"what": "the paper's", "protocol": "reduced", "fixed": {}},
        "tiny": {"what": "tau changed", "protocol": "reduced", "fixed": {"tau": 0.77}},
    }
    workspace.suite(changed(DIGITS, {"scales": scales, "scale": "tiny"}), "digits")
    told = "tau = 0.77 instead of "
    assert told in workspace.call("plan", "digits").out
    assert [t for t in workspace.call("plan", "digits", "--json").json["deviations"] if told in t]
    assert workspace.call("run", "digits", "--executor", "inline").status == 0
    assert workspace.call("report", "digits").status == 0
    page = (workspace.root / "reports" / "digits" / "tiny" / "index.md").read_text()
    assert f"- {told}" in page.split("## Deviations from the paper")[1]


def test_a_suite_of_no_paper_has_none() -> None:
    suite = load_suite(SUITES / f"{SUITE}.yaml")
    none = suite.model_copy(update={"reproduces": [], "compare": []})
    assert deviations_of_scale(none, cells("cifar"), [], NO_PAPER) == []
