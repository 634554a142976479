"""A suite that begins with another file, and single entries without their list."""

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from bench.errors import SuiteError
from bench.files.yaml_file import load_yaml, yaml_files
from bench.suites.expand import resolve
from bench.suites.load import PARTS, load_suite, suite_paths
from bench.suites.reference import suite_schema
from tests.fakes.paths import SUITES
from tests.fakes.suites import SUITE, changed, to_yaml
from tests.fakes.workspace import Workspace

CLAIM = "toy-mi-steady"


def write(workspace: Workspace, own: dict[str, Any], base: Any = None, place: str = ".") -> Path:
    """Write the suite `mine`, and the file `small` that it may be like."""
    home = workspace.root / "suites"
    (home / PARTS).mkdir(exist_ok=True, parents=True)
    (home / "small.yaml").unlink(missing_ok=True)
    (home / place / "small.yaml").write_text(to_yaml(base or SUITE | {"notes": "a note"}))
    (home / "mine.yaml").write_text(to_yaml(own))
    return home / "mine.yaml"


@pytest.mark.parametrize("place", [".", PARTS])
def test_own_keys_win_key_by_key(workspace: Workspace, place: str) -> None:
    own = {
        "like": "small",
        "title": "mine",
        "scales": {"tiny": {"what": "less"}, "tiniest": {"like": "digits-smoke"}},
        "fixed": {"lr": 1.0},
        "grid": {"K": [4]},
    }
    suite, small = load_suite(write(workspace, own, place=place)), SUITE
    assert (suite.name, suite.title, suite.paper) == ("mine", "mine", "eqco")
    assert list(suite.scales) == ["tiny", "tiniest", "long"]
    assert (suite.scales["tiny"].what, suite.scales["tiny"].protocol) == ("less", "reduced")
    assert suite.fixed == small["fixed"] | {"lr": 1.0}
    assert suite.grid == {"mi_true": [2, 10], "K": [4]}


def test_keys_keep_the_order_of_the_file_that_adds_them(workspace: Workspace) -> None:
    scales = {"quick": {"like": "digits-smoke"}, "long": {"seeds": [1]}}
    suite = load_suite(write(workspace, {"like": "small", "scales": scales}))
    assert list(suite.scales) == ["quick", "tiny", "long"]


OWN: dict[str, Any] = {
    "title": "mine",
    "experiment": "pretrain",
    "scale": "cpu",
    "scales": {"cpu": {"like": "digits"}},
    "seeds": [0, 1, 2],
    "fixed": {"method": "simclr", "epochs": 7, "tau": 0.1, "optimizer": "sgd"},
    "grid": {"loss": ["infonce", "dcl"]},
}
DROPPED = (
    "fixed.epochs: 7 has no effect: scale 'cpu' takes 20 from its shared scale. "
    "Set scales.cpu.fixed.epochs, or leave fixed.epochs out"
)


@pytest.mark.parametrize(
    ("own", "text"),
    [
        (OWN, DROPPED),
        (changed(OWN, {"scales.more": {"like": "digits", "seeds": [7]}}), DROPPED),
        (
            changed(OWN, {"fixed.epochs": 20, "seeds": [0, 1, 2, 3, 4, 5, 6]}),
            "seeds: 0, 1, 2, 3, 4, 5, 6 has no effect: scale 'cpu' takes 0, 1, 2 from its shared "
            "scale. Set scales.cpu.seeds, or leave seeds out",
        ),
    ],
)
def test_what_every_scale_would_replace_is_an_error(
    workspace: Workspace, own: dict[str, Any], text: str
) -> None:
    path = write(workspace, own)
    with pytest.raises(SuiteError, match=f"^{re.escape(f'{path}: {text}')}$"):
        load_suite(path)


