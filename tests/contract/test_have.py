"""Cells of exported tables count as done: a fresh checkout computes what is missing alone."""

import shutil

from tests.fakes.suites import SUITE
from tests.fakes.workspace import Workspace

RUN = ("run", "small", "--executor", "inline", "--seeds", "0", "--json")
HAVE = ("--have", "tables")


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


def test_tables_that_were_altered_or_are_none_are_one_line(workspace: Workspace) -> None:
    workspace.suite(SUITE)
    assert workspace.call(*RUN, "--where", "mi_true=2").status == 0
    assert workspace.call("export", "small", "--to", "tables").status == 0
    path = workspace.root / "tables" / "gaussian-mi.small.csv.gz"
    path.write_bytes(path.read_bytes() + b"x")
    answer = workspace.call("status", "small", *HAVE)
    name = "tables/gaussian-mi.small.csv.gz"
    assert (answer.status, answer.err) == (
        2, f"bench: {name}: has a SHA-256 that differs from digests.json; export it again\n",
    )  # fmt: skip
    answer = workspace.call("status", "small", "--have", "suites")
    assert (answer.status, answer.err) == (
        2,
        "bench: --have suites: no exported tables there; `bench export SUITE --to FOLDER` writes "
        "them\n",
    )
