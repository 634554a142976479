"""What a figure's keys draw, by the numbers on its axes."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Canvas

from bench.cells.cell import Cell
from bench.figures.frames import chosen_by, with_all_lines
from bench.figures.layout import place_ticks, widen
from bench.figures.marks import ordered
from bench.figures.panels import can_be_drawn, draw_figure
from bench.figures.style import styles
from bench.papers.reader import NO_PAPER, load_paper
from bench.results.reader import Finished
from bench.suites.figure import DrawnCells, Figure, Quantity
from bench.suites.load import load_suite
from tests.fakes.cells import small_cell
from tests.fakes.made_up import canvas_of, drawn, results_of
from tests.fakes.paths import SUITES


def path_of(suite: str) -> Any:
    return SUITES / f"{suite}.yaml"


def axes_titled(canvas: Canvas | None) -> dict[str, Axes]:
    assert canvas is not None
    return {ax.get_title(): ax for ax in canvas.axes}


def lines_of(ax: Axes) -> dict[str, Any]:
    """Return the lines with their bars, by what the legend calls them."""
    handles, labels = ax.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def numbers(container: Any) -> tuple[list[float], list[float]]:
    line = container[0] if isinstance(container, tuple) else container
    return drawn(line, "x"), drawn(line, "y")


def bars_of(container: Any) -> list[tuple[float, float]]:
    (bars,) = container[2]
    return [tuple(segment[:, 1].tolist()) for segment in bars.get_segments()]


def of(suite: str, scale: str, name: str, value: Any, **options: Any) -> Canvas | None:
    """Return a figure where each cell has the metrics that `value` gives."""
    cells, _ = results_of(path_of(suite), scale)
    done = [(cell, Finished(value(cell), {})) for cell in cells]
    return canvas_of(path_of(suite), scale, name, cells, done, **options)


def test_several_settings_tell_lines_apart_and_alpha_is_not_averaged() -> None:
    """SimCLR at K = 256 has alpha 256 and alpha 4096: one line each, not their mean."""
    top1 = {None: 50.0, 256: 60.0, 4096: 70.0, 65536: 80.0}
    canvas = of(
        "eqco-figure-2", "paper", "linear-against-k", lambda c: {"linear_top1": top1[c.alpha]}
    )
    simclr = lines_of(axes_titled(canvas)["method = simclr"])
    assert numbers(simclr["eqco, alpha = 256"]) == ([4, 16, 64, 256], [60.0] * 4)
    assert numbers(simclr["eqco, alpha = 4096"]) == ([256], [70.0])
    assert numbers(simclr["infonce"]) == ([4, 16, 64, 256], [50.0] * 4)
    assert numbers(simclr["eqco, alpha = 4096 (published)"]) == ([256], [65.3])
    moco = lines_of(axes_titled(canvas)["method = moco-v2"])
    assert numbers(moco["infonce (published)"])[0] == [256, 1024, 4096, 16384]
    assert numbers(moco["line not stated (published)"]) == ([65536], [67.5])


ASKED: dict[str, Any] = {
    "name": "asked", "title": "Asked", "draw": "lines", "x": "batch_size", "x_label": "batch",
    "y": "knn_top1", "y_label": "kNN", "by": "loss",
}  # fmt: skip
OF_BOTH = [small_cell(loss=loss, tau=tau, seed=seed) for loss, tau, seed in product(
    ("infonce", "dcl"), (0.1, 0.2), (0, 1, 2)
)]  # fmt: skip


def test_a_point_is_a_mean_over_seeds_alone() -> None:
    """tau, which the figure does not name, gets lines: no point is the mean of 10 and 20."""
    done = [(c, Finished({"knn_top1": 100 * c.settings["tau"] + c.seed}, {})) for c in OF_BOTH]
    suite = load_suite(path_of("dcl-table-16"))
    canvas = draw_figure(Figure(**ASKED), suite, OF_BOTH, list(done), NO_PAPER)
    assert canvas is not None
    assert {name: numbers(line)[1] for name, line in lines_of(canvas.axes[0]).items()} == {
        f"{loss}, tau = {tau}": [100 * tau + 1] for loss in ("infonce", "dcl") for tau in (0.1, 0.2)
    }


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({}, {"by": ["loss", "tau"]}),
        ({"x": "tau"}, {}),
        ({"panels": "tau"}, {}),
        ({"where": {"tau": 0.1}}, {}),
        ({"draw": "history", "x": "epoch", "by": None}, {"by": ["loss", "tau"]}),
        ({"draw": "distribution", "y": "shares", "by": None}, {"by": ["loss", "tau"]}),
        ({"draw": "scatter", "by": None, "panels": "loss"}, {"panels": ["loss", "tau"]}),
        ({"draw": "points", "x": "q_b"}, {}),
        ({"by": None, "series": [{"label": "all"}]}, {"panels": ["loss", "tau"]}),
        (
            {"by": None, "where": {"loss": "dcl"}, "twin": {"y": "q_b", "y_label": "q_B"}},
            {"by": ["tau"], "twin": None, "beside": [Quantity(y="q_b", y_label="q_B")]},
        ),
    ],
)
def test_settings_that_a_figure_does_not_name_get_lines_or_panels(
    changes: dict[str, Any], keys: dict[str, Any]
) -> None:
    figure = Figure.model_validate(ASKED | changes)
    assert with_all_lines(figure, OF_BOTH) == figure.model_copy(update=keys)


def test_a_line_and_its_printed_points_have_one_colour() -> None:
    canvas = of("eqco-figure-2", "paper", "linear-against-k", lambda _: {"linear_top1": 50.0})
    assert canvas is not None
    handles = {k: v for ax in canvas.axes for k, v in lines_of(ax).items()}
    for name in ("eqco, alpha = 256", "eqco, alpha = 4096", "infonce"):
        printed = handles[f"{name} (published)"].get_color()
        assert to_hex(handles[name][0].get_color()) == to_hex(printed)
    colours = {to_hex(handles[n][0].get_color()) for n in handles if "(" not in n}
    assert len(colours) == 4


def test_series_take_the_cells_in_which_the_other_setting_is_largest() -> None:
    """One dictionary is varied, the other holds 65536 keys; at 65536 both lines have one cell."""
    canvas = of(
        "dual-temperature-main-figure-2",
        "paper",
        "linear-against-the-dictionaries",
        lambda c: {"linear_top1": np.log2(c.K) + 2 * np.log2(c.K_scalar)},
    )
    (ax,) = axes_titled(canvas).values()
    keys = [64, 256, 1024, 4096, 16384, 65536]
    own = lines_of(ax)
    assert numbers(own["vector component's dictionary varied"]) == (
        keys, [np.log2(k) + 32 for k in keys],
    )  # fmt: skip
    assert numbers(own["scalar component's dictionary varied"]) == (
        keys, [16 + 2 * np.log2(k) for k in keys],
    )  # fmt: skip


def test_the_largest_is_that_of_the_scale_done_or_not() -> None:
    cells, _ = results_of(path_of("dcl-figure-4"), "cpu")
    longest = chosen_by(DrawnCells(largest=["epochs"]), cells)
    assert {c.settings["epochs"] for c in cells} == {2, 5, 20}
    assert {c.settings["epochs"] for c in cells if longest(c)} == {20}
    short = [(c, Finished({}, {}, lambda: [])) for c in cells if c.settings["epochs"] < 20]
    assert canvas_of(path_of("dcl-figure-4"), "cpu", "knn-while-training", cells, short) is None


def test_of_a_list_any_value_is_drawn() -> None:
    cells, _ = results_of(path_of("mutual-information-figure-7"), "gpu")
    chosen = chosen_by(DrawnCells(where={"method": ["ir", "cmc"], "bank_rate": 0.5}), cells)
    found = {(c.settings["method"], c.settings["bank_rate"]) for c in cells if chosen(c)}
    assert found == {("ir", 0.5), ("cmc", 0.5)}


def test_quantities_beside_have_panels_and_axes_of_their_own() -> None:
    canvas = of(
        "dcl-figure-5",
        "smoke",
        "gradient-norm-against-batch-size",
        lambda c: {
            "grad_norm_last_block": 4.0 + c.seed, "grad_norm_last_block_std": 0.5,
            "grad_norm_block_before": 40.0 + c.seed, "grad_norm_block_before_std": 5.0,
        },
    )  # fmt: skip
    assert canvas is not None
    last, before = canvas.axes
    assert [ax.get_ylabel() for ax in (last, before)] == [
        "gradient norm, last block",
        "norm, second-to-last block",
    ]
    for ax, mean, std in ((last, 4.5, 0.5), (before, 40.5, 5.0)):
        own = lines_of(ax)
        assert numbers(own["dcl"]) == ([16, 64], [mean, mean])
        assert bars_of(own["dcl"]) == [(mean - std, mean + std)] * 2
    assert last.get_ylim()[1] < before.get_ylim()[0]
    told = "mean ± standard deviation, means over seeds (n = 2)"
    assert canvas.legends[0].get_title().get_text() == told


def test_a_twin_has_its_numbers_on_the_axis_at_the_right() -> None:
    canvas = of(
        "dcl-figure-1",
        "smoke",
        "q-b-against-batch-size",
        lambda c: {"q_b": 0.5, "q_b_std": 0.1, "q_b_cv": float(c.batch_size + c.seed)},
    )
    assert canvas is not None
    left, right = canvas.axes
    assert (left.get_ylabel(), right.get_ylabel()) == ("mean q_B", "C_v of q_B")
    q_b, c_v = lines_of(left)["mean q_B"], lines_of(right)["C_v of q_B"]
    assert (numbers(q_b), numbers(c_v)) == (([16, 64], [0.5, 0.5]), ([16, 64], [16.5, 64.5]))
    assert np.allclose(bars_of(q_b), [(0.4, 0.6)] * 2)
    assert to_hex(q_b[0].get_color()) != to_hex(c_v[0].get_color())
    assert canvas.legends[0].get_title().get_text() == (
        "mean q_B: mean ± standard deviation, means over seeds (n = 2)\n"
        "C_v of q_B: mean over seeds, and single seeds (n = 2)"
    )


def queue(scale: str, **options: Any) -> Canvas | None:
    return of(
        "dcl-figure-3b",
        scale,
        "linear-against-k",
        lambda c: {"linear_top1": 50.0 + (c.loss == "dcl"), "warped_linear_top1": 80.0},
        **options,
    )


def test_a_printed_gain_over_a_printed_value_is_a_point() -> None:
    """The drops 0.4 and 5.9 from the queue of 65536 to that of 256."""
    (ax,) = axes_titled(queue("paper")).values()
    own = lines_of(ax)
    assert numbers(own["dcl (published)"]) == ([256, 65536], [60.8, 61.2])
    assert numbers(own["infonce (published)"]) == ([256, 65536], [54.7, 60.6])
    assert numbers(own["dcl"])[1] == [51.0] * 5


def test_at_another_scale_printed_values_have_a_panel_of_their_own() -> None:
    """On digits the warped ones stand in; printed is the paper's metric, on the paper's images."""
    panels = axes_titled(queue("cpu"))
    assert list(panels) == ["", "published (imagenet1k)"]
    assert set(lines_of(panels[""])) == {"dcl", "infonce"}
    assert numbers(lines_of(panels[""])["dcl"])[1] == [80.0] * 4
    own = lines_of(panels["published (imagenet1k)"])
    assert numbers(own["infonce (published)"]) == ([256, 65536], [54.7, 60.6])


def test_printed_values_of_other_images_are_never_drawn_among_measured_ones() -> None:
    panels = axes_titled(queue("cpu", published=True))
    assert set(lines_of(panels[""])) == {"dcl", "infonce"}
    assert list(panels) == ["", "published (imagenet1k)"]


def test_printed_values_of_other_data_sets_stand_apart_at_the_published_protocol_too() -> None:
    """On one GPU the published protocol is that of CIFAR-10; Figure 3 (a) is of ImageNet."""
    name = "linear-against-batch-size"
    panels = axes_titled(of("dcl-table-1", "gpu", name, lambda _: {"linear_top1": 80.0}))
    assert list(panels) == ["dataset = cifar10", "published\ndataset = imagenet1k"]
    own = lines_of(panels["published\ndataset = imagenet1k"])
    assert numbers(own["infonce (published)"]) == (
        [32, 64, 128, 256, 512, 1024], [56.8, 58.9, 60.6, 61.8, 64.0, 65.1],
    )  # fmt: skip


def test_the_printed_panel_spans_as_many_points_as_the_measured_one() -> None:
    low, high = Canvas().subplots(), Canvas().subplots()
    low.set_ylim(40, 60)
    for span, expected in (((68.0, 68.1), (58.05, 78.05)), ((10.0, 90.0), (10.0, 90.0))):
        high.set_ylim(*span)
        widen(high, low)
        assert high.get_ylim() == pytest.approx(expected)


def test_only_the_printed_rows_that_are_asked_for_are_drawn() -> None:
    """Table 2 has alpha 65536 and 800 epochs too."""
    canvas = of("eqco-figure-3", "paper", "linear-against-k", lambda _: {"linear_top1": 60.0})
    (ax,) = axes_titled(canvas).values()
    printed = {k: numbers(v) for k, v in lines_of(ax).items() if "published" in k}
    assert printed == {"eqco, alpha = 256 (published)": ([16, 256], [68.1, 68.0])}


def test_a_printed_row_goes_to_the_line_that_a_comparison_names() -> None:
    """The paper's Hypersphere is the loss align-uniform here."""
    name = "linear-against-batch-size"
    canvas = of("dcl-table-15", "paper", name, lambda _: {"linear_top1": 80.0})
    (ax,) = axes_titled(canvas).values()
    printed = numbers(lines_of(ax)["align-uniform (published)"])
    assert printed == ([32, 64, 128, 256, 768], [78.9, 81.0, 81.9, 82.6, 83.2])


