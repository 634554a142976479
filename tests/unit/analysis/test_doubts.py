"""Numbers that look fine and mean nothing are found, marked, and judged by nobody."""

import math
from typing import Any

import pytest

from bench.analysis.claims import judge_claims
from bench.analysis.compare import compare
from bench.analysis.doubts import MARK, VINCE_BOUNDS, believed, doubt_lines, doubts_of
from bench.analysis.verdicts import ClaimVerdict, Verdict
from bench.cells import CELLS
from bench.cells.cell import Cell
from bench.cells.datasets import IMAGE_SETS
from bench.papers.reader import load_paper
from bench.report.measured import measured_records, measured_table
from bench.report.tables import make_tables
from bench.results.reader import Done, Finished
from bench.suites.expand import expand
from bench.suites.load import load_suite
from bench.suites.suite import MeasuredTable
from tests.fakes.cells import small_cell
from tests.fakes.paths import SUITES
from tests.fakes.suites import CLASSIFIER, SUITE, VINCE, changed
from tests.fakes.toys import make_cells, toy
from tests.fakes.workspace import Workspace


def vince(**changes: Any) -> Cell:
    fixed = {"experiment": "vince-gaussian", "seed": 0} | VINCE["fixed"] | changes
    return CELLS["vince-gaussian"].model_validate(fixed)


def classifier(**changes: Any) -> Cell:
    fixed = {"experiment": "supervised", "seed": 0} | CLASSIFIER["fixed"] | changes
    return CELLS["supervised"].model_validate(fixed)


