"""Commands that messages name, to be copied."""

import shlex

from bench.cli.workspace import USUAL_RESULTS, Workspace, workspace_of
from bench.results.tables import table_files


def command_line(workspace: Workspace, verb: str, *words: str) -> str:
    """Return a command with those folders that it would not find by itself.

    Nothing is computed into exported tables: for `run` they count as done beside other results.

    Args:
        workspace: the folders.
        verb: of `bench`.
        words: what stands behind it, as the shell reads it.
    """
    have = ""
    if verb == "run" and table_files(workspace.results):
        have = f"--have {shlex.quote(str(workspace.results))}"
        workspace = beside_tables(workspace)
    usual = workspace_of()
    folders = [
        f"--{name} {shlex.quote(str(folder))}"
        for name, folder in workspace._asdict().items()
        if folder != getattr(usual, name)
    ]
    return " ".join(word for word in ["bench", *folders, verb, *words, have] if word)


def beside_tables(workspace: Workspace) -> Workspace:
    """Return the folders to compute in: other results where these are exported tables."""
    tables = table_files(workspace.results)
    return workspace._replace(results=USUAL_RESULTS) if tables else workspace
