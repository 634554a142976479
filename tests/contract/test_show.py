"""`bench show`: the tables of what was measured, and how a run ends with them."""

from typing import Any

import pytest

from tests.fakes.results import cells_of, fail, finish
from tests.fakes.suites import DIGITS, SUITE, changed
from tests.fakes.workspace import Workspace

TABLE = {
    "title": "bound (nats)", "metric": "mi_lower_bound", "rows": ["loss", "K"],
    "columns": "mi_true", "baseline": "infonce",
}  # fmt: skip


def number(cell: Any) -> dict[str, float]:
    """Rise with the seed by 1: half of the interval of two seeds is 12.706 x 0.7071 / 1.4142."""
    return {"mi_lower_bound": cell.mi_true / 10 + (cell.loss == "eqco") / 4 + cell.seed}


@pytest.fixture
def measured(workspace: Workspace) -> Workspace:
    """All cells but those of K = 16."""
    path = workspace.suite(changed(SUITE, {"tables": [TABLE]}))
    own = [cell for cell in cells_of(path, "tiny") if cell.settings["K"] == 8]
    finish(workspace.root / "results", own, number)
    return workspace


def test_the_tables_of_the_suite_are_printed(measured: Workspace) -> None:
    answer = measured.call("show", "small")
    assert (answer.status, answer.err) == (0, "")
    lines = [line.rstrip() for line in answer.out.splitlines()]
    assert lines == [
        "small at scale tiny (reduced: seconds): 8 of 16 cells done",
        "",
        "bound (nats) (mean [lowest to highest], n = 2)",
        "loss     K                         mi_true = 2                        mi_true = 10",
        "eqco     8  0.95 [0.45 to 1.45] (+0.25 ± 3.04)  1.75 [1.25 to 2.25] (+0.25 ± 3.04)",
        "infonce  8                 0.70 [0.20 to 1.20]                 1.50 [1.00 to 2.00]",
        "numbers in parentheses: difference from infonce ± half of the 95 % interval",
        "",
        "Next: `bench run small --scale tiny` computes the remaining cells",
    ]


def test_the_command_that_computes_the_rest_keeps_the_choice(measured: Workspace) -> None:
    out = measured.call("show", "small", "--where", "K=8,16", "--seeds", "0,1").out
    rest = "`bench run small --scale tiny --where K=8,16 --seeds 0,1` computes the remaining cells"
    assert rest in " ".join(out.split())
    out = measured.call("run", "small", "--where", "K=8").out
    assert "`bench claims small --scale tiny` judges the paper's claims" in " ".join(out.split())
    none = measured.call("compare", "small", "--where", "mi_true=2", "--seeds", "7").out
    assert "; `bench run small --scale tiny --where mi_true=2 --seeds 7` computes them" in none


def test_failed_cells_are_shown_as_failed_and_survivors_are_marked(workspace: Workspace) -> None:
    cells = cells_of(workspace.suite(changed(SUITE, {"grid.mi_true": [2]})), "tiny")
    failed = [c for c in cells if c.settings["K"] == 8 and (c.seed or c.settings["alpha"])]
    fail(workspace.root / "results", failed)
    finish(workspace.root / "results", [c for c in cells if c not in failed], number)
    out = " ".join(workspace.call("show", "small").out.split())
    assert "5 of 8 cells done; failed: diverged 3 " in out
    assert " eqco 8 diverged 2 of 2 eqco 16 0.95 [0.45 to 1.45] infonce 8 0.20 † (div" in out
    assert (
        "† unreliable, so left out of verdicts: other seeds failed (diverged 1 of 2), so the "
        "remaining cells are a biased selection (1 cell)" in out
    )
    assert "Next: `bench run small --scale tiny --retry-failed` computes failed cells again" in out
    rows = workspace.call("show", "small", "--json").json
    assert [(r["mean"], r["n"], r["failed"]) for r in rows if r["row"]["K"] == 8] == [
        (pytest.approx(0.2), 1, {"diverged": 1}),
        (None, 0, {"diverged": 2}),
    ]


