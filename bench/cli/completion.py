"""What a shell may complete: the names of suites, scales and methods."""

from collections.abc import Iterator
from pathlib import Path

import typer

from bench.errors import BenchError


def suite_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of suites that begin like this."""
    return [name for name in _paths(context) if name.startswith(incomplete)]


def scale_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the scales that the suites named before have, or any suite."""
    from bench.suites.load import load_suite

    paths, named = _paths(context), context.params.get("suite") or list(_paths(context))
    wanted = [named] if isinstance(named, str) else named
    names: dict[str, None] = {}
    for name in (name for name in wanted if name in paths):
        try:
            names |= dict.fromkeys(load_suite(paths[name]).scales)
        except BenchError:
            continue
    return [name for name in names if name.startswith(incomplete)]


def method_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of methods that begin like this."""
    from bench.suites.presets import load_presets

    try:
        return [name for name in load_presets(_folder(context)) if name.startswith(incomplete)]
    except BenchError:
        return []


def paper_names(incomplete: str) -> Iterator[str]:
    """Yield the papers that begin like this."""
    from bench.papers.reader import PAPERS

    return (name for name in PAPERS if name.startswith(incomplete))


def verdict_names(incomplete: str) -> list[str]:
    """Return the verdicts on claims that begin like this."""
    from bench.analysis.judged import ClaimVerdict

    return [str(name) for name in ClaimVerdict if name.startswith(incomplete)]


def _folder(context: typer.Context) -> Path:
    from bench.suites.shipped import default_suites

    return Path(context.find_root().params.get("suites") or default_suites())


def _paths(context: typer.Context) -> dict[str, Path]:
    from bench.suites.load import known_suites

    try:
        return known_suites(_folder(context))
    except BenchError:
        return {}
