"""Results of claims' checks on the papers' published numbers."""

from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from bench.errors import PublishedError
from bench.files.yaml_file import load_yaml
from bench.record import Record

PRINTED = Path(__file__).parent / "printed_checks.yaml"


class PrintedCheck(Record):
    """A check on published numbers: the effect of the group nearest to the threshold."""

    effect: float  # in the metric's unit
    groups: int  # that the check looks at one by one


_TABLE: TypeAdapter[dict[str, dict[str, list[PrintedCheck | None]]]] = TypeAdapter(
    dict[str, dict[str, list[PrintedCheck | None]]]
)


@cache
def _shipped() -> dict[str, dict[str, list[PrintedCheck | None]]]:
    return _TABLE.validate_python(load_yaml(PRINTED, PublishedError) or {})


def printed_check(suite: str, claim: str, place: int) -> PrintedCheck | None:
    """Return the result of a claim's check on published numbers; None without such numbers.

    `make printed` writes the file.

    Args:
        suite: name of the suite.
        claim: id of the claim.
        place: index of the check in the claim, from 0.
    """
    checks = _shipped().get(suite, {}).get(claim, [])
    return checks[place] if place < len(checks) else None
