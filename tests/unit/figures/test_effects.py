"""The figure of effects by the numbers it draws."""

from dataclasses import replace
from typing import Any

import pytest
from matplotlib.figure import Figure as Canvas

from bench.analysis.beside import effects_with_others
from bench.analysis.compared_effects import ComparedEffect, shown_effects
from bench.figures.effects import (
    MOST_LINES,
    MOST_UPRIGHT,
    EffectPanel,
    draw_effects,
    draw_panel,
    effect_panels,
)
from bench.papers.reader import load_paper
from bench.suites.load import load_suite
from tests.fakes.effects import accuracy, effects, of_artifact
from tests.fakes.paths import SUITES


def knn(cell: Any) -> dict[str, float] | None:
    if cell.batch_size == 512:
        return None
    return {"knn_top1": accuracy(cell), "warped_knn_top1": accuracy(cell)}


def table_1(*scales: str) -> list[ComparedEffect]:
    rows = [row for scale in scales for row in effects("dcl-table-1", scale, knn)]
    return shown_effects(of_artifact(rows, "table-1-cifar10", "knn_top1"))


def drawn(panel: EffectPanel, scales: list[str], *, upright: bool) -> dict[str, Any]:
    """Return the line and the bars of each label."""
    ax = draw_panel(panel, Canvas().subplots(), scales, upright=upright)
    found: dict[Any, Any] = {c.get_label(): (c[0], c[2]) for c in ax.containers}
    return found | {"ax": ax}


def test_printed_effects_are_open_and_measured_ones_have_their_intervals() -> None:
    rows = table_1("cifar")
    axis, (panel,) = effect_panels(rows)
    assert (axis, panel.title) == ("batch_size", "kNN top-1")
    assert panel.places == ["32", "64", "128", "256", "512"]
    found = drawn(panel, ["cifar"], upright=True)
    printed, _ = found["published"]
    assert [float(v) for v in printed.get_ydata()] == [4.8, 4.0, 3.3, 2.8, 2.2]
    assert [float(v) for v in printed.get_xdata()] == [0, 1, 2, 3, 4]
    assert (printed.get_markerfacecolor(), printed.get_linestyle()) == ("none", "None")
    points, (bars,) = found["measured at scale cifar"]
    assert [float(v) for v in points.get_xdata()] == [0, 1, 2, 3]
    measured = [row.measured for row in rows if row.measured]
    assert [float(v) for v in points.get_ydata()] == [m.mean for m in measured]
    ends = [tuple(segment[:, 1]) for segment in bars.get_segments()]
    assert ends == [pytest.approx((m.low, m.high)) for m in measured]
    zero = found["ax"].lines[0]
    assert {float(v) for v in zero.get_ydata()} == {0.0}


def test_scales_of_one_place_stand_beside_each_other() -> None:
    _, (panel,) = effect_panels(table_1("cifar", "cpu"))
    assert panel.places == ["16", "32", "64", "128", "256", "512"]
    found = drawn(panel, ["cifar", "cpu"], upright=True)
    at = {name: [float(v) for v in found[f"measured at scale {name}"][0].get_xdata()]
          for name in ("cifar", "cpu")}  # fmt: skip
    assert at["cifar"] == pytest.approx([0.8, 1.8, 2.8, 3.8])
    assert at["cpu"] == pytest.approx([0.2, 1.2, 2.2, 3.2, 4.2])
    assert found["ax"].get_title() == "kNN top-1\nscale cpu: kNN top-1 on warped images"


def test_a_scale_looks_the_same_whatever_else_is_drawn() -> None:
    _, (panel,) = effect_panels(table_1("cpu"))
    _, (both,) = effect_panels(table_1("cifar", "cpu"))
    name = "measured at scale cpu"
    alone = drawn(panel, ["cpu"], upright=True)[name][0]
    assert alone.get_color() == drawn(both, ["cifar", "cpu"], upright=True)[name][0].get_color()


def test_a_single_run_has_no_bar() -> None:
    rows = effects("dcl-table-1", "cifar", lambda c: knn(c) if c.seed == 0 else None)
    _, (panel,) = effect_panels(shown_effects(of_artifact(rows, "table-1-cifar10", "knn_top1")))
    _, (bars,) = drawn(panel, ["cifar"], upright=True)["measured at scale cifar"]
    assert all(low == high for low, high in (s[:, 1] for s in bars.get_segments()))


