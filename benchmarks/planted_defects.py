"""Whether the covering presets find the defects that all presets find.

Small defects are drawn from the code that trains a method and planted one by one in a copy of the
tree: another sign, another comparison, a term less, off by one, no detach. Then the tests that
execute the changed lines are run there: on the covering presets (`tests.fakes.cells.covering`),
where these find nothing on all others, and where no preset finds it the unit tests of the file's
folder. A first run on the sound tree, with coverage, says which test executes which line.
`python -m benchmarks.planted_defects`
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from coverage import CoverageData

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("bench", "tests", "suites")
MUTATED = ("bench/losses/*.py", "bench/methods/*.py", "bench/train/*.py")
OTHERS = {"detection", "finetune", "preprocessing", "stack", "supervised"}
"""Files of `bench/train` that train something else than a method."""
STEP = "tests/contract/test_methods.py::test_every_method_takes_a_step"
GRADIENTS = "tests/unit/methods/test_method.py::test_gradients_reach_the_online_network_alone"
STOPPED = "tests/unit/train/test_loop.py::test_a_stopped_run_ends_like_another"
EVERY = (STEP, GRADIENTS, STOPPED)
UNIT = tuple(f"tests/unit/{folder}" for folder in ("losses", "methods", "train"))
COVERING, REST = "not all_presets", "all_presets"
STAGES = {
    "covering presets": (COVERING, EVERY),
    "other presets alone": (REST, EVERY),
    "unit tests alone": (COVERING, UNIT),
}
"""What looks for a defect, in this order: the presets to run on, and where the tests lie."""
NOTHING_SELECTED = 5  # exit status of pytest
OTHER_BINARY: dict[type[ast.operator], ast.operator] = {ast.Add: ast.Sub(), ast.Sub: ast.Add()}
OTHER_COMPARISON: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.LtE(), ast.LtE: ast.Lt(), ast.Gt: ast.GtE(), ast.GtE: ast.Gt(),
    ast.Eq: ast.NotEq(), ast.NotEq: ast.Eq(),
}  # fmt: skip


def defects_of(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield what may stand in a node's place, and what kind of defect that is."""
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub() as sign, right):
            yield "another sign", ast.BinOp(left, OTHER_BINARY[type(sign)], right)
            yield "a term less", left
        case ast.UnaryOp(ast.USub(), operand):
            yield "another sign", operand
        case ast.Compare(left, [sign], [right]) if type(sign) in OTHER_COMPARISON:
            yield "another comparison", ast.Compare(left, [OTHER_COMPARISON[type(sign)]], [right])
        case ast.Constant(int(number)) if not isinstance(number, bool):
            yield "off by one", ast.Constant(number + 1)
        case ast.Call(ast.Attribute(tensor, "detach"), [], []):
            yield "no detach", tensor


class Defect(NamedTuple):
    """One defect: the `which`th of what may stand for the `node`th node of a file."""

    path: Path
    node: int
    which: int
    lines: tuple[int, int] | None  # from the first to the last; None if run at import
    told: str


def every_defect(tree: Path) -> Iterator[Defect]:
    """Yield all small defects of the code that trains a method."""
    for path in sorted(path for pattern in MUTATED for path in tree.glob(pattern)):
        if path.stem in OTHERS:
            continue
        module = ast.parse(path.read_text())
        called = {
            node
            for function in ast.walk(module)
            if isinstance(function, ast.FunctionDef)
            for statement in function.body
            for node in ast.walk(statement)
        }
        for i, node in enumerate(ast.walk(module)):
            for k, (kind, other) in enumerate(defects_of(node)):
                first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
                told = f"{path.relative_to(tree)}:{first}: {kind}: "
                told += f"{ast.unparse(node)} -> {ast.unparse(other)}"
                yield Defect(path, i, k, (first, last) if node in called else None, told)


def text_with(defect: Defect) -> str:
    """Return the text of the file with the defect."""
    tree = ast.parse(defect.path.read_text())
    old = list(ast.walk(tree))[defect.node]
    _, new = list(defects_of(old))[defect.which]
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
            elif isinstance(value, list):
                setattr(parent, name, [new if item is old else item for item in value])
    return ast.unparse(ast.fix_missing_locations(tree))


def pytest_in(tree: Path, *words: str, seconds: float | None = None) -> tuple[int, str]:
    """Return the exit status and the output of pytest in a tree; -1 if it ran out of time."""
    command = [sys.executable, "-m", "pytest", "-q", "-n0", *words]
    env = os.environ | {"PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    try:
        ran = subprocess.run(
            command, cwd=tree, env=env, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return -1, ""
    return ran.returncode, ran.stdout


def tests_by_line(tree: Path) -> dict[Path, dict[int, set[str]]]:
    """Return the tests that execute each line of each file of the tree."""
    cover = ("--cov", "--cov-context=test", "--cov-report=", "--cov-fail-under=0")
    words = ("-m", "", *cover, *EVERY, *UNIT)
    status, printed = pytest_in(tree, *words)
    assert status == 0, f"a test fails without a defect: {printed[-2000:]}"
    data = CoverageData(str(tree / ".coverage"))
    data.read()
    found = {}
    for name in data.measured_files():
        by_line = data.contexts_by_lineno(name)
        found[Path(name)] = {
            line: {test.rpartition("|")[0] for test in tests if test}
            for line, tests in by_line.items()
        }
    return found


def found_by(
    tree: Path, defect: Defect, tests_of: Mapping[int, set[str]], seconds: float
) -> tuple[str, str]:
    """Return the first stage that finds a defect, and its test; none if all tests pass.

    Args:
        tree: the tree with the defect.
        defect: the defect.
        tests_of: tests by the lines of the defect's file that they execute.
        seconds: for the tests of one stage.
    """
    tests = sorted(set().union(*tests_of.values()))
    if defect.lines is not None:
        first, last = defect.lines
        tests = sorted(set().union(*(tests_of.get(line, ()) for line in range(first, last + 1))))
    for stage, (which, places) in STAGES.items():
        chosen = [test for test in tests if test.startswith(places)]
        if not chosen:
            continue
        status, printed = pytest_in(tree, "-x", "-m", which, *chosen, seconds=seconds)
        if status not in (0, NOTHING_SELECTED):
            named = re.search(r"^(?:FAILED|ERROR) \S*?(\w+\.py\S*)", printed, re.MULTILINE)
            return stage, named[1] if named else "out of time" if status < 0 else "nothing ran"
    return "none", f"{len(tests)} tests execute it"


def main() -> None:
    """Draw defects, and print which tests find each."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=30)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--seconds", type=float, default=600, help="for the tests of one stage")
    asked = options.parse_args()
    counts = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        shutil.copy(ROOT / "pyproject.toml", tree)
        for name in COPIED:
            shutil.copytree(ROOT / name, tree / name)
        tests_of = tests_by_line(tree)
        for defect in random.Random(asked.seed).sample(list(every_defect(tree)), asked.count):
            whole = defect.path.read_text()
            defect.path.write_text(text_with(defect))
            by, found = found_by(tree, defect, tests_of[defect.path], asked.seconds)
            defect.path.write_text(whole)
            counts[by] += 1
            print(f"{defect.told}\n    {by}: {found}", flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
