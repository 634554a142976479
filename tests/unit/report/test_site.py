"""The site: numbers traced both ways, only what changed drawn again, partial grids told."""

import csv
import gzip
import json
import re
import resource
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import yaml

from bench.cli.report import write_reports
from bench.errors import DiskFailure
from bench.papers.reader import PAPERS, load_paper
from bench.report.page import ShownTables, to_html
from bench.report.tables import Entry, Table
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.paths import REFERENCE, ROOT
from tests.fakes.results import cells_of, finish
from tests.fakes.site import workspace_of, write_site, write_suites

pytestmark = pytest.mark.slow


class Entries(HTMLParser):
    """Collects the table entries that say where their numbers come from, and the ids of rows."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.entries: list[dict[str, Any]] = []
        self.rows: dict[str, list[str]] = {}
        self.inside, self.head, self.row = False, False, ""
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.head = tag == "th" and known.get("scope") == "row"
        if tag == "tr":
            self.row = ""
        self.inside = tag == "td" or (self.inside and tag == "span")
        if tag == "td":
            self.entries.append(known | {"text": ""})
        elif self.inside and "data-cells" in known:  # under a printed number
            self.entries[-1]["data-cells"] = known["data-cells"]

    def handle_endtag(self, tag: str) -> None:
        self.head = False
        if tag == "td":
            self.inside = False
            self.rows.setdefault(self.row, []).append(self.entries[-1]["text"])

    def handle_data(self, data: str) -> None:
        if self.head:
            self.row += data
        if self.inside:
            self.entries[-1]["text"] += data


def exported(kind: str, metric: str) -> dict[str, float]:
    with gzip.open(REFERENCE / f"{kind}.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    return {row["cell"]: json.loads(row[metric]) for row in rows if row.get(metric)}


@pytest.mark.parametrize(
    ("page", "form"),
    [
        ("eqco/table-9.html", r"(?P<measured>\S+) ± \S+ \[(?P<printed>\S+)\] ="),
        ("eqco-table-9/paper/index.html", r"(?P<measured>\S+) ± \S+ \[(?P<printed>\S+)\]"),
    ],
)
def test_a_number_leads_to_its_cells_and_its_published_row(
    site: Path, page: str, form: str
) -> None:
    known = exported("gaussian-mi", "mi_lower_bound")
    rows = {
        a["id"]: a["rows"] for a in yaml.safe_load(PAPERS["eqco"].read_text())["artifacts"]
    }  # not by the reader under test
    entries = Entries(site / page).entries
    judged = [
        e for e in entries if "data-cells" in e and "data-published" in e and "±" in e["text"]
    ]
    assert len(judged) == 40
    for entry in judged:
        found = re.match(form, entry["text"].strip())
        assert found is not None
        mean = fmean(known[name] for name in entry["data-cells"].split())
        assert f"{mean:.2f}" == found["measured"]
        place, _, row = entry["data-published"].partition(", row ")
        assert rows[place.partition("/")[2]][int(row) - 1]["value"] == float(found["printed"])


def test_each_cell_and_each_printed_value_is_on_a_page(site: Path) -> None:
    known = exported("gaussian-mi", "mi_lower_bound")
    entries = Entries(site / "eqco-table-9" / "paper" / "index.html")
    listed = {name: row for name, row in entries.rows.items() if name in known}
    used = {name for e in entries.entries for name in e.get("data-cells", "").split()}
    assert used == set(listed)
    for name, row in listed.items():
        assert f"{known[name]:.6g}" in row
    page = Entries(site / "dcl" / "table-1-cifar10.html").entries
    told = [(e["data-published"], e["text"]) for e in page if "data-published" in e]
    values = load_paper("dcl").artifact("table-1-cifar10").values
    assert sorted(told) == sorted(
        (f"dcl/table-1-cifar10, row {v.row + 1}", f"{v.value:.{v.decimals}f}") for v in values
    )


def test_every_artifact_has_a_page_and_every_claim_a_line(site: Path) -> None:
    index = (site / "index.html").read_text()
    for name in PAPERS:
        paper = load_paper(name)
        for artifact in paper.artifacts:
            assert (site / name / f"{artifact}.html").exists()
            assert f'href="{name}/{artifact}.html"' in index
        for claim in paper.claims:
            assert f'id="{name}-{claim}"' in index


def test_a_partial_grid_says_so_at_the_top(site: Path) -> None:
    for page in ("index.md", "index.html"):
        text = (site / "mutual-information-figure-6" / "paper" / page).read_text()
        head = text[: text.index("Two-spiral toy")]
        assert "60 of 80 cells done." in head
        assert "Missing cells: eta = 0, source = bank; eta = 0, source = batch; " in head
        assert "; and 12 more (each with seed 99)." in head
    whole = (site / "eqco-table-9" / "paper" / "index.html").read_text()
    assert "Missing cells:" not in whole


def test_an_artifacts_page_counts_its_own_values(tmp_path: Path) -> None:
    """Figure 6 prints no number; the number that its text tells is another artifact."""
    data = yaml.safe_load((ROOT / "suites" / "mutual-information-figure-6.yaml").read_text())
    suites = tmp_path / "suites"
    suites.mkdir()
    (suites / "mutual-information-figure-6.yaml").write_text(yaml.safe_dump(data | {"figures": []}))
    write_site(suites, tmp_path / "to")
    told = "60 of 60 cells done. Measured values by verdict: 1 cannot tell, 1 not comparable"
    pages = tmp_path / "to" / "mutual-information"
    assert told in (pages / "text-g.md").read_text()
    assert "60 of 60 cells done.\n" in (pages / "figure-6.md").read_text()


def test_a_damaged_cell_harms_no_other_suites_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suites, results, to = write_suites(tmp_path / "suites"), tmp_path / "results", tmp_path / "to"
    results.mkdir()
    for path in REFERENCE.glob("gaussian-mi.*"):
        shutil.copy(path, results)
    path = suites / "mutual-information-figure-6.yaml"
    (cell, *_) = expand(load_suite(path), "smoke", path)
    folder = results / cell.experiment / cell.id
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text('{"metrics": {"linear_top1": ')
    whole = {"eqco-table-9/paper/index.html", "eqco/table-9.html", "index.html"}
    assert whole <= set(write_site(suites, to, results))
    complaint = capsys.readouterr().err
    assert complaint.startswith(f"bench: warning: {folder / 'summary.json'}: ")
    assert complaint.count("\n") == 1


def test_pages_without_results_are_named_and_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suites, to, none = write_suites(tmp_path / "suites"), tmp_path / "to", tmp_path / "none"
    write_site(suites, to)
    assert capsys.readouterr().err == ""
    none.mkdir()
    write_site(suites, to, none)
    old = [to / "eqco-table-9" / "paper", to / "mutual-information-figure-6" / "paper"]
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(": these pages show earlier results: ")[0] for line in lines] == [
        f"bench: {folder}" for folder in old
    ]
    assert all((folder / "index.md").is_file() for folder in old)


def test_named_suites_have_their_pages_written_and_no_others(tmp_path: Path) -> None:
    suites, to = write_suites(tmp_path / "suites"), tmp_path / "to"
    workspace = workspace_of(suites, REFERENCE)
    options: dict[str, Any] = {"scale": None, "to": to, "formats": []}
    first = write_reports(workspace, ["eqco-table-9"], **options)
    assert first["index"] == str(to / "index.html"), "there was none"
    assert not (to / "mutual-information-figure-6").exists()
    index = (to / "index.md").read_text()
    assert "mutual-information-figure-6 paper" in index, "the index is of all results"
    (to / "index.md").write_text("kept")
    second = write_reports(workspace, ["eqco-table-9"], **options)
    assert second["index"] == str(to / "eqco-table-9" / "paper" / "index.html")
    assert (to / "index.md").read_text() == "kept"
    assert str(to / "eqco" / "table-9.html") in second["pages"]


def test_markdown_gives_the_html(tmp_path: Path) -> None:
    rows = [[Entry("a < b"), Entry("1.5", number=1.5, cells=("x", "y"), row="p/t, row 1")]]
    (tmp_path / "t.csv").touch()
    (tmp_path / "f.svg").write_text('<svg height="72pt" width="144pt">')
    (tmp_path / "f.png").touch()
    tables = ShownTables()
    text = f"## A *b* (c)\n\n{tables(Table('t', 'T *', ['n', 'v'], rows))}\n\n![F](f.svg)\n"
    html = to_html(text + "\n**fails** [x](y.md#z) [z](https://a.org/b.md)\n", tables, tmp_path)
    assert '<h2 id="a-b-c">' in html
    assert "<caption>T *</caption>" in html
    assert '<th scope="row">a &lt; b</th>' in html
    assert 'data-sort="1.5" data-cells="x y" data-published="p/t, row 1"' in html
    assert 'title="published: p/t, row 1; measured: 2 cells x y"' in html
    assert '<a href="t.csv">CSV</a>' in html
    assert '<figure><img src="f.svg" alt="F" loading="lazy" height="120" width="240"' in html
    assert '<a href="f.png">PNG</a>' in html
    assert '<strong class="verdict fails">fails</strong>' in html
    assert '<a href="y.html#z">' in html
    assert '<a href="https://a.org/b.md">' in html


def test_prose_and_names_are_data(tmp_path: Path) -> None:
    suites, results = write_suites(tmp_path / "suites", title="<b>&</b> |"), tmp_path / "results"
    one = cells_of(suites / "eqco-table-9.yaml", "paper")[:1]
    finish(results, one, lambda _: {"mi_lower_bound": 0.25})
    write_reports(
        workspace_of(suites, results),
        ["eqco-table-9"],
        scale=None,
        to=tmp_path / "to",
        formats=[],
    )
    page = tmp_path / "to" / "eqco-table-9" / "paper" / "index.html"
    assert ">&lt;b&gt;&amp;&lt;/b&gt; |</h1>" in page.read_text()
    assert page.with_suffix(".md").read_text().startswith("# &lt;b>&amp;&lt;/b> \\|\n")
    assert "1 of 120 cells done." in page.read_text()


def test_a_site_is_built_without_torch_and_its_friends(tmp_path: Path) -> None:
    """In a fresh interpreter in which none of them can be imported."""
    suites = write_suites(tmp_path / "suites")
    code = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {{"torch", "torchvision", "sklearn", "submitit", "faiss"}}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
sys.argv = ["bench", "--suites", {str(suites)!r}, "--results", {str(REFERENCE)!r}, "report",
            "eqco-table-9", "--to", {str(tmp_path / "to")!r}]
from bench.cli import main
main()
"""
    command = [sys.executable, "-c", code]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert answer.returncode == 0, answer.stderr
    assert (tmp_path / "to" / "eqco-table-9" / "paper" / "mi-against-k.png").exists()


def test_a_full_disk_is_told_with_the_file_that_cannot_be_written(tmp_path: Path) -> None:
    suites = write_suites(tmp_path / "suites")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard))
    try:
        with pytest.raises(
            DiskFailure, match=f"{re.escape(str(tmp_path))}.*: the file cannot be written"
        ):
            write_site(suites, tmp_path / "to")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
