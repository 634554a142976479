"""A suite adapted to a scale: metrics without headroom are replaced."""

from typing import Any

from bench.suites.figure import Figure
from bench.suites.suite import MeasuredTable, Suite


def with_stand_ins(suite: Suite, scale: str) -> Suite:
    """Return the suite with the replaced metrics in tables and figures of a scale.

    Figures draw the replacement and tables show both metrics. A replacement is measured once, after
    training, so figures over training draw the paper's metric and say so in their titles. Checks
    keep the paper's metric; `analysis/claims.py` reports the metric that each check used.
    """
    stand_in = suite.scales[scale].stand_in
    if stand_in is None:
        return suite
    names = stand_in.metrics
    tables: list[MeasuredTable] = []
    for table in suite.tables:
        if new := _renamed(table.metric, names):
            title = f"{table.title}, {stand_in.what}"
            tables.append(table.model_copy(update=new | {"title": title}))
        tables.append(table)
    figures = [_figure(figure, names, stand_in.what) for figure in suite.figures]
    return suite.model_copy(update={"tables": tables, "figures": figures})


def _figure(figure: Figure, names: dict[str, str], what: str) -> Figure:
    """Return the figure with stand-ins; its published values stay those of the paper's metric."""
    if not any(q.y in names for q in figure.quantities):
        return figure
    if figure.kind.x == "record":
        return figure.model_copy(update={"title": f"{figure.title}, plain test images"})
    beside = [q.model_copy(update={"y": names.get(q.y, q.y)}) for q in figure.beside]
    changes = {"y": names.get(figure.y, figure.y), "beside": beside}
    printed = {"artifact_metric": figure.artifact_metric or figure.y}
    return figure.model_copy(update=changes | printed | {"title": f"{figure.title}, {what}"})


def _renamed(metric: str, names: dict[str, str]) -> dict[str, Any]:
    return {"metric": names[metric]} if metric in names else {}
