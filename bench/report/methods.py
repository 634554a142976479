"""Two Markdown pages: methods by their settings, and presets next to papers and code."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bench.report.formats import markdown_text
from bench.suites.facts import stated_text
from bench.suites.presets import STATING, Preset, departs, stated_of
from bench.suites.reference import Setting
from bench.text import value_text

METHODS_HEAD = """# Methods, setting by setting

`bench methods --to reports/reference` writes this page from the presets. A method is a combination
of settings, and a suite may override each setting. The columns of a family's table are the settings
that differ within the family; settings that all methods of the family share are listed above the
table. The column *like* names the method from which a method is derived; values in bold differ
from that method. `-` means that the setting has no meaning for the method. `bench methods NAME`
gives the source of each setting of the method NAME. The page
[Presets and their sources](presets.md) compares the presets with the papers and their released
code.
"""
NOT_CHECKED = """\
Citations of other papers, which are given by their arXiv numbers, were not checked
against the texts of these papers.
"""
"""A warning about sources that begin with arXiv."""
PRESETS_HEAD = f"""# Presets and their sources

`bench methods --to reports/reference` writes this page from the presets and from the facts that
the papers state. The page [*Methods, setting by setting*](methods.md) lists and explains all
settings of each method.

A preset's table lists the settings that the preset sets itself; every setting that the table lacks
comes from the preset from which the preset is derived. The last column of a preset's table names
the paper whose value the table shows. The released code is the code of the paper's authors, or the
code that the paper names. An empty entry means that we recorded no value of the paper or of the
code; our value may still differ from the paper or the code. If an entry joins several values by
*or*, the paper or the code states each of these values in some place. `0.08 feature_dim` means 0.08
times the setting `feature_dim`. `-` means that the setting has no meaning for the preset. If our
value is in **bold**, it differs from the paper or the released code, and the last column of the
table gives the reason.

The facts that EqCo, Dual Temperature, Mutual Information, UniGrad and DCL state are recorded in
`bench/papers/data`. {NOT_CHECKED}"""
_COLUMNS = ["setting", "value in the paper", "value in the released code", "our value"]
_WHOSE = {"paper": "the paper's", "code": "the code's"}


def methods_page(
    records: Sequence[Mapping[str, Any]],
    elsewhere: Mapping[str, str],
    settings: Sequence[Setting],
) -> str:
    """Return the page of methods by their settings.

    Args:
        records: methods with `name`, `family`, `like`, `what` and `coordinates` (value, source).
        elsewhere: method names in published rows that are not among these methods, with reasons.
        settings: description of each setting.
    """
    families = dict.fromkeys(record["family"] for record in records)
    parts = [METHODS_HEAD]
    parts += [_family(name, [r for r in records if r["family"] == name]) for name in families]
    rows = [f"| {name} | {why} |" for name, why in elsewhere.items()]
    head = ["## Published names that are no presets", "", "| name | meaning |", "|---|---|"]
    parts += ["\n".join([*head, *rows, ""]), _reference(settings)]
    return "\n".join(parts) + "\n"


def _reference(settings: Sequence[Setting]) -> str:
    """Return every setting with its values and what it is."""
    lines = ["## Settings", ""]
    for axis in dict.fromkeys(setting.axis for setting in settings):
        listed = [setting for setting in settings if setting.axis == axis]
        heads = ["| setting | values | default | meaning |", "|---|---|---|---|"]
        lines += [f"### {axis}", "", *heads]
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
        shared_text = ", ".join(f"{n} = {_text(shared.get(n))}" for n in common)
        lines += [f"Settings that all methods of the family {name} share: {shared_text}.", ""]
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
    """Return the page of presets next to papers and code.

    Raises:
        BenchError: a preset names facts that do not exist.
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
            markdown_text(coordinate.why or ("no reason is recorded" if different else "")),
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
    return "\n".join(
        ["## Values that differ from the paper or the released code", "", *_table(heads, lines), ""]
    )


def _section(label: str, preset: Preset, rows: Mapping[str, _Row]) -> str:
    base = f"the preset [{preset.like}](#{preset.like})"
    like = [f"Each setting that the preset {label} does not set itself comes from {base}.", ""]
    lines = [
        [f"`{name}`", *row.cells, f"{row.source}. Why: {row.why}" if row.why else row.source]
        for name, row in rows.items()
    ]
    heads = [*_COLUMNS, "source and reason"]
    table = _table(heads, lines) if lines else [f"The preset {label} sets nothing itself."]
    what = markdown_text(preset.what)
    if preset.collapses:
        collapse = f"**The outputs of the preset {label} collapse**"
        what += f". {collapse}: {markdown_text(preset.collapses)}"
    return "\n".join([f"### {label}", "", what, "", *(like if preset.like else []), *table, ""])


def _table(heads: list[str], rows: list[list[str]]) -> list[str]:
    return [
        *("| " + " | ".join(cells) + " |" for cells in (heads, ["---"] * len(heads), *rows)),
    ]