QUEUE: dict[str, Any] = {"K": 1000, "train_images": 128, "bn_groups": 2, "epochs": 20}
EQCO: dict[str, Any] = {"loss": "eqco", "alpha": 512.0}
ALL = "all"  # metrics
DEAD = "the critic gives the same number for all pairs"
FOUND: dict[str, tuple[Cell, dict[str, float], str | None]] = {
    # What the audit of numbers measured: MoCo v2 with a queue far larger than the data.
    "a queue's random start": (
        small_cell("moco-v2", **QUEUE), {"mi_lower_bound": 6.63, "knn_top1": 60.0},
        "mi_lower_bound exceeds log 128 = 4.85 nats, the logarithm "
            "of the number of training images",
    ),
    "a queue that training never fills": (
        small_cell("moco-v2", **QUEUE | {"epochs": 7}),
        {"mi_lower_bound": 2.5, "q_b_std": 0.1, "train_loss": 5.0},
        "the queue of 1000 keys still holds random start vectors after the 7 " "epochs of training",
    ),
    "a queue that training fills": (
        small_cell("moco-v2", **QUEUE | {"epochs": 8}), {"mi_lower_bound": 2.5}, None,
    ),
    "of all images": (
        small_cell("moco-v2", **QUEUE | {"train_images": None}), {"mi_lower_bound": 7.21},
        "mi_lower_bound exceeds log 1347 = 7.21 nats, the logarithm "
            "of the number of training images",
    ),
    "fewer nats than the logarithm of the images": (
        small_cell("moco-v2", **QUEUE), {"mi_lower_bound": 4.85}, None,
    ),
    "a data set of unknown size": (
        small_cell("moco-v2", **QUEUE | {"dataset": "folder:mine"}), {"mi_lower_bound": 6.63}, None,
    ),
    "above K": (
        small_cell("moco-v2", K=16, bn_groups=2), {"mi_lower_bound": 2.84},
        "mi_lower_bound exceeds its ceiling log(1 + K) = 2.83 nats at K = 16",
    ),
    "a margin lifts the ceiling": (
        small_cell("moco-v2", K=16, bn_groups=2, train_images=None, **EQCO),
        {"mi_lower_bound": 6.2}, None,
    ),
    "above alpha": (
        small_cell("moco-v2", K=16, bn_groups=2, train_images=None, **EQCO),
        {"mi_lower_bound": 6.25},
        "mi_lower_bound exceeds its ceiling log(1 + alpha) = 6.24 nats at alpha = " "512",
    ),
    "of a toy": (
        toy(K=8), {"mi_lower_bound": 2.09, "mi_lower_bound_std": 0.1},
        "mi_lower_bound exceeds its ceiling log(1 + K) = 2.08 nats at K = 7",
    ),
    "as high as a toy goes": (
        toy(K=8), {"mi_lower_bound": math.log(8), "mi_lower_bound_std": 0.1}, None,
    ),
    "of samples": (
        vince(K=63), {"mi_true": 0.7, "vince_bound_train": 4.2},
        "vince_bound_train exceeds log 64 = 4.16 nats, the logarithm of the " "number of samples",
    ),
    "dead encoders of a toy": (
        vince(K=63), {"mi_true": 0.7} | dict.fromkeys(VINCE_BOUNDS, 1e-7), DEAD,
    ),
    "encoders of a toy that tell little": (
        vince(K=63), {"mi_true": 0.7} | dict.fromkeys(VINCE_BOUNDS, 1e-4), None,
    ),
    "a huge temperature": (small_cell(tau=1e9), {"knn_top1": 52.0}, ALL),
    "a tiny temperature": (small_cell(tau=1e-9), {"knn_top1": 52.0}, ALL),
    "of a classifier": (classifier(tau=1e9), {"test_top1": 10.0}, ALL),
    "a usual temperature": (small_cell(tau=10.0), {"knn_top1": 52.0}, None),
    "no rate": (small_cell(lr=1e-12), {"knn_top1": 52.0}, ALL),
    "a low rate": (small_cell(lr=1e-6), {"knn_top1": 52.0}, None),
    "a dead critic": (
        toy(K=8), {"mi_lower_bound": 0.0, "mi_lower_bound_std": 0.0}, ALL,
    ),
    "one look": (
        toy(K=8, eval_repeats=1), {"mi_lower_bound": 0.5, "mi_lower_bound_std": 0.0}, None,
    ),
    "equal variables": (
        toy(K=8, mi_true=1000.0), {"mi_lower_bound": 1.0, "mi_lower_bound_std": 0.1}, ALL,
    ),
    "an exact formula": (
        make_cells(1)[0].model_copy(update={"tau": 1e9}), {"gradient_norm": 0.0}, None,
    ),
    "an exact metric beside a trained one": (
        vince(tau=1e9), {"mi_true": 0.7, "vince_bound_train": 1.0}, "tau is 1e+09: ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_what_means_nothing_is_found_and_nothing_else(name: str) -> None:
    cell, metrics, told = FOUND[name]
    found = doubts_of(cell, Finished(metrics, {}))
    if told is None:
        assert found == {}
    elif told == ALL:
        assert found.keys() == metrics.keys()
    else:
        assert {why[: len(told)] for why in found.values()} == {told}
        assert found.keys() & {"mi_true", "train_loss"} == set()


def test_the_ceilings_of_the_digits_are_those_of_their_images() -> None:
    assert round(math.log(IMAGE_SETS["digits"].train), 2) == 7.21


def test_what_is_left_is_believed_in_histories_too() -> None:
    lines = [{"step": 1, "epoch": 1, "mi_lower_bound": 6.0, "train_loss": 1.0}]
    metrics = {"mi_lower_bound": 6.63, "knn_top1": 60.0}
    cells = [small_cell("moco-v2", **QUEUE), small_cell(tau=1e9), small_cell()]
    done: Done = [(cell, Finished(metrics, {}, lambda: lines)) for cell in cells]
    done[2] = (cells[2], Finished({"knn_top1": 60.0}, {}, lambda: lines))
    kept = [(finished.metrics, finished.history) for _, finished in believed(done)]
    assert kept == [
        ({"knn_top1": 60.0}, [{"step": 1, "epoch": 1, "train_loss": 1.0}]),
        ({}, [{"step": 1, "epoch": 1}]),
        ({"knn_top1": 60.0}, lines),
    ]
    assert believed(done)[2][1] is done[2][1]


def test_judging_what_is_fine_reads_no_history() -> None:
    done: Done = [(small_cell(), Finished({"knn_top1": 1.0}, {}, lambda: pytest.fail("read")))]
    assert believed(done) == done


def planted(value: float) -> Done:
    """Return cells of Table 9, of which those of InfoNCE with K = 64 say too much."""
    path = SUITES / "eqco-table-9.yaml"
    cells = expand(load_suite(path), "paper", path)
    return [
        (c, Finished({"mi_lower_bound": value if _is_odd(c) else 0.5, "mi_lower_bound_std": 1}, {}))
        for c in cells
    ]


def _is_odd(cell: Any) -> bool:
    return bool(cell.K == 64 and cell.loss == "infonce")


@pytest.mark.parametrize(("value", "doubted"), [(4.1, False), (4.2, True)])
def test_no_value_and_no_claim_is_judged_on_it(value: float, doubted: bool) -> None:
    """The ceiling of 64 pairs is 4.16 nats."""
    suite, paper = load_suite(SUITES / "eqco-table-9.yaml"), load_paper("eqco")
    done = planted(value)
    cells = [cell for cell, _ in done]
    rows = compare(suite, cells, done, paper)
    odd = [row for row in rows if row.row["K"] == 64 and row.row["loss"] == "infonce"]
    others = [row for row in rows if row not in odd]
    assert odd
    assert {row.verdict == Verdict.NOT_COMPARABLE for row in odd} == {doubted}
    assert {row.measured.mean for row in odd if row.measured} == {value}
    assert Verdict.NOT_COMPARABLE not in {row.verdict for row in others}
    shown = [
        e for t in make_tables(rows, {"table-9": None}) for line in t.rows for e in line if e.cells
    ]
    assert sum(MARK in entry.value for entry in shown) == len(odd) * doubted
    judged = judge_claims(suite, "paper", cells, done, paper)
    without = judge_claims(suite, "paper", cells, [p for p in done if not _is_odd(p[0])], paper)
    assert ([j.effect for j in judged] == [j.effect for j in without]) == doubted
    assert ClaimVerdict.NOT_TESTED in {j.verdict for j in without}


def test_the_mark_stands_beside_the_number() -> None:
    asked = MeasuredTable(title="x", metric="mi_lower_bound", rows=["K"])
    for value, doubted in ((4.1, False), (4.2, True)):
        done = planted(value)
        table = measured_table(asked, done)
        assert table is not None
        marks = {str(row[0].value): MARK in row[1].value for row in table.rows}
        assert marks == {"64": doubted, "128": False, "256": False, "512": False}
        told = [record["doubts"] for record in measured_records(asked, done)]
        assert [bool(doubts) for doubts in told].count(True) == doubted
        assert len(doubt_lines(done)) == doubted


def test_the_verbs_say_so(workspace: Workspace) -> None:
    """A critic at a temperature at which float32 tells nothing apart."""
    dead = {"assumed.tau.value": 1e9, "fixed.steps": 20, "grid.K": [64, 128]}
    workspace.suite(changed(SUITE, dead))
    assert workspace.call("run", "small", "--executor", "inline").status == 0
    why = (
        "tau is 1e+09: in float32, the loss depends on rounding errors instead of "
        "the cosine similarities (16 cells)"
    )
    for verb in ("show", "compare", "claims"):
        told = " ".join(workspace.call(verb, "small").out.split())
        assert f"{MARK} unreliable, so left out of verdicts: {why}" in told, verb
    (check,) = workspace.call("claims", "small", "--json").json
    assert (check["verdict"], check["missing"]) == ("cannot tell", None)
    assert check["why"].endswith(f"left out: {why.removesuffix(' (16 cells)')}")
    rows = workspace.call("compare", "small", "--json").json
    assert {row["verdict"] for row in rows if row["measured"] is not None} == {"not comparable"}
    assert workspace.call("report", "small", "--formats", "csv").status == 0
    file = workspace.root / "reports" / "small" / "tiny" / "index.md"
    page, cells = file.read_text(), file.with_suffix(".html").read_text()
    reasons = f"Numbers marked {MARK} are used by no verdict, for these reasons:\n\n- {why}"
    assert f"## Numbers left out of verdicts\n\n{reasons}" in page
    assert cells.count(f" {MARK}</td>") == 16
