"""What the results say of a selection."""

from bench.analysis.evidence import Evidence, gather
from bench.cli.selection import Selection
from bench.results.reader import Results


def evidence_of(selection: Selection) -> Evidence:
    """Return what was measured of a selection, beside what was published, and the verdicts."""
    return gather(
        selection.suite,
        selection.scale,
        selection.cells,
        selection.paper,
        Results(selection.results),
    )