def test_pages_and_their_figures_show_failed_cells(workspace: Workspace) -> None:
    cells = cells_of(workspace.suite(changed(SUITE, {"grid.mi_true": [2]})), "tiny")
    failed = [c for c in cells if c.settings["K"] == 8 and (c.seed or c.settings["alpha"])]
    fail(workspace.root / "results", failed)
    finish(workspace.root / "results", [c for c in cells if c not in failed], number)
    assert workspace.call("report", "small", "--formats", "csv").status == 0
    folder = workspace.root / "reports" / "small" / "tiny"
    assert "diverged" in (folder / "index.md").read_text().partition("Failed")[2]
    assert "cells failed: diverged 3 of 8; means are over" in "".join(
        path.read_text() for path in folder.glob("*.svg")
    )


def test_effects_without_a_figure_have_a_page(workspace: Workspace) -> None:
    """None of the published effects is measured, and the suite draws nothing."""
    changes = {"figures": [], "compare.0.baseline": {"loss": "infonce", "alpha": None}}
    path = workspace.suite(changed(SUITE, changes))
    finish(workspace.root / "results", cells_of(path, "tiny"), number)
    answer = workspace.call("report", "small")
    assert (answer.status, answer.err) == (0, "")
    assert (workspace.root / "reports" / "small" / "tiny" / "index.html").is_file()


def test_failed_cells_are_why_nothing_is_compared_or_judged(workspace: Workspace) -> None:
    cells = cells_of(workspace.suite(changed(SUITE, {"grid.K": [64, 256]})), "tiny")
    failed = [c for c in cells if c.settings["K"] == 64]
    fail(workspace.root / "results", failed)
    finish(workspace.root / "results", [c for c in cells if c not in failed], number)
    for verb in ("compare", "claims"):
        assert "8 of 16 cells done; failed: diverged 8\n" in workspace.call(verb, "small").out
    rows = workspace.call("compare", "small", "--json").json
    whys = {row["why"] for row in rows if row["row"]["K"] == 64 and row["row"]["mi_true"] == 2}
    assert whys == {"cells failed: diverged 2 of 2"}
    assert {row["why"] for row in rows if row["row"]["K"] == 512} == {None}
    (judged,) = workspace.call("claims", "small", "--json").json
    expected = ("not tested", "cells failed: diverged 4 of 8")
    assert (judged["verdict"], judged["missing"]) == expected


@pytest.mark.parametrize(("unjudged", "hinted"), [(None, True), ("it is short", False)])
def test_claims_are_hinted_at_where_they_are_judged(
    workspace: Workspace, unjudged: str | None, hinted: bool
) -> None:
    path = workspace.suite(changed(SUITE, {"scales.tiny.unjudged": unjudged}))
    finish(workspace.root / "results", cells_of(path, "tiny"), number)
    told = workspace.call("compare", "small").out
    assert ("bench show small --scale tiny" in told, "bench claims" in told) == (True, hinted)


def test_without_a_finished_cell_the_hint_is_what_run_does(workspace: Workspace) -> None:
    cells = cells_of(workspace.suite(SUITE), "tiny")
    fail(workspace.root / "results", cells)
    assert workspace.call("show", "small").err == (
        "bench: small at scale tiny: none of the 16 cells is finished in results "
        "(failed: diverged 16); `bench run small --scale tiny --retry-failed` "
        "computes them\n"
    )


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (
            {"dataset": "b"},
            "the data differ between 8 cells and 8 cells (fingerprints a, b) (16 cells)",
        ),
        (
            {"code": {"commit": "c", "dirty": True}},
            "these cells were computed by an edited checkout of bench",
        ),
        ({"code": {"commit": "d", "dirty": False}}, None),
    ],
)
def test_cells_of_another_origin_are_marked_and_judged_by_nobody(
    workspace: Workspace, other: dict[str, Any], why: str | None
) -> None:
    cells = cells_of(workspace.suite(SUITE), "tiny")
    own = {"dataset": "a", "code": {"commit": "c", "dirty": False}}
    finish(workspace.root / "results", [c for c in cells if c.seed == 0], number, own)
    finish(workspace.root / "results", [c for c in cells if c.seed == 1], number, own | other)
    for verb in ("show", "claims"):
        out = " ".join(workspace.call(verb, "small").out.split())
        assert (f"† unreliable, so left out of verdicts: {why}" in out) == (why is not None)
    marked = [bool(r["doubts"]) for r in workspace.call("show", "small", "--json").json]
    assert marked == [why is not None] * 8
    (claim,) = workspace.call("claims", "small", "--json").json
    assert (claim["verdict"] == "not tested") == ("dataset" in other)


