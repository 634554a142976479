"""Comparison of a recomputed cell with its stored result."""

from bench.analysis.causes import other_versions, same_model
from bench.analysis.drift import differing
from bench.cells.cell import Cell
from bench.record import Json
from bench.results.reader import Finished


def verified(
    cell: Cell, then: Finished, now: Finished | None, *, of_table: bool, error: str | None = None
) -> Json:
    """Return the row of `bench verify --json`.

        {"id", "experiment", "seed", "same": bitwise equal, "largest_difference": of any metric,
         "metrics": {name: {"then", "now", "difference"}} of those that differ, "history": whether
         it differs, "arrays": [names of those that differ], "versions": {what: [then, now]} of
         those that differ, "same_model": both record one model of processor, "only_metrics": a
         table's row says no more, "error": why it failed}

    Args:
        cell: the cell.
        then: the stored result.
        now: the recomputed result; None if the cell failed.
        of_table: whether `then` is a row of an exported table. Histories and arrays are then not
            compared.
        error: why the cell failed.
    """
    nothing: Json = {"metrics": {}, "history": False, "arrays": []}
    parts = nothing if now is None else differing(then, now)
    if of_table:
        parts |= {"history": False, "arrays": []}
    metrics = {
        name: {"then": a, "now": b, "difference": None if a is None or b is None else b - a}
        for name, (a, b) in parts["metrics"].items()
    }
    sizes = [abs(m["difference"]) for m in metrics.values() if m["difference"] is not None]
    return {
        "id": cell.id,
        "experiment": cell.experiment,
        "seed": cell.seed,
        "same": now is not None and not any(parts.values()),
        "largest_difference": max(sizes, default=0.0),
        "metrics": metrics,
        "history": parts["history"],
        "arrays": parts["arrays"],
        "versions": {} if now is None else other_versions(then.provenance, now.provenance),
        "same_model": now is not None and same_model(then.provenance, now.provenance),
        "only_metrics": of_table,
        "error": error,
    }
