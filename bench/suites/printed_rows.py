"""Which printed rows a comparison takes, and which cells belong to them."""

from collections.abc import Collection

from bench.papers.reader import PublishedValue
from bench.suites.suite import Comparison, Settings, Suite


def is_spoken_of(value: PublishedValue, comparison: Comparison, metrics: Collection[str]) -> bool:
    """Return whether the comparison takes the printed row.

    Args:
        value: the printed row.
        comparison: of its artifact.
        metrics: those of the cells; a row of another one of them is not taken.
    """
    if value.metric in metrics and value.metric != comparison.metric:
        return False
    known = value.row_settings | {"metric": value.metric}
    return all(
        known.get(key) in (allowed if isinstance(allowed, list) else [allowed])
        for key, allowed in comparison.rows.items()
    )


def wanted_settings(value: PublishedValue, comparison: Comparison, suite: Suite) -> Settings:
    """Return the settings of the cells that belong to a printed row.

    Args:
        value: the printed value, with the settings of its row.
        comparison: the block of the suite that it belongs to.
        suite: the suite.
    """
    return dict(comparison.where) | {
        suite.renamed.get(key, key): v
        for key, v in value.row_settings.items()
        if key not in comparison.unmatched
    }
