"""A suite held against the paper it names: do its artifacts, claims and rows exist?"""

from pathlib import Path

from bench.config.cells import CELLS
from bench.config.suite import Suite
from bench.errors import PublishedError, SuiteError, choices
from bench.published.reader import Paper, load_paper


def check_suite(suite: Suite, path: Path) -> Paper:
    """Return the suite's paper.

    Raises:
        SuiteError: with the place in the file, for a paper, artifact, claim, protocol or row key
            that does not exist.
    """
    try:
        paper = load_paper(suite.paper)
    except PublishedError as error:
        raise SuiteError(f"{path}: paper: {error}") from None
    names = [(f"reproduces.{i}", "artifact", name) for i, name in enumerate(suite.reproduces)]
    names += [
        (f"compare.{i}.artifact", "artifact", c.artifact) for i, c in enumerate(suite.compare)
    ]
    names += [(f"claims.{name}", "claim", name) for name in suite.claims]
    names += [("protocol", "protocol", suite.protocol)] if suite.protocol else []
    for i, figure in enumerate(suite.figures):
        names += [(f"figures.{i}.artifact", "artifact", figure.artifact)] if figure.artifact else []
    for place, kind, name in names:
        try:
            getattr(paper, kind)(name)
        except PublishedError as error:
            raise SuiteError(f"{path}: {place}: {error}") from None
    _check_row_keys(suite, paper, path)
    return paper


def _check_row_keys(suite: Suite, paper: Paper, path: Path) -> None:
    """Every key of a printed row names a setting, or the suite says that it names none."""
    kinds = {suite.experiment, *(b.experiment for b in suite.grids if b.experiment)}
    settings = sorted({name for kind in kinds for name in CELLS[kind].setting_names()})
    for i, comparison in enumerate(suite.compare):
        for value in paper.artifact(comparison.artifact).values:
            for key in value.row_settings:
                name = suite.renamed.get(key, key)
                if name not in settings and key not in comparison.unmatched:
                    raise SuiteError(
                        f"{path}: compare.{i}: the rows of {comparison.artifact} have the key "
                        f"'{key}', which names no setting; rename it under renamed or list it "
                        f"under unmatched. {choices(key, settings)}"
                    )
