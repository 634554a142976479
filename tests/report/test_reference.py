"""The reference reports say what the reference tables hold."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from tests.conftest import Workspace

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "reports" / "reference").rglob("index.md"))


def test_every_reference_report_is_of_a_shipped_suite() -> None:
    suites = {path.stem for path in (ROOT / "suites").glob("*.yaml")}
    assert {page.parent.parent.name for page in PAGES} <= suites
    assert len(PAGES) >= 4


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.parent.parent.name)
def test_it_is_regenerated_from_the_tables(
    page: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every judged value, and the page as a whole; figures are drawn, and not written."""
    monkeypatch.setattr(Figure, "savefig", lambda *_, **__: None)
    suite, scale = page.parent.parent.name, page.parent.name
    answer = workspace.call(
        "--suites", str(ROOT / "suites"), "--results", str(ROOT / "results" / "reference"),
        "report", suite, "--scale", scale, "--to", "again",
    )  # fmt: skip
    assert answer.status == 0, answer.err
    again = workspace.root / "again" / suite / scale
    assert (again / "compare.csv").read_bytes() == (page.parent / "compare.csv").read_bytes()
    assert (again / "index.md").read_text() == page.read_text()
