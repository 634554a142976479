"""Docstrings name the errors that a public function raises itself."""

import ast
from collections.abc import Iterator

import pytest

from tests.fakes.paths import ROOT

BENCH = ROOT / "bench"
Function = ast.FunctionDef | ast.AsyncFunctionDef


def public_functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Yield public functions, and public methods of public classes, by their name in the module."""
    for node in tree.body:
        if isinstance(node, Function) and not node.name.startswith("_"):
            yield node.name, node
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for method in node.body:
                if isinstance(method, Function) and not method.name.startswith("_"):
                    yield f"{node.name}.{method.name}", method


def raises(function: Function) -> bool:
    """Whether it raises an error of its own: not one that it passes on, nor an exit of a verb."""
    nodes: list[ast.AST] = list(function.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Raise) and node.exc is not None:
            text = ast.unparse(node.exc)
            if not text.startswith("typer.Exit"):
                return True
        if not isinstance(node, Function | ast.Lambda):
            nodes += ast.iter_child_nodes(node)
    return False


def is_verb(function: Function) -> bool:
    """Whether its docstring is the help text of a verb, whose options say what they mean."""
    first = function.args.args[:1]
    return bool(first) and ast.unparse(first[0].annotation or first[0]) == "typer.Context"


def is_validator(function: Function) -> bool:
    """Whether pydantic calls it, which turns its errors into one of its own."""
    return any("validator" in ast.unparse(decorator) for decorator in function.decorator_list)


def lacking(name: str, function: Function) -> Iterator[str]:
    """Yield what a docstring lacks."""
    if is_verb(function) or is_validator(function):
        return
    text = ast.get_docstring(function) or ""
    if raises(function) and "Raises:\n" not in text and not text.startswith("Raise "):
        yield f"{name}: Raises"


def incomplete() -> set[str]:
    return {
        f"{path.relative_to(BENCH)}: {what}"
        for path in BENCH.rglob("*.py")
        for name, function in public_functions(ast.parse(path.read_text()))
        for what in lacking(name, function)
    }


def test_public_functions_name_the_errors_they_raise() -> None:
    assert incomplete() == set(), "a docstring lacks this section"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(a):\n    'One.'\n    raise ValueError(a)", ["f: Raises"]),
        ("def f(a):\n    '''One.\n\n    Raises:\n        ValueError: a.\n    '''\n    raise a", []),
        ("def f(a):\n    'Raise ValueError if it is wrong.'\n    raise ValueError(a)", []),
        ("def f(a):\n    'One.'\n    try: g()\n    except E:\n        raise", []),
        ("def f(context: typer.Context, b, c): 'A verb.'", []),
    ],
)
def test_the_rule(source: str, expected: list[str]) -> None:
    tree = ast.parse(source)
    assert [w for name, f in public_functions(tree) for w in lacking(name, f)] == expected
