"""Every method as its coordinates, on one page of Markdown."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.suites.reference import Setting
from bench.text import value_text

HEAD = """# Methods as coordinates

Written by `bench methods --to reports/reference` from the presets. A method is a point: a suite may
override any coordinate. In each family's table only the coordinates that differ within it are
columns, bold where a method departs from the one it is *like*; the others are listed above it. `-`
means: has no meaning here. `bench methods NAME` says where each coordinate comes from;
[Presets, setting by setting](presets.md) what the papers and their released code have, and where
ours differs.
"""


def methods_page(
    records: Sequence[Mapping[str, Any]],
    elsewhere: Mapping[str, str],
    settings: Sequence[Setting],
) -> str:
    """Return the page.

    Args:
        records: methods with `name`, `family`, `like`, `what` and `coordinates` (value, source).
        elsewhere: names that published rows call methods and that are none of these, and why.
        settings: what each setting is.
    """
    families = dict.fromkeys(record["family"] for record in records)
    parts = [HEAD]
    parts += [_family(name, [r for r in records if r["family"] == name]) for name in families]
    rows = [f"| {name} | {why} |" for name, why in elsewhere.items()]
    head = ["## Not among them", "", "| name | what it is |", "|---|---|"]
    parts += ["\n".join([*head, *rows, ""]), _reference(settings)]
    return "\n".join(parts) + "\n"


def _reference(settings: Sequence[Setting]) -> str:
    """Return every setting with its values and what it is."""
    lines = ["## Settings", ""]
    for axis in dict.fromkeys(setting.axis for setting in settings):
        listed = [setting for setting in settings if setting.axis == axis]
        lines += [f"### {axis}", "", "| setting | values | default | what |", "|---|---|---|---|"]
        lines += [f"| `{s.name}` | {s.values} | {s.default} | {s.what} |" for s in listed]
        lines.append("")
    return "\n".join(lines).rstrip()


def _family(name: str, records: Sequence[Mapping[str, Any]]) -> str:
    values = {r["name"]: {k: c["value"] for k, c in r["coordinates"].items()} for r in records}
    names = list(dict.fromkeys(key for settings in values.values() for key in settings))
    alike = [n for n in names if len({repr(settings.get(n)) for settings in values.values()}) == 1]
    common = alike if len(records) > 1 else []
    varied = [n for n in names if n not in common]
    shared = next(iter(values.values()))
    lines = [f"## {name}", ""]
    if common:
        shared_text = ", ".join(f"{n} {_text(shared.get(n))}" for n in common)
        lines += [f"All of them: {shared_text}.", ""]
    lines += ["| method | like | " + " | ".join(varied) + " |", "|---" * (len(varied) + 2) + "|"]
    for record in records:
        settings, base = values[record["name"]], values.get(record["like"])
        cells = [
            _cell(settings.get(n), base is not None and settings.get(n) != base.get(n))
            for n in varied
        ]
        lines.append(f"| {record['name']} | {record['like'] or ''} | " + " | ".join(cells) + " |")
    lines += ["", *(f"- **{r['name']}**: {r['what']}" for r in records), ""]
    return "\n".join(lines)


def _cell(value: object, changed: bool) -> str:
    return f"**{_text(value)}**" if changed else _text(value)


def _text(value: object) -> str:
    return value_text(value, null="-")
