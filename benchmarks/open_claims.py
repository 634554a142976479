"""The claims that no result tests yet, and what testing them on a CPU costs.

Of the suites with a check that has cells at the scale `cifar`, else `cpu`: how many cells are
missing in the reference results, and their predicted core-minutes, from the cells that have run
(`bench plan` predicts the same way). A training that cells share counts once in a suite.
"""

from collections.abc import Iterator

from bench.analysis.contrasts import NO_CELL
from bench.cli.evidence import evidence_of
from bench.cli.selection import Selection, choose
from bench.cli.workspace import Workspace
from bench.estimate.history import Machine
from bench.estimate.predict import predict
from bench.results.store import State
from bench.suites.load import load_suite, suite_paths

SCALES = ("cifar", "cpu")
HEADS = ("suite", "scale", "cells missing", "core-minutes", "claims that it tests")
MINUTES = HEADS.index("core-minutes")
UNKNOWN = "?"


def rows(workspace: Workspace, untested: set[tuple[str, str]], machine: Machine) -> list[list[str]]:
    """Return the table's rows, the cheapest suite first; what cannot be predicted comes last.

    Args:
        workspace: the suites, and the reference results.
        untested: papers and claims.
        machine: whose core-minutes.
    """
    found = []
    for selection, claims in _testing(workspace, untested):
        states = selection.store.states(selection.cells)
        missing = sum(state.state != State.DONE for state in states)
        seconds = predict(selection.cells, states, selection.store, [None], machine=machine).core_s
        minutes = UNKNOWN if seconds is None else f"{float(f'{seconds / 60:.2g}'):g}"
        names = selection.suite.name, selection.scale
        found.append((seconds or float("inf"), [*names, str(missing), minutes, ", ".join(claims)]))
    return [row for _, row in sorted(found)]


def _testing(
    workspace: Workspace, untested: set[tuple[str, str]]
) -> Iterator[tuple[Selection, list[str]]]:
    """Yield the suites at the first scale with cells for their checks, and the claims tested."""
    for path in suite_paths(workspace.suites).values():
        suite = load_suite(path)
        asked = [claim for claim in suite.claims if (suite.paper, claim) in untested]
        for scale in [s for s in SCALES if s in suite.scales and asked]:
            selection = choose(workspace, suite.name, scale=scale)
            judged = evidence_of(selection).judged
            with_cells = {j.claim.id for j in judged if j.counts and j.missing != NO_CELL}
            if tested := [claim for claim in asked if claim in with_cells]:
                yield selection, tested
            asked = [claim for claim in asked if claim not in with_cells]
