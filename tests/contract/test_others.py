"""`bench others`: the recipe of the manual, a claim and an artifact, by command."""

import re

import pytest

import bench
from tests.fakes.paths import ROOT, SUITES
from tests.fakes.workspace import Workspace

PAGE = (ROOT / "docs" / "reference" / "others.md").read_text()
(EXAMPLE,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("value", ["83.1", "0.831"])
def test_the_manuals_source_is_checked_row_by_row(workspace: Workspace, value: str) -> None:
    (workspace.root / "mine.yaml").write_text(EXAMPLE.replace("83.1", value))
    answer = workspace.call("--suites", str(SUITES), "others", "--check", "mine.yaml")
    if value == "83.1":
        assert answer.status == 0
        assert "dcl/table-1-cifar10" in answer.out
        assert "2 rows valid, 2 of them for a published number of a paper." in answer.out
    else:
        assert answer.status == 2
        assert "mine.yaml: rows.0.value: 0.831 looks like a fraction" in answer.err


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "method: simclr",
            "method: simclear",
            "rows.0: there is no method 'simclear'. Did you mean",
        ),
        ("linear_top1", "linear", "rows.0: there is no metric 'linear'. Did you mean"),
        ("tau: 0.07", "temperature: 0.07", "rows.0: there is no setting 'temperature'."),
    ],
)
def test_an_unknown_name_in_a_source_is_one_line(
    workspace: Workspace, old: str, new: str, told: str
) -> None:
    (workspace.root / "mine.yaml").write_text(EXAMPLE.replace(old, new))
    answer = workspace.call("--suites", str(SUITES), "others", "--check", "mine.yaml")
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert answer.err.startswith(f"bench: mine.yaml: {told}")


def test_values_without_a_measurement_show_those_of_others(workspace: Workspace) -> None:
    (workspace.root / "results").mkdir(exist_ok=True)
    roots = "--suites", str(SUITES)
    answer = workspace.call(*roots, "compare", "dcl-table-4")
    told = " ".join(answer.out.split())
    assert answer.status == 3
    assert "By others, dcl/table-4-cifar10: batch size 128, InfoNCE, kNN accuracy: " in told
    assert "DCL, kNN accuracy: 84.1 to 84.4 (lightly-ai/lightly)" in told
    assert "`bench others dcl-table-4`" in told
    rows = workspace.call(*roots, "compare", "dcl-table-4", "--json").json
    known = [row for row in rows if row["others"]]
    assert {other["data"] for row in known for other in row["others"]} == {"cifar10", "cifar100"}
    assert {row["verdict"] for row in known} == {"not measured"}
    listed = workspace.call(*roots, "others", "dcl-table-4", "--json").json
    assert [row["others"] for row in listed] == [row["others"] for row in known]


def test_what_others_found_of_a_claim_is_one_command(workspace: Workspace) -> None:
    answer = workspace.call("--suites", str(SUITES), "others", "small-batch-cifar-stl10")
    assert answer.out.startswith("Seen by others: in part. The project raminnakhli/")
    assert "+6.3" in answer.out


def test_a_mistyped_name_is_one_line(workspace: Workspace) -> None:
    answer = workspace.call("--suites", str(SUITES), "others", "small-batch")
    assert answer.status == 2
    assert (
        "small-batch: there is no source, suite or claim of this name. Did you mean" in answer.err
    )


def test_a_table_that_nobody_measured_says_so(workspace: Workspace) -> None:
    answer = workspace.call("--suites", str(SUITES), "others", "eqco/table-9")
    assert answer.out == "We know of no other project that has measured this artifact.\n"


def test_a_name_and_a_file_to_check_are_a_mistake(workspace: Workspace) -> None:
    answer = workspace.call("others", "dcl-nakhli", "--check", "mine.yaml")
    assert answer.status == 2
    assert (
        answer.err == "bench: --check mine.yaml cannot be combined with the argument dcl-nakhli; "
        "give only one of the two\n"
    )


def test_numbers_of_others_are_a_table_in_python() -> None:
    frame = bench.others("dcl-nakhli")
    row = frame[(frame.dataset == "cifar10") & (frame.batch_size == 32) & (frame.loss == "dcl")]
    assert row.value.tolist() == [84.6]
    assert len(bench.others()) == 795
    with pytest.raises(bench.BenchError, match="no source 'dcl-nakli'\\. Did you mean"):
        bench.others("dcl-nakli")


def test_numbers_beside_those_that_a_suite_compares_are_a_table_in_python() -> None:
    frame = bench.others(suite="dcl-table-1", suites=SUITES)
    row = frame[frame.published_row == "batch_size = 32, loss = dcl"]
    row = row[(row.artifact == "dcl/table-1-cifar10") & (row.metric == "linear_top1")]
    assert (row.published.tolist(), row.value.tolist()) == ([85.1], [84.6])
    assert "epochs = 100, published 200" in row.protocol.tolist()[0]
    assert bench.others(suite="eqco-table-9", suites=SUITES).empty
    with pytest.raises(bench.BenchError, match="Did you mean 'dcl-table-1'"):
        bench.others(suite="dcl-tabel-1", suites=SUITES)
    with pytest.raises(bench.BenchError, match="cannot be combined with a suite; give only one"):
        bench.others("dcl-nakhli", suite="dcl-table-1")
