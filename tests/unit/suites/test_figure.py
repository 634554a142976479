"""What a figure may declare: its keys agree, and what they name is there."""

from pathlib import Path
from typing import Any

import pytest

from bench.errors import SuiteError
from bench.suites.figure import Figure, Quantity
from bench.suites.load import load_suite
from bench.suites.validate import check_suite
from tests.fakes.suites import REMOVED, SUITE, changed, to_yaml

QUANTITY = {"y": "mi_lower_bound", "y_label": "nats"}
PLAIN: dict[str, Any] = {
    f"figures.0.{key}": REMOVED for key in ("by", "panels", "artifact", "reference")
}
MISTAKES = {
    "lines told apart twice": (
        {"figures.0.series": [{"label": "all"}]},
        "figures.0: the keys by and series cannot be given together.",
    ),
    "panels of two kinds": (
        {"figures.0.beside": [QUANTITY]},
        "figures.0: the keys beside and panels cannot be given together.",
    ),
    "a twin of several lines": (
        PLAIN | {"figures.0.by": "loss", "figures.0.twin": QUANTITY},
        "figures.0: the keys twin and by cannot be given together.",
    ),
    "a twin of several panels": (
        PLAIN | {"figures.0.panels": "loss", "figures.0.twin": QUANTITY},
        "figures.0: the keys twin and panels cannot be given together.",
    ),
    "printed values of a history": (
        {"figures.0.draw": "history", "figures.0.reference": REMOVED},
        "figures.0: artifact: this key can be used only if `draw` is lines, found 'history'.",
    ),
    "noise of lines": (
        {"figures.0.noise": "K"},
        "figures.0: noise: this key can be used only if `draw` is scatter, found 'lines'.",
    ),
    "an unknown setting among several": (
        {"figures.0.by": ["loss", "alhpa"]},
        "figures.0.by: found 'alhpa'. Did you mean 'alpha'? Allowed here: ",
    ),
    "an unknown setting that picks cells": (
        {"figures.0.where": {"los": ["eqco"]}},
        "figures.0.where.los: found 'los'. Did you mean 'loss'? Allowed here: ",
    ),
    "an unknown setting that is largest": (
        {"figures.0.largest": ["stesp"]},
        "figures.0.largest: found 'stesp'. Did you mean 'steps'? Allowed here: ",
    ),
    "an unknown x of a series": (
        {"figures.0.by": REMOVED, "figures.0.series": [{"label": "all", "x": "KK"}]},
        "figures.0.series.0.x: found 'KK'. ",
    ),
    "an unknown quantity beside": (
        PLAIN | {"figures.0.beside": [QUANTITY | {"y": "mi_bound"}]},
        "figures.0.beside.0.y: found 'mi_bound'. ",
    ),
    "an unknown ribbon of a twin": (
        PLAIN | {"figures.0.twin": QUANTITY | {"ribbon": "mi_std"}},
        "figures.0.twin.ribbon: found 'mi_std'. ",
    ),
    "an unknown artifact among several": (
        {"figures.0.artifact": ["table-9", "table-99"]},
        "figures.0.artifact: paper 'eqco' has no artifact 'table-99'. ",
    ),
    "printed rows by a key that they have not": (
        {"figures.0.artifact_rows": {"alpa": 1}},
        "figures.0.artifact_rows.alpa: found 'alpa'. ",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line(mistake: str, tmp_path: Path) -> None:
    changes, line = MISTAKES[mistake]
    path = tmp_path / "small.yaml"
    path.write_text(to_yaml(changed(SUITE, changes)))
    with pytest.raises(SuiteError) as raised:
        check_suite(load_suite(path), path)
    told = str(raised.value)
    assert told.startswith(f"{path}: {line}")
    assert told.count("\n") == 0
    if not line.endswith(" "):  # what is allowed follows there
        assert told == f"{path}: {line}"


def figure(**changes: Any) -> Figure:
    own = {"name": "f", "title": "F", "draw": "lines", "x": "K", "x_label": "K", **QUANTITY}
    return Figure.model_validate(own | changes)


def test_a_figure_reads_every_name_that_it_draws() -> None:
    beside = Quantity(y="b", y_label="B", ribbon="b_std")
    shown = figure(beside=[beside], by=["loss", "alpha"], ribbon="m_std", reference="true")
    assert shown.columns == [
        "mi_lower_bound", "m_std", "b", "b_std", "K", "loss", "alpha", "true",
    ]  # fmt: skip
    assert [q.y for q in shown.quantities] == ["mi_lower_bound", "b"]
    assert figure(series=[{"label": "s", "x": "N"}]).columns == ["mi_lower_bound", "K", "N"]


def test_one_name_and_a_list_of_names_are_lists() -> None:
    assert figure(by="loss", panels=["K", "N"]).line_names == ["loss"]
    assert figure(panels=["K", "N"], artifact="table-9").panel_names == ["K", "N"]
    assert (figure().artifacts, figure(artifact=["a", "b"]).artifacts) == ([], ["a", "b"])
