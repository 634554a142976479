"""Which command goes on from what was measured."""

from bench.cli.selection import Selection


def next_command(selection: Selection, whole: bool) -> str:
    """Return the command that tells most next: the rest of the cells, then verdicts, then pages.

    Args:
        selection: what was looked at.
        whole: whether all of its cells are done.
    """
    suite, whole_suite = selection.suite, selection.whole
    published = suite.scales[selection.scale].protocol == "published"
    if not whole:
        return f"`{selection.command('run')}` computes the rest"
    if selection.changes:
        return f"`{whole_suite.command('show')}` shows the suite's own cells"
    if published and suite.compare:
        return f"`{whole_suite.command('compare')}` compares it with the printed values"
    if suite.claims:
        return f"`{whole_suite.command('claims')}` judges the paper's claims on it"
    return f"`{whole_suite.command('report')}` writes pages and figures"
