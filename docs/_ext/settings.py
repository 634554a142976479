"""The reference of settings: those of `pretrain` by axis, those of every other experiment."""

from collections.abc import Iterable

from comments import comments_of

from bench.cells import CELLS
from bench.cells.cell import Cell
from bench.cells.pretrain import Pretrain
from bench.suites.reference import field_values, settings_reference
from bench.text import value_text

HEAD = """# Settings

*Generated* from the program. A setting is a key under `fixed`, `grid` or `points` of a suite.
"needed"
in the column *default* marks a setting without default. Settings of `pretrain` may also come from
the preset that `method` names ([methods](methods.md)).
"""
COLUMNS = "| setting | values | default | meaning |\n|---|---|---|---|"


def settings_page() -> str:
    """Return the settings of every experiment with their values, defaults and meanings.

    Of an experiment that has those of `pretrain` too, its own alone.
    """
    parts = [HEAD, "## pretrain\n"]
    reference = settings_reference()
    for axis in dict.fromkeys(setting.axis for setting in reference):
        own = [setting for setting in reference if setting.axis == axis]
        rows = (_row(s.name, s.values, s.default or "needed", s.what) for s in own)
        parts += [f"### {axis}\n", _table(rows)]
    for name, kind in CELLS.items():
        if kind is not Pretrain:
            parts += [f"## {name}\n", _sentence(kind), _table(_rows(kind)), _metrics(kind)]
    return "\n".join(parts)


def _rows(kind: type[Cell]) -> Iterable[str]:
    comments = comments_of(kind)
    known = {setting.name: setting.what for setting in settings_reference()}  # of pretrain
    of_pretrain = Pretrain.model_fields if issubclass(kind, Pretrain) else {}
    for name in kind.setting_names():
        if name in of_pretrain:
            continue
        field = kind.model_fields[name]
        default = "needed" if field.is_required() else value_text(field.default)
        told = field.description or comments.get(name) or known.get(name, "")
        yield _row(name, field_values(field), default, told)


def _row(name: str, values: str, default: str, what: str) -> str:
    cells = (f"`{name}`", values, default, " ".join(what.split()))
    return "| " + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells) + " |"


def _table(rows: Iterable[str]) -> str:
    return "\n".join([COLUMNS, *rows, ""])


def _sentence(kind: type[Cell]) -> str:
    return " ".join((kind.__doc__ or "").split("\n\n")[0].split()).replace("<", "&lt;") + "\n"


def _metrics(kind: type[Cell]) -> str:
    names = getattr(kind, "metrics", ())
    return "Metrics: " + ", ".join(f"`{name}`" for name in names) + ".\n" if names else ""
