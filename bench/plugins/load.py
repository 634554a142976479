"""The one place where code of plug-ins is loaded: the function of an objective to be computed."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from bench.errors import CellFailure
from bench.plugins.folders import Plugin


def load_function(function: str, plugin: Plugin) -> Callable[..., Any]:
    """Return the function `module:name` of a plug-in; this imports the module.

    Raises:
        CellFailure: the module has no such function.
    """
    module, _, name = function.partition(":")
    loaded = getattr(import_module(module), name, None)
    if not callable(loaded):
        raise CellFailure(f"plug-in {plugin}: there is no function {function}")
    return loaded  # type: ignore[no-any-return]
