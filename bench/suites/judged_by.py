"""A suite as a scale reads it: where one metric has no room, claims speak of another one."""

from typing import Any

from bench.suites.suite import Figure, MeasuredTable, Suite


def as_judged(suite: Suite, scale: str) -> Suite:
    """Return the suite with the metrics that a scale judges by.

    Checks and figures read them in place of those that the file names, tables beside those.
    """
    judged_by = suite.scales[scale].judged_by
    if judged_by is None:
        return suite
    names = judged_by.metrics
    claims = {
        claim: [check.model_copy(update=_renamed(check.metric, names)) for check in checks]
        for claim, checks in suite.claims.items()
    }
    tables: list[MeasuredTable] = []
    for table in suite.tables:
        if new := _renamed(table.metric, names):
            title = f"{table.title}, {judged_by.what}"
            tables.append(table.model_copy(update=new | {"title": title}))
        tables.append(table)
    figures = [_figure(figure, names, judged_by.what) for figure in suite.figures]
    return suite.model_copy(update={"claims": claims, "tables": tables, "figures": figures})


def _figure(figure: Figure, names: dict[str, str], what: str) -> Figure:
    if figure.draw == "history" or figure.y not in names:
        return figure
    title = f"{figure.title}, {what}"
    return figure.model_copy(update={"y": names[figure.y], "title": title, "artifact": None})


def _renamed(metric: str, names: dict[str, str]) -> dict[str, Any]:
    return {"metric": names[metric]} if metric in names else {}
