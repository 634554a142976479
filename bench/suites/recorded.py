"""What the recorded facts of a paper and of its released code state of a preset's settings."""

from typing import Any

from bench.errors import SuiteError
from bench.papers.reader import load_paper
from bench.suites.agreement import agrees
from bench.suites.presets import Preset


def stated_of(label: str, preset: Preset) -> dict[str, dict[str, Any]]:
    """Return what is stated of each setting that the preset names itself, by who states it.

    What the preset's file says of a setting counts; where it is silent, the recorded facts of the
    protocols that the preset lists in `recorded` do. A protocol whose source is the released code
    speaks for `code`, every other one for `paper`. What is stated of some cells alone counts where
    the preset has the settings of `when`.

    Raises:
        PublishedError: `recorded` names no paper or none of its protocols.
        SuiteError: it is not `paper/protocol`.
    """
    facts = _recorded(label, preset)
    return {
        name: facts.get(name, {}) | dict(preset.coordinates[name].stated) for name in preset.named
    }


def _recorded(label: str, preset: Preset) -> dict[str, dict[str, Any]]:
    known = preset.settings | {"method": label}
    recorded: dict[str, dict[str, Any]] = {}
    for source in preset.recorded:
        paper_name, _, name = source.partition("/")
        if not name:
            raise SuiteError(f"{label}.recorded: found '{source}', expected 'paper/protocol'")
        paper = load_paper(paper_name)
        who = "code" if paper.protocol(name).source else "paper"
        for statement in paper.statements(name):
            if all(agrees(known.get(key), value) for key, value in statement.when.items()):
                for key, value in statement.stated.items():
                    if value is not None:
                        recorded.setdefault(key, {})[who] = value
    return recorded