def test_values_that_are_no_part_of_a_figure_are_not_printed_in_it() -> None:
    """Gains and drops of Figure 3 (a) are no accuracies; nor is kNN a linear accuracy."""
    name = "linear-against-batch-size"
    canvas = of("dcl-table-1", "paper", name, lambda _: {"linear_top1": 80.0})
    own = lines_of(axes_titled(canvas)["dataset = imagenet1k"])
    assert sorted(numbers(own["dcl (published)"])[1]) == [61.5, 63.4, 64.3, 65.8, 65.9, 66.1]


def test_noise_moves_points_by_less_than_it() -> None:
    path = path_of("mutual-information-figure-6")
    cells, _ = results_of(path, "smoke")
    points = np.arange(8.0).reshape(4, 2)
    arrays = {"points": points, "label": np.array([0, 1, 0, 1])}
    done = [(c, Finished({}, {}, read_arrays=lambda: dict(arrays))) for c in cells]
    panels = axes_titled(canvas_of(path, "smoke", "inputs", cells, done))
    assert list(panels) == ["eta = 0", "eta = 0.4", "eta = 5"]
    for title, eta in (("eta = 0", 0), ("eta = 0.4", 0.4), ("eta = 5", 5)):
        first, second = panels[title].lines
        moved = np.array(drawn(first, "x") + drawn(second, "x")) - [0, 4, 2, 6]
        assert (moved >= 0).all()
        assert (moved <= eta).all()
        assert (moved > 0).all() == (eta > 0)


