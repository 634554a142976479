"""The values that a suite itself gives its settings, at the scales that change nothing."""

from bench.suites.suite import Block, Scalar, Suite, point_lists, rows_of


def axis_values(suite: Suite) -> dict[str, set[Scalar]]:
    """Return each value that a setting has in the suite's own grids, fixed ones included."""
    values_of: dict[str, set[Scalar]] = {}
    blocks: list[Suite | Block] = [suite, *suite.grids]
    for block in blocks:
        points = [{name: value} for name, values in block.grid.items() for value in values]
        for rows in point_lists(block.points):
            points += (made := [point for row in rows for point in rows_of(row)])
            names = {name for point in made for name in point} - block.fixed.keys()
            points += [{name: None for name in names - point.keys()} for point in made]
        for settings in (block.fixed, *points):
            for name, value in settings.items():
                values_of.setdefault(name, set()).add(value)
    return values_of
