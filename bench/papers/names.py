"""Display names of settings, methods and losses: `names.yaml`."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from bench.errors import PublishedError
from bench.files.yaml_file import load_yaml

NAMES = Path(__file__).parent / "names.yaml"


class Names(NamedTuple):
    """Content of the file of display names."""

    settings: dict[str, str]
    values: dict[str, str]
    endings: dict[str, str]  # of hyphenated names whose beginning is a value
    papers: dict[str, dict[str, str]]  # values that a paper writes in its own way


@cache
def names() -> Names:
    """Return the content of the file.

    Raises:
        PublishedError: the file cannot be read.
    """
    return Names(**load_yaml(NAMES, PublishedError))


def setting_name(setting: str) -> str:
    """Return the display name of a setting, such as batch size for batch_size."""
    return names().settings.get(setting, setting.replace("_", " "))


def value_name(value: str, paper: str = "") -> str:
    """Return the display name of a method, loss or data set: `IR-nce`, `BALL (Lab, annealed)`.

    Args:
        value: name in suites.
        paper: the paper whose spelling is used.
    """
    known = names().values | names().papers.get(paper, {})
    if value in known:
        return known[value]
    begin, endings = value, list[str]()
    while begin not in known:
        for ending, wording in names().endings.items():
            if begin.endswith(f"-{ending}"):
                begin, endings = begin.removesuffix(f"-{ending}"), [wording, *endings]
                break
        else:
            return value
    joined = "".join(wording for wording in endings if wording.startswith("-"))
    listed = ", ".join(wording for wording in endings if not wording.startswith("-"))
    return f"{known[begin]}{joined}{f' ({listed})' if listed else ''}"
