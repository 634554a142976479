"""Tables give back what the folders held, arrays too."""

import csv
import gzip
import json
import random
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bench.analysis.drift import moved
from bench.cells import CELLS
from bench.cells.cell import Cell
from bench.errors import StoreError
from bench.files.atomic import only_writer
from bench.files.messages import forget_warnings
from bench.results.export_tables import export_cells
from bench.results.inspect import inspect
from bench.results.names import table_files
from bench.results.owner import Owner
from bench.results.reader import Results
from bench.results.store import State, Store
from bench.results.tables import CellRow, Tables
from tests.fakes.archives import picture
from tests.fakes.cells import small_cell
from tests.fakes.flips import flip
from tests.fakes.paths import ROOT

REFERENCE = ROOT / "results" / "reference"


def finish(store: Store, cell: Cell, value: float) -> None:
    folder = store.folder(cell)
    folder.path.mkdir(parents=True, exist_ok=True)
    folder.append_history({"step": 1, "loss": value})
    folder.finish(
        {"loss": value}, {"q_b_histogram": np.array([value, 1 - value])}, {"code": {"x": 1}}
    )


def test_arrays_survive_an_export(tmp_path: Path) -> None:
    store, cells = Store(tmp_path / "results"), [small_cell(seed=seed) for seed in (0, 1)]
    for cell in cells:
        finish(store, cell, 0.25 + cell.seed / 2)
    assert export_cells(cells[:1], store, tmp_path / "out") == 1
    assert export_cells(cells[1:], store, tmp_path / "out") == 1  # added to the first
    back = Results(tmp_path / "out")
    for cell in cells:
        found = back.find(cell)
        assert found is not None
        value = 0.25 + cell.seed / 2
        assert found.metrics == {"loss": value}
        assert found.arrays["q_b_histogram"].tolist() == [value, 1 - value]
    assert (tmp_path / "out" / "pretrain.arrays.npz").exists()


def test_equal_arrays_are_stored_once(tmp_path: Path) -> None:
    """Of equal numbers with another type or shape, each is kept as it is."""
    arrays = [np.arange(4.0), np.arange(4.0), np.arange(4), np.arange(4.0).reshape(2, 2)]
    store, cells = Store(tmp_path / "results"), [small_cell(seed=seed) for seed in range(4)]
    for cell, array in zip(cells, arrays, strict=True):
        store.folder(cell).finish({"loss": 1.0}, {"points": array}, {})
    export_cells(cells[:1], store, tmp_path / "out")
    export_cells(cells[1:], store, tmp_path / "out")
    with np.load(tmp_path / "out" / "pretrain.arrays.npz") as stored:
        assert len(stored.files) == 4
        assert len(stored["same"]) == 1
    found = Results(tmp_path / "out").finished(cells)
    assert {cell.seed: kept.arrays["points"].tolist() for cell, kept in found} == {
        cell.seed: array.tolist() for cell, array in zip(cells, arrays, strict=True)
    }
    assert {str(kept.arrays["points"].dtype) for _, kept in found} == {"float64", "int64"}


def test_only_arrays_and_histories_that_are_read_are_exported(tmp_path: Path) -> None:
    store, cell = Store(tmp_path / "results"), small_cell()
    finish(store, cell, 0.25)
    for read, arrays, history in (
        ({"q_b_histogram"}, ["q_b_histogram"], [{"step": 1}]),
        ({"loss", "points"}, [], [{"step": 1, "loss": 0.25}]),
        (None, ["q_b_histogram"], [{"step": 1, "loss": 0.25}]),
    ):
        export_cells([cell], store, tmp_path / "out", read=read)
        found = Results(tmp_path / "out").find(cell)
        assert found is not None
        assert (list(found.arrays), found.history) == (arrays, history)


def test_arrays_of_one_seed_are_those_of_the_lowest_finished_seed(tmp_path: Path) -> None:
    store, cells = Store(tmp_path / "results"), [small_cell(seed=seed) for seed in range(3)]
    for cell in cells[1:]:
        finish(store, cell, 0.25)
    export_cells(cells, store, tmp_path / "out", of_one_seed={"q_b_histogram"})
    found = Results(tmp_path / "out").finished(cells)
    names = {cell.seed: list(kept.arrays) for cell, kept in found}
    assert names == {1: ["q_b_histogram"], 2: []}


