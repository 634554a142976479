"""What `bench compare` prints of effects."""

from bench.analysis.evidence import Evidence
from bench.cli.terminal import print_line, print_table
from bench.report.effects import EFFECTS_LEGEND, artifact_effects


def print_effects(evidence: Evidence) -> None:
    """Print the published and the measured effects of each artifact that has measured ones."""
    by_artifact = artifact_effects(evidence.effects)
    for effects in by_artifact.values():
        print()
        print_table(effects.table)
    if by_artifact:
        print()
        print_line(f"{EFFECTS_LEGEND}.")
    elif evidence.effects:
        print(f"none of {len(evidence.effects)} effects is measured at scale {evidence.scale}")
    else:
        print("the suite names no baseline, so its printed rows have no effects")
