"""The values that a suite itself gives its settings, at the scales that change nothing."""

from bench.suites.suite import Block, Scalar, Suite


def axis_values(suite: Suite) -> dict[str, set[Scalar]]:
    """Return each value that a setting has in the suite's own grids, fixed ones included."""
    values_of: dict[str, set[Scalar]] = {}
    blocks: list[Suite | Block] = [suite, *suite.grids]
    for block in blocks:
        for name, value in block.fixed.items():
            values_of.setdefault(name, set()).add(value)
        for axes in (block.grid, *block.zip):
            for name, values in axes.items():
                values_of.setdefault(name, set()).update(values)
    return values_of
