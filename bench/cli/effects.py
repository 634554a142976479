"""What `bench compare` prints of effects."""

from bench.analysis.evidence import Evidence
from bench.cli.terminal import print_line, print_table
from bench.report.effects import EFFECTS_LEGEND, artifact_effects


def print_effects(evidence: Evidence) -> None:
    """Print the published and the measured effects of each artifact where any stand together."""
    by_artifact = artifact_effects(evidence.effects)
    beside = {
        name: effects
        for name, effects in by_artifact.items()
        if any(row.printed and row.measured for row in effects.rows)
    }
    for effects in beside.values():
        print()
        print_table(effects.table)
    if beside:
        print()
        print_line(f"{EFFECTS_LEGEND}.")
    elif by_artifact:
        print(f"no printed effect has a measured one at scale {evidence.scale}")
    elif evidence.effects:
        print(f"none of {len(evidence.effects)} effects is measured at scale {evidence.scale}")
    else:
        print("the suite names no baseline, so its printed rows have no effects")
