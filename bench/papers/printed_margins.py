"""How far the papers' printed numbers lie from the thresholds of their claims' checks."""

from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from bench.errors import PublishedError
from bench.files.yaml_file import load_yaml

MARGINS = Path(__file__).parent / "printed_margins.yaml"
_TABLE: TypeAdapter[dict[str, dict[str, float]]] = TypeAdapter(dict[str, dict[str, float]])


@cache
def _shipped() -> dict[str, dict[str, float]]:
    return _TABLE.validate_python(load_yaml(MARGINS, PublishedError) or {})


def printed_margin(suite: str, claim: str) -> float | None:
    """Return the smallest distance from a threshold, in the metric's unit; None: nothing printed.

    Of the checks of a suite's claim on the printed numbers: `make margins` writes the file.
    """
    return _shipped().get(suite, {}).get(claim)
