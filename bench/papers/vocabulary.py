"""Keys of stated facts that are not settings of cells."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from bench.errors import PublishedError
from bench.files.yaml_file import load_yaml

VOCABULARY = Path(__file__).parent / "vocabulary.yaml"


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