def test_methods_have_a_line_each() -> None:
    rows = effects("unigrad-table-2", "paper", lambda c: {"linear_top1": float(c.seed)})
    own = shown_effects(of_artifact(rows, "table-2"))
    axis, (panel,) = effect_panels(own)
    assert axis is None
    assert panel.places[:2] == ["MoCo over UniGrad", "SimCLR (momentum) over UniGrad"]
    found = drawn(panel, ["paper"], upright=False)
    printed, _ = found["published"]
    assert [float(v) for v in printed.get_xdata()][:3] == [-0.3, -0.3, 0.0]
    assert [float(v) for v in printed.get_ydata()][:3] == [0, 1, 2]
    assert found["ax"].yaxis_inverted()
    zero = found["ax"].lines[0]
    assert {float(v) for v in zero.get_xdata()} == {0.0}


def test_each_contrast_and_setting_has_a_panel_over_an_axis() -> None:
    made = {"linear_top1": 60.0}
    rows = effects("dcl-table-6", "paper", lambda _: made)
    axis, panels = effect_panels(shown_effects(of_artifact(rows, "table-6")))
    assert axis == "epochs"
    assert [(p.title, p.places) for p in panels] == [
        ("linear top-1\nmethod simclr", ["100", "200"]),
        ("linear top-1\nmethod moco-v2", ["100", "200"]),
    ]


@pytest.mark.parametrize(
    ("name", "scale", "artifact"),
    [
        ("mutual-information-table-5", "paper", "table-5"),
        ("eqco-table-9", "paper", "table-9"),
        ("dcl-table-14", "cpu", "table-14"),
        ("dual-temperature-table-2", "cpu", "table-2"),
        ("eqco-table-7", "paper", "table-7"),
    ],
)
def test_any_table_is_drawn(name: str, scale: str, artifact: str) -> None:
    rows = effects(name, scale, lambda c: dict.fromkeys(c.metrics, 1.0 * c.seed))
    canvas = draw_effects(of_artifact(rows, artifact))
    assert canvas is not None
    canvas.draw_without_rendering()


def test_nothing_measured_draws_nothing() -> None:
    assert draw_effects(effects("dcl-table-1", "cifar", lambda _: None)) is None


def test_effects_that_are_not_judged_are_faint() -> None:
    rows = table_1("cifar")
    _, (panel,) = effect_panels([replace(rows[0], why="the headroom is too small"), *rows[1:]])
    found = drawn(panel, ["cifar"], upright=True)
    faint, sound = (found[f"measured at scale cifar{end}"][0] for end in (", not judged", ""))
    assert [float(v) for v in faint.get_xdata()] == [0]
    assert [float(v) for v in sound.get_xdata()] == [1, 2, 3]
    assert faint.get_alpha() < 0.5


@pytest.mark.parametrize(("upright", "most"), [(True, MOST_UPRIGHT), (False, MOST_LINES)])
def test_of_many_places_some_have_their_names(upright: bool, most: int) -> None:
    row = table_1("cifar")[0]
    for count, written in ((most, most), (most + 60, most // 2)):
        places = [str(i) for i in range(count)]
        panel = EffectPanel("many", [row] * count, places, places)
        ax = draw_panel(panel, Canvas().subplots(), ["cifar"], upright=upright)
        axis = ax.xaxis if upright else ax.yaxis
        names = [label.get_text() for label in axis.get_ticklabels()]
        assert len(names) == written
        assert names == [str(round(at)) for at in axis.get_ticklocs()]
        assert (names[0], names[-1]) == ("0", places[-1])


def beside(metric: str) -> list[ComparedEffect]:
    suite, paper = load_suite(SUITES / "dcl-table-1.yaml"), load_paper("dcl")
    rows = effects("dcl-table-1", "cifar", lambda c: {metric: accuracy(c)})
    return effects_with_others(of_artifact(rows, "table-1-cifar10", metric), suite, paper)


def test_effects_of_others_are_open_triangles_at_the_printed_place() -> None:
    """DCL over SimCLR at batch 32, 64, 128 and 256, by hand from the source's README."""
    rows = beside("linear_top1")
    _, (panel,) = effect_panels(shown_effects(rows))
    points, _ = drawn(panel, ["cifar"], upright=True)["by others"]
    assert (points.get_marker(), points.get_markerfacecolor()) == ("^", "none")
    at = [(panel.places[int(x)], float(y)) for x, y in zip(*points.get_data(), strict=True)]
    assert at == [("32", 6.3), ("64", 4.1), ("128", 2.54), ("256", 2.1)]
    canvas = draw_effects(rows)
    assert canvas is not None
    title = canvas.legends[0].get_title().get_text()
    assert title.endswith("\nby others, cifar10: dcl-nakhli")


def test_a_contrast_of_others_is_not_drawn() -> None:
    """lightly's two kNN accuracies differ in tau as well."""
    rows = beside("knn_top1")
    assert {one.effect.is_effect for row in rows for one in row.others} == {False}
    _, (panel,) = effect_panels(shown_effects(rows))
    assert "by others" not in drawn(panel, ["cifar"], upright=True)
