"""Cells of exported tables count as done: a fresh checkout computes what is missing alone."""

import gzip
import json
import shutil

import pytest
from pandas.testing import assert_frame_equal

import bench
from tests.fakes.results import cells_of, fail, finish
from tests.fakes.suites import SUITE
from tests.fakes.workspace import Workspace

RUN = ("run", "small", "--executor", "inline", "--seeds", "0", "--json")
HAVE = ("--have", "tables")
METRICS = {"mi_lower_bound": 1.0}


def test_what_was_exported_is_not_computed_again(workspace: Workspace) -> None:
    workspace.suite(SUITE)
    part = (*RUN, "--where", "mi_true=2")
    assert workspace.call(*part).json["done"] == 4
    assert workspace.call("export", "small", "--to", "tables").status == 0
    shutil.rmtree(workspace.root / "results")
    assert workspace.call(*part, *HAVE).json == {
        "done": 4, "failed": 0, "missing": 0, "failures": [],
    }  # fmt: skip
    assert list((workspace.root / "results").rglob("summary.json")) == []
    seeds = ("--seeds", "0", "--json")
    assert workspace.call("status", "small", *HAVE, *seeds).json["done"] == 4
    assert workspace.call("plan", "small", *HAVE, *seeds).json["missing"] == 4
    assert workspace.call("suites", *HAVE, "--json").json[0]["scales"]["tiny"]["done"] == 4
    assert workspace.call("--results", "tables", "status", "small", *seeds).json["done"] == 4
    assert workspace.call(*RUN, *HAVE).json["done"] == 8
    assert len(list((workspace.root / "results").rglob("summary.json"))) == 4
    told = workspace.call(*RUN[:-1], *HAVE).out
    assert "These tables leave out 4 cells of the folders of --have.\n" in told
    assert "remaining" not in told


def test_tables_are_not_written_into_the_results_that_they_are_of(workspace: Workspace) -> None:
    finish(workspace.root / "results", cells_of(workspace.suite(SUITE), "tiny"), lambda _: METRICS)
    answer = workspace.call("export", "small", "--to", "./results")
    assert (answer.status, answer.err) == (
        2, "bench: --to results: this is the results folder of this "
            "command, and tables must not be written into it; name a "
            "different folder\n",
    )  # fmt: skip
    assert workspace.call("resume", "small", "--executor", "inline").status == 0


@pytest.mark.parametrize("to", ["tables", "cells.tar"])
def test_cells_that_diverged_are_named_by_an_export(workspace: Workspace, to: str) -> None:
    cells = cells_of(workspace.suite(SUITE), "tiny")
    fail(workspace.root / "results", cells[:2])
    ids = [cell.id for cell in cells[:2]]
    alone = workspace.call("export", "small", "--to", to, "--json").json
    assert (alone["cells"], alone["diverged"]) == (0, ids)
    finish(workspace.root / "results", cells[2:4], lambda _: METRICS)
    told = workspace.call("export", "small", "--to", to).out
    failed = f"2 cells exported as failed, because they diverged: {', '.join(ids)}\n"
    assert f"2 cells exported to {to}\n{failed}" in told


def test_failures_of_tables_name_their_table(workspace: Workspace) -> None:
    cells = cells_of(workspace.suite(SUITE), "tiny")
    fail(workspace.root / "results", cells)
    assert workspace.call("export", "small", "--to", "tables").status == 0
    shutil.rmtree(workspace.root / "results")
    for verb in ("run", "status"):
        told = workspace.call(verb, "small", *HAVE).out
        table = "tables/gaussian-mi.small.diverged.csv.gz"
        assert f"failed: diverged: the loss is nan (table: {table})\n" in told


def test_cells_are_not_added_to_exported_tables(workspace: Workspace) -> None:
    finish(workspace.root / "results", cells_of(workspace.suite(SUITE), "tiny"), lambda _: METRICS)
    for to in ("tables", "cells.tar"):
        assert workspace.call("export", "small", "--to", to).status == 0
    for words in (("import", "cells.tar"), ("merge", "results")):
        answer = workspace.call("--results", "tables", *words)
        assert (answer.status, answer.err) == (
            2, "bench: tables: this folder holds exported tables, to which no cells can be added; "
            "name a different folder with --results\n",
        )  # fmt: skip


