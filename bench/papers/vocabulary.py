"""Keys of stated facts that are not settings of cells, and display names of those that are."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from bench.errors import PublishedError
from bench.files.yaml_file import load_yaml

VOCABULARY = Path(__file__).parent / "vocabulary.yaml"
NAMES = Path(__file__).parent / "names.yaml"


class Vocabulary(NamedTuple):
    """Keys under `stated` or `setting` in `data/*.yaml` that are not settings of cells."""

    remarks: dict[str, dict[str, str]]  # kind of remark -> key -> why it is not compared
    no_cell_has: dict[str, str]  # key -> what it means; stated, it is a departure of every cell
    values_no_cell_has: dict[str, list[str]]  # stated values of settings that are none of a cell
    of_others: dict[str, str]  # key -> what it means; other projects state it, no paper does
    metrics_of_others: dict[str, str]  # metric -> what it means; no cell has it


@cache
def vocabulary() -> Vocabulary:
    """Return the content of the vocabulary file.

    Raises:
        PublishedError: the file cannot be read.
    """
    return Vocabulary(**load_yaml(VOCABULARY, PublishedError))


@cache
def remark_keys() -> frozenset[str]:
    """Return all keys that are not compared."""
    return frozenset(key for keys in vocabulary().remarks.values() for key in keys)


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
