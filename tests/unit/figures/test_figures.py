"""Figures by the numbers they draw."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure as Canvas
from matplotlib.text import Text

from bench.analysis.statistics import t_interval
from bench.cells.losses import LOSSES
from bench.cells.toys import GaussianMI
from bench.figures.frames import CROSS
from bench.figures.kinds import KINDS, Curves, History, Lines, Points, Scatter
from bench.figures.layout import save
from bench.figures.marks import MOST_LINES, summarise
from bench.figures.panels import draw_figure
from bench.figures.style import GREY, look, styles
from bench.papers.reader import load_paper
from bench.results.fitness import unfit
from bench.results.reader import Finished
from bench.suites import figure as declared
from bench.suites.expand import expand
from bench.suites.figure import Figure, FigureKind
from bench.suites.load import load_suite
from bench.suites.presets import paper_presets
from tests.fakes.made_up import drawn
from tests.fakes.paths import SUITES

FRAME = pd.DataFrame(
    [
        {"K": k, "loss": loss, "m": base + k / 100 + seed / 10, "true": 2.0}
        for loss, base in (("eqco", 1.0), ("infonce", 0.0))
        for k in (256, 64)
        for seed in (0, 1, 2)
    ]
)


def new_axes() -> Any:
    return Canvas().subplots()


def test_lines_are_means_over_seeds_in_order() -> None:
    ax = Lines(x="K", y="m", by="loss").draw(FRAME, new_axes())
    for container, base in zip(ax.containers, (1.0, 0.0), strict=True):
        line, _, (bars,) = container
        assert drawn(line, "x") == [64, 256]
        assert drawn(line, "y") == pytest.approx([base + 0.74, base + 2.66])
        low, high = bars.get_segments()[0][:, 1]
        expected = t_interval([base + 0.64, base + 0.74, base + 0.84])
        assert (low, high) == pytest.approx((expected.low, expected.high))


def test_a_method_keeps_its_colour_whatever_else_is_drawn() -> None:
    both = Lines(x="K", y="m", by="loss").draw(FRAME, new_axes())
    alone = Lines(x="K", y="m", by="loss").draw(FRAME[FRAME["loss"] == "infonce"], new_axes())
    colour = both.containers[1][0].get_color()
    assert colour == alone.containers[0][0].get_color() == styles(["infonce"])["infonce"].colour


def test_figures_do_not_obey_the_matplotlibrc_of_a_user() -> None:
    with mpl.rc_context({"text.usetex": True, "axes.grid": False}):
        with look():
            assert (mpl.rcParams["text.usetex"], mpl.rcParams["axes.grid"]) == (False, True)
        assert mpl.rcParams["text.usetex"] is True


def test_no_two_losses_or_methods_look_alike() -> None:
    """With fewer than 80 of them; the first eight losses differ in colour alone."""
    names = [*LOSSES, *paper_presets()]
    looks = styles(names)
    assert len({(look.colour, look.marker) for look in looks.values()}) == len(looks) < 80
    rivals = ["infonce", "dcl", "eqco", "dclw", "dual-temperature"]
    assert len({looks[name].colour for name in rivals}) == len(rivals)


def test_published_points_are_drawn_as_printed() -> None:
    published = pd.DataFrame([{"K": 64, "loss": "eqco", "value": 1.9}])
    ax = Lines(x="K", y="value", by="loss", names=["eqco", "infonce"]).draw_printed(
        published, new_axes()
    )
    (points,) = ax.lines
    assert points.get_label() == "eqco (published)"
    assert (drawn(points, "x"), drawn(points, "y")) == ([64], [1.9])
    assert points.get_markerfacecolor() == "none"
    assert points.get_color() == styles(["eqco"])["eqco"].colour
    assert points.get_linestyle() == "None"


def test_a_published_point_of_no_known_line_is_grey() -> None:
    published = pd.DataFrame(
        [{"K": 8, "loss": "?", "value": 2.0}]
        + [{"K": k, "loss": "eqco", "value": float(k)} for k in (64, 16)]
    )
    ax = Lines(x="K", y="value", by="loss", names=["eqco"]).draw_printed(
        published, new_axes(), joined=True
    )
    assert [line.get_label() for line in ax.lines] == [
        "eqco (published)",
        "line not stated (published)",
    ]
    assert [drawn(line, "x") for line in ax.lines] == [[16, 64], [8]]
    assert [line.get_linestyle() for line in ax.lines] == ["-", "None"]
    assert ax.lines[1].get_color() == GREY


def test_a_reference_that_all_lines_share_is_drawn_once() -> None:
    ax = Lines(x="K", y="m", by="loss", reference="true").draw(FRAME, new_axes())
    (dashed,) = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert drawn(dashed, "y") == [2.0, 2.0]


def test_a_reference_of_each_line_takes_its_colour() -> None:
    frame = FRAME.assign(true=np.where(FRAME["loss"] == "eqco", 1.0, 3.0))
    ax = Lines(x="K", y="m", by="loss", reference="true").draw(frame, new_axes())
    dashed = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert [drawn(line, "y")[0] for line in dashed] == [1.0, 3.0]
    assert [line.get_color() for line in dashed] == [
        look.colour for look in styles(["eqco", "infonce"]).values()
    ]


def test_one_seed_has_no_bar() -> None:
    summary = summarise(FRAME.iloc[:1], "K", "m")
    assert summary[["low", "mean", "high"]].nunique(axis=1).tolist() == [1]


def test_history_is_a_mean_with_a_band() -> None:
    runs = ((0, 1.0), (1, 3.0))
    frame = pd.DataFrame(
        [{"step": s, "m": s * f, "K": 8, "seed": seed} for s in (1, 2) for seed, f in runs]
    )
    ax = History(x="step", y="m", by="K").draw(frame, new_axes())
    assert drawn(ax.lines[0], "y") == [2.0, 4.0]
    assert len(ax.collections) == 1


def history_of(lines: int) -> Canvas:
    """Return the figure of the spirals' loss for so many noise levels, two seeds each."""
    path = SUITES / "mutual-information-figure-6.yaml"
    suite = load_suite(path)
    (figure,) = (f for f in suite.figures if f.name == "loss-over-training")
    cells = expand(suite, "paper", path, seeds=[0, 1], where={"source": ["bank"]})
    levels = sorted({c.settings["eta"] for c in cells})[:lines]
    history = [{"step": float(s), "loss": 1.0} for s in (1, 2)]
    done = [(c, Finished({}, {}, lambda: history)) for c in cells if c.settings["eta"] in levels]
    canvas = draw_figure(figure, suite, cells, done, load_paper("mutual-information"))
    assert canvas is not None
    return canvas