def test_a_torn_file_of_arrays_is_told(tmp_path: Path) -> None:
    store, cell = Store(tmp_path / "results"), small_cell()
    finish(store, cell, 0.5)
    export_cells([cell], store, tmp_path / "out")
    (tmp_path / "out" / "pretrain.arrays.npz").write_bytes(b"torn")
    found = Results(tmp_path / "out").find(cell)
    assert found is not None
    assert found.metrics == {"loss": 0.5}
    with pytest.raises(
        StoreError, match=r"pretrain\.arrays\.npz: the SHA-256 of this file differs from"
    ):
        _ = found.arrays
    (tmp_path / "out" / "digests.json").unlink()
    with pytest.raises(StoreError, match=r"pretrain\.arrays\.npz: the file cannot be read"):
        _ = found.arrays
    np.savez(tmp_path / "out" / "pretrain.arrays.npz", same=np.array([["a/points", "gone/points"]]))
    with pytest.raises(StoreError, match=r"the file cannot be read \('gone/points'\)"):
        _ = found.arrays


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("metric.loss", "nan", "loss is not a finite number"),
        ("metric.loss", "NaN", "loss is not a finite number"),
        ("metric.loss", '"x"', "loss is not a finite number"),
        ("metric.loss", "1e308", "loss is not a finite number"),
        ("origin.wall_s", '"x"', "a column of its origin is not valid: wall_s is not a number"),
        (
            "origin.wall_s",
            "[" * 10_000,
            "a column of its origin is not valid: wall_s is not a number",
        ),
        (
            "origin.code.x",
            "[1]",
            "a column of its origin is not valid: code.x is not text, a number or a truth value",
        ),
    ],
)
def test_a_table_that_holds_something_else_is_told(
    tmp_path: Path, column: str, value: str, told: str
) -> None:
    store, cell = Store(tmp_path / "results"), small_cell()
    finish(store, cell, 0.5)
    flat(store, [cell], tmp_path / "out")
    file = tmp_path / "out" / "pretrain.csv"
    (row,) = csv.DictReader(file.read_text().splitlines())
    with file.open("w") as opened:
        writer = csv.DictWriter(opened, list(dict.fromkeys([*row, column])))
        writer.writeheader()
        writer.writerow(row | {column: value})
    with pytest.raises(
        StoreError, match=rf"^{re.escape(str(file))}: cell {cell.id}: {re.escape(told)}$"
    ):
        Results(tmp_path / "out").find(cell)


def former_texts(row: CellRow, name: str) -> dict[str, str]:
    metrics = {f"metric.{k}": v for k, v in row.metrics.items()}
    origin = {f"origin.{k}": v for k, v in row.provenance.items()}
    return {"id": name} | {k: json.dumps(v) for k, v in {**row.fields, **metrics, **origin}.items()}


