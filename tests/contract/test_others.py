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
        assert "2 rows understood, 2 beside a published number." in answer.out
    else:
        assert answer.status == 2
        assert "mine.yaml: rows.0.value: 0.831 looks like a fraction" in answer.err


def test_what_others_found_of_a_claim_is_one_command(workspace: Workspace) -> None:
    answer = workspace.call("--suites", str(SUITES), "others", "small-batch-cifar-stl10")
    assert answer.out.startswith("Seen by others: yes. 1 project:")
    assert "+6.3" in answer.out


def test_a_mistyped_name_is_one_line(workspace: Workspace) -> None:
    answer = workspace.call("--suites", str(SUITES), "others", "small-batch")
    assert answer.status == 2
    assert "small-batch: no source or claim has this name. Did you mean" in answer.err


def test_a_table_that_nobody_measured_says_so(workspace: Workspace) -> None:
    answer = workspace.call("--suites", str(SUITES), "others", "eqco/table-9")
    assert answer.out == "No other project has measured a number of it that we know of.\n"


def test_a_name_and_a_file_to_check_are_a_mistake(workspace: Workspace) -> None:
    answer = workspace.call("others", "dcl-nakhli", "--check", "mine.yaml")
    assert answer.status == 2
    assert answer.err == "bench: --check mine.yaml: leave dcl-nakhli out, or leave out --check\n"


def test_numbers_of_others_are_a_table_in_python() -> None:
    frame = bench.others("dcl-nakhli")
    row = frame[(frame.dataset == "cifar10") & (frame.batch_size == 32) & (frame.loss == "dcl")]
    assert row.value.tolist() == [84.6]
    assert len(bench.others()) == 795
    with pytest.raises(bench.BenchError, match="no source 'dcl-nakli'\\. Did you mean"):
        bench.others("dcl-nakli")
