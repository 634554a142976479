"""Which command goes on from what was measured."""

from bench.cli.selection import Selection, command_words


def next_command(selection: Selection, whole: bool) -> str:
    """Return the command that tells most next: the rest of the cells, then verdicts, then pages.

    Args:
        selection: what was looked at.
        whole: whether all of its cells are done.
    """
    suite, words = selection.suite, command_words(selection.suite.name, selection.scale)
    published = suite.scales[selection.scale].protocol == "published"
    if not whole:
        return f"`bench run {selection.words}` computes the rest"
    if selection.changes:
        return f"`bench show {words}` shows the suite's own cells"
    if published and suite.compare:
        return f"`bench compare {words}` compares it with the printed values"
    if suite.claims:
        return f"`bench claims {words}` judges the paper's claims on it"
    return f"`bench report {words}` writes pages and figures"
