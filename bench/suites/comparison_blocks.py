"""Comparison blocks of a suite file, each of which defines one or more comparisons."""

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple, Self

from pydantic import model_validator

from bench.suites.suite import Comparison, Layout, RowsAndCells, Settings

_SETTINGS = ("where", "gain_over", "baseline")  # keys of a case that hold settings of cells
MOST_COMPARISONS = 1000  # of a block


class BlockComparison(RowsAndCells):
    """Keys that one comparison adds to its block."""

    metric: str | None = None


class ComparisonBlock(RowsAndCells):
    """Comparisons that differ in artifact, metric, or assignment of rows to cells.

    There is one comparison for each combination of `artifacts`, `metrics` and `cases`. The cases of
    the first metric of the first artifact come first. Keys in `artifacts` and `cases` are added to
    the block's own keys and override them.
    """

    artifact: str | None = None
    artifacts: dict[str, Settings] = {}  # in place of `artifact`: each with the cells it is of
    metric: str | None = None
    metrics: list[str] | dict[str, str] = []  # in place of `metric`; as a mapping: its `reading`
    cases: list[BlockComparison] = []
    reading: str | None = None
    argmax: str | None = None
    std_over: str | None = None
    layout: Layout | None = None

    @model_validator(mode="after")
    def _one_reduction(self) -> Self:
        gains = self.gain_over or any(case.gain_over for case in self.cases)
        if sum(map(bool, (self.argmax, self.std_over, gains))) > 1:
            raise ValueError("argmax, std_over, gain_over: at most one of these keys may be given")
        if self.baseline or any(case.baseline for case in self.cases):
            if gains:
                raise ValueError(
                    "gain_over, baseline: only one of these keys may be given, because a "
                    "published gain already has a baseline"
                )
            if self.argmax or self.std_over:
                raise ValueError("baseline: this key cannot be combined with argmax or std_over")
        return self

    @model_validator(mode="after")
    def _names_its_artifacts_and_metrics(self) -> Self:
        if bool(self.artifact) == bool(self.artifacts):
            raise ValueError("artifact, artifacts: exactly one of these keys is needed")
        of_cases = [case.metric is not None for case in self.cases]
        if [bool(self.metric), bool(self.metrics), any(of_cases)].count(True) != 1:
            raise ValueError("metric, metrics, cases.N.metric: exactly one of these keys is needed")
        if any(of_cases) and not all(of_cases):
            raise ValueError(f"cases.{of_cases.index(False)}.metric is missing")
        count = math.prod(max(1, len(n)) for n in (self.artifacts, self.metrics, self.cases))
        if count > MOST_COMPARISONS:
            raise ValueError(
                f"artifacts, metrics and cases give {count} comparisons; at most "
                f"{MOST_COMPARISONS} are allowed"
            )
        if isinstance(self.metrics, dict) and self.reading is not None:
            raise ValueError("reading: the key is given under metrics too; remove one of the two")
        return self


class _Part(NamedTuple):
    """Keys that are added to a block, and where in the block they stand."""

    keys: dict[str, Any]
    key_paths: dict[str, str] = {}


def comparisons(blocks: Sequence[ComparisonBlock]) -> list[Comparison]:
    """Return the comparisons that the blocks of a file define."""
    return [c for i, block in enumerate(blocks) for c in _each(block, f"compare.{i}")]


def _each(block: ComparisonBlock, block_path: str) -> Iterator[Comparison]:
    common = block.model_dump(exclude_unset=True, exclude={"artifacts", "metrics", "cases"})
    cases = [_case(case, f"cases.{i}") for i, case in enumerate(block.cases)]
    several = (_artifacts(block), _metrics(block), cases)
    for parts in product(*(each or [_Part({})] for each in several)):
        keys: dict[str, Any] = common
        key_paths: dict[str, str] = {}
        for part in parts:
            keys = keys | {key: _added(keys.get(key), value) for key, value in part.keys.items()}
            key_paths |= {key: f"{block_path}.{path}" for key, path in part.key_paths.items()}
        yield Comparison.model_validate(keys | {"block": block_path, "key_paths": key_paths})


def _added(value: Any, more: Any) -> Any:
    """Return a key's value with what a part adds: mappings and lists grow, others are replaced."""
    if isinstance(more, dict):
        return (value or {}) | more
    return [*(value or []), *more] if isinstance(more, list) else more


def _artifacts(block: ComparisonBlock) -> list[_Part]:
    return [
        _Part(
            {"artifact": name, "where": where},
            {"artifact": f"artifacts.{name}"}
            | {f"where.{key}": f"artifacts.{name}.{key}" for key in where},
        )
        for name, where in block.artifacts.items()
    ]


def _metrics(block: ComparisonBlock) -> list[_Part]:
    if isinstance(block.metrics, dict):
        return [
            _Part({"metric": name, "reading": reading}, {"metric": f"metrics.{name}"})
            for name, reading in block.metrics.items()
        ]
    names = enumerate(block.metrics)
    return [_Part({"metric": name}, {"metric": f"metrics.{i}"}) for i, name in names]


def _case(case: BlockComparison, case_path: str) -> _Part:
    paths = [f"{key}.{name}" for key in _SETTINGS for name in getattr(case, key)]
    paths += ["metric"] if case.metric else []
    return _Part(case.model_dump(exclude_unset=True), {key: f"{case_path}.{key}" for key in paths})