def test_numbers_are_told_as_json(measured: Workspace) -> None:
    rows = measured.call("show", "small", "--json").json
    assert len(rows) == 4
    (own,) = (r for r in rows if r["row"]["loss"] == "eqco" and r["column"]["mi_true"] == 10)
    gain = own.pop("gain")
    assert len(gain.pop("cells")) == 4
    assert gain == pytest.approx({"effect": 0.25, "low": -2.7925, "high": 3.2925}, abs=1e-3)
    assert own == {
        "table": "bound (nats)", "metric": "mi_lower_bound", "row": {"loss": "eqco", "K": 8},
        "column": {"mi_true": 10}, "mean": 1.75, "low": pytest.approx(1.75 - 6.353, abs=1e-3),
        "high": pytest.approx(1.75 + 6.353, abs=1e-3), "n": 2, "failed": {}, "room": None,
        "doubts": [], "others": [],
    }  # fmt: skip


def test_a_suite_without_tables_has_one_for_each_metric_it_reads(workspace: Workspace) -> None:
    """Its comparison's layout gives the columns; alpha, which follows from the loss, no row."""
    path = workspace.root / "suites" / "small.yaml"
    finish(workspace.root / "results", cells_of(path, "tiny"), number)
    rows = workspace.call("show", "small", "--json").json
    assert {row["table"] for row in rows} == {"mi_lower_bound"}
    assert {(tuple(row["row"]), tuple(row["column"])) for row in rows} == {
        (("loss", "K"), ("mi_true",))
    }
    assert len(rows) == 8


@pytest.mark.parametrize(("seed", "three"), [(0, "0,1,2"), (1, "1,2,3")])
def test_one_seed_has_no_interval_and_that_is_said(
    workspace: Workspace, seed: int, three: str
) -> None:
    path = workspace.root / "suites" / "small.yaml"
    finish(workspace.root / "results", cells_of(path, "tiny"), number)
    answer = workspace.call("show", "small", "--seeds", str(seed))
    assert (
        f"One seed gives no confidence interval; `--seeds {three}` computes more seeds."
        in answer.out
    )
    assert "±" not in answer.out.replace("± 95 % interval", "")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_nothing_measured_is_status_3(workspace: Workspace, options: list[str]) -> None:
    (workspace.root / "results").mkdir()
    answer = workspace.call("show", "small", *options)
    assert (answer.status, answer.out, answer.err) == (
        3,
        "",
        "bench: small at scale tiny: none of the 16 cells is finished in results; "
        "`bench run small --scale tiny` computes them\n",
    )


def test_where_another_scale_has_cells_is_told(workspace: Workspace) -> None:
    """Unless a scale was named, or the suite's own has all of its cells."""
    path = workspace.root / "suites" / "small.yaml"
    finish(workspace.root / "results", cells_of(path, "long")[:3], number)
    note = (
        "bench: small is shown at its default scale, tiny; cells "
        "were started at long (3 of 16): choose a scale with --scale\n"
    )
    for verb, status in {"show": 3, "status": 0, "plan": 0, "compare": 3, "claims": 3}.items():
        answer = workspace.call(verb, "small", "--json")
        assert (answer.status, answer.err.startswith(note)) == (status, True), verb
        assert note not in workspace.call(verb, "small", "--scale", "tiny").err, verb
    finish(workspace.root / "results", cells_of(path, "tiny"), number)
    assert workspace.call("status", "small").err == ""


