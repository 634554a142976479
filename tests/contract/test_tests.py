"""The tests themselves: what they may import from each other."""

import ast

from tests.fakes.paths import ROOT

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
