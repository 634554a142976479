"""`bench versus`: differences of two methods or losses over suites, by the verdicts' statistics."""

from typing import Any

import pytest

from bench.analysis.claims import judge_claims
from bench.cli.versus import print_versus
from bench.papers.reader import load_paper
from bench.results.reader import Results
from bench.suites.load import load_suite
from tests.fakes.paths import SUITES
from tests.fakes.results import cells_of, finish
from tests.fakes.suites import DIGITS, REMOVED, SUITE, changed
from tests.fakes.workspace import Workspace

KEYS = [
    "suite", "scale", "protocol", "metric", "difference", "low", "high", "level", "n", "groups",
    "left_out", "sign", "cells", "unequal", "within", "others",
]  # fmt: skip
CLAIM = {
    "toy-mi-steady": [
        {
            "check": "exceeds", "metric": "mi_lower_bound", "mean": True,
            "where": {"loss": "eqco"}, "than": {"loss": "infonce"},
        }
    ]
}  # fmt: skip


def number(cell: Any) -> dict[str, float]:
    """eqco lies above infonce by 1, by 0.6 in the second seed, and by 2 at K = 16."""
    lead = (1.0 - 0.4 * cell.seed) * (2 if cell.K == 16 else 1)
    return {"mi_lower_bound": cell.mi_true / 10 + cell.seed / 10 + lead * (cell.loss == "eqco")}


@pytest.fixture
def measured(workspace: Workspace) -> Workspace:
    path = workspace.suite(changed(SUITE, {"claims": CLAIM}))
    finish(workspace.root / "results", cells_of(path, "tiny"), number)
    return workspace


def test_the_difference_is_that_of_a_claims_check(measured: Workspace) -> None:
    """Its mean over the four points: (1 + 0.6) / 2 x (1 + 2) / 2."""
    (row,) = measured.call("versus", "eqco", "infonce", "--json").json
    assert list(row) == KEYS
    assert row["difference"] == pytest.approx(0.8 * 1.5)
    told = (row["suite"], row["scale"], row["metric"], row["n"], row["groups"], row["sign"])
    assert told == ("small", "tiny", "mi_lower_bound", 2, 4, 1)
    path = measured.root / "suites" / "small.yaml"
    suite, cells = load_suite(path), cells_of(path, "tiny")
    done = Results(measured.root / "results").finished(cells)
    (judged,) = judge_claims(suite, "tiny", cells, done, load_paper("eqco"))
    assert judged.effect is not None
    same = (judged.effect.mean, judged.effect.low, judged.effect.high)
    assert (row["difference"], row["low"], row["high"]) == pytest.approx(same)


def test_a_torn_seed_counts_neither_here_nor_in_a_claim(workspace: Workspace) -> None:
    """Of seed 1, one cell of one side is not finished: only seed 0 counts on that side."""
    path = workspace.suite(changed(SUITE, {"claims": CLAIM}))
    suite, cells = load_suite(path), cells_of(path, "tiny")
    torn = next(c for c in cells if (c.seed, c.known["loss"], c.known["K"]) == (1, "eqco", 16))
    finish(workspace.root / "results", [c for c in cells if c.id != torn.id], number)
    (row,) = workspace.call("versus", "eqco", "infonce", "--json").json
    done = Results(workspace.root / "results").finished(cells)
    (judged,) = judge_claims(suite, "tiny", cells, done, load_paper("eqco"))
    assert judged.effect is not None
    assert row["difference"] == pytest.approx(judged.effect.mean)
    assert sorted(row["cells"]) == sorted(judged.record()["cells"])
    assert len(row["cells"]) == 8 + 4  # two seeds on one side, one on the other


def test_turned_round_it_has_the_other_sign(measured: Workspace) -> None:
    (there,) = measured.call("versus", "eqco", "infonce", "--json").json
    (back,) = measured.call("versus", "infonce", "eqco", "--json").json
    turned = (-there["difference"], -there["high"])
    assert (back["difference"], back["low"]) == pytest.approx(turned)


def test_every_suite_and_scale_that_has_both_has_a_row(measured: Workspace) -> None:
    path = measured.suite(changed(SUITE, {"grid.K": [8]}), "other")
    third = measured.suite(changed(SUITE, {"grid.mi_true": [2, 4], "paper": None, "claims": {},
        "compare": [], "figures": [], "reproduces": [], "protocol": REMOVED}), "third")  # fmt: skip
    for own, scale in ((path, "long"), (third, "tiny")):
        cells = [c for c in cells_of(own, scale) if c.seed == 0 or scale == "tiny"]
        finish(measured.root / "results", cells, number)
    rows = measured.call("versus", "eqco", "infonce", "--json").json
    found = {(r["suite"], r["scale"]): (r["n"], r["groups"], r["low"] is None) for r in rows}
    assert found == {
        ("other", "long"): (1, 2, True),
        ("other", "tiny"): (2, 2, False),  # cells that suites share
        ("small", "long"): (1, 2, True),  # of what is finished
        ("small", "tiny"): (2, 4, False),
        ("third", "long"): (1, 1, True),
        ("third", "tiny"): (2, 4, False),
    }
    within = {(r["suite"], r["scale"]): r["within"] for r in rows}
    assert {place: of for place, of in within.items() if of} == {
        ("other", "tiny"): "small",
        ("small", "long"): "other",  # of what is finished
        ("third", "long"): "other",
    }
    told = measured.call("versus", "eqco", "infonce").out
    assert "Not counted: 3 rows that repeat the runs of" in " ".join(told.split())
    only = measured.call(
        "versus", "eqco", "infonce", "--scale", "long", "--paper", "eqco", "--json"
    )
    assert {r["suite"] for r in only.json} == {"other", "small"}


