"""An objective of one's own in two files, and a suite of it on a few digits."""

from pathlib import Path

from tests.fakes.suites import DIGITS, SuiteData, changed
from tests.fakes.workspace import Workspace

YAML = """\
what: "The distance of the views, and a margin to other images"
version: 1
parameters:
  margin: {type: float, above: 0, at_most: 2, default: 0.5}
"""
CODE = """\
def push_apart(query_ND, key_ND, margin):
    cosine_NN = query_ND @ key_ND.T
    others_N = (cosine_NN.sum(dim=1) - cosine_NN.diagonal()) / (len(query_ND) - 1)
    return (margin + others_N - cosine_NN.diagonal()).clamp(min=0)
"""
SUITE: SuiteData = changed(
    DIGITS,
    {
        "fixed.method": "simclr",
        "fixed.epochs": 1,
        "fixed.tau": 0.2,
        "fixed.knn_k": 3,
        "fixed.bn_groups": 1,
        "fixed.K": None,
        "fixed.loss": "push-apart",
        "grid": {"margin": [0.5, 1]},
        "tables": [{"title": "kNN", "metric": "knn_top1", "rows": ["loss", "margin"]}],
    },
)
TRUSTED = ("--trust", "suites/losses")


def write_loss(
    workspace: Workspace, yaml: str = YAML, code: str = CODE, name: str = "push-apart"
) -> Path:
    """Write an objective beside the suites; return its folder."""
    folder = workspace.root / "suites" / "losses"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.yaml").write_text(yaml)
    (folder / f"{name}.py").write_text(code)
    return folder
