"""`bench export --as parquet`: what data platforms read, read back."""

import hashlib
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import bench
from tests.fakes.paths import REFERENCE, SUITES
from tests.fakes.workspace import Workspace

SUITE = str(SUITES / "eqco-table-9.yaml")
FRAMES = ("cells", "histories", "published", "claims")


@pytest.fixture
def exported(workspace: Workspace) -> Path:
    words = ("export", SUITE, "--scale", "paper", "--as", "parquet", "--to", "out")
    answer = workspace.call("--results", str(REFERENCE), *words)
    told = "eqco-table-9 at scale paper:\n5 files exported to out\n"
    assert (answer.status, answer.out) == (0, told)
    return workspace.root / "out"


def test_files_hold_the_frames_and_their_description_says_what_is_in_them(exported: Path) -> None:
    measured = bench.load(SUITE, scale="paper", results=REFERENCE)
    pd.testing.assert_frame_equal(
        pd.read_parquet(exported / "cells.parquet"), measured, check_dtype=False
    )
    described = json.loads((exported / "croissant.json").read_text())
    assert [file["@id"] for file in described["distribution"]] == [f"{n}.parquet" for n in FRAMES]
    for file in described["distribution"]:
        content = (exported / file["contentUrl"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == file["sha256"]
    for records in described["recordSet"]:
        frame = pd.read_parquet(exported / f"{records['@id']}.parquet")
        columns = [field["source"]["extract"]["column"] for field in records["field"]]
        assert columns == list(frame)
    of_cells = {f["name"]: f["dataType"] for f in described["recordSet"][0]["field"]}
    assert (of_cells["seed"], of_cells["value"], of_cells["loss"]) == (
        "sc:Integer", "sc:Float", "sc:Text",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "words"),
    [("published", {}), ("others", {}), ("claims", {"suite": SUITE, "scale": "paper"})],
)
def test_frames_of_values_of_several_types_convert(name: str, words: dict[str, Any]) -> None:
    folders = {"results": REFERENCE} if words else {}
    frame = getattr(bench, name)(**words, **folders)
    frame.to_parquet(written := BytesIO())
    assert len(pd.read_parquet(written)) == len(frame) > 0


def test_nothing_measured_writes_nothing(workspace: Workspace) -> None:
    answer = workspace.call("export", "small", "--as", "parquet", "--to", "out")
    assert (answer.status, (workspace.root / "out").exists()) == (3, False)
