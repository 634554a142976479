"""Two pages of Markdown: methods by their settings, and presets beside papers and code."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bench.report.formats import markdown_text
from bench.suites.agreement import stated_text
from bench.suites.presets import STATING, Preset, departs, stated_of
from bench.suites.reference import Setting
from bench.text import value_text

METHODS_HEAD = """# Methods as coordinates

Written by `bench methods --to reports/reference` from the presets. A method is a point: a suite may
override any coordinate. In each family's table only the coordinates that differ within it are
columns, bold where a method departs from the one it is *like*; the others are listed above it. `-`
means: has no meaning here. `bench methods NAME` says where each coordinate comes from;
[Presets, setting by setting](presets.md) what the papers and their released code have, and where
ours differs.
"""
PRESETS_HEAD = """# Presets, setting by setting

Written by `bench methods --to reports/reference` from the presets and the recorded facts. [Methods
as coordinates](methods.md) has all settings of each method, and what a setting is.

A preset's table has the settings that it names itself; the others are those of the preset that it
is *like*. The paper is the one that the last column names; the released code is that of its
authors, or that which it names. An empty cell: nothing is on record there, which does not mean that
ours agrees. Several values with *or*: each is stated somewhere. `0.08 feature_dim`: 0.08 times that
setting. `-`: the setting has no meaning here. **Bold**: ours is not what is stated; the last column
says why.

What is cited from EqCo, Dual Temperature, Mutual Information, UniGrad and DCL is on record in
`bench/papers/data`. Sections, equations and values cited from other papers, by their arXiv numbers,
were not checked against the papers' texts.
"""
_COLUMNS = ["setting", "the paper's value", "the released code's", "ours"]
_WHOSE = {"paper": "the paper's", "code": "the code's"}


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
    parts = [METHODS_HEAD]
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


class _Row(NamedTuple):
    """A setting of a preset."""

    stated: list[str]  # the paper's, the code's; empty where not on record
    ours: str
    departs_from: list[str]
    source: str
    why: str

    @property
    def cells(self) -> list[str]:
        mark = f"**{self.ours}**, not {' or '.join(self.departs_from)}"
        return [*self.stated, mark if self.departs_from else self.ours]


def presets_page(presets: Mapping[str, Preset]) -> str:
    """Return the page.

    Raises:
        BenchError: the recorded facts that a preset names do not exist.
    """
    rows = {label: _rows(label, preset) for label, preset in presets.items()}
    parts = [PRESETS_HEAD, _all_departures(rows)]
    for family in dict.fromkeys(preset.family for preset in presets.values()):
        parts.append(f"## {family}\n")
        parts += [_section(n, p, rows[n]) for n, p in presets.items() if p.family == family]
    return "\n".join(parts)


def _rows(label: str, preset: Preset) -> dict[str, _Row]:
    rows = {}
    for name, stated in stated_of(label, preset).items():
        coordinate = preset.coordinates[name]
        different = [w for w in STATING if w in stated and departs(coordinate.value, stated[w])]
        rows[name] = _Row(
            [_stated_text(stated, who) for who in STATING],
            markdown_text(value_text(coordinate.value, null="-")),
            [_WHOSE[who] for who in different],
            markdown_text(coordinate.source),
            markdown_text(coordinate.why or ("no reason is on record" if different else "")),
        )
    return rows


def _stated_text(stated: Mapping[str, Any], who: str) -> str:
    return markdown_text(stated_text(stated[who])) if who in stated else ""


def _all_departures(rows: Mapping[str, Mapping[str, _Row]]) -> str:
    """Return the settings of all presets that are not as stated, with the reasons."""
    lines = [
        [f"[{label}](#{label})", f"`{name}`", *row.cells, row.why]
        for label, preset_rows in rows.items()
        for name, row in preset_rows.items()
        if row.departs_from
    ]
    heads = ["preset", *_COLUMNS, "why"]
    return "\n".join(["## Where ours is not what is stated", "", *_table(heads, lines), ""])


def _section(label: str, preset: Preset, rows: Mapping[str, _Row]) -> str:
    like = [f"All other settings are those of [{preset.like}](#{preset.like}).", ""]
    lines = [
        [f"`{name}`", *row.cells, f"{row.source}. Why: {row.why}" if row.why else row.source]
        for name, row in rows.items()
    ]
    table = _table([*_COLUMNS, "where from"], lines) if lines else ["It names no setting itself."]
    what = markdown_text(preset.what)
    if preset.collapses:
        what += f". **It collapses**: {markdown_text(preset.collapses)}"
    return "\n".join([f"### {label}", "", what, "", *(like if preset.like else []), *table, ""])


def _table(heads: list[str], rows: list[list[str]]) -> list[str]:
    return [
        *("| " + " | ".join(cells) + " |" for cells in (heads, ["---"] * len(heads), *rows)),
    ]