def test_a_scale_that_only_checks_that_everything_runs_is_shown_where_it_is_named(
    measured: Workspace,
) -> None:
    measured.suite(changed(SUITE, {"claims": CLAIM, "scales.tiny.judged": False}))
    both = ("versus", "eqco", "infonce", "--json")
    assert measured.call(*both, "--scale", "tiny").json[0]["scale"] == "tiny"
    assert measured.call(*both).status == 3


def test_it_is_printed_with_unit_seeds_and_points(measured: Workspace) -> None:
    told = measured.call("versus", "infonce", "eqco").out
    assert told.startswith(
        "infonce - eqco: mean difference over the configurations that a suite has of both"
    )
    (line,) = (line for line in told.splitlines() if line.startswith("small at tiny (reduced)"))
    assert line.split()[4:] == [
        "MI", "bound", "-1.20", "[-1.64,", "-0.76]", "nats", "2", "4", "eqco"
    ]  # fmt: skip


def test_no_end_of_a_decided_interval_is_printed_as_zero(
    measured: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    records = measured.call("versus", "eqco", "infonce", "--json").json
    for record in records:
        record |= {"difference": 1.2, "low": 0.04, "high": 2.36}
    print_versus("eqco", "infonce", records)
    assert "+1.20 [0.04, 2.36] nats" in capsys.readouterr().out


def test_a_point_with_an_unreliable_number_is_left_out_whole(workspace: Workspace) -> None:
    """The seeds that are left of it would be a selection."""
    path = workspace.root / "suites" / "small.yaml"

    def high(cell: Any) -> dict[str, float]:
        is_high = (cell.K, cell.mi_true, cell.loss, cell.seed) == (8, 2, "infonce", 0)
        return {"mi_lower_bound": 9.0 if is_high else cell.seed / 10 + (cell.loss == "eqco")}

    finish(workspace.root / "results", cells_of(path, "tiny"), high)
    (row,) = workspace.call("versus", "eqco", "infonce", "--json").json
    assert (row["groups"], row["left_out"], row["n"]) == (3, 1, 2)
    assert row["difference"] == pytest.approx(1)
    told = workspace.call("versus", "eqco", "infonce").out
    assert "small at tiny (reduced): 1 configuration with unreliable numbers left out\n" in told


def test_what_is_sure_says_which_is_higher(workspace: Workspace) -> None:
    path = workspace.root / "suites" / "small.yaml"

    def sure(cell: Any) -> dict[str, float]:
        return {"mi_lower_bound": cell.seed / 1e4 + (cell.loss == "eqco")}

    finish(workspace.root / "results", cells_of(path, "tiny"), sure)
    told = " ".join(workspace.call("versus", "infonce", "eqco").out.split())
    assert "infonce is higher in 0 rows, eqco in 1, and 0 are undecided." in told


def test_metrics_are_counted_apart_and_searches_are_none(workspace: Workspace) -> None:
    """Of accuracies alone higher is better; cells on held-out images choose settings."""
    defining = [{"method": "moco-v2", "bn_groups": 2, "K": 8}, {"method": "simclr", "bn_groups": 1}]
    gone = {f"fixed.{name}": REMOVED for name in ("method", "bn_groups", "K")}
    tables = [
        {"title": name, "metric": name, "rows": ["method"], "columns": "K"}
        for name in ("knn_top1", "train_loss")
    ]
    changes = gone | {
        "points": defining,
        "grid": REMOVED,
        "tables": tables,
        "seeds": [0, 1],
        "fixed.tau": 0.2,
    }
    path = workspace.suite(changed(DIGITS, changes))
    search = workspace.suite(changed(DIGITS, changes | {"fixed.held_out": 0.1}), "search-lr")
    for one in (path, search):
        finish(
            workspace.root / "results",
            cells_of(one, load_suite(one).scale),
            lambda cell: {
                "knn_top1": 50 + cell.seed / 1e3 + (cell.method == "simclr"),
                "train_loss": 1 + cell.seed / 1e3 + (cell.method == "moco-v2"),
            },
        )
    rows = workspace.call("versus", "simclr", "moco-v2", "--json").json
    assert [(r["suite"], r["metric"]) for r in rows] == [
        ("digits", "knn_top1"), ("digits", "train_loss")
    ]  # fmt: skip
    told = " ".join(workspace.call("versus", "simclr", "moco-v2").out.split())
    assert "Accuracies: simclr is higher in 1 row, moco-v2 in 0, and 0 are undecided. " in told
    assert (
        "Other metrics, where a higher value is not always better: simclr is higher in 0 rows, "
        in told
    )


def test_settings_that_differ_besides_the_method_are_named_and_the_row_is_not_counted(
    workspace: Workspace,
) -> None:
    """Momentum and the queue define MoCo v2; batch size and temperature define neither."""
    rows = [
        {"method": "moco-v2", "bn_groups": 2, "K": 8, "batch_size": 16, "tau": 0.2},
        {"method": "simclr", "bn_groups": 1, "batch_size": 32, "tau": 0.1},
    ]
    changes = {f"fixed.{name}": REMOVED for name in ("method", "bn_groups", "K", "batch_size")}
    path = workspace.suite(changed(DIGITS, changes | {"points": rows, "grid": REMOVED}))
    finish(
        workspace.root / "results",
        cells_of(path, load_suite(path).scale),
        lambda cell: {"knn_top1": 50 + cell.seed / 1e3 + (cell.method == "simclr")},
    )
    words = ("versus", "simclr", "moco-v2", "--metric", "knn_top1")
    (row,) = workspace.call(*words, "--json").json
    assert {u["setting"]: (u["first"], u["second"]) for u in row["unequal"]} == {
        "batch_size": ([32], [16]), "tau": ([0.1], [0.2])
    }  # fmt: skip
    told = " ".join(workspace.call(*words).out.split())
    assert (
        "further settings differ between the two sides: tau 0.1 / 0.2; batch_size 32 / 16" in told
    )
    assert "higher in" not in told
    assert "Not counted: 1 row in which further settings differ." in told


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["eqco", "infonce"], 3, "no suite has finished cells of both eqco and infonce; "),
        (
            ["eqco", "info"],
            2,
            "'info' is not a method or loss of any suite. Did you mean 'infonce'? ",
        ),
        (
            ["eqco", "simclr"],
            2,
            "eqco is a loss and simclr is a method, which cannot be compared: ",
        ),
        (["infonce", "cosine"], 2, "'cosine' is not a method or loss of any suite. "),
        (
            ["simclr", "moco-v2"],
            2,
            "no suite has cells of both simclr and moco-v2; `bench methods ",
        ),
        (
            ["eqco", "infonce", "--metric", "knn_top"],
            2,
            "--metric knn_top: no cell has this metric. Did you ",
        ),
        (["eqco", "infonce", "--scale", "big"], 2, "--scale big: no suite has this scale. "),
        (
            ["eqco", "eqco"],
            2,
            "versus eqco eqco: name two different methods or two different losses.",
        ),
        (["eqco", "infonce", "--paper", "doc"], 2, "there is no paper 'doc'. Did you mean 'dcl'? "),
    ],
)
def test_mistakes_and_nothing_measured(
    workspace: Workspace, words: list[str], status: int, told: str
) -> None:
    for name, method in (("one", "simclr"), ("two", "moco-v2")):
        fixed = {"fixed.K": REMOVED, "fixed.bn_groups": REMOVED} if method == "simclr" else {}
        workspace.suite(changed(DIGITS, fixed | {"fixed.method": method}), name)
    answer = workspace.call("versus", *words, "--json")
    assert (answer.status, answer.out, answer.err.count("\n")) == (status, "", 1)
    assert answer.err.startswith(f"bench: {told}")


