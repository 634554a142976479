"""What an interval of a measured value covers."""

import pytest

from bench.analysis.intervals import interval_of
from bench.analysis.statistics import t_interval
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.paths import SUITES

PATH = SUITES / "dcl-table-1.yaml"


def test_the_error_of_few_test_images_is_added_and_named() -> None:
    """450 digits: at 90 % the standard error is 1.41 points."""
    suite = load_suite(PATH)
    cells = expand(suite, "smoke", PATH)
    plain = next(c for c in suite.compare if c.metric == "knn_top1" and not c.gain_over)
    narrow, wide = [89.9, 90.0, 90.1], [80.0, 90.0, 100.0]
    found, covers = interval_of(narrow, cells, plain)
    own = t_interval(narrow)
    assert found is not None
    assert found.high is not None
    assert own.high is not None
    assert found.high - 90 == pytest.approx(((own.high - 90) ** 2 + (1.96 * 2**0.5) ** 2) ** 0.5)
    assert covers == "training seeds and 450 test images (standard error 1.4)"
    assert interval_of(wide, cells, plain) == (t_interval(wide), "training seeds")
    gain = plain.model_copy(update={"gain_over": {"loss": "infonce"}})
    assert interval_of(narrow, cells, gain) == (t_interval(narrow), "training seeds")
    assert interval_of([90.0], cells, plain)[1] == "training seeds"
    assert interval_of([], cells, plain) == (None, "training seeds")
