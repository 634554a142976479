"""Published lists of labelled images: what they name, and what is wrong with them."""

import re
from pathlib import Path

import pytest

from bench.cli.selection import missing_data
from bench.data.catalogue import published_list
from bench.data.labelled import listed_rows
from bench.errors import DataFailure, DataMissing
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.paths import SUITES

NAMES = ["a_1.JPEG", "a_2.JPEG", "b_1.JPEG", "b_2.JPEG"]


def list_of(folder: Path, *names: str) -> Path:
    path = folder / "1percent.txt"
    path.write_text("".join(f"{name}\n" for name in names))
    return path


def test_rows_are_in_the_order_of_the_images(tmp_path: Path) -> None:
    assert listed_rows(NAMES, list_of(tmp_path, "b_1.JPEG", "a_2.JPEG")).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (
            ["a_1.JPEG", "c_1.JPEG"],
            "1 of the listed names do not belong to a training image, such as c_1.JPEG",
        ),
        (["a_1.JPEG", "a_1.JPEG"], "the file has 2 names, of which 1 are different"),
        ([], "the file has 0 names, of which 0 are different"),
    ],
)
def test_a_list_of_other_images_is_told(tmp_path: Path, names: list[str], why: str) -> None:
    with pytest.raises(DataFailure, match=re.escape(f"{tmp_path / '1percent.txt'}: {why}")):
        listed_rows(NAMES, list_of(tmp_path, *names))


def test_a_list_that_is_not_there(tmp_path: Path) -> None:
    path = published_list(tmp_path, 0.1)
    assert path == tmp_path / "imagenet_subsets" / "10percent.txt"
    with pytest.raises(
        DataMissing, match=r"10percent.txt: this file does not exist; docs/how-to/fine-tune.md says"
    ):
        listed_rows(NAMES, path)


def test_what_a_suite_needs_is_named_before_it_runs(tmp_path: Path) -> None:
    path = SUITES / "unigrad-table-9.yaml"
    cells = expand(load_suite(path), "paper", path)
    (fault,) = missing_data(cells, tmp_path)
    assert str(fault).startswith(f"imagenet1k: the folder {tmp_path}/imagenet1k does not exist.")
    for part in ("train", "val", "imagenet_subsets"):
        (tmp_path / "imagenet1k" / part).mkdir(parents=True)
    (fault,) = missing_data(cells, tmp_path)
    assert "1percent.txt: this file does not exist" in str(fault)
    for share in (0.01, 0.1):
        published_list(tmp_path / "imagenet1k", share).write_text("x\n")
    assert list(missing_data(cells, tmp_path)) == []