@pytest.mark.parametrize(
    ("change", "epochs"),
    [
        ({"scales.cpu.fixed": {"epochs": 60}}, {"cpu": {60}}),
        ({"fixed.epochs": 20}, {"cpu": {20}}),
        ({"scales.gpu": {"what": "hours", "protocol": "reduced"}}, {"cpu": {20}, "gpu": {7}}),
        ({"scales.cpu.grid": {"epochs": [5, 10]}}, {"cpu": {5, 10}}),
    ],
)
def test_what_a_scale_takes_or_says_itself_has_an_effect(
    workspace: Workspace, change: dict[str, Any], epochs: dict[str, set[int]]
) -> None:
    path = write(workspace, changed(OWN, change))
    suite = load_suite(path)
    assert epochs == {
        scale: {p["epochs"] for grid in resolve(suite, scale, path) for p in grid.points()}
        for scale in suite.scales
    }


def test_notes_are_added_and_other_lists_replaced(workspace: Workspace) -> None:
    suite = load_suite(write(workspace, {"like": "small", "seeds": [7], "notes": ["mine"]}))
    assert (suite.notes, suite.seeds) == (["a note", "mine"], [7])


def test_a_part_is_no_suite_and_may_be_like_another_part(workspace: Workspace) -> None:
    path = write(workspace, {"like": "more", "title": "mine"}, place=PARTS)
    (path.parent / PARTS / "more.yaml").write_text("like: small\nseeds: [9]\n")
    assert list(suite_paths(path.parent)) == ["mine"]
    suite = load_suite(path)
    assert (suite.seeds, suite.experiment) == ([9], "gaussian-mi")


@pytest.mark.parametrize(
    ("own", "base", "expected"),
    [
        ("smal", SUITE, "mine.yaml: like: there is no suite or part 'smal'. Did you mean 'small'?"),
        (["small"], SUITE, "mine.yaml: like: there is no suite or part '['small']'."),
        (
            "small",
            SUITE | {"like": "mine"},
            "mine.yaml: like: the suites refer to each other in a circle: "
            "mine is like small is like mine",
        ),
        ("small", SUITE | {"seeds": "none"}, "mine.yaml: seeds: found 'none', expected a list."),
    ],
)
def test_a_mistake_is_one_line(
    workspace: Workspace, own: Any, base: dict[str, Any], expected: str
) -> None:
    with pytest.raises(SuiteError) as error:
        load_suite(write(workspace, {"like": own}, base))
    assert expected in str(error.value)
    assert "\n" not in str(error.value)


def test_a_single_entry_needs_no_list(workspace: Workspace) -> None:
    table = {"title": "a bound", "metric": "mi_lower_bound", "rows": ["K"]}
    lists = SUITE | {"notes": ["a note"], "tables": [table]}
    names = ("compare", "tables", "figures", "notes")
    lists |= {name: lists[name][:1] for name in names}
    lists |= {"claims": {CLAIM: SUITE["claims"][CLAIM][:1]}}
    singles = lists | {name: lists[name][0] for name in names}
    singles |= {"claims": {CLAIM: SUITE["claims"][CLAIM][0]}}
    many, one = (load_suite(workspace.suite(data)) for data in (lists, singles))
    assert one == many
    check = jsonschema.Draft202012Validator(suite_schema())
    check.validate(singles)
    assert not check.is_valid(singles | {"figures": {"name": "nameless"}})


def test_the_schema_asks_a_suite_for_what_it_is_not_like() -> None:
    check = jsonschema.Draft202012Validator(suite_schema())
    check.validate({"like": "small", "scales": {"tiny": {"seeds": [1]}}})
    assert not check.is_valid(changed(SUITE, {"scales": {"tiny": {"seeds": [1]}}}))
    assert not check.is_valid({"like": "small", "sede": [1]})


def test_every_shipped_part_is_used_by_two_files() -> None:
    parts = yaml_files(SUITES / PARTS)
    files = [load_yaml(path, SuiteError) for path in [*parts, *suite_paths(SUITES).values()]]
    likes = [file.get("like") for file in files]
    assert {part.stem for part in parts if likes.count(part.stem) < 2} == set()
