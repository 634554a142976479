"""Few seeds are drawn one by one, intervals of accuracies end at 100 %, ties stay visible."""

import pandas as pd
import pytest
from matplotlib.figure import Figure as Canvas

from bench.figures.kinds import Lines
from bench.figures.marks import WIDTHS, widths_apart
from tests.fakes.made_up import drawn


def frame(values: dict[float, list[float]], name: str = "dcl") -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"K": x, "knn_top1": y, "loss": name, "seed": seed}
            for x, own in values.items()
            for seed, y in enumerate(own)
        ]
    )


def bars(table: pd.DataFrame) -> list[tuple[float, float]]:
    """Return the ends of the intervals drawn."""
    ax = Canvas().subplots()
    Lines(x="K", y="knn_top1", by="loss").draw(table, ax)
    (container,) = ax.containers
    segments = container.lines[2][0].get_segments()  # type: ignore[attr-defined]
    return [(float(low[1]), float(high[1])) for low, high in segments]


def test_two_seeds_are_points_and_no_bar() -> None:
    table = frame({1: [80.0, 99.0], 2: [90.0, 91.0, 92.0]})
    (first, second) = bars(table)
    assert first[0] == first[1] == pytest.approx(89.5)
    assert second[0] < 90 < 92 < second[1]
    ax = Canvas().subplots()
    Lines(x="K", y="knn_top1", by="loss").draw(table, ax)
    seeds = [drawn(line, "y") for line in ax.lines if line.get_linestyle() == "None"]
    assert [80.0, 99.0] in seeds


def test_an_accuracys_interval_ends_at_100() -> None:
    ((low, high),) = bars(frame({1: [96.0, 100.0, 99.0]}))
    assert high == 100.0
    assert low < 96.0


def test_a_line_below_another_is_wider() -> None:
    one, other = pd.Series([1.0, 2.0, 3.0]), pd.Series([5.0, 6.0, 7.0])
    thin, wide = WIDTHS
    assert widths_apart([one, other]) == [thin, thin]
    assert widths_apart([one, one]) == [wide, thin]
    assert widths_apart([one, pd.Series([1.0, 5.0, 9.0])]) == [thin, thin]  # they cross
