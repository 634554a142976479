"""Whether a cell follows the published protocol: computed setting by setting, never declared."""

from collections.abc import Sequence
from typing import Any

from bench.cells.cell import Cell
from bench.errors import SuiteError
from bench.papers.reader import Artifact, Paper
from bench.suites.suite import Suite
from bench.text import value_text


def stated_settings(suite: Suite, paper: Paper, artifact: Artifact) -> dict[str, Any]:
    """Return what the paper states for every row of an artifact, under this suite's names.

    What the rows state themselves is left out: a cell belongs to a row only if it agrees there.
    """
    name = suite.protocols.get(artifact.id, suite.protocol)
    stated = dict(paper.protocol(name).stated) if name else {}
    of_rows = {key for value in artifact.values for key in value.row_settings}
    return {
        suite.renamed.get(key, key): value
        for key, value in (stated | artifact.setting).items()
        if key not in of_rows and value is not None  # null: the paper does not say
    }


def differences(cell: Cell, stated: dict[str, Any]) -> list[str]:
    """Return each setting in which the cell departs from what the paper states.

    A stated list means: any of its values. Settings that the paper does not state, and stated
    ones that no cell has as a field (prose), cannot differ.
    """
    settings = cell.settings
    return [
        f"{name} {_text(settings[name])}, published {_text(value)}"
        for name, value in stated.items()
        if name in settings and not _agrees(settings[name], value)
    ]


def check_scale(suite: Suite, scale: str, cells: Sequence[Cell], paper: Paper) -> None:
    """Refuse a scale whose declared protocol is not what its cells have.

    Raises:
        SuiteError: `published` is declared and every cell departs from the paper, or `reduced`
            and none does.
    """
    declared = suite.scales[scale].protocol
    artifacts = [paper.artifact(name) for name in suite.reproduces]
    stated = [stated_settings(suite, paper, artifact) for artifact in artifacts]
    if not stated:
        return
    faults = (differences(cell, s) for cell in cells for s in stated)  # looked at one by one
    if declared == "published" and all(faults):
        fault = differences(cells[0], stated[0])[0]
        raise SuiteError(
            f"{suite.name}: scales.{scale}.protocol: declared 'published', but {fault}"
        )
    checked = any(name in cells[0].settings for s in stated for name in s)
    if declared == "reduced" and checked and not any(faults):
        raise SuiteError(
            f"{suite.name}: scales.{scale}.protocol: declared 'reduced', but every stated setting "
            "is the published one"
        )


def _agrees(mine: Any, published: Any) -> bool:
    if isinstance(published, list):
        return any(_agrees(mine, value) for value in published)
    if mine is None or isinstance(mine, bool) or isinstance(published, bool):
        return mine is published
    return bool(mine == published)


def _text(value: Any) -> str:
    return value_text(value, null="not used")