def test_panels_of_a_scatter_are_one_class_one_style() -> None:
    canvas = canvas_of(
        path_of("dcl-figure-4c"), "cpu", "tsne", *results_of(path_of("dcl-figure-4c"), "cpu")
    )
    panels = axes_titled(canvas)
    assert list(panels) == ["loss = dcl", "loss = infonce"]
    looks = [
        {(line.get_label(), to_hex(line.get_color()), line.get_marker()) for line in ax.lines}
        for ax in panels.values()
    ]
    assert looks[0] == looks[1]
    assert len({look[1:] for look in looks[0]}) == len(looks[0]) == 10


def ticks(values: list[float], *, log: bool) -> list[str]:
    ax: Axes = Canvas(figsize=(3.4, 2.5)).subplots()
    ax.plot(values, values)
    place_ticks(ax, values, log=log)
    return [label.get_text() for label in ax.get_xticklabels()]


def test_ticks_stand_at_the_values_as_far_as_they_fit() -> None:
    assert ticks([2, 4, 8, 16], log=True) == ["2", "4", "8", "16"]
    taus = [0.07, *(k / 10 for k in range(1, 11))]
    kept = ticks(taus, log=True)
    assert kept[0] == "0.07"
    assert kept[-1] == "1"
    assert "0.9" not in kept
    assert ticks([0, 0.1, 0.4, 5], log=True) == ["0", "0.1", "0.4", "5"]
    assert ticks([1, 2, 3], log=False) == ["1", "2", "3"]


