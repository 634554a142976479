"""The import graph, as DESIGN draws it: a new arrow needs a new word here, seen in review."""

import ast
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"

# What a layer may import beside itself, config and errors.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "signals": set(),
    "config": set(),
    "published": set(),
    "store": set(),
    "losses": set(),
    "ranks": set(),
    "networks": {"ranks"},
    "data": set(),
    "evaluate": {"data", "networks", "losses"},
    "methods": {"losses", "networks", "data", "ranks"},
    "train": {"methods", "evaluate", "losses", "networks", "data", "store", "ranks"},
    "experiments": {
        "train",
        "evaluate",
        "methods",
        "losses",
        "networks",
        "data",
        "store",
        "ranks",
    },
    "launch": {"experiments", "train", "data", "store", "ranks"},
    "analysis": {"store", "published"},
    "figures": {"analysis", "published"},
    "report": {"figures", "analysis", "published", "store"},
    "select": {"report", "analysis", "published", "store"},
    "doctor": {"select", "launch", "report", "published", "store"},
    "planning": {"select", "launch", "store"},
    "show_run": {"launch", "report", "store"},
    "running": {"planning", "show_run", "select", "launch", "data", "store"},
    "verifying": {"running", "select", "launch", "analysis", "store"},
    "verbs": {"select", "report", "analysis", "published", "data", "store", "experiments"},
    "show": {"report"},
    "cli_options": set(),
    "cli_exchange": {"cli_options", "verbs", "show", "select"},
    "cli_run": {"cli_options", "planning", "running", "show_run", "select", "verifying"},
    "cli": {"cli_exchange", "cli_options", "cli_run", "verbs", "show", "select", "doctor"},
    "__main__": {"cli"},
    "__init__": set(),
}
FILES = sorted(BENCH.rglob("*.py"))
TORCH = {
    "losses", "networks", "data", "methods", "evaluate", "train", "experiments", "launch", "ranks",
}  # fmt: skip


def layer_of(file: Path) -> str:
    return file.relative_to(BENCH).parts[0].removesuffix(".py")


def modules_imported_by(file: Path) -> set[str]:
    tree = ast.parse(file.read_text())
    found = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    return found | {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module}


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(BENCH)))
def test_imports_point_down(file: Path) -> None:
    layer = layer_of(file)
    allowed = MAY_IMPORT[layer] | {layer, "config", "errors", "signals"}
    imported = {
        module.split(".")[1] for module in modules_imported_by(file) if module.startswith("bench.")
    }
    assert imported <= allowed


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(BENCH)))
def test_only_launch_and_what_is_right_of_it_import_torch(file: Path) -> None:
    modules = {module.split(".")[0] for module in modules_imported_by(file)}
    assert "torch" not in modules or layer_of(file) in TORCH


def test_the_graph_has_no_circle() -> None:
    left = dict(MAY_IMPORT)
    while left:
        ready = {layer for layer, below in left.items() if not below & set(left)}
        assert ready, f"a circle among {sorted(left)}"
        left = {layer: below for layer, below in left.items() if layer not in ready}