@pytest.mark.parametrize(
    ("changes", "next_line"),
    [
        ({}, "Next: `bench claims small --scale tiny` judges the paper's claims by the results"),
        (
            {"claims": {}},
            "Next: `bench report small --scale tiny` writes pages and figures of the results",
        ),
        (
            {"scales.tiny.unjudged": "it is short"},
            "Next: `bench report small --scale tiny` writes pages and figures of the results",
        ),
    ],
)
def test_a_run_ends_with_what_was_measured_and_the_next_command(
    workspace: Workspace, changes: Any, next_line: str
) -> None:
    path = workspace.suite(changed(SUITE, changes))
    finish(workspace.root / "results", cells_of(path, "tiny"), number)
    lines = workspace.call("run", "small").out.splitlines()
    assert lines[0] == "cells: 16 done, 0 failed, 0 missing"
    assert lines[2] == "small at scale tiny (reduced: seconds): 16 of 16 cells done"
    assert (lines[-1], sum("0.70 [0.20 to 1.20]" in line for line in lines)) == (next_line, 2)
    assert workspace.call("run", "small", "--json").json["done"] == 16


def test_a_long_end_is_cut_and_says_where_the_rest_is(workspace: Workspace) -> None:
    tables = [TABLE | {"title": f"bound {i}"} for i in range(9)]
    path = workspace.suite(changed(SUITE, {"tables": tables}))
    finish(workspace.root / "results", cells_of(path, "tiny"), number)
    told = workspace.call("run", "small").out
    assert ("bound 4 " in told, "bound 5 " in told) == (True, False)
    assert "`bench show small --scale tiny` prints 4 more tables\n" in told
    assert "bound 8 " in workspace.call("show", "small").out
    tables = [TABLE | {"title": f"bound {i}"} for i in range(40)]
    workspace.suite(changed(SUITE, {"tables": tables}))
    told = workspace.call("run", "small", "--shard", "1/2").out
    assert "`bench show small --scale tiny` prints " in told


def test_lines_of_text_fit_80_columns_and_commands_stay_whole(workspace: Workspace) -> None:
    what = "a scale that is described at length, so that the line has to be broken somewhere"
    path = workspace.suite(changed(SUITE, {"scales.tiny.what": what, "claims": {}}), "s" * 40)
    finish(workspace.root / "results", cells_of(path, "tiny"), number)
    for verb in ("show", "plan"):
        text = workspace.call(verb, path.stem).out
        assert max(len(line.rstrip()) for line in text.splitlines()) <= 80, verb
    told = workspace.call("show", path.stem).out
    assert f"`bench report {path.stem} --scale tiny`" in told


