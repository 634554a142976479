"""Arguments that Python gives where a command line has text."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bench.cli.selection import Chosen
from bench.errors import BenchError
from bench.suites.suite import Scalar

Settings = Mapping[str, Scalar | Sequence[Scalar]]
_ONE = (str, int, float, type(None), np.generic)


def text_of(argument: str, given: Any, what: str) -> str:
    """Return a text or path as text.

    Args:
        argument: its name, for messages.
        given: what it was given.
        what: what is expected, in words.

    Raises:
        BenchError: it is neither.
    """
    if not isinstance(given, str | os.PathLike):
        raise BenchError(f"{argument} {given!r}: expected {what}")
    return str(os.fspath(given))


def values_of(argument: str, settings: Settings | None) -> Chosen:
    """Return the values of each setting.

    Args:
        argument: its name, for messages.
        settings: a value, or several, of each.

    Raises:
        BenchError: they are no mapping, or a value is of no setting's kind.
    """
    if settings is None:
        return {}
    if not isinstance(settings, Mapping) or not all(isinstance(name, str) for name in settings):
        raise BenchError(
            f"{argument} {settings!r}: expected a mapping of settings, such as {{'K': [64, 128]}}"
        )
    return {name: _listed(f"{argument} {name}", value) for name, value in settings.items()}


def _listed(place: str, value: Any) -> list[Scalar]:
    several = isinstance(value, Iterable) and not isinstance(value, (*_ONE, Mapping))
    values = list(value) if several else [value]
    if not all(isinstance(one, _ONE) for one in values):
        raise BenchError(f"{place}: found {value!r}, expected a value or a list of values")
    return [_plain(one) for one in values]


def whole_numbers(argument: str, numbers: Iterable[int] | None) -> list[int] | None:
    """Return the numbers of an argument; None where it is not given.

    Args:
        argument: its name, for messages.
        numbers: from 0 on.

    Raises:
        BenchError: they are no whole numbers, or none at all.
    """
    if numbers is None:
        return None
    listed = [_plain(n) for n in numbers] if isinstance(numbers, Iterable) else numbers
    whole = isinstance(listed, list) and all(type(n) is int and n >= 0 for n in listed)
    if not (listed and whole):
        raise BenchError(f"{argument} {listed}: expected whole numbers, such as [0, 1, 2]")
    return listed


def _plain(value: Any) -> Any:  # a number of numpy as one of Python
    return value.item() if isinstance(value, np.generic) else value
