"""The values that a suite itself gives its settings, at the scales that change nothing."""

from bench.suites.suite import Block, Scalar, Suite


def axis_values(suite: Suite) -> dict[str, set[Scalar]]:
    """Return each value that a setting has in the suite's own grids, fixed ones included."""
    found: dict[str, set[Scalar]] = {}
    blocks: list[Suite | Block] = [suite, *suite.grids]
    for block in blocks:
        for name, value in block.fixed.items():
            found.setdefault(name, set()).add(value)
        for axes in (block.grid, *block.zip):
            for name, values in axes.items():
                found.setdefault(name, set()).update(values)
    return found