def test_settings_may_be_set_and_such_cells_belong_to_no_suite(workspace: Workspace) -> None:
    words = ("small", "--set", "steps=20", "--set", "mi_true=2,4", "--where", "K=8")
    plan = workspace.call("plan", *words, "--json").json
    assert plan["title"] == "small at scale tiny with steps = 20; mi_true = 2 or 4"
    configs = [cell["config"] for cell in plan["cells"]]
    assert {(c["steps"], c["mi_true"], c["K"]) for c in configs} == {(20, 2.0, 8), (20, 4.0, 8)}
    assert len(configs) == 8  # 2 losses, 2 MI, 2 seeds
    ended = workspace.call("run", *words, "--executor", "inline")
    assert ended.out.startswith("cells: 8 done, 0 failed, 0 missing\n")
    assert "mi_true = 4" in ended.out
    assert "`bench show small --scale tiny` shows the suite's own cells" in ended.out
    assert workspace.call("status", *words, "--json").json["done"] == 8
    assert len(workspace.call("show", *words, "--json").json) == 4
    assert workspace.call("status", "small", "--json").json["done"] == 0
    for verb in ("show", "compare", "claims"):
        answer = workspace.call(verb, "small", "--json")
        assert answer.status == 3, verb
    assert not any("/small/" in page for page in workspace.call("report", "--json").json["pages"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--set", "stepps=3"], "--set stepps: unknown setting. Did you mean 'steps'? Allowed "),
        (["--set", "steps"], "--set steps: expected one SETTING=VALUE[,VALUE...], such as K=64"),
        (["--set", "steps=x"], "--set steps: found 'x', expected a whole "),
        (
            ["--set", "loss=eqco"],
            "--set loss: the suite varies this setting together with alpha, so set alpha too\n",
        ),
        (
            ["--set", "steps=3", "--limit-gpu-hours", "1"],
            "--limit-gpu-hours chooses cells by the claims that need them, but no claim needs ",
        ),
    ],
)
@pytest.mark.parametrize("verb", ["plan", "run"])
def test_mistakes_in_what_is_set(
    workspace: Workspace, verb: str, words: list[str], told: str
) -> None:
    answer = workspace.call(verb, "small", *words)
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert answer.err.startswith(f"bench: {told}")


def test_all_of_coupled_axes_may_be_set(workspace: Workspace) -> None:
    words = ("plan", "small", "--set", "loss=eqco", "--set", "alpha=64", "--json")
    axes = [cell["axes"] for cell in workspace.call(*words).json["cells"]]
    assert len(axes) == 8  # 2 MI, 2 K, 2 seeds, each once
    assert all("loss" not in a and "alpha" not in a for a in axes)


def test_baselines_stay_with_the_suite(workspace: Workspace) -> None:
    """Floors and ceilings of a scale are of its own cells."""
    baselines = {"epochs": 1, "optimizer": "sgd", "lr": 0.1, "weight_decay": 0.0}
    workspace.suite(changed(DIGITS, {"scales.tiny.baselines": baselines}))
    own = workspace.call("plan", "digits", "--json").json["cells"]
    other = workspace.call("plan", "digits", "--set", "epochs=2", "--json").json["cells"]
    assert {cell["config"]["experiment"] for cell in own} == {"pretrain", "baseline"}
    assert {cell["config"]["experiment"] for cell in other} == {"pretrain"}


def test_commands_to_copy_keep_the_folders(measured: Workspace) -> None:
    (measured.root / "results").rename(measured.root / "other place")
    (measured.root / "suites").rename(measured.root / "mine")
    folders = ("--suites", "mine", "--results", "other place")
    kept = "`bench --suites mine --results 'other place'"
    shown = " ".join(measured.call(*folders, "show", "small").out.split())
    assert f"Next: {kept} run small --scale tiny` computes the remaining cells" in shown
    whole = measured.call(*folders, "show", "small", "--where", "K=8").out
    assert f"Next: {kept} claims small --scale tiny` judges" in " ".join(whole.split())
    none = measured.call(*folders, "compare", "small", "--seeds", "7").out
    assert f"; {kept} run small --scale tiny --seeds 7` computes them" in none
    assert f"{kept} suites small`: full description of one suite" in " ".join(
        measured.call(*folders, "suites").out.split()
    )
    assert f"{kept} plan small --scale tiny`" in measured.call(*folders, "suites", "small").out
    missing = measured.call(*folders, "show", "small", "--scale", "long").err
    assert f"; {kept} run small --scale long` computes them" in missing


def test_the_rest_of_exported_tables_is_computed_beside_them(measured: Workspace) -> None:
    assert measured.call("export", "small", "--to", "tables").status == 0
    shown = measured.call("--results", "tables", "show", "small").out
    rest = "`bench run small --scale tiny --have tables` computes the remaining cells"
    assert f"Next: {rest}" in " ".join(shown.split())
