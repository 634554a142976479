"""The reference of the command line, from the program itself."""

from typing import Any

from bench.cli.app import VERBS, app, command_of

HEAD = """# Commands

*Generated* from the program. Options of `bench` itself stand before the verb:
`bench --results FOLDER status SUITE`.

| exit status | meaning |
|---|---|
| 0 | success |
| 1 | the answer is negative: a cell failed, a value differs, a claim fails, an import has conflicts |
| 2 | a mistake in the call or in a file; one line on standard error says which |
| 3 | no result exists that could answer the question |
| 130 | interrupted |

With `--json`, a verb prints one [JSON document](../reference/json.md) on standard output, and
nothing else there. Progress and messages go to standard error.
"""


def commands_page() -> str:
    """Return every verb with its arguments and options."""
    import typer

    group = typer.main.get_command(app)
    parts = [HEAD, "## bench\n", _usage("bench", group), group.help or "", _options(group)]
    panels = dict.fromkeys(verb.panel for verb in VERBS.values())
    for panel in panels:
        parts.append(f"## {panel}\n")
        for name, verb in VERBS.items():
            if verb.panel == panel:
                command = command_of(name)
                parts += [f"### bench {name}\n", _usage(f"bench {name}", command)]
                parts += [_paragraph(command.help or verb.what), _options(command)]
    return "\n".join(parts)


def _usage(name: str, command: Any) -> str:
    context = command.make_context(name, [], resilient_parsing=True)
    return f"```text\n{name} {' '.join(command.collect_usage_pieces(context))}\n```\n"


def _paragraph(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split()) + "\n"


def _options(command: Any) -> str:
    rows = [row for parameter in command.params if (row := _row(parameter))]
    head = ["| argument or option | meaning | default |", "|---|---|---|"]
    return "\n".join([*head, *rows, ""]) if rows else ""


def _row(parameter: Any) -> str:
    if getattr(parameter, "hidden", False):
        return ""
    names = [*parameter.opts, *parameter.secondary_opts]
    is_option = parameter.param_type_name == "option"
    label = ", ".join(f"`{n}`" for n in names) if is_option else f"`{parameter.name.upper()}`"
    kind = getattr(parameter.type, "name", "")
    if is_option and not parameter.is_flag and kind:
        label += f" {kind.upper()}"
    told = " ".join((getattr(parameter, "help", None) or "").split())
    if getattr(parameter, "envvar", None):
        told += f" Environment variable: `{parameter.envvar}`."
    default = parameter.default
    plain = default is None or default is False or callable(default) or default == []
    value = "" if plain or parameter.required else f"`{default}`"
    return f"| {label} | {told} | {value} |".replace("<", "&lt;")