def former(store: Store, cells: Sequence[Cell], folder: Path) -> None:
    """Write the tables of version 0.2.0.dev1: JSON in each entry, `metric.` before names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.results.tables.CellRow.texts", former_texts)
        export_cells(cells, store, folder)


def told_of(cell: Cell, folder: Path) -> tuple[object, ...]:
    found = Results(folder).find(cell)
    assert found is not None
    fields = Results(folder).fields(cell.experiment, cell.id)
    return fields, found.metrics, found.provenance, found.history


@pytest.mark.parametrize(
    "text", ["simclr", "3.12", "true", "null", "", "=1+1", '"x', "a,\nb", "NaN"]
)
def test_both_forms_are_read_alike_and_a_text_stays_a_text(tmp_path: Path, text: str) -> None:
    store, cell = Store(tmp_path / "results"), small_cell(seed=3)
    folder = store.folder(cell)
    folder.path.mkdir(parents=True, exist_ok=True)
    folder.append_history({"step": 1, "knn_top1": 12.5})
    folder.finish({"knn_top1": 0.1 + 0.2, "loss": 1e-7}, {}, {"code": {"x": text}, "wall_s": 2.0})
    former(store, [cell], tmp_path / "former")
    export_cells([cell], store, tmp_path / "present")
    assert told_of(cell, tmp_path / "present") == told_of(cell, tmp_path / "former")
    fields, metrics, origin, _ = told_of(cell, tmp_path / "present")
    assert fields == cell.model_dump(mode="json")
    assert metrics == {"knn_top1": 0.1 + 0.2, "loss": 1e-7}
    assert origin == {"code.x": text, "wall_s": 2.0}


def test_a_table_in_the_former_form_is_added_to_and_becomes_plain(tmp_path: Path) -> None:
    store, cells = Store(tmp_path / "results"), [small_cell(seed=seed) for seed in range(2)]
    for cell in cells:
        finish(store, cell, 0.25 + cell.seed / 2)
    former(store, cells[:1], tmp_path / "out")
    before = told_of(cells[0], tmp_path / "out")
    export_cells(cells[1:], store, tmp_path / "out")
    assert told_of(cells[0], tmp_path / "out") == before
    frame = pd.read_csv(tmp_path / "out" / "pretrain.csv.gz")
    assert list(frame.columns[:2]) == ["cell", "experiment"]
    assert sorted(frame["cell"]) == sorted(cell.id for cell in cells)


def test_one_line_of_pandas_reads_an_exported_table(tmp_path: Path) -> None:
    """Text is text, numbers are numbers, null is missing, a metric has its own name.

    Metrics keep all digits; times are written to a hundredth of a second, and the losses of a
    history with seven significant digits.
    """
    store, cell = Store(tmp_path / "results"), small_cell()
    folder = store.folder(cell)
    folder.path.mkdir(parents=True, exist_ok=True)
    folder.append_history({"step": 1, "knn_top1": 100 / 3, "train_loss": -100 / 3})
    times = {"wall_s": 2 + 1 / 3, "trained": {"cpu_s": 1 / 3}}
    folder.finish({"knn_top1": 12.5, "q_b": 1 / 3}, {}, times)
    export_cells([cell], store, tmp_path, suite="a")
    frame = pd.read_csv(tmp_path / "pretrain.a.csv.gz")
    (row,) = frame.to_dict("records")
    fields = cell.model_dump()
    for name, value in fields.items():
        assert pd.isna(row[name]) if value is None else row[name] == value, name
    assert (row["cell"], row["knn_top1"], row["q_b"]) == (cell.id, 12.5, 1 / 3)
    assert (row["origin.wall_s"], row["origin.trained.cpu_s"]) == (2.33, 0.33)
    assert row["metrics"].split() == ["knn_top1", "q_b"]
    history = pd.read_csv(tmp_path / "pretrain.a.history.csv.gz")
    (line,) = history.to_dict("records")
    assert line == {"cell": cell.id, "step": 1, "knn_top1": 100 / 3, "train_loss": -33.33333}


def test_a_cell_and_its_row_of_an_exported_table_do_not_differ(tmp_path: Path) -> None:
    store, cell = Store(tmp_path / "results"), small_cell()
    folder = store.folder(cell)
    folder.path.mkdir(parents=True, exist_ok=True)
    folder.append_history({"step": 1, "knn_top1": 100 / 3, "train_loss": -100 / 3})
    folder.finish({"knn_top1": 12.5}, {}, {"wall_s": 2.0})
    export_cells([cell], store, tmp_path / "tables", suite="a")
    drift = moved(Results(store.root), Results(tmp_path / "tables"))
    assert (drift.same, drift.cells) == (1, [])


def test_the_reference_tables_come_out_with_the_same_numbers() -> None:
    """Each row written and read back is the same."""
    rows = 0
    for path in sorted(REFERENCE.glob("*.csv*")):
        stem = path.name.removesuffix(".gz").removesuffix(".csv")
        for name, row in Tables(REFERENCE, stem).rows.items() if ".history" not in stem else ():
            rows += 1
            assert CellRow.of(row.texts(name)) == row
    assert rows > 100


def test_no_metric_has_the_name_of_a_setting_or_of_a_column() -> None:
    for kind in CELLS.values():
        names = {*kind.model_fields, "cell", "metrics", "metric", "value", "suite", "scale", "step"}
        assert not names & set(kind.metrics)
        assert not {"cell", "metrics", "metric", "value", "suite", "scale"} & set(kind.model_fields)


def flat(store: Store, cells: Sequence[Cell], folder: Path) -> None:
    """Write the tables that earlier versions of this code wrote: plain, without digests."""
    export_cells(cells, store, folder)
    (folder / "digests.json").unlink()
    for path in folder.glob("*.gz"):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()


def test_tables_of_suites_and_plain_ones_are_read_as_one(tmp_path: Path) -> None:
    store, cells = Store(tmp_path / "results"), [small_cell(seed=seed) for seed in range(3)]
    for cell in cells:
        finish(store, cell, 0.25 + cell.seed / 8)
    out = tmp_path / "out"
    flat(store, cells[:1], out)
    export_cells(cells[:2], store, out, suite="a", read=())
    export_cells(cells[1:], store, out, suite="b", read={"loss", "q_b_histogram"})
    assert sorted(path.name for path in table_files(out)) == [
        "pretrain.a.csv.gz", "pretrain.arrays.npz",
        "pretrain.b.arrays.npz", "pretrain.b.csv.gz",
        "pretrain.b.history.csv.gz", "pretrain.csv", "pretrain.history.csv",
    ]  # fmt: skip
    back = Results(out)
    for cell in cells:
        found = back.find(cell)
        assert found is not None
        value = 0.25 + cell.seed / 8
        assert (found.metrics, found.history) == ({"loss": value}, [{"step": 1, "loss": value}])
        assert found.arrays["q_b_histogram"].tolist() == [value, 1 - value]


def test_an_export_is_the_same_bytes_and_a_flipped_bit_of_it_is_found(tmp_path: Path) -> None:
    store, cell = Store(tmp_path / "results"), small_cell()
    finish(store, cell, 0.5)
    for folder in ("out", "again"):
        export_cells([cell], store, tmp_path / folder, suite="a")
    assert picture(tmp_path / "out") == picture(tmp_path / "again")
    rng = random.Random(0)
    for path in table_files(tmp_path / "out"):
        for _ in range(10):
            content = flip(path, rng)
            assert inspect(tmp_path / "out").faults == [
                f"{path}: the SHA-256 of this file differs from digests.json; export the "
                "table again"
            ]
            path.write_bytes(content)


def test_two_tables_that_disagree_are_told(tmp_path: Path) -> None:
    cell, out = small_cell(), tmp_path / "out"
    for suite, value in (("a", 0.5), ("b", 0.25)):
        store = Store(tmp_path / suite)
        finish(store, cell, value)
        export_cells([cell], store, out, suite=suite)
    told = f"have different metrics for cell {cell.id}; export both suites again"
    files = f"{out}/pretrain.a.csv.gz and {out}/pretrain.b.csv.gz"
    with pytest.raises(StoreError) as fault:
        Results(out).find(cell)
    assert str(fault.value) == f"{files} {told}"


def exported(folder: Path, count: int = 2) -> tuple[Store, list[Cell]]:
    """Export finished cells to `out` in a folder."""
    store = Store(folder / "results")
    cells: list[Cell] = [small_cell(seed=seed) for seed in range(count)]
    for cell in cells:
        finish(store, cell, 0.25 + cell.seed / 8)
    export_cells(cells, store, folder / "out")
    return store, cells


def test_a_cell_that_diverged_travels_with_an_export(tmp_path: Path) -> None:
    store, cells = exported(tmp_path)
    out, name = tmp_path / "out", "pretrain.diverged.csv.gz"
    assert not (out / name).exists()
    diverged, faulty = small_cell(seed=2), small_cell(seed=3)
    fail(store, diverged, "diverged", "step 7: loss is nan")
    fail(store, faulty, "oom", "its worker was killed")
    cells = [*cells, diverged, faulty]
    assert export_cells(cells, store, out) == 2
    there = Results(out)
    done = there.finished(cells)
    assert there.failed(cells, done) == [(diverged, "diverged")]
    assert [kept.unfit for _, kept in done] == [
        "other seeds failed (diverged 1 of 3), so the remaining cells are a biased selection"
    ] * 2
    states = Store(tmp_path / "new", have=[out]).states(cells)
    assert [(state.state, state.message) for state in states[2:]] == [
        (State.FAILED, "step 7: loss is nan"),
        (State.MISSING, None),
    ]
    again = Store(tmp_path / "new", have=[out], retry_before=1.0).states([diverged])
    assert [state.state for state in again] == [State.MISSING]
    assert inspect(out).faults == []
    (out / "digests.json").unlink()
    assert Results(out).failed([diverged], []) == [(diverged, "diverged")]
    export_cells(cells, store, out, suite="another")
    finish(store, diverged, 0.5)
    assert export_cells(cells, store, out) == 3
    assert not (out / name).exists()
    assert Results(out).failed(cells, Results(out).finished(cells)) == []


def test_a_damaged_table_of_failures_is_replaced_and_what_is_lost_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, cells = exported(tmp_path)
    out = tmp_path / "out"
    failed = [small_cell(seed=2), small_cell(seed=3)]
    for cell in failed:
        fail(store, cell, "diverged", "step 7: loss is nan")
    export_cells([*cells, *failed], store, out)
    path = out / "pretrain.diverged.csv.gz"
    path.write_bytes(path.read_bytes() + b"x")
    export_cells([small_cell(seed=4)], store, out)  # nothing to write: nothing is replaced
    assert capsys.readouterr().err == ""
    export_cells(failed[:1], store, out)
    assert "this export writes only the selected cells: export the other" in capsys.readouterr().err
    assert Results(out).failed(failed, []) == [(failed[0], "diverged")]


def test_the_reference_tables_answer_for_cells_that_diverged(tmp_path: Path) -> None:
    store, cells = exported(tmp_path)
    diverged = small_cell(seed=2)
    fail(store, diverged, "diverged", "step 7: loss is nan")
    export_cells([*cells, diverged], store, tmp_path / "out")
    (tmp_path / "empty").mkdir()
    results = Results(tmp_path / "empty", reference=tmp_path / "out")
    done = results.finished([*cells, diverged])
    assert results.failed([*cells, diverged], done) == [(diverged, "diverged")]
    assert results.failed([diverged], []) == [(diverged, "diverged")]


def fail(store: Store, cell: Cell, reason: str, message: str) -> None:
    attempt = store.folder(cell).claim(cell, Owner.me(), "")
    assert attempt is not None
    attempt.end("failed", reason, message)


def test_damaged_tables_can_be_exported_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, cells = exported(tmp_path)
    out = tmp_path / "out"
    before = picture(out)
    for path in [*table_files(out), out / "digests.json"]:
        path.write_bytes(path.read_bytes()[:-9])
        assert export_cells(cells, store, out) == len(cells)
        assert picture(out) == before
        assert str(path) in capsys.readouterr().err
        forget_warnings()


def test_a_killed_export_leaves_tables_that_are_read_and_added_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, cells = exported(tmp_path)
    out, killed = tmp_path / "out", tmp_path / "results" / "killed"
    before = picture(out)
    export_cells(cells[:1], store, killed)
    with monkeypatch.context() as patch:
        patch.setattr("bench.results.export_tables._write_arrays", interrupt)
        with pytest.raises(KeyboardInterrupt):
            export_cells(cells, store, killed)
    assert len(Results(killed).finished(cells)) == len(cells)
    export_cells(cells, store, killed)
    assert picture(killed) == before


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_two_exports_to_one_folder_wait_for_each_other(tmp_path: Path) -> None:
    store, cells = exported(tmp_path)
    other = threading.Thread(target=export_cells, args=(cells, store, tmp_path / "both"))
    with only_writer(tmp_path / "both"):
        other.start()
        other.join(0.5)
        assert other.is_alive()
    other.join()
    assert picture(tmp_path / "both") == picture(tmp_path / "out")


def test_an_exported_file_that_is_gone_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, cells = exported(tmp_path)
    out = tmp_path / "out"
    for path in table_files(out):
        content = path.read_bytes()
        path.unlink()
        why = f"{path}: this file is missing, but digests.json lists it"
        assert inspect(out).faults == [f"{why}; export it again"]
        if path.name == "pretrain.csv.gz":
            assert Results(out).finished(cells) == []
            assert f"bench: warning: {why}; its cells count" in capsys.readouterr().err
        else:
            with pytest.raises(StoreError, match=re.escape(why)):
                _ = [(kept.history, kept.arrays) for _, kept in Results(out).finished(cells)]
        path.write_bytes(content)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda rows: [rows[0], rows[1], rows[1]], "the table has cell {0} twice"),
        (
            lambda rows: [rows[0], rows[1][:1] + rows[2][1:], rows[2][:1] + rows[1][1:]],
            "cell {0}: the settings in this row belong to cell {1}",
        ),
        (lambda rows: [[*row, row[1]] for row in rows], "the table has column experiment twice"),
        (lambda rows: rows[:0], "the file has no column 'cell', so it is not an exported table"),
    ],
)
def test_a_table_without_digests_that_cannot_be_right_is_refused(
    tmp_path: Path, change: Callable[[list[list[str]]], list[list[str]]], told: str
) -> None:
    _, cells = exported(tmp_path)
    out = tmp_path / "out"
    (out / "digests.json").unlink()
    packed = out / "pretrain.csv.gz"
    rows = change(list(csv.reader(gzip.decompress(packed.read_bytes()).decode().splitlines())))
    packed.unlink()
    with (out / "pretrain.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    names = sorted(cell.id for cell in cells)
    why = f"{out}/pretrain.csv: {told.format(*names)}"
    with pytest.raises(StoreError, match=f"^{re.escape(why)}"):
        Results(out).finished(cells)
    assert inspect(out).faults[0].startswith(why)