@pytest.mark.parametrize(
    ("lines", "bands", "told"),
    [(4, 4, "mean over seeds, and single seeds (n = 2)"), (5, 0, "means over seeds (n = 2)")],
)
def test_many_lines_have_no_bands(lines: int, bands: int, told: str) -> None:
    canvas = history_of(lines)
    assert len(canvas.axes[0].collections) == bands
    assert canvas.legends[0].get_title().get_text() == told


def test_an_accuracys_axis_ends_at_100() -> None:
    path = SUITES / "mutual-information-figure-6.yaml"
    suite = load_suite(path)
    (figure,) = (f for f in suite.figures if f.name == "accuracy-against-eta")
    cells = expand(suite, "paper", path, seeds=[0, 1])
    done = [(c, Finished({"linear_top1": 99.0 * c.seed}, {})) for c in cells]
    canvas = draw_figure(figure, suite, cells, done, load_paper("mutual-information"))
    assert canvas is not None
    assert canvas.axes[0].get_ylim() == (-2, 102)


def test_a_line_that_a_panel_lacks_is_left_out() -> None:
    frame = pd.DataFrame([{"epoch": e, "loss": "eqco", "m": 1.0, "seed": 0} for e in (1, 2)])
    ax = History(x="epoch", y="m", by="loss", names=["eqco", "infonce"]).draw(frame, new_axes())
    assert [line.get_label() for line in ax.lines] == ["eqco"]


def test_up_to_ten_lines_of_a_figure_differ_in_their_markers() -> None:
    words = [*LOSSES, *paper_presets()]
    drawn = [words[i : i + 10] for i in range(len(words) - 9)]
    drawn += [["ring", "ring-s-neigh"], ["dcl, K = 4", "dcl, K = 8"]]
    for names in drawn:
        assert len({look.marker for look in styles(names).values()}) == len(names)


def test_words_that_have_no_style_get_different_ones() -> None:
    given = styles(["infonce", "crop", "jitter"])
    assert given["infonce"] == styles(["infonce"])["infonce"]
    assert len({look.colour for look in given.values()}) == 3


