"""A suite as a scale shows it: where the paper's metric has no room, another one stands in."""

from typing import Any

from bench.suites.suite import Figure, MeasuredTable, Suite


def with_stand_ins(suite: Suite, scale: str) -> Suite:
    """Return the suite with the tables and figures of a scale.

    Figures draw a metric's stand-in, tables show both; checks keep the paper's metric, and
    `analysis/claims.py` says what each was judged by.
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
    if figure.draw == "history" or figure.y not in names:
        return figure
    title = f"{figure.title}, {what}"
    return figure.model_copy(update={"y": names[figure.y], "title": title, "artifact": None})


def _renamed(metric: str, names: dict[str, str]) -> dict[str, Any]:
    return {"metric": names[metric]} if metric in names else {}
