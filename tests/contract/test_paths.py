"""Files and folders that the documents name exist."""

import re
from pathlib import Path

import pytest

from tests.fakes.paths import ROOT

PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")]
PAGES += [p for p in sorted((ROOT / "docs").rglob("*.md")) if p.parent.name != "generated"]
NAMED = re.compile(r"(?<![\w./~-])(?:tests|bench|benchmarks|suites|docs)/[\w./*<>-]*[\w/*>]")
WRITTEN = {"docs/generated"}  # by `make docs`
ADDED = {  # by a reader, with the recipes of the manual
    "bench/experiments/nearest_negative.py",
    "bench/losses/hinge.py",
    "suites/cpc-bound.yaml",
    "suites/photos.yaml",
    "suites/evaluations",
    "suites/evaluations/",
    "suites/evaluations/centroid_top1.py",
    "suites/flowers.yaml",
    "suites/losses",
    "suites/losses/push-apart.py",
    "suites/losses/push-apart.yaml",
    "suites/methods/mine.yaml",
    "suites/methods/tiny-dino.py",
    "suites/methods/tiny-dino.yaml",
    "suites/mine.yaml",
    "suites/my-captions.yaml",
    "suites/my-hinge.yaml",
    "suites/my-vit.yaml",
    "suites/my-k-sweep.yaml",
    "suites/my-loss.yaml",
    "suites/my-method.yaml",
    "suites/my-metrics.yaml",
    "suites/nearest-negative.yaml",
    "suites/records",
    "suites/records/",
    "suites/records/hardest.py",
    "suites/records/hardest.yaml",
    "tests/unit/losses/test_hinge.py",
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_paths_that_a_page_names_exist(page: Path) -> None:
    named = {path for path in NAMED.findall(page.read_text()) if "<" not in path}
    # The page of the architecture names files from `bench/` on.
    absent = {
        p for p in named - ADDED - WRITTEN if not any([*ROOT.glob(p), *(ROOT / "bench").glob(p)])
    }
    assert absent == set()


def test_what_a_reader_adds_is_named_and_not_there() -> None:
    named = {path for page in PAGES for path in NAMED.findall(page.read_text())}
    assert named >= ADDED | WRITTEN
    assert not any((ROOT / path).exists() for path in ADDED)
