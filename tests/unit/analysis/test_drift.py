"""Two results beside each other: bits, differences, and what seeds explain."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bench.analysis.drift import Moved, moved
from bench.cells.cell import Cell
from bench.cli.compare import print_drift
from bench.errors import StoreError
from bench.results.digests import write_digests
from bench.results.export_tables import export_cells
from bench.results.reader import Results
from bench.results.store import Store
from tests.fakes.results import alter, cells_of, finish
from tests.fakes.suites import SUITE, changed, to_yaml
from tests.fakes.workspace import Workspace

METRIC = "mi_lower_bound"


@pytest.fixture
def cells(tmp_path: Path) -> list[Cell]:
    path = tmp_path / "small.yaml"
    path.write_text(to_yaml(changed(SUITE, {"seeds": [0, 1, 2]})))
    return cells_of(path, "tiny")


def noise(cell: Any, draw: int) -> float:
    return float(np.random.default_rng([draw, cell.seed, cell.K, int(cell.mi_true)]).normal() / 100)


def two(
    folder: Path, cells: list[Cell], here: Callable[[Any], float], there: Callable[[Any], float]
) -> Moved:
    finish(folder / "a", cells, lambda c: {METRIC: here(c)})
    finish(folder / "b", cells, lambda c: {METRIC: there(c)})
    only = sorted((c.experiment, c.id) for c in cells)
    assert moved(Results(folder / "a"), Results(folder / "b"), only) == moved(
        Results(folder / "a"), Results(folder / "b")
    )
    return moved(Results(folder / "a"), Results(folder / "b"))


def test_the_same_to_the_bit(tmp_path: Path, cells: list[Cell]) -> None:
    found = two(tmp_path, cells, lambda c: noise(c, 0), lambda c: noise(c, 0))
    assert found.record() == {
        "same": 24, "moved": [], "only_here": 0, "only_there": 0, "metrics": [], "groups": [],
        "beyond_noise": 0, "tests": 8,
    }  # fmt: skip


def test_other_noise_is_noise(tmp_path: Path, cells: list[Cell]) -> None:
    found = two(tmp_path, cells, lambda c: noise(c, 0), lambda c: noise(c, 1))
    assert (len(found.cells), len(found.groups), found.beyond_noise) == (24, 8, 0)


def test_the_p_value_is_that_of_the_paired_test(tmp_path: Path, cells: list[Cell]) -> None:
    groups = two(tmp_path, cells, lambda c: noise(c, 0), lambda c: noise(c, 1)).record()["groups"]
    sides: dict[tuple[Any, ...], list[list[float]]] = {}
    for cell in cells:
        point = tuple(v for k, v in cell.settings.items() if k != "seed")
        sides.setdefault(point, []).append([noise(cell, 1), noise(cell, 0)])
    expected = [stats.ttest_rel(*zip(*pairs, strict=True)).pvalue for pairs in sides.values()]
    assert [g["p_value"] for g in groups] == pytest.approx(sorted(expected))


def test_one_group_that_moved_is_found_among_others(tmp_path: Path, cells: list[Cell]) -> None:
    def shifted(c: Any) -> float:
        return noise(c, 0) * (1 + 1e-3) + 5 * ((c.K, c.mi_true, c.loss) == (8, 2, "eqco"))

    found = two(tmp_path, cells, lambda c: noise(c, 0), shifted)
    (group,) = [g for g in found.groups if g["beyond_noise"]]
    settings = group["settings"]
    assert (settings["K"], settings["mi_true"], settings["loss"]) == (8, 2.0, "eqco")
    assert group["difference"] == pytest.approx(5, abs=1e-3)
    assert (group["n_here"], group["n_there"]) == (3, 3)
    assert found.record()["metrics"][0]["largest_difference"] == pytest.approx(5, abs=1e-3)


def test_rounding_moves_bits_but_no_mean(tmp_path: Path, cells: list[Cell]) -> None:
    """A shift by one part in ten million, the same in all seeds, of numbers large and small."""

    def here(c: Any) -> float:
        return float(10.0 ** (c.K - 8)) + noise(c, 0)

    found = two(tmp_path, cells, here, lambda c: here(c) * (1 + 1e-7))
    assert (len(found.cells), found.beyond_noise) == (24, 0)


def test_a_fraction_for_a_percentage_is_beyond_noise(tmp_path: Path, cells: list[Cell]) -> None:
    found = two(tmp_path, cells, lambda c: 90 + noise(c, 0), lambda c: 0.9 + noise(c, 1) / 100)
    assert found.beyond_noise == len(found.groups) == 8


def test_other_seeds_and_cells_of_one_side(tmp_path: Path, cells: list[Cell]) -> None:
    """Two seeds against another: nothing is shared, and one seed says nothing."""
    finish(tmp_path / "a", [c for c in cells if c.seed < 2], lambda c: {METRIC: noise(c, 0)})
    finish(tmp_path / "b", [c for c in cells if c.seed == 2], lambda c: {METRIC: 9.0 + noise(c, 0)})
    found = moved(Results(tmp_path / "a"), Results(tmp_path / "b"))
    assert (found.same, found.cells, found.only_here, found.only_there) == (0, [], 16, 8)
    assert found.beyond_noise == 0


def test_means_are_over_the_seeds_that_both_have(tmp_path: Path, cells: list[Cell]) -> None:
    """Seed 0, which one side has alone, is far off and moves no mean."""
    finish(tmp_path / "a", cells, lambda c: {METRIC: 50.0 if c.seed == 0 else 1 + noise(c, 0)})
    finish(tmp_path / "b", [c for c in cells if c.seed], lambda c: {METRIC: 2 + noise(c, 0)})
    found = moved(Results(tmp_path / "a"), Results(tmp_path / "b"))
    assert {(g["n_here"], g["n_there"]) for g in found.groups} == {(2, 2)}
    for group in found.groups:
        assert group["there"] - group["here"] == pytest.approx(1.0)
        assert group["difference"] == pytest.approx(1.0)


def test_groups_of_one_seed_are_not_tested(tmp_path: Path, cells: list[Cell]) -> None:
    """They do not count among the tests for which the others are corrected."""
    finish(tmp_path / "a", cells, lambda c: {METRIC: noise(c, 0)})
    whole = cells[0].but_seed
    few = [c for c in cells if c.but_seed == whole or c.seed == 0]
    finish(tmp_path / "b", few, lambda c: {METRIC: 9.0 + noise(c, 0)})
    found = moved(Results(tmp_path / "a"), Results(tmp_path / "b"))
    assert (found.tests, found.beyond_noise) == (1, 1)


def test_the_interval_of_seeds_that_agree_is_that_of_their_verdict(
    tmp_path: Path, cells: list[Cell]
) -> None:
    """The only two values of the metric are 5 apart, so 5 is its known resolution."""
    for group in two(tmp_path, cells, lambda _: 1.0, lambda _: 6.0).groups:
        assert (group["beyond_noise"], group["difference"]) == (False, 5.0)
        assert group["low"] < 0 < group["high"]


def test_the_number_of_tests_is_corrected_for_and_said(
    tmp_path: Path, cells: list[Cell], capsys: pytest.CaptureFixture[str]
) -> None:
    """One group of eight lies at p = 0.02: enough alone, not among eight."""
    one = {0: 0.9, 1: 1.0, 2: 1.35}  # t = 7.91 on 2 degrees of freedom

    def there(cell: Any) -> float:
        is_one = (cell.K, cell.mi_true, cell.loss) == (8, 2, "eqco")
        return noise(cell, 0) + (one[cell.seed] if is_one else noise(cell, 1) / 1000)

    found = two(tmp_path, cells, lambda c: noise(c, 0), there)
    first = found.groups[0]
    assert 0.05 / 8 < first["p_value"] < 0.05 < found.groups[1]["p_value"]
    assert (first["beyond_noise"], first["corrected"], first["low"] > 0) == (False, True, True)
    assert sum(group["corrected"] for group in found.groups) == 1
    print_drift(found.record())
    out = " ".join(capsys.readouterr().out.split())
    assert "no, corrected mi_lower_bound" in out
    assert out.endswith(
        "0 of 8 differences between means are significant 1 more would be "
        "significant without the correction for 8 tests (Benjamini and Hochberg, 5 "
        "%)"
    )


def test_histories_and_arrays_count(tmp_path: Path, cells: list[Cell]) -> None:
    for side, value in (("a", 1.0), ("b", 2.0)):
        for cell in cells[:2]:
            folder = Store(tmp_path / side).folder(cell)
            folder.path.mkdir(parents=True)
            folder.append_history({"step": 1, "loss": value if cell is cells[0] else 0.0})
            folder.finish({METRIC: 1.0}, {"x": np.array([value])}, {})
    found = moved(Results(tmp_path / "a"), Results(tmp_path / "b"))
    assert [(c["metrics"], c["history"], c["arrays"]) for c in found.cells] == [
        ({}, c is cells[0], ["x"]) for c in sorted(cells[:2], key=lambda c: c.id)
    ]


def test_arrays_that_a_table_lacks_are_no_difference(tmp_path: Path, cells: list[Cell]) -> None:
    for side, value in (("a", 1.0), ("b", 2.0)):
        folder = Store(tmp_path / side).folder(cells[0])
        folder.path.mkdir(parents=True)
        folder.finish({METRIC: 1.0}, {"x": np.array([value]), "y": np.array([0.0])}, {})
    store = Store(tmp_path / "a")
    for read, told in (({"y"}, []), ({"x"}, [["x"]])):
        export_cells(cells[:1], store, tmp_path / "out", read=read)
        found = moved(Results(tmp_path / "out"), Results(tmp_path / "b"))
        assert [cell["arrays"] for cell in found.cells] == told
    (found_cell,) = moved(Results(tmp_path / "a"), Results(tmp_path / "b")).cells
    assert found_cell["arrays"] == ["x"]


def test_a_seed_is_counted_once(tmp_path: Path, cells: list[Cell]) -> None:
    """A folder with a second name for one cell, as a copy by hand makes it."""
    finish(tmp_path / "a", cells[:1], lambda _: {METRIC: 1.0})
    kind = tmp_path / "a" / cells[0].experiment
    copy = kind / ("0" * 16)
    copy.mkdir()
    for file in (kind / cells[0].id).iterdir():
        if file.name != "digests.json":  # which name the folder
            (copy / file.name).write_bytes(file.read_bytes())
    finish(tmp_path / "b", cells[:1], lambda _: {METRIC: 1.0})
    alone, copied = (Results(tmp_path / name) for name in ("b", "a"))
    assert moved(copied, copied) == moved(alone, alone)


def test_one_seed_twice_in_cells_of_a_former_version_is_an_error(
    tmp_path: Path, cells: list[Cell]
) -> None:
    """Their ids cannot be computed again, so a copy under another name is not known as one."""
    finish(tmp_path / "a", cells[:1], lambda _: {METRIC: 1.0})
    kind = tmp_path / "a" / cells[0].experiment
    first = kind / cells[0].id
    alter(first / "cell.json", version=0)
    (first / "digests.json").unlink()  # it names the folder
    shutil.copytree(first, kind / ("0" * 16))
    with pytest.raises(
        StoreError, match=r"^gaussian-mi: two cells have the same seed 0 and the same "
    ):
        moved(Results(tmp_path / "a"), Results(tmp_path / "a"))


def test_the_verb(workspace: Workspace) -> None:
    root = workspace.root
    cells = cells_of(root / "suites" / "small.yaml", "tiny")
    finish(root / "results", cells, lambda c: {METRIC: 2 + noise(c, 0)})
    finish(root / "old", cells, lambda c: {METRIC: 2 + noise(c, 0)})
    export_cells(cells, Store(root / "old"), root / "tables")
    same = workspace.call("compare", "small", "--with", "old", "--json")
    assert (same.status, same.json["same"]) == (0, 16)
    told = (
        "cells: 16 identical to the bit, 0 different, 0 only in the first folder, "
        "0 only in the second\n"
    )
    assert workspace.call("compare", "results", "tables").out == told
    finish(root / "other", cells[:1], lambda c: {METRIC: 2 + noise(c, 0)})
    finish(root / "third", cells[1:2], lambda c: {METRIC: 2 + noise(c, 0)})
    assert workspace.call("compare", "other", "third").status == 3  # no cell of both
    finish(root / "old", cells, lambda c: {METRIC: 3 + noise(c, 1)})
    far = workspace.call("compare", "small", "--with", "old")
    assert far.status == 1
    assert "cells: 0 identical to the bit, 16 different, " in far.out
    assert "8 of 8 differences between means are significant" in far.out
    assert "16 cells with different results although code, packages and machine match: " in far.out
    for cell in cells[1:]:
        path = Store(root / "old").folder(cell).provenance_file
        path.write_text(path.read_text().replace("2.6.0", "2.7.0"))
        write_digests(path.parent, path.with_name("summary.json").read_bytes())
    mended = workspace.call("compare", "small", "--with", "old").out
    assert "\n1 cell with different results although code, packages and machine match: " in mended
    assert f"({cells[0].id}). " in mended
    record = workspace.call("compare", "small", "--with", "old", "--json").json
    versions = {cell["id"]: cell["versions"] for cell in record["moved"]}
    assert versions[cells[1].id] == {"packages.torch": ["2.6.0", "2.7.0"]}


@pytest.mark.parametrize(
    ("words", "status", "complaint"),
    [
        (("results", "nowhere"), 2, "nowhere: this results folder does not exist; `bench run` "
            "creates it"),
        (("results", "empty"), 3, "results, empty: neither folder has a finished cell that "
            "could be compared"),
        (("small", "digits"), 2,
         "compare small digits: two arguments are read as two results "
            "folders. Name one suite only, or compare methods with "
            "`bench versus`"),
        (("a", "b", "c"), 2,
         "compare needs either a suite, with any options, or two "
            "results folders without options"),
        (("a", "b", "--where", "K=8"), 2,
         "compare needs either a suite, with any options, or two "
            "results folders without options"),
    ],
)  # fmt: skip
def test_mistakes(
    workspace: Workspace, words: tuple[str, ...], status: int, complaint: str
) -> None:
    for name in ("results", "empty"):
        (workspace.root / name).mkdir()
    answer = workspace.call("compare", *words)
    assert (answer.status, answer.out, answer.err) == (status, "", f"bench: {complaint}\n")