def test_a_setting_without_a_meaning_for_some_cells_tells_lines_apart() -> None:
    """IR has a normaliser, InfoNCE on the bank has none."""
    path = SUITES / "mutual-information-figure-2.yaml"
    suite = load_suite(path)
    figure = Figure(
        name="x", title="x", draw="lines", x="seed", y="knn_top1", by="normaliser", x_label="x",
        y_label="y",
    )  # fmt: skip
    shown = ("ir", "ir-nce")
    known = ((c, c.settings) for c in expand(suite, "cpu", path))
    cells = [c for c, s in known if s.get("method") in shown and s["bank_rate"] == 0.5]
    done = [(cell, Finished({"knn_top1": 50.0}, {})) for cell in cells]
    canvas = draw_figure(figure, suite, [], done, load_paper("mutual-information"))
    assert canvas is not None
    _, labels = canvas.axes[0].get_legend_handles_labels()
    assert labels == ["-", "constant", "sampled"]


def test_scatter_draws_each_class() -> None:
    points, labels = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])
    ax = Scatter.draw(points, labels, new_axes())
    assert [drawn(line, "x") for line in ax.lines] == [[0, 4], [2, 6]]


def test_values_of_a_setting_take_a_sequence_of_colours() -> None:
    found = styles([64, 128, 256])
    assert len({look.colour for look in found.values()}) == 3


def with_arrays(**arrays: Any) -> Finished:
    return Finished({}, {}, read_arrays=lambda: arrays)


def finished(cell: GaussianMI) -> Finished:
    history = [{"step": s, "mi_lower_bound": s / 100} for s in (100, 200)]
    return Finished({"mi_lower_bound": cell.mi_true - 64 / cell.K}, {}, lambda: history)


@pytest.mark.parametrize("number", [0, 1])
def test_a_suites_figure_has_a_panel_a_value(number: int) -> None:
    path = SUITES / "eqco-table-9.yaml"
    suite = load_suite(path)
    done = [(c, finished(c)) for c in expand(suite, "quick", path)]  # type: ignore[arg-type]
    canvas = draw_figure(suite.figures[number], suite, [], done, load_paper("eqco"))
    assert canvas is not None
    titles = [ax.get_title() for ax in canvas.axes]
    assert titles == [f"mi_true = {mi}" for mi in (2, 6, 8, 10)]
    if number == 0:
        printed = [line for line in canvas.axes[3].lines if "published" in str(line.get_label())]
        assert [drawn(line, "y") for line in printed] == [
            [6.1, 6.0, 6.0, 6.0], [4.1, 4.7, 5.4, 6.0],
        ]  # fmt: skip


def test_failed_cells_are_crosses_and_means_over_the_rest_are_told() -> None:
    """Of EqCo's cells with K = 64 one diverged; of InfoNCE's with K = 128 all did."""
    path = SUITES / "eqco-table-9.yaml"
    suite = load_suite(path)
    cells = expand(suite, "paper", path, where={"mi_true": [6], "K": [64, 128]})
    gone = {("eqco", 64): [0], ("infonce", 128): [0, 1, 2]}
    lost = [c for c in cells if c.seed in gone.get((c.settings["loss"], c.settings["K"]), ())]
    kept = [c for c in cells if c not in lost]
    why = unfit([(c, {}) for c in kept], [(c, "diverged") for c in lost])
    done = [(c, replace(finished(c), unfit=why.get(c.id))) for c in kept]  # type: ignore[arg-type]
    failed = [(c, "diverged") for c in lost]
    shown = suite.figures[0]
    canvas = draw_figure(shown, suite, cells, done, load_paper("eqco"), failed=failed)
    assert canvas is not None
    crosses = [line for line in canvas.axes[0].lines if line.get_marker() == "x"]
    assert [drawn(line, "x") for line in crosses] == [[64], [128]]
    assert len({line.get_color() for line in crosses}) == 2
    told = canvas.legends[0].get_title().get_text().splitlines()[1:]
    assert (
        " ".join(told)
        == f"{CROSS} cells failed: diverged 4 of 12; means are over the remaining cells"
    )
    whole = draw_figure(shown, suite, cells, done, load_paper("eqco"))
    assert whole is not None
    assert not [line for line in whole.axes[0].lines if line.get_marker() == "x"]


