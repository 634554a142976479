"""The tests themselves: what they may import from each other, and how they change suites."""

import ast
import copy
import os
import sys
from typing import Any

import pytest

from tests.fakes.paths import ROOT
from tests.fakes.suites import REMOVED, SUITE, changed

FILES = sorted((ROOT / "tests").rglob("*.py"))


def test_tests_import_nothing_of_each_other_but_fakes() -> None:
    wrong = []
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{file}: imports are absolute"
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            wrong += [
                f"{file.relative_to(ROOT)}: {name}"
                for name in names
                if name.split(".")[0] in ("tests", "conftest")
                and not name.startswith("tests.fakes.")
            ]
    assert wrong == []


def test_what_is_imported_is_compiled_once() -> None:
    assert not sys.dont_write_bytecode
    assert "PYTHONDONTWRITEBYTECODE" not in os.environ


def test_a_changed_suite_leaves_the_first_as_it_was() -> None:
    before = copy.deepcopy(SUITE)
    other = changed(SUITE, {"points.1.alpha": 64, "fixed.lr": REMOVED, "sede": 3})
    assert before == SUITE
    assert other["points"] == [{"loss": "infonce"}, {"loss": "eqco", "alpha": 64}]
    assert (set(before["fixed"]) - set(other["fixed"]), other["sede"]) == ({"lr"}, 3)


@pytest.mark.parametrize(
    ("path", "value", "part"),
    [
        ("grids.K", [1], "grids"),
        ("fixed.lrr", REMOVED, "lrr"),
        ("points.2", {}, "2"),
        ("grid.K.2", 4, "2"),
        ("fixed.lr.value", 4, "value"),
        ("points.alpha", 512, "alpha"),
    ],
)
def test_a_change_where_nothing_is_is_refused(path: str, value: Any, part: str) -> None:
    with pytest.raises(KeyError) as error:
        changed(SUITE, {path: value})
    assert error.value.args == (f"{path}: nothing at {part!r}",)