def test_without_results_it_says_what_papers_and_others_print(workspace: Workspace) -> None:
    """Published differences by hand from DCL's Table 2; the exit status stays that of the error."""
    answer = workspace.call("--suites", str(SUITES), "versus", "dclw", "dcl", "--paper", "dcl")
    told = " ".join(answer.out.split())
    assert answer.status == 3
    assert answer.err.startswith("bench: no suite has finished cells of both dclw and dcl")
    assert told.startswith(
        "Published, dclw - dcl (paper dcl): cifar10, kNN accuracy: +0.6; "
        "cifar100, kNN accuracy: +0.3; imagenet100, linear accuracy: +1.1; "
        "imagenet1k, linear accuracy: +1.0 By others, dclw - dcl: "
    )


def test_suites_without_a_method_list_no_choices(workspace: Workspace) -> None:
    (workspace.root / "none").mkdir()
    answer = workspace.call("--suites", "none", "versus", "dcl", "infonce")
    assert (answer.status, answer.out[:25]) == (2, "By others, dcl - infonce:")
    assert (
        answer.err == "bench: versus dcl infonce: none of the selected suites has a setting "
        "`method` or `loss`\n"
    )


def test_a_mistake_is_one_line_without_what_others_print(workspace: Workspace) -> None:
    for words in (("dcl", "dcl"), ("dcl", "infonce", "--paper", "doc"), ("dcl", "dlc")):
        answer = workspace.call("versus", *words)
        assert (answer.status, answer.out) == (2, ""), words
