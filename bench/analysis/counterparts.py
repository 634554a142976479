"""What stands for the settings of printed rows at a reduced scale.

A scale that has a printed value of a setting has it as it is. Else one of two rules holds, and what
stands for what is reported wherever the number is:

- the scale has one value of the setting, which stands for all: digits for ImageNet. One of the
  suite's own values does not, unless a shared scale brings it: a scale without label noise leaves
  out the runs with noise, it does not stand for them;
- it has as many numbers as the paper's rows, which correspond by size: 10 and 20 epochs to 100 and
  200, K = 16 and 126 to 16 and 256.

A printed value without a counterpart is not measured at the scale.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from bench.suites.suite import Scalar, Settings

Values = set[Scalar]


class Counterparts:
    """The counterparts of one artifact's settings at a scale."""

    def __init__(
        self,
        artifact: Sequence[Settings],
        suite: Sequence[Settings],
        cells: Sequence[dict[str, Any]],
        in_row: Mapping[str, Values] = MappingProxyType({}),
    ) -> None:
        """Look up which values there are.

        Args:
            artifact: the settings of its printed rows that have effects, and of their partners.
            suite: those of all artifacts of the suite, which share the scale's axes.
            cells: the settings of the scale's cells; none where nothing may stand for another.
            in_row: by setting, the suite's own values, which stand for themselves alone.
        """
        self._of = {
            name: _pairs(
                _values(name, artifact),
                _values(name, suite),
                _values(name, cells),
                in_row.get(name, set()),
            )
            for name in {name for row in artifact for name in row}
        }

    def of(self, settings: Settings) -> Settings:
        """Return the settings of the scale's cells; a value without a counterpart stays."""
        return {n: self._of[n].get(v, v) if n in self._of else v for n, v in settings.items()}


def _pairs(
    here: Values, everywhere: Values, measured: Values, in_row: Values
) -> dict[Scalar, Scalar]:
    """Return the counterparts of printed values: of an artifact's alone, or of all."""
    if len(measured) == 1 and not (here | in_row) & measured:
        return dict.fromkeys(here, *measured)
    if not _are_numbers(everywhere | measured) or len(everywhere) != len(measured):
        return {}
    pairs = dict(zip(sorted(everywhere), sorted(measured), strict=True))  # type: ignore[type-var]
    return pairs if all(pairs[value] == value for value in everywhere & measured) else {}


def _are_numbers(values: Values) -> bool:
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _values(name: str, rows: Iterable[dict[str, Any]]) -> Values:
    return {row[name] for row in rows if row.get(name) is not None}