def test_a_line_of_which_all_cells_failed_has_its_crosses_in_the_legend() -> None:
    rows = [{"K": 64, "loss": "eqco", "m": 1.0, "seed": 0, "failed": None}]
    rows += [
        {"K": k, "loss": "infonce", "m": None, "seed": 0, "failed": "diverged"} for k in (64, 8)
    ]
    ax = Lines(x="K", y="m", by="loss").draw(pd.DataFrame(rows), new_axes())
    assert [line.get_label() for line in ax.lines if drawn(line, "x") == [8, 64]] == [
        "infonce (failed)"
    ]


def test_scatter_of_a_suite_takes_the_first_seed() -> None:
    path = SUITES / "mutual-information-figure-6.yaml"
    suite = load_suite(path)
    figure: Figure = suite.figures[3]
    labels = np.array([0, 1])
    done = [
        (c, with_arrays(representation=np.full((2, 2), float(c.seed)), label=labels))
        for c in expand(suite, "smoke", path)
    ]
    canvas = draw_figure(figure, suite, [], done, load_paper("mutual-information"))
    assert canvas is not None
    assert [ax.get_title() for ax in canvas.axes] == ["eta = 0", "eta = 0.4", "eta = 5"]
    assert {x for ax in canvas.axes for line in ax.lines for x in drawn(line, "x")} == {0.0}


def test_no_results_no_figure() -> None:
    suite = load_suite(SUITES / "eqco-table-9.yaml")
    paper = load_paper("eqco")
    assert [draw_figure(figure, suite, [], [], paper) for figure in suite.figures] == [None, None]


def test_a_distribution_is_a_density_the_mean_over_seeds() -> None:
    path = SUITES / "dcl-figure-1.yaml"
    suite = load_suite(path)
    figure = next(f for f in suite.figures if f.draw == "distribution")
    cells = expand(suite, "smoke", path)
    share = {0: np.array([1.0, 0.0]), 1: np.array([0.0, 1.0])}
    done = [(c, with_arrays(q_b_histogram=share[c.seed])) for c in cells]
    canvas = draw_figure(figure, suite, [], done, load_paper("dcl"))
    assert canvas is not None
    (ax,) = canvas.axes
    assert [p.get_data().values.tolist() for p in ax.patches] == [[1.0, 1.0]] * 2  # type: ignore[attr-defined]
    assert ax.get_yscale() == "log"
    labels = [patch.get_label() for patch in ax.patches]
    assert labels == ["batch_size = 16", "batch_size = 64"]
    assert (
        draw_figure(figure, suite, [], [(c, Finished({}, {})) for c in cells], load_paper("dcl"))
        is None
    )


def k_sweep(missing: set[tuple[int, int]]) -> Canvas:
    """Return EqCo's K-sweep of InfoNCE at mi_true = 10 without the cells (K, seed) that miss."""
    path = SUITES / "eqco-table-9.yaml"
    suite = load_suite(path)
    update = {"panels": None, "where": {"mi_true": 10.0, "loss": "infonce"}, "artifact": None}
    figure = suite.figures[0].model_copy(update=update | {"reference": None})
    cells = expand(suite, "paper", path, seeds=[0, 1])
    done = [
        (c, finished(c))  # type: ignore[arg-type]
        for c in cells
        if (c.settings["K"], c.seed) not in missing
    ]
    canvas = draw_figure(figure, suite, cells, done, load_paper("eqco"))
    assert canvas is not None
    return canvas


def test_no_line_is_drawn_through_a_missing_cell() -> None:
    """Both seeds of K = 128 miss: a gap; one seed of K = 256: a mean of one."""
    canvas = k_sweep({(128, 0), (128, 1), (256, 0)})
    line = canvas.axes[0].containers[0][0]
    assert drawn(line, "x") == [64, 128, 256, 512]
    assert drawn(line, "y") == pytest.approx([9, np.nan, 9.75, 9.875], nan_ok=True)
    told = canvas.legends[0].get_title().get_text()
    assert told == "mean over seeds, and single seeds (n = 1 to 2)"


def test_a_point_is_a_mean_over_seeds_of_both_metrics() -> None:
    frame = pd.DataFrame(
        [
            {"point": p, "a": p + seed, "b": 10 * p + seed, "loss": "dcl"}
            for p in (1, 5)
            for seed in (0, 2)
        ]
    )
    ax = Points(x="a", y="b", by="loss").draw(frame, new_axes())
    line = ax.containers[0][0]
    assert (drawn(line, "x"), drawn(line, "y")) == ([2, 6], [11, 51])


