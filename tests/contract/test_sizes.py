"""Files and functions stay small; those that are too large are listed, the lists only shrink."""

import ast

from tests.fakes.paths import ROOT

BENCH = ROOT / "bench"
MOST_LINES = 600  # of a file
MOST_CODE_LINES = 40  # of a function, without its docstring, comments and empty lines
LARGE_FILES: set[str] = set()
LONG_FUNCTIONS: set[str] = set()


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> int:
    """Count the lines of a function that hold code; a line of a wrapped expression counts."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    if not body:
        return 0
    text = lines[body[0].lineno - 1 : function.end_lineno]
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in text)


def test_files_are_at_most_600_lines() -> None:
    large = {
        str(path.relative_to(BENCH))
        for path in BENCH.rglob("*.py")
        if len(path.read_text().splitlines()) > MOST_LINES
    }
    assert large == LARGE_FILES


def test_functions_are_at_most_40_lines_of_code() -> None:
    long = set()
    for path in BENCH.rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                count = code_lines(node, text.splitlines())
                if count > MOST_CODE_LINES:
                    long.add(f"{path.relative_to(BENCH)}: {node.name} ({count})")
    assert long == LONG_FUNCTIONS