def test_an_axis_that_holds_zero_is_linear_near_it() -> None:
    ax: Axes = Canvas().subplots()
    for values, scale in (([0.0, 1.0], "symlog"), ([0.5, 1.0], "log")):
        place_ticks(ax, values, log=True)
        assert ax.get_xscale() == scale


def test_words_beside_a_known_one_take_its_colour_or_a_free_one() -> None:
    found = styles(["eqco, alpha = 64", "eqco, alpha = 256", "infonce"])
    known = styles(["eqco", "infonce"])
    assert found["infonce"] == known["infonce"]
    assert found["eqco, alpha = 64"] == known["eqco"]
    assert len({look.colour for look in found.values()}) == 3


@pytest.mark.parametrize(
    "names",
    [
        ["simclr", "byol", "barlow-twins", "unigrad"],
        ["ir", "ball", "cave", "la", "ball-anneal", "cave-anneal"],
        ["moco-v2", "simmoco, keys", "simco, keys", "simco, both"],
        ["none", "grayscale", "flip", "jitter", "crop", "moco-v1", "affine"],
        ["moco", "simclr-momentum", "byol", "byol-directpred", "unigrad", "vicreg-momentum"],
    ],
)
def test_the_lines_of_a_papers_figure_differ_in_colour(names: list[str]) -> None:
    assert len({look.colour for look in styles(names).values()}) == len(names)