def test_a_metric_that_was_erased_is_no_result(workspace: Workspace) -> None:
    finish(workspace.root / "results", cells_of(workspace.suite(SUITE), "tiny"), lambda _: METRICS)
    assert workspace.call("export", "small", "--to", "tables").status == 0
    path = workspace.root / "tables" / "gaussian-mi.small.csv.gz"
    text = gzip.decompress(path.read_bytes()).decode()
    path.write_bytes(
        gzip.compress(text.replace(",1.0,mi_lower_bound", ",,mi_lower_bound", 1).encode())
    )
    (path.parent / "digests.json").unlink()
    answer = workspace.call("--results", "tables", "show", "small")
    assert answer.status == 2
    assert answer.err.endswith(": mi_lower_bound is not a finite number\n")


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("gaussian-mi.small.csv.gz", "its cells count as missing\n"),
        ("gaussian-mi.small.history.csv.gz", "export it again\n"),
    ],
)
def test_what_a_missing_table_means_is_said(workspace: Workspace, file: str, expected: str) -> None:
    finish(workspace.root / "results", cells_of(workspace.suite(SUITE), "tiny"), lambda _: METRICS)
    tables = workspace.root / "tables"
    assert workspace.call("export", "small", "--to", "tables").status == 0
    digests = json.loads((tables / "digests.json").read_text())
    (tables / "digests.json").write_text(json.dumps(digests | {file: "0" * 64}))
    (tables / file).unlink(missing_ok=True)
    answer = workspace.call("--results", "tables", "status", "small")
    assert answer.err == (
        f"bench: warning: tables/{file}: this file is missing, but digests.json lists it; "
        f"{expected}"
    )


def test_an_empty_file_is_no_table(workspace: Workspace) -> None:
    (workspace.root / "tables").mkdir()
    (workspace.root / "tables" / "gaussian-mi.csv").touch()
    assert workspace.call("--results", "tables", "status", "small").err == (
        "bench: tables/gaussian-mi.csv: the file has no column 'cell', so it is not an exported "
        "table\n"
    )


def test_tables_that_were_altered_or_are_none_are_one_line(workspace: Workspace) -> None:
    workspace.suite(SUITE)
    assert workspace.call(*RUN, "--where", "mi_true=2").status == 0
    assert workspace.call("export", "small", "--to", "tables").status == 0
    path = workspace.root / "tables" / "gaussian-mi.small.csv.gz"
    path.write_bytes(path.read_bytes() + b"x")
    answer = workspace.call("status", "small", *HAVE)
    name = "tables/gaussian-mi.small.csv.gz"
    assert (answer.status, answer.err) == (
        2, f"bench: {name}: the SHA-256 of this file differs from "
            "digests.json; export the table again\n",
    )  # fmt: skip
    sick = workspace.call("--results", "tables", "doctor", "--json")
    assert (sick.status, _cells_detail(sick.json)) == (
        1, f"{name}: the SHA-256 of this file differs from digests.json; export the " "table again",
    )  # fmt: skip
    answer = workspace.call("status", "small", "--have", "suites")
    assert (answer.status, answer.err) == (
        2,
        "bench: --have suites: this folder holds no exported tables; `bench export "
        "SUITE --to FOLDER` writes exported tables\n",
    )
    missing = workspace.call("status", "small", "--have", "nowhere").err
    assert missing.startswith("bench: --have nowhere: this folder does not exist; `bench export ")


def test_doctor_counts_the_tables_that_no_digest_covers(workspace: Workspace) -> None:
    workspace.suite(SUITE)
    assert workspace.call(*RUN, "--where", "mi_true=2").status == 0
    assert workspace.call("export", "small", "--to", "tables").status == 0
    sound = workspace.call("--results", "tables", "doctor", "--json")
    assert (
        "; 2 files of exported tables, all with the digests recorded in digests.json"
        in _cells_detail(sound.json)
    )
    (workspace.root / "tables" / "own.csv").write_text("cell\n", "utf-8")
    answer = workspace.call("--results", "tables", "doctor", "--json")
    assert answer.status == sound.status
    detail = _cells_detail(answer.json)
    assert "; 3 files of exported tables, 1 of them without a digest in" in detail
    (workspace.root / "tables" / "digests.json").unlink()
    detail = _cells_detail(workspace.call("--results", "tables", "doctor", "--json").json)
    assert "; 3 files of exported tables, 3 of them without a digest" in detail


def _cells_detail(findings: list[dict[str, str]]) -> str:
    return next(finding["detail"] for finding in findings if finding["what"] == "cells")


def test_where_exports_those_cells_alone(workspace: Workspace) -> None:
    path = workspace.suite(SUITE)
    finish(workspace.root / "results", cells_of(path, "tiny"), lambda c: {"mi_lower_bound": c.K})
    chosen = {"K": 8, "mi_true": 2}
    words = [word for name, value in chosen.items() for word in ("--where", f"{name}={value}")]
    for to in ("part.tar", "tables"):
        assert workspace.call("export", "small", "--to", to, *words).status == 0
    assert workspace.call("--results", "there", "import", "part.tar").status == 0
    kept = bench.load("small", where=chosen)
    assert 0 < len(kept) < len(bench.load("small"))
    for folder in ("there", "tables"):
        assert_frame_equal(bench.load("small", results=folder), kept)
