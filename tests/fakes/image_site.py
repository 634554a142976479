"""A site whose results on images are made up: answers, reduced scales, floors and ceilings."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from bench.cells.baseline import Baseline
from bench.cells.cell import Cell
from bench.papers.questions import questions
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.made_up import number
from tests.fakes.paths import ROOT
from tests.fakes.results import finish
from tests.fakes.site import write_site

BEGAN = 1_795_000_000.0  # seconds since 1970: 2026-11-18
SHOWN = {"dcl-table-1": ["cifar", "cpu"], "eqco-figure-2": ["cifar"]}
FIGURES = {question.figure for question in questions()}
LEVELS = {"raw": 30.0, "untrained": 32.0, "labels": 85.0}  # of accuracies, by baseline
ORIGIN = {
    "began": BEGAN, "device": "cpu", "wall_s": 200.0, "code": {"bench": "0.2.0"},
    "machine": {"processor": "Made-up Processor"},
}  # fmt: skip


def metrics_of(cell: Any) -> dict[str, float]:
    """Return 60 % without DCL or EqCo; DCL gains more the smaller the batch, EqCo removes K."""
    if isinstance(cell, Baseline):
        return {name: LEVELS[cell.baseline] + number(name, cell.id) for name in cell.metrics}
    level = 60.0 + (128 / cell.batch_size if cell.loss == "dcl" else 0.0)
    if cell.loss == "infonce" and cell.K and cell.method in ("simclr", "moco-v2"):
        level -= 40 / cell.K
    return {
        name: (level if "_top1" in name else 1.0) + 0.4 * number(name, cell.id)
        for name in cell.metrics
    }


NOT_RUN = {"stated": {"what": "the settings of the suite as they stand", "protocol": "reduced"}}


def write_image_suites(folder: Path, shown: Mapping[str, Sequence[str]] = SHOWN) -> Path:
    """Write the shipped suites with these scales and the index's figures; return their folder."""
    folder.mkdir(parents=True)
    for name, scales in shown.items():
        data = yaml.safe_load((ROOT / "suites" / f"{name}.yaml").read_text())
        kept = {key: value for key, value in data["scales"].items() if key in scales} | NOT_RUN
        figures = [figure for figure in data["figures"] if figure["name"] in FIGURES]
        data |= {"scales": kept, "scale": scales[0], "figures": figures}
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    return folder


def write_image_results(suites: Path, results: Path) -> Path:
    """Let every cell of the suites be done with made-up numbers; return the results folder."""
    results.mkdir(parents=True)
    cells: dict[str, Cell] = {}
    for path in sorted(suites.glob("*.yaml")):
        suite = load_suite(path)
        for scale in (name for name in suite.scales if name not in NOT_RUN):
            cells |= {cell.id: cell for cell in expand(suite, scale, path)}
    finish(results, list(cells.values()), metrics_of, ORIGIN)
    return results


def write_image_site(root: Path) -> Path:
    """Write suites, results and the site below a folder; return the site's."""
    suites = write_image_suites(root / "suites")
    write_site(suites, root / "to", write_image_results(suites, root / "results"))
    return root / "to"