def test_a_history_of_few_steps_has_ticks_at_them() -> None:
    figure = Figure(
        name="f", title="F", draw="history", x="epoch", y="q_b", x_label="epoch", y_label="q_B"
    )
    path = path_of("dcl-figure-1")
    cells, _ = results_of(path, "smoke")
    suite, paper = load_suite(path), load_paper("dcl")

    def labels(epochs: list[float]) -> list[str]:
        def history(_: Cell) -> Finished:
            return Finished({}, {}, lambda: [{"epoch": e, "q_b": 0.5} for e in epochs])

        canvas = draw_figure(figure, suite, cells, [(c, history(c)) for c in cells], paper)
        assert canvas is not None
        canvas.draw_without_rendering()
        return [label.get_text() for label in canvas.axes[0].get_xticklabels()]

    assert labels([1.0]) == ["1"]
    assert labels([1.0, 2.0, 5.0]) == ["1", "2", "5"]
    assert all(float(text).is_integer() for text in labels([float(e) for e in range(1, 21)]))


def test_a_history_of_one_line_of_several_is_not_drawn() -> None:
    """One view set alone shows nothing of what the figure compares."""
    path = path_of("mutual-information-figure-5")
    cells, _ = results_of(path, "smoke")
    (figure,) = load_suite(path).figures
    kept = Finished({}, {}, lambda: [{"epoch": e, "knn_top1": 50.0} for e in (1, 2)])
    done = [(cell, kept) for cell in cells if cell.settings["method"] == "ir"]
    assert len({cell.settings["views"] for cell, _ in done}) > 1
    assert not can_be_drawn(figure, cells, done[:1])
    assert can_be_drawn(figure, cells, done)
    assert can_be_drawn(figure, [cells[0]], done[:1])  # nothing more was to be compared


def test_numbers_in_the_names_of_lines_and_panels_are_ordered_as_numbers() -> None:
    names = [
        "K = 8, loss = dcl",
        "K = 8, loss = eqco",
        "K = 16",
        "K = 256",
        "lr = 1e-06",
        "lr = 0.1",
    ]
    assert ordered(reversed(names)) == names
    assert ordered(["none", 256, "K", 8, 0.5, 8]) == [0.5, 8, 256, "K", "none"]
