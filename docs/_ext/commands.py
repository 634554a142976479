"""The reference of the command line, from the program itself."""

from typing import Any

from bench.cli.app import VERBS, app, command_of

HEAD = """# Commands

*Generated* from the program. Options of `bench` itself stand before the verb:
`bench --results FOLDER status SUITE`.

| exit status | meaning |
|---|---|
| 0 | success |
| 1 | the answer is negative: a cell failed, a value differs, a claim fails, cells conflict |
| 2 | a mistake in the call or in a file; one line on standard error says which |
| 3 | no result exists that could answer the question |
| 130 | interrupted |
| 141 | the program that its output was piped into has ended, as `head` does |

With `--json`, a verb prints one [JSON document](../reference/json.md) on standard output, and
nothing else there. Progress and messages go to standard error.
"""


def commands_page() -> str:
    """Return every verb with its arguments and options."""
    import typer

    group = typer.main.get_command(app)
    parts = [
        HEAD,
        "## bench\n",
        _usage("bench", group),
        _paragraph(group.help or ""),
        _options("bench", group),
    ]
    panels = dict.fromkeys(verb.panel for verb in VERBS.values())
    for panel in panels:
        parts.append(f"## {panel}\n")
        for name, verb in VERBS.items():
            if verb.panel == panel:
                command = command_of(name)
                parts += [f"### bench {name}\n", _usage(f"bench {name}", command)]
                parts += [_paragraph(command.help or verb.what), _options(f"bench {name}", command)]
    return "\n".join(parts)


def _usage(name: str, command: Any) -> str:
    return (
        f"```text\n{name} {' '.join(command.collect_usage_pieces(_context(name, command)))}\n```\n"
    )


def _context(name: str, command: Any) -> Any:
    return command.make_context(name, [], resilient_parsing=True)


def _paragraph(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split()) + "\n"


def _options(name: str, command: Any) -> str:
    context = _context(name, command)
    records = [p.get_help_record(context) for p in command.get_params(context)]
    rows = [f"| `{names}` | {_paragraph(told).strip()} |" for names, told in filter(None, records)]
    return "\n".join(["| argument or option | meaning |", "|---|---|", *rows, ""])
