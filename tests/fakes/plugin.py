"""An installed package that brings an objective, a method and a suite, as files in a folder."""

from pathlib import Path

from tests.fakes.suites import DIGITS, changed, to_yaml

MARKER = "imported.txt"
"""Beside the package; its code writes it when it is imported."""
CODE = f"""from pathlib import Path

Path(__file__).parents[1].joinpath("{MARKER}").write_text(__name__)
"""
FUNCTION = '''

def hinge(pos_N, neg_NK, *, slack, power):
    """Return (slack + hardest negative - positive)_+ ^ power of each query."""
    return (slack + neg_NK.amax(dim=-1) - pos_N).clamp(min=0) ** power
'''
OBJECTIVES = """hinge:
  what: The hardest negative's violation of a margin
  function: hinge_losses.losses:hinge
  over: similarities
  numbers:
    slack: {what: "the margin, a difference of cosines", above: 0, at_most: 2}
    power: {what: "of the violation", default: 1.0, at_least: 1}
"""
METHODS = """moco-hinge:
  what: MoCo v2 under the hinge
  like: moco-v2
  coordinates: {loss: [hinge, me], slack: [0.2, me], tau: [null, me]}
"""
HINGE = changed(
    DIGITS,
    {
        "name": "hinge-slack",
        "title": "The hinge's margin on digits",
        "fixed.method": "moco-hinge",
        "fixed.epochs": 1,
        "fixed.knn_k": 3,
        "grid": {"slack": [0.1, 0.2]},
        "tables": [{"title": "kNN", "metric": "knn_top1", "rows": ["slack"]}],
    },
)
GROUPS = {
    "bench.objectives": "hinge = hinge_losses.objectives",
    "bench.methods": "hinge = hinge_losses.methods",
    "bench.suites": "hinge = hinge_losses.suites",
}


def install_plugin(
    folder: Path,
    *,
    objectives: str = OBJECTIVES,
    groups: dict[str, str] = GROUPS,
    name: str = "Hinge_Losses",
) -> Path:
    """Write what an installer leaves of the package `hinge_losses`; return its folder.

    Args:
        folder: what is put on the path.
        objectives: the file of objectives.
        groups: entry points by group.
        name: of the distribution.
    """
    package = folder / "hinge_losses"
    texts = {
        "__init__.py": CODE,
        "losses.py": CODE + FUNCTION,
        "objectives/hinge.yaml": objectives,
        "methods/hinge.yaml": METHODS,
        "suites/hinge-slack.yaml": to_yaml(HINGE),
    }
    for place, text in texts.items():
        path = package / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    info = folder / f"{name}-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    points = "".join(f"[{group}]\n{point}\n" for group, point in groups.items())
    (info / "entry_points.txt").write_text(points)
    return package
