"""The reference reports say what the reference tables hold."""

from pathlib import Path

import pytest

from tests.conftest import Workspace

ROOT = Path(__file__).parents[2]
AFTER_FIGURES = "## What the paper leaves open, and what was assumed"
PAGES = sorted((ROOT / "reports" / "reference").rglob("index.md"))


def test_every_shipped_suite_has_a_reference_report() -> None:
    suites = {path.stem for path in (ROOT / "suites").glob("*.yaml")}
    assert {page.parent.parent.name for page in PAGES} == suites


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.parent.parent.name)
def test_it_is_regenerated_from_the_tables(page: Path, workspace: Workspace) -> None:
    """Every judged value, and the page but for figures of arrays, which tables do not hold."""
    suite, scale = page.parent.parent.name, page.parent.name
    answer = workspace.call(
        "--suites", str(ROOT / "suites"), "--results", str(ROOT / "results" / "reference"),
        "report", suite, "--scale", scale, "--to", "again",
    )  # fmt: skip
    assert answer.status == 0, answer.err
    again = workspace.root / "again" / suite / scale
    assert (again / "compare.csv").read_bytes() == (page.parent / "compare.csv").read_bytes()
    kept = page.read_text().splitlines()
    made = (again / "index.md").read_text().splitlines()
    needs_arrays = "Not drawn, since the results here do not hold what they need" in "".join(made)
    if needs_arrays:
        for lines in (kept, made):
            del lines[lines.index("## Figures") : lines.index(AFTER_FIGURES)]
    assert made == kept
