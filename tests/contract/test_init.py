"""Which suites are used, copies of bench's own, and results that are in the repository alone."""

import json
from pathlib import Path

import pytest

import bench
from bench.suites import shipped
from tests.fakes.paths import SUITES
from tests.fakes.workspace import Workspace

OWN = "eqco-table-9"  # of bench


def file_of(workspace: Workspace, *words: str) -> str:
    """Return the file of a suite, as `bench suites` tells it."""
    answer = workspace.call(*words, "--json")
    assert answer.status == 0, answer.err
    return str(answer.json[0]["file"])


def test_suites_here_come_before_those_of_bench(workspace: Workspace) -> None:
    assert file_of(workspace, "suites", "small") == "suites/small.yaml"
    for name in (OWN, f"{OWN}x"):  # another name of a suite here would come first
        hidden = workspace.call("plan", name)
        assert (hidden.status, hidden.err) == (
            2,
            f"bench: suites: there is no suite '{name}'. One of bench's own suites is "
            f"'{OWN}': `bench --suites {SUITES} VERB ...` uses bench's own suites\n",
        )
    words = ("--suites", str(SUITES), "suites", OWN)
    assert file_of(workspace, *words) == str(SUITES / f"{OWN}.yaml")
    (workspace.root / "suites").rename(workspace.root / "other")
    assert file_of(workspace, "suites", OWN) == str(SUITES / f"{OWN}.yaml")
    assert file_of(workspace, "--suites", "other", "suites", "small") == "other/small.yaml"


def test_suites_inside_the_package_come_before_those_beside_it(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = workspace.root / "site-packages" / "bench"
    inside = package / "shipped" / "suites"
    inside.mkdir(parents=True)
    monkeypatch.setattr(bench, "__file__", str(package / "__init__.py"))
    assert shipped.shipped_suites() == inside
    inside.rmdir()
    assert shipped.shipped_suites() == package.parent / "suites"


def test_init_copies_and_never_overwrites(workspace: Workspace) -> None:
    count = len(list(SUITES.glob("*.yaml")))
    answer = workspace.call("init", "study")
    assert answer.out == (
        f"Copied {count} suites to study/suites; bench will never overwrite these "
        "copies.\nCommands run in study use these suites instead of bench's own.\n"
    )
    copies = sorted((workspace.root / "study" / "suites").iterdir())
    assert [path.name for path in copies] == sorted(path.name for path in SUITES.iterdir())
    assert copies[0].read_bytes() == (SUITES / copies[0].name).read_bytes()

    assert workspace.call("init").err == (
        "bench: suites: this folder already exists and is not empty, so nothing was copied\n"
    )
    (workspace.root / "file").touch()
    for folder in ("file", "file/study"):
        refused = f"bench: {folder}: this path is not a folder, so nothing was copied\n"
        assert workspace.call("init", folder).err == refused
    assert list((workspace.root / "suites").iterdir()) == [workspace.root / "suites/small.yaml"]
    (workspace.root / "suites" / "small.yaml").unlink()
    told = workspace.call("init", "--json")
    assert json.loads(told.out) == {"folder": "suites", "suites": count}
    assert not list(Path().glob(".suites*"))
