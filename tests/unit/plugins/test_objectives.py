"""Objectives of installed packages: their numbers are settings, and existing ids stay."""

import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from bench.cells.losses import loss_named
from bench.cells.pretrain import Pretrain
from bench.cells.tsne import TSNE
from bench.errors import SuiteError
from bench.suites.presets import load_presets
from bench.suites.sources import Coordinate
from tests.fakes.cells import small_cell
from tests.fakes.plugin import MARKER, OBJECTIVES, install_plugin

BEFORE = small_cell("simclr").id
"""The id of a cell while no plug-in is looked at."""


@pytest.fixture
def hinge(plugins: Path) -> Path:
    """Return where the plug-in `hinge_losses` is installed."""
    install_plugin(plugins)
    return plugins


def test_a_number_is_a_setting_and_enters_the_id(hinge: Path) -> None:
    cell = small_cell("simclr", loss="hinge", slack=0.1)
    assert (cell.settings["slack"], cell.settings["power"]) == (0.1, 1.0)
    assert {"slack", "power"} <= set(Pretrain.setting_names())
    others = [small_cell("simclr", loss="hinge", slack=s, power=p) for s, p in [(1, 1), (0.1, 2)]]
    assert (
        len({c.id for c in (cell, *others)}) == len({c.training_id for c in (cell, *others)}) == 3
    )
    assert Pretrain.model_validate(cell.model_dump()).id == cell.id
    assert Pretrain.model_validate_json(cell.model_dump_json()) == cell
    assert not (hinge / MARKER).exists()
    assert "hinge_losses" not in sys.modules


def test_a_default_enters_no_id(hinge: Path) -> None:
    left_out, given = (
        small_cell("simclr", loss="hinge", slack=0.1, **p) for p in ({}, {"power": 1})
    )
    assert left_out.id == given.id
    assert "power" not in left_out.science
    assert left_out.science["slack"] == 0.1  # has no default


def test_cells_of_other_objectives_are_as_before(hinge: Path) -> None:
    cell = small_cell("simclr", slack=None)
    assert cell.id == BEFORE
    assert cell.model_extra == {}
    assert set(cell.model_dump()) == set(Pretrain.model_fields)


def test_the_cell_of_a_map_has_the_numbers_of_its_training(hinge: Path) -> None:
    cell = small_cell("simclr", loss="hinge", slack=0.1)
    fields = cell.model_dump() | {"experiment": "tsne", "version": 1, "images": 200}
    assert TSNE.model_validate(fields).training_id == cell.training_id


def test_a_preset_of_a_plugin_fills_in_its_numbers(hinge: Path) -> None:
    preset = load_presets(hinge)["moco-hinge"]
    assert preset.coordinates["slack"] == Coordinate(0.2, "me", {})  # no paper states it
    assert preset.coordinates["loss"].value == "hinge"


REFUSED = {
    "slack is needed with loss 'hinge' of hinge-losses 0.1": {"loss": "hinge"},
    "slack: found 0, expected a number above 0 with loss 'hinge' of hinge-losses 0.1": {
        "loss": "hinge", "slack": 0,
    },
    "slack: found 2.5, expected a number at most 2 with loss 'hinge' of hinge-losses 0.1": {
        "loss": "hinge", "slack": 2.5,
    },
    "power: found 'two', expected a number with loss 'hinge' of hinge-losses 0.1": {
        "loss": "hinge", "slack": 1, "power": "two",
    },
    "slack has no meaning with loss 'infonce'": {"slack": 0.1},
    "alpha is needed with loss 'eqco', allowed with 'dual-temperature' and has no meaning with "
    "others; alpha is given with loss 'hinge'": {"loss": "hinge", "slack": 1, "alpha": 16.0},
}  # fmt: skip


@pytest.mark.parametrize(("message", "changes"), REFUSED.items())
def test_a_number_that_does_not_fit_is_refused(
    hinge: Path, message: str, changes: dict[str, object]
) -> None:
    with pytest.raises(ValidationError) as refused:
        small_cell("simclr", **changes)
    assert refused.value.errors()[0]["msg"] == f"Value error, {message}"


def test_an_unknown_key_is_refused_as_before(hinge: Path) -> None:
    fields = small_cell("simclr").model_dump() | {"slak": 1}
    with pytest.raises(ValidationError) as refused:
        Pretrain.model_validate(fields)
    (fault,) = refused.value.errors(include_url=False)
    assert (fault["type"], fault["loc"], fault["input"]) == ("extra_forbidden", ("slak",), 1)


def test_a_setting_that_other_objectives_have_belongs_to_it_too(plugins: Path) -> None:
    install_plugin(plugins, objectives=OBJECTIVES + "  needs: [tau, alpha]\n")
    assert loss_named("hinge").sees == ("margin",)
    assert small_cell("simclr", loss="hinge", slack=1, alpha=16.0).alpha == 16
    with pytest.raises(ValidationError, match="alpha is missing with loss 'hinge'"):
        small_cell("simclr", loss="hinge", slack=1)


MISTAKES = {
    "taken": (
        OBJECTIVES.replace("hinge:", "dcl:", 1),
        "{place}: dcl: bench has an objective of that name already",
    ),
    "elsewhere": (
        OBJECTIVES.replace("hinge_losses.losses:hinge", "os:system"),
        "{place}: hinge.function: found 'os:system', expected a function of the package "
        "'hinge_losses', which brings this file",
    ),
    "setting": (
        OBJECTIVES + "  needs: [taau]\n",
        "{place}: hinge.needs: no objective has 'taau'. Did you mean 'tau'?",
    ),
    "default": (
        OBJECTIVES.replace("default: 1.0", "default: 0.5"),
        "{place}: hinge.numbers.power: default 0.5 is not a number at least 1.",
    ),
    "key": (OBJECTIVES + "  need: [tau]\n", "{place}: hinge.need: unknown key."),
}  # fmt: skip


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_mistake_in_a_declaration_is_one_line(plugins: Path, kind: str) -> None:
    text, message = MISTAKES[kind]
    package = install_plugin(plugins, objectives=text)
    with pytest.raises(SuiteError) as refused:
        loss_named("none")
    place = f"plug-in hinge-losses 0.1: {package / 'objectives' / 'hinge.yaml'}"
    assert str(refused.value).startswith(message.format(place=place))


def test_two_plugins_with_an_objective_of_one_name(plugins: Path) -> None:
    package = install_plugin(plugins)
    install_plugin(plugins, name="other")
    with pytest.raises(SuiteError) as refused:
        loss_named("none")
    assert str(refused.value) == (
        f"plug-in other 0.1: {package / 'objectives' / 'hinge.yaml'}: hinge: hinge-losses 0.1 has "
        "an objective of that name too; uninstall one of them"
    )


@pytest.mark.parametrize("value", ["hinge_losses.nothing", "nowhere.objectives", ".", "a:b"])
def test_an_entry_point_that_names_no_folder(plugins: Path, value: str) -> None:
    install_plugin(plugins, groups={"bench.objectives": f"hinge = {value}"})
    with pytest.raises(SuiteError) as refused:
        loss_named("none")
    assert str(refused.value) == (
        "plug-in hinge-losses 0.1: entry point bench.objectives, hinge: found "
        f"'{value}', expected the dotted name of a folder in an installed package"
    )
