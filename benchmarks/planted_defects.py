"""Whether the covering presets find the defects that all presets find.

Small defects are drawn from the code that trains a method and planted one by one in a copy of the
tree: another sign, another comparison, a term less, off by one, no detach. Then the tests that
concern the file are run there: on the covering presets (`tests.fakes.cells.covering`), where these
find nothing on all others, and where no preset finds it the unit tests of the file's folder.
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
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("bench", "tests", "suites")
MUTATED = ("bench/losses/*.py", "bench/methods/*.py", "bench/train/*.py")
OTHERS = {"detection", "finetune", "preprocessing", "stack", "supervised"}
"""Files of `bench/train` that train something else than a method."""
STEP = "tests/contract/test_methods.py::test_every_method_takes_a_step"
GRADIENTS = "tests/unit/methods/test_method.py::test_gradients_reach_the_online_network_alone"
STOPPED = "tests/unit/train/test_loop.py::test_a_stopped_run_ends_like_another"
EVERY = (STEP, GRADIENTS, STOPPED)
TESTS = {
    "losses": (STEP, GRADIENTS),  # a loss keeps nothing that a stopped run could lose
    "methods": EVERY,
    "train": EVERY,
}
"""Tests of each preset, by the folder of `bench` whose defects they can find."""
COVERING, REST = "not all_presets", "all_presets"
STAGES = {
    "covering presets": lambda folder: (COVERING, TESTS[folder]),
    "other presets alone": lambda folder: (REST, TESTS[folder]),
    "unit tests alone": lambda folder: (COVERING, (f"tests/unit/{folder}",)),
}
"""What looks for a defect of a folder, in this order: the presets to run on, and the tests."""
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
    told: str


def every_defect(tree: Path) -> Iterator[Defect]:
    """Yield all small defects of the code that trains a method."""
    for path in sorted(path for pattern in MUTATED for path in tree.glob(pattern)):
        if path.stem in OTHERS:
            continue
        for i, node in enumerate(ast.walk(ast.parse(path.read_text()))):
            for k, (kind, other) in enumerate(defects_of(node)):
                place = f"{path.relative_to(tree)}:{getattr(node, 'lineno', 0)}"
                told = f"{place}: {kind}: {ast.unparse(node)} -> {ast.unparse(other)}"
                yield Defect(path, i, k, told)


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


def finder(tree: Path, tests: tuple[str, ...], which: str, seconds: float) -> str | None:
    """Return the first of these tests that fails; None if all pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n0", "-m", which, *tests]
    env = os.environ | {"PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    try:
        ran = subprocess.run(
            command, cwd=tree, env=env, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return "out of time"
    found = re.search(r"^(?:FAILED|ERROR) \S*?(\w+\.py\S*)", ran.stdout, re.MULTILINE)
    return found[1] if found else None if ran.returncode == 0 else "nothing ran"


def found_by(tree: Path, folder: str, seconds: float) -> tuple[str, str | None]:
    """Return the first stage that finds a defect of the folder, and its test; none if all pass."""
    for name, stage in STAGES.items():
        which, tests = stage(folder)
        found = finder(tree, tests, which, seconds)
        if found is not None:
            return name, found
    return "none", None


def main() -> None:
    """Draw defects, and print which tests find each."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=30)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--seconds", type=float, default=600, help="for the tests of one defect")
    asked = options.parse_args()
    counts = dict.fromkeys((*STAGES, "none"), 0)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        shutil.copy(ROOT / "pyproject.toml", tree)
        for name in COPIED:
            shutil.copytree(ROOT / name, tree / name)
        found = finder(tree, EVERY, COVERING, asked.seconds)
        assert found is None, f"{found} fails without a defect"
        drawn = random.Random(asked.seed).sample(list(every_defect(tree)), asked.count)
        for defect in drawn:
            whole = defect.path.read_text()
            defect.path.write_text(text_with(defect))
            by, found = found_by(tree, defect.path.parent.name, asked.seconds)
            counts[by] += 1
            print(f"{defect.told}\n    found by {by}: {found}", flush=True)
            defect.path.write_text(whole)
    print(counts)


if __name__ == "__main__":
    main()
