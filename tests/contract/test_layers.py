"""The import graph, as DESIGN draws it: folders in one order, no circle of files, torch apart."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

from tests.fakes.paths import ROOT

FILES = sorted((ROOT / "bench").rglob("*.py"))

# Folders and files of `bench`, each with what it may import beside itself and `GROUND`; it may name
# what stands above it here and nothing else, so that this list is an order of the whole house.
GROUND = ("__init__", "text", "errors", "record", "files", "cells")
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "__init__": (),
    "text": (),
    "errors": (),
    "record": (),
    "files": (),
    "cells": (),
    "environment": (),
    "signals": (),
    "loss_files": (),
    "metric_files": ("loss_files",),
    "papers": (),
    "suites": ("papers", "loss_files", "metric_files"),
    "losses": (),
    "data": ("environment",),
    "experimental": ("environment", "signals"),
    "networks": ("experimental",),
    "evaluate": ("losses", "data", "networks"),
    "methods": ("losses", "data", "experimental", "networks", "loss_files", "metric_files"),
    "results": ("environment", "signals"),
    "train": (
        "environment", "signals", "losses", "data", "experimental", "networks", "evaluate",
        "methods", "results",
    ),
    "experiments": (
        "environment", "signals", "losses", "data", "experimental", "networks", "evaluate",
        "methods", "results", "train", "loss_files",
    ),
    "estimate": ("results",),
    "launch": (
        "environment", "signals", "experimental", "results", "experiments", "estimate",
        "loss_files",
    ),
    "analysis": ("papers", "suites", "results"),
    "figures": ("papers", "suites", "results", "analysis"),
    "report": ("environment", "papers", "suites", "results", "analysis", "figures"),
    "cli": (
        "environment", "signals", "papers", "suites", "data", "results", "experiments",
        "estimate", "launch", "analysis", "report", "loss_files", "metric_files",
    ),
    "plot": ("analysis", "figures"),
    "api": (
        "papers", "suites", "results", "experiments", "launch", "analysis", "cli",
    ),
    "__main__": ("cli",),
}  # fmt: skip
TORCH = {
    "losses", "networks", "data", "methods", "evaluate", "train", "experiments", "launch",
    "experimental",
}  # fmt: skip


def layer_of(file: Path) -> str:
    return file.relative_to(ROOT / "bench").parts[0].removesuffix(".py")


def name_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(file): file for file in FILES}


def imported_by(file: Path) -> set[str]:
    """Return every module named in an import, in functions and under TYPE_CHECKING too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            below = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (below & MODULES.keys()) or {node.module}
    return found


def test_the_list_is_an_order_and_complete() -> None:
    names = list(MAY_IMPORT)
    for i, (layer, below) in enumerate(MAY_IMPORT.items()):
        assert set(below) <= set(names[:i]) - set(GROUND), layer
    assert set(names) == {layer_of(file) for file in FILES}


def allowed_in(layer: str) -> set[str]:
    below = GROUND[: GROUND.index(layer)] if layer in GROUND else (*GROUND, *MAY_IMPORT[layer])
    return {*below, layer}


def test_imports_point_down() -> None:
    wrong = {
        f"{name} -> {module}"
        for name, file in MODULES.items()
        for module in imported_by(file)
        if module.startswith("bench.") and module.split(".")[1] not in allowed_in(layer_of(file))
    }
    assert wrong == set()


def test_only_what_computes_imports_torch() -> None:
    users = {
        layer_of(file)
        for file in FILES
        if any(module.split(".")[0] == "torch" for module in imported_by(file))
    }
    assert users <= TORCH


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = {name: imported_by(file) & MODULES.keys() for name, file in MODULES.items()}
    order = TopologicalSorter(graph)
    order.prepare()  # raises CycleError, which names the circle
    assert order.is_active()