def test_a_ribbon_is_the_mean_of_a_metric_around_the_mean() -> None:
    frame = pd.DataFrame([{"step": s, "m": 1.0, "m_std": 0.25, "K": 8} for s in (1, 2)])
    ax = History(x="step", y="m", by="K", ribbon="m_std").draw(frame, new_axes())
    (path,) = ax.collections[0].get_paths()
    assert set(np.asarray(path.vertices)[:, 1].tolist()) == {0.75, 1.25}


@pytest.mark.slow
def test_files_of_a_figure_are_the_same_bytes_twice(tmp_path: Path) -> None:
    formats = ["svg", "png", "pdf"]
    first, second = (
        [path.read_bytes() for path in save(k_sweep(set()), tmp_path / name, formats)]
        for name in ("a", "b")
    )
    assert first == second
    assert b"CreationDate" not in first[2]


def test_no_letter_is_smaller_than_7_points_in_a_column() -> None:
    canvas = k_sweep(set())
    texts = [text for text in canvas.findobj(Text) if text.get_text()]
    assert min(float(text.get_fontsize()) for text in texts) >= 7
    assert canvas.get_size_inches()[0] == pytest.approx(3.4)


def test_a_name_with_a_dot_keeps_its_end(tmp_path: Path) -> None:
    """The artifacts text-4.2-a and text-4.2-b have a figure each."""
    files = save(k_sweep(set()), tmp_path / "text-4.2-gains", ["svg", "png"])
    assert [file.name for file in files] == ["text-4.2-gains.svg", "text-4.2-gains.png"]
    assert all(file.stat().st_size for file in files)


def many(lines: int) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"K": k, "step": step, "m": k + step + seed, "seed": seed}
            for k in range(lines)
            for step in (1, 2)
            for seed in (0, 1, 2)
        ]
    )


@pytest.mark.parametrize("kind", [Lines, History])
def test_of_many_lines_some_are_named_and_the_others_drawn_at_once(kind: type[Curves]) -> None:
    lines = kind(x="step", y="m", by="K")
    few = lines.draw(many(MOST_LINES), new_axes())
    assert len(few.get_legend_handles_labels()[1]) == MOST_LINES
    ax = lines.draw(many(MOST_LINES + 60), new_axes())
    labels = [f"K = {k}" for k in (0, 11, 22, 33, 44, 55, 66, 77, 88, 99)]
    assert ax.get_legend_handles_labels()[1] == labels
    (others,) = [c for c in ax.collections if len(c.get_paths()) == MOST_LINES + 60 - len(labels)]
    segments = others.get_segments()  # type: ignore[attr-defined]
    assert segments[0].tolist() == [[1, 1 + 1 + 1], [2, 1 + 2 + 1]]  # of K = 1
    assert len(ax.lines) <= 3 * len(labels)  # with the ends of intervals
    low, high = ax.get_ylim()
    assert low <= 2
    assert high >= 102


def test_each_kind_that_a_suite_may_name_has_a_class() -> None:
    assert set(KINDS) == set(declared.KINDS)


def test_a_new_kind_is_a_class_and_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(declared.KINDS, "steps", FigureKind("setting", ("log_x",)))

    class Steps(Curves, draw="steps"):
        def _draw(self, lines: Any, ax: Any) -> None:
            for name, (rows, style) in lines.items():
                line = summarise(rows, self.x, self.y)
                ax.step(line[self.x], line["mean"], color=style.colour, label=str(name))

    path = SUITES / "eqco-table-9.yaml"
    suite = load_suite(path)
    figure = Figure(
        name="s", title="S", draw="steps", x="K", y="mi_lower_bound", by="loss",
        where={"mi_true": 10.0}, x_label="K", y_label="nats", log_x=True,
    )  # fmt: skip
    done = [(c, finished(c)) for c in expand(suite, "quick", path)]  # type: ignore[arg-type]
    try:
        canvas = draw_figure(figure, suite, [], done, load_paper("eqco"))
    finally:
        KINDS.pop("steps")
    assert canvas is not None
    assert [line.get_label() for line in canvas.axes[0].lines] == ["eqco", "infonce"]
    with pytest.raises(
        ValueError, match="log_y: this key can be used only if `draw` is lines or history or dist"
    ):
        Figure(**{**figure.model_dump(), "log_y": True})
