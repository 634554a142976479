"""Every method as its coordinates, on one page of Markdown."""

from collections.abc import Mapping, Sequence
from typing import Any

HEAD = """# Methods as coordinates

Written by `bench methods --to reports/reference` from the presets. A method is a point: a suite may
override any coordinate. In each family's table only the coordinates that differ within it are
columns, bold where a method departs from the one it is *like*; the others are listed above it. `-`
means: has no meaning here. `bench methods NAME` says where each coordinate comes from.
"""


def methods_page(records: Sequence[Mapping[str, Any]], elsewhere: Mapping[str, str]) -> str:
    """Return the page.

    Args:
        records: methods with `name`, `family`, `like`, `what` and `coordinates` (value, source).
        elsewhere: names that published rows call methods and that are none of these, and why.
    """
    families = dict.fromkeys(record["family"] for record in records)
    parts = [HEAD]
    parts += [_family(name, [r for r in records if r["family"] == name]) for name in families]
    rows = [f"| {name} | {why} |" for name, why in elsewhere.items()]
    parts.append("\n".join(["## Not among them", "", "| name | what it is |", "|---|---|", *rows]))
    return "\n".join(parts) + "\n"


def _family(name: str, records: Sequence[Mapping[str, Any]]) -> str:
    values = {r["name"]: {k: c["value"] for k, c in r["coordinates"].items()} for r in records}
    names = list(dict.fromkeys(key for own in values.values() for key in own))
    common = [n for n in names if len({repr(own.get(n)) for own in values.values()}) == 1]
    varied = [n for n in names if n not in common]
    shared = next(iter(values.values()))
    lines = [f"## {name}", ""]
    if common:
        told = ", ".join(f"{n} {_told(shared[n])}" for n in common)
        lines += [f"All of them: {told}.", ""]
    lines += ["| method | like | " + " | ".join(varied) + " |", "|---" * (len(varied) + 2) + "|"]
    for record in records:
        own, base = values[record["name"]], values.get(record["like"])
        cells = [_cell(own.get(n), base is not None and own.get(n) != base.get(n)) for n in varied]
        lines.append(f"| {record['name']} | {record['like'] or ''} | " + " | ".join(cells) + " |")
    lines += ["", *(f"- **{r['name']}**: {r['what']}" for r in records), ""]
    return "\n".join(lines)


def _cell(value: object, changed: bool) -> str:
    return f"**{_told(value)}**" if changed else _told(value)


def _told(value: object) -> str:
    if value is None:
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)
