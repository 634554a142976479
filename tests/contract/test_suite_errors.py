"""Each mistake in a suite file is one line: file, key path, value, rule or near match."""

from typing import Any

import pytest

from tests.fakes.suites import DIGITS, REMOVED, SECONDS, SUITE, VINCE, SuiteData, changed, to_yaml
from tests.fakes.workspace import Workspace


def small(changes: dict[str, Any]) -> SuiteData:
    return changed(SUITE, changes)


TWO_AT_A_POINT = {
    "check": "equal", "metric": "mi_lower_bound", "where": {"loss": "eqco", "alpha": 512},
    "than": {"loss": "infonce", "alpha": None, "K": 8}, "within": 1,
}  # fmt: skip
OVER_NULL = {"check": "flat", "metric": "mi_lower_bound", "over": "alpha", "within": 1}
PEAK = {"check": "peak", "metric": "mi_lower_bound", "over": "loss", "near": [1, 2], "by": 1}


HISTORY = {
    "name": "bound", "title": "Bound", "draw": "history", "x": "step", "y": "mi_lower_bound",
    "x_label": "step", "y_label": "bound",
}  # fmt: skip
EQUAL = {
    "check": "exceeds", "metric": "mi_lower_bound", "where": {"loss": "eqco"},
    "than": {"loss": "infonce"},
}  # fmt: skip
TWO_NAMES_OF_ONE = changed(
    DIGITS,
    {"name": "small", "fixed.method": REMOVED, "grid": REMOVED}
    | {"points": [{"method": "moco-v2"}, {"method": "moco-v2", "tau": 0.2}]},
)
MISTAKES: dict[str, tuple[SuiteData | str, str]] = {
    "unknown axis": (
        small({"grid.taau": [1, 2]}),
        "suites/small.yaml: grid.taau: unknown key. Did you mean 'tau'? Allowed here: ",
    ),
    "unknown key": (
        small({"sede": 3}),
        "suites/small.yaml: sede: unknown key. Did you mean 'seeds'? Allowed here: seeds, ",
    ),
    "unknown key of a comparison": (
        small({"compare.0.layuot": 1}),
        "suites/small.yaml: compare.0.layuot: unknown key. Did you mean 'layout'? ",
    ),
    "unknown key of a check": (
        small({"claims.toy-mi-steady.0.ovr": "K"}),
        "suites/small.yaml: claims.toy-mi-steady.0.flat.ovr: unknown key. Did you mean 'over'? "
        "Allowed here: metric, where, at, part, shown, may_collapse, within, check, over.\n",
    ),
    "unknown check": (
        small({"claims.toy-mi-steady.0.check": "flatt"}),
        "suites/small.yaml: claims.toy-mi-steady.0: found 'flatt', expected one of 'flat', "
        "'equal', 'below', 'ordered', 'peak', 'exceeds', 'gain-exceeds', 'gain-grows', 'change', "
        "'moves-less'.\n",
    ),
    "a layout of no published setting": (
        small({"compare.0.layout.columns": "mi_treu"}),
        "suites/small.yaml: compare.0.layout: found 'mi_treu'. Did you mean 'mi_true'? ",
    ),
    "a check of several cells at one point": (
        small({"claims.toy-mi-steady.0": TWO_AT_A_POINT}),
        "suites/small.yaml: claims.toy-mi-steady.0: one side has several cells with seed 0 at one "
        "point; they differ in K: choose cells with `where`, `than` or `both`\n",
    ),
    "a check over values without an order": (
        small({"claims.toy-mi-steady.0": OVER_NULL}),
        "suites/small.yaml: claims.toy-mi-steady.0: the cells of the check have the values null, "
        "512 of `over`, which have no order; choose cells with `where`\n",
    ),
    "a peak over texts": (
        small({"claims.toy-mi-steady.0": PEAK}),
        "suites/small.yaml: claims.toy-mi-steady.0: `near` needs numbers, but `over` has the value "
        "eqco\n",
    ),
    "a peak over null": (
        small({"claims.toy-mi-steady.0": PEAK | {"over": "alpha", "where": {"loss": "infonce"}}}),
        "suites/small.yaml: claims.toy-mi-steady.0: `near` needs numbers, but `over` has the value "
        "null\n",
    ),
    "a published key renamed to no setting": (
        small({"renamed": {"width": "hiden_units"}}),
        "suites/small.yaml: renamed.width: found 'hiden_units'. Did you mean 'hidden_units'? "
        "Allowed here: ",
    ),
    "wrong type": (
        small({"fixed.steps": "many"}),
        "suites/small.yaml: fixed.steps: found 'many', expected a whole number.\n",
    ),
    "wrong type on an axis": (
        small({"grid.K": [8, 16.5]}),
        "suites/small.yaml: grid.K: found 16.5, expected a whole number.\n",
    ),
    "out of range": (
        small({"fixed.lr": -5e-4}),
        "suites/small.yaml: fixed.lr: found -0.0005, expected a value greater than 0.\n",
    ),
    "a list for a setting": (
        small({"fixed.steps": [100]}),
        "suites/small.yaml: fixed.steps: found [100], expected one number, text, true, false or "
        "null.\n",
    ),
    "not a choice": (
        small({"fixed.activation": "gelu"}),
        "suites/small.yaml: fixed.activation: found 'gelu', expected 'relu'.\n",
    ),
    "not a number": (
        small({"assumed.tau.value": float("nan")}),
        "suites/small.yaml: assumed.tau.value: found nan, expected a finite number.\n",
    ),
    "empty axis": (
        small({"grid.K": []}),
        "suites/small.yaml: grid.K: the list is empty; it needs at least one value.\n",
    ),
    "a time for a number": (
        to_yaml(small({"fixed.steps": 0})).replace("steps: 0", "steps: 1:30"),
        "suites/small.yaml: fixed.steps: found '1:30', expected a whole number.\n",
    ),
    "a value twice": (
        small({"grid.K": [8, 8]}),
        "suites/small.yaml: grid.K: the value 8 is given twice\n",
    ),
    "a value twice, written otherwise": (
        small({"grid.mi_true": [2, 2.0]}),
        "suites/small.yaml: grid.mi_true: the value 2.0 is given twice\n",
    ),
    "a row twice, written otherwise": (
        small({"points.0": {"loss": "eqco", "alpha": 512.0}}),
        "suites/small.yaml: points: loss = eqco, alpha = 512 is given twice\n",
    ),
    "a row that resolves to another one": (
        TWO_NAMES_OF_ONE,
        "suites/small.yaml: two configurations give the same cell: method = moco-v2, tau = 0.2\n",
    ),
    "a figure's name that no file can have": (
        small({"figures.0.name": "x" * 101}),
        "suites/small.yaml: figures.0.name: ",
    ),
    "two figures of one name": (
        small({"figures": [*SUITE["figures"], *SUITE["figures"]]}),
        "suites/small.yaml: figures: the name estimates is listed twice.\n",
    ),
    "two reductions of a comparison": (
        small({"compare.0.argmax": "K", "compare.0.gain_over": {"K": 8}}),
        "suites/small.yaml: compare.0: argmax, std_over, gain_over: at most one of "
        "these keys may be given",
    ),
    "a gain over no setting": (
        small({"compare.0.gain_over": {"looss": "eqco"}}),
        "suites/small.yaml: compare.0.gain_over.looss: found 'looss'. Did you mean 'loss'? "
        "Allowed here: ",
    ),
    "a setting twice": (
        small({"assumed.lr": {"value": 1.0, "why": "plain"}}),
        "suites/small.yaml: assumed.lr: the setting is given under fixed too; "
        "remove one of the two\n",
    ),
    "an axis that is fixed": (
        small({"grid.lr": [1.0]}),
        "suites/small.yaml: grid.lr: the setting is given as fixed.lr too; remove one of the two\n",
    ),
    "a row that fixes what is fixed": (
        small({"points": [{"lr": 1.0}]}),
        "suites/small.yaml: points.lr: the setting is given as fixed.lr too; "
        "remove one of the two\n",
    ),
    "a setting in a row and in the grid": (
        small({"points.0.K": 8}),
        "suites/small.yaml: points.K: the setting is given as grid.K too; remove one of the two\n",
    ),
    "columns in place of rows": (
        small({"zip": [{"loss": ["infonce", "eqco"], "alpha": [None, 512]}]}),
        "suites/small.yaml: the key `zip` no longer exists; use `points` with one "
        "row for each combination.\n",
    ),
    "columns of a scale": (
        small({"scales.tiny.zip": [{"loss": ["eqco"]}]}),
        "suites/small.yaml: scales.tiny: the key `zip` no longer exists; use "
        "`points` with one row for each combination.\n",
    ),
    "no row": (
        small({"points": []}),
        "suites/small.yaml: points: the list is empty; it needs at least one value.\n",
    ),
    "a row without settings": (
        small({"points.0": {}}),
        "suites/small.yaml: points.0: the list is empty; it needs at least one value.\n",
    ),
    "a row that is no mapping": (
        small({"points.0": "infonce"}),
        "suites/small.yaml: points.0: found 'infonce', expected a mapping.\n",
    ),
    "a row twice": (
        small({"points.0": {"loss": ["infonce", "eqco"], "alpha": 512}}),
        "suites/small.yaml: points: loss = eqco, alpha = 512 is given twice\n",
    ),
    "a row that repeats another one with what is fixed": (
        small({"points": [{"loss": "infonce"}, {"loss": "infonce", "tau": 1.0}]}),
        "suites/small.yaml: points: loss = infonce, tau = 1 is given twice\n",
    ),
    "rows beside lists of rows": (
        small({"points": [{"loss": "infonce"}, [{"K": 8}]]}),
        "suites/small.yaml: points: the list mixes rows and lists of rows; give "
        "one list of rows, or several lists of rows.\n",
    ),
    "an empty list in a row": (
        small({"points.1.alpha": []}),
        "suites/small.yaml: points.1: alpha has an empty list of values.\n",
    ),
    "too many rows": (
        small({"points": [{"loss": ["infonce", "eqco"], "alpha": [*range(1, 50_002)]}]}),
        "suites/small.yaml: points: the list has 100002 rows, but at most 100000 are allowed\n",
    ),
    "settings that do not go together": (
        small({"points.0.alpha": 64}),
        "suites/small.yaml: alpha must be set with loss 'eqco' and left out with loss 'infonce'.\n",
    ),
    "both sides of one": (
        small({"claims.toy-mi-steady.0.both": {"K": 8}}),
        "suites/small.yaml: claims.toy-mi-steady.0: both: this key holds settings that "
        "both sides of a check share, but this check has only one side; "
        "give `than`, or use `where` without `both`.\n",
    ),
    "a setting of both sides and of one": (
        small({"claims.toy-mi-steady": [EQUAL | {"both": {"loss": "eqco"}}]}),
        "suites/small.yaml: claims.toy-mi-steady.0: both.loss: the setting is "
        "given under where too; remove one of the two.\n",
    ),
    "no such set of assumptions": (
        small({"assumed.like": "eqcoo"}),
        "suites/small.yaml: assumed.like: there is no set of assumptions 'eqcoo'. "
        "Did you mean 'eqco'? ",
    ),
    "an assumption without a reason": (
        small({"assumed.tau": {"value": 1.0}}),
        "suites/small.yaml: assumed.tau.why: this key is missing.\n",
    ),
    "a history of what is not recorded": (
        small({"figures": [HISTORY | {"y": "mi_lower_bond"}]}),
        "suites/small.yaml: figures.0.y: found 'mi_lower_bond'. Did you mean 'mi_lower_bound'? ",
    ),
    "a history along what is no time": (
        small({"figures": [HISTORY | {"x": "epochs"}]}),
        "suites/small.yaml: figures.0.x: found 'epochs'. Did you mean 'epoch'? ",
    ),
    "a table without a title": (
        small({"tables": [{"metric": "mi_lower_bound", "rows": ["K"]}]}),
        "suites/small.yaml: tables.0: the key title is missing.\n",
    ),
    "a table with columns by two settings": (
        small({"compare.0.layout.columns": ["mi_true", "K"]}),
        "suites/small.yaml: compare.0.layout.columns: this key must name one "
        "setting, found 2; name the other settings under rows.\n",
    ),
    "a table of metrics that have no title": (
        small({"tables": [{"metrics": ["mi_lower_bound"], "rows": ["K"]}]}),
        "suites/small.yaml: tables.0: metrics: 'mi_lower_bound' has no standard title; give "
        "the key title.",
    ),
    "missing setting": (
        small({"fixed.lr": REMOVED}),
        "suites/small.yaml: lr: this key is missing. A suite sets it under `fixed`, as an axis, "
        "or in the scale.\n",
    ),
    "missing settings": (
        small({"fixed.lr": REMOVED, "fixed.steps": REMOVED}),
        "suites/small.yaml: steps, lr: these keys are missing. A suite sets them under `fixed`, as "
        "an axis, "
        "or in the scale.\n",
    ),
    "missing key": (
        small({"scale": REMOVED}),
        "suites/small.yaml: scale: this key is missing.\n",
    ),
    "artifacts without a paper": (
        small({"paper": REMOVED}),
        "suites/small.yaml: reproduces: a suite with this key needs the key "
        "`paper`, which names the paper.\n",
    ),
    "unknown experiment": (
        small({"experiment": "gausian-mi"}),
        "suites/small.yaml: experiment: there is no experiment 'gausian-mi'. Did "
        "you mean 'gaussian-mi'? Allowed here: ",
    ),
    "unknown paper": (
        small({"paper": "eqcoo"}),
        "suites/small.yaml: paper: there is no paper 'eqcoo'. Did you "
        "mean 'eqco'? Allowed here: dcl, dual-temperature, eqco, "
        "mutual-information, unigrad.\n",
    ),
    "unknown artifact": (
        small({"reproduces": ["table-99"]}),
        "suites/small.yaml: reproduces.0: paper 'eqco' has no "
        "artifact 'table-99'. Did you mean 'table-9'? ",
    ),
    "unknown claim": (
        small({"claims": {"toy-mi-stedy": SUITE["claims"]["toy-mi-steady"]}}),
        "suites/small.yaml: claims.toy-mi-stedy: paper 'eqco' has no claim 'toy-mi-stedy'. Did "
        "you mean 'toy-mi-steady'? ",
    ),
    "unknown default scale": (
        small({"scale": "huge"}),
        "suites/small.yaml: scale: there is no scale 'huge'; the suite has tiny, long.\n",
    ),
    "a scale that fixes an axis": (
        small({"scales.tiny.fixed": {"K": 4}}),
        "suites/small.yaml: scales.tiny.fixed.K: the suite varies this setting, so give "
        "its values under grid or points, not under fixed\n",
    ),
    "a scale with half of a coupled axis": (
        small({"scales.tiny.grid": {"loss": ["eqco"]}}),
        "suites/small.yaml: scales.tiny.grid.loss: the setting is set together "
        "with other settings under points; change it there\n",
    ),
    "unknown setting excluded": (
        small({"exclude": [{"k": 8}]}),
        "suites/small.yaml: exclude.k: unknown key. ",
    ),
    "nothing excluded": (
        small({"exclude": [{"K": 8, "mi_true": 2}, {"K": True, "loss": "eqco"}]}),
        "suites/small.yaml: exclude.1: this entry excludes nothing, because no "
        "configuration has its values\n",
    ),
    "an empty exclusion": (
        small({"exclude": [{}]}),
        "suites/small.yaml: exclude.0: the list is empty; it needs at least one value.\n",
    ),
    "a check of cells that no scale has": (
        small({"claims.toy-mi-steady.0.where.alpha": "512"}),
        "suites/small.yaml: claims.toy-mi-steady.0.where.alpha: no cell has the "
        "value '512'. The cells have: null, 512.\n",
    ),
    "a figure of cells that no scale has": (
        small({"figures.0.where": {"output_relu": 1}}),
        "suites/small.yaml: figures.0.where.output_relu: no cell has the value 1. "
        "The cells have: true.\n",
    ),
    "a comparison of cells that no scale has": (
        small({"compare.0.where": {"loss": "infonce", "alpha": 512}}),
        "suites/small.yaml: compare.0.where: no cell has the settings loss = "
        "infonce, alpha = 512\n",
    ),
    "a comparison with rows that are not printed": (
        small({"compare.0.rows": {"K": 9}}),
        "suites/small.yaml: compare.0.rows: no published row of table-9 has K = 9\n",
    ),
    "everything excluded": (
        small({"exclude": [{"K": [8, 16]}]}),
        "suites/small.yaml: scale 'tiny': no cell remains after --where and exclude\n",
    ),
    "another name": (
        to_yaml(small({"name": "other"})),
        "suites/small.yaml: name: found 'other', expected the file's name 'small'\n",
    ),
    "not a mapping": ("- 1\n", "suites/small.yaml: a suite is a mapping of keys, found list\n"),
    "an empty file": ("", "suites/small.yaml: the file is empty; a suite is a mapping of keys\n"),
    "a key twice": (
        "name: small\npaper: eqco\npaper: dcl\n",
        "suites/small.yaml: line 3, column 1: the key 'paper' is given twice\n",
    ),
    "not YAML": (
        "name: small\nseeds: [0, 1\nscale: tiny\n",
        "suites/small.yaml: line 3, column 6: did not find expected ',' or ']'\n",
    ),
    "seeds twice": (
        small({"seeds": [0, 0]}),
        "suites/small.yaml: seeds: the seed 0 is listed twice.\n",
    ),
    "a seed that takes another's random numbers": (
        small({"seeds": [2**32]}),
        "suites/small.yaml: seeds",
    ),
    "seeds of a scale twice": (
        small({"scales.tiny.seeds": [3, 4, 3]}),
        "suites/small.yaml: scales.tiny.seeds: the seed 3 is listed twice.\n",
    ),
    "too many cells": (
        small({"grid.mi_true": [1 + i / 10 for i in range(300)], "grid.K": [*range(2, 202)]}),
        "suites/small.yaml: scale 'tiny': there are 240000 cells (including "
        "excluded ones), but at most 100000 are allowed\n",
    ),
    "more cells than can be counted": (
        small(
            {
                "grid": {k: [*range(2, 1002)] for k in ("mi_true", "K", "d", "hidden_units")},
                "fixed.d": REMOVED,
                "fixed.hidden_units": REMOVED,
                "seeds": [*range(1000)],
            }
        ),
        "suites/small.yaml: scale 'tiny': there are more than 1e+15 cells (including excl",
    ),
    "too many exclusions": (
        small({"exclude": [{"K": k} for k in range(101)]}),
        "suites/small.yaml: exclude: found 101 values, but at most 100 are allowed.\n",
    ),
    "too many comparisons": (
        small(
            {
                "compare": [
                    {
                        "artifact": "table-9",
                        "metrics": ["mi_lower_bound"] * 40,
                        "cases": [{"where": {"K": k}} for k in range(26)],
                    }
                ]
            }
        ),
        "suites/small.yaml: compare.0: artifacts, metrics and cases give 1040 comparisons; at "
        "most 1000 are allowed.\n",
    ),
    "a scale that names another folder": (
        small({"scales": {"../../../esc": SECONDS}, "scale": "../../../esc"}),
        "suites/small.yaml: scales.../../../esc: found '../../../esc', expected lower-case words "
        "joined by hyphens.\n",
    ),
    "a scale without a name": (
        small({"scales": {"": SECONDS}, "scale": ""}),
        "suites/small.yaml: scales.: found '', expected lower-case words joined by hyphens.\n",
    ),
    "a scale with a name too long for a folder": (
        small({"scales": {"a" * 300: SECONDS}, "scale": "a" * 300}),
        f"suites/small.yaml: scales.{'a' * 300}: the text has more than 100 characters.\n",
    ),
    "a terminal's words": (
        small({"scales": {"\x1bc\n": SECONDS}, "scale": "\x1bc\n"}),
        "suites/small.yaml: scales.\\x1bc\\n: found '\\x1bc\\n', expected lower-case words ",
    ),
    "a giant number": (
        small({"grid.K": [8, 10**30]}),
        "suites/small.yaml: grid.K: the whole number exceeds 9007199254740992, the "
        "largest allowed\n",
    ),
    "a giant seed": (
        small({"seeds": [10**400]}),
        "suites/small.yaml: seeds.0: found 1000",
    ),
    "a long text": (
        small({"fixed.activation": "x" * 1001}),
        "suites/small.yaml: fixed.activation: the text has more than 1000 characters\n",
    ),
    "more than memory holds": (
        small({"grid.K": [8, 100_000]}),
        "suites/small.yaml: memory must hold K x K = 10000000000 numbers at once, "
        "more than the limit of 67108864; reduce these settings.\n",
    ),
    "more negatives than samples": (
        VINCE | {"fixed": VINCE["fixed"] | {"K": 64}},
        "suites/small.yaml: K is 64, but there are only 63 other samples to draw negatives from.\n",
    ),
    "a batch of more than all samples": (
        VINCE | {"fixed": VINCE["fixed"] | {"batch_size": 65}},
        "suites/small.yaml: batch_size is 65, but dataset_size is only 64.\n",
    ),
    "negative seed": (
        small({"seeds": [-1]}),
        "suites/small.yaml: seeds.0: found -1, expected a value greater than or equal to 0.\n",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_one_line_and_status_2(workspace: Workspace, name: str) -> None:
    suite, expected = MISTAKES[name]
    workspace.suite(suite)
    answer = workspace.call("plan", "small")
    assert answer.status == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    begin = f"bench: {expected}"
    assert answer.err[: len(begin)] == begin
    assert len(answer.err) > len(begin) or begin.endswith("\n")


SEVERAL = {
    "of form": (
        {"fixed.d": [20], "seeds": [-1], "titel": "x", "title": REMOVED, "figures.0.draw": "line"},
        ["titel: unknown key. Did you mean 'title'?", "fixed.d: found [20]", "seeds.0: found -1",
         "figures.0.draw: found 'line'"],
    ),
    "of names": (
        {"fixed.stepps": 3, "grid.taau": [1, 2], "claims.toy-mi-steady.0.over": "KK",
         "compare.0.metric": "mi"},
        ["fixed.stepps: unknown key.", "grid.taau: unknown key.", "compare.0.metric: found 'mi'.",
         "claims.toy-mi-steady.0.over: found 'KK'."],
    ),
    "of values": (
        {"fixed.steps": "many", "fixed.lr": -1, "grid.K": ["x", "y"]},
        ["fixed.steps: found 'many'", "fixed.lr: found -1", "grid.K: found 'x'"],
    ),
    "of choices": (
        {"figures.0.where": {"K": 99}, "claims.toy-mi-steady.0.where": {"loss": "dcl"}},
        ["claims.toy-mi-steady.0.where.loss: no cell", "figures.0.where.K: no cell"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
def test_several_mistakes_are_a_line_each(workspace: Workspace, name: str) -> None:
    changes, expected = SEVERAL[name]
    workspace.suite(small(changes))
    answer = workspace.call("plan", "small")
    assert (answer.status, answer.out) == (2, "")
    lines = sorted(answer.err.splitlines())
    assert len(lines) == len(expected), answer.err
    for line, begin in zip(lines, sorted(expected), strict=True):
        assert line.startswith(f"bench: suites/small.yaml: {begin}")


def test_ten_mistakes_are_enough(workspace: Workspace) -> None:
    workspace.suite(small({f"wrong{i}": 1 for i in range(30)}))
    assert workspace.call("plan", "small").err.count("\n") == 10


@pytest.mark.parametrize("name", ["nothing excluded", "a check of cells that no scale has"])
def test_verbs_that_read_results_refuse_what_run_refuses(workspace: Workspace, name: str) -> None:
    workspace.suite(SUITE, "other")
    workspace.suite(MISTAKES[name][0])
    refused = workspace.call("run", "small", "--executor", "inline")
    for verb in ("show", "compare", "claims", "status"):
        assert workspace.call(verb, "small", "--seeds", "0") == refused
    line = refused.err.replace("bench: ", "bench: this suite is left out: ")
    for verb in ("claims", "questions"):
        assert workspace.call(verb).err == line


def test_the_whole_text_for_an_unknown_axis(workspace: Workspace) -> None:
    workspace.suite(MISTAKES["unknown axis"][0])
    assert workspace.call("run", "small").err == (
        "bench: suites/small.yaml: grid.taau: unknown key. Did you mean 'tau'? Allowed here: "
        "tau, alpha, mi_true, activation, margin_count, eval_repeats, steps, bound_constant and 10 "
        "more.\n"
    )


def test_a_file_that_is_not_utf8(workspace: Workspace) -> None:
    workspace.suite(SUITE).write_bytes(b"name: \xff\n")
    assert (
        workspace.call("plan", "small").err
        == "bench: suites/small.yaml: the file is not valid UTF-8 (byte 6)\n"
    )


@pytest.mark.parametrize(
    ("line", "place", "advice"),
    [
        ("title: Table 3: K", "column 15", "put text that contains ': ' in quotation marks"),
        ("\ttitle: K", "column 1", "indent with spaces, not tabs; quote text that starts with "),
        ('title: "K" x', "column 12", "check indentation and quotation marks here and above"),
    ],
)
def test_a_file_that_is_no_yaml_is_advised(
    workspace: Workspace, line: str, place: str, advice: str
) -> None:
    workspace.suite(SUITE).write_text(f"{line}\nid: K\n")
    answer = workspace.call("plan", "small")
    assert (answer.status, place in answer.err, advice in answer.err) == (2, True, True), answer.err


def test_a_file_that_is_missing(workspace: Workspace) -> None:
    answer = workspace.call("plan", "elsewhere/x.yaml")
    assert (answer.status, answer.err) == (
        2,
        "bench: elsewhere/x.yaml: No such file or directory\n",
    )


@pytest.mark.parametrize("verb", ["plan", "report"])
def test_a_suite_that_does_not_exist(workspace: Workspace, verb: str) -> None:
    """It is named first, though there are no results either."""
    answer = workspace.call(verb, "smal")
    assert answer.status == 2
    assert (
        answer.err == "bench: suites: there is no suite 'smal'. Did you mean 'small'? `bench "
        "suites` lists all 1.\n"
    )


def test_a_folder_in_the_place_of_a_suite(workspace: Workspace) -> None:
    answer = workspace.call("plan", "suites")
    told = "suites: this is a folder; name a suite, or a file that ends in .yaml"
    assert (answer.status, answer.err) == (2, f"bench: {told}\n")


def test_a_folder_that_does_not_exist(workspace: Workspace) -> None:
    answer = workspace.call("--suites", "nowhere", "suites")
    assert answer.status == 2
    assert (
        answer.err == "bench: nowhere: this folder does not exist; --suites or BENCH_SUITES "
        "must name the folder of suite files\n"
    )


def test_two_suites_with_one_name(workspace: Workspace) -> None:
    (workspace.root / "suites" / "small.yml").write_text(to_yaml(SUITE))
    answer = workspace.call("suites")
    assert answer.status == 2
    assert answer.err == (
        "bench: suites/small.yml: this is a second suite named 'small'; the first "
        "is suites/small.yaml\n"
    )


def test_a_file_too_large(workspace: Workspace) -> None:
    workspace.suite("#" * 2_000_001)
    assert workspace.call("plan", "small").err == (
        "bench: suites/small.yaml: the file has 2000001 bytes, but a YAML file may "
        "have at most 2000000\n"
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ("--scale", "papr"),
            "suites/small.yaml: there is no scale 'papr'. Allowed here: tiny, long.\n",
        ),
        (("--where", "K"), "--where K: expected one SETTING=VALUE[,VALUE...], such as K=64,128; "),
        (("--where", "K=99"), "--where K: no cell has the value 99. The cells have: 8, 16.\n"),
        (("--where", "K=8,loss=eqco"), "--where K=8,loss=eqco: expected one SETTING=VALUE"),
        (("--where", "k=8"), "--where k: unknown setting. "),
        (("--where", "seed=0"), "--where seed: seeds are chosen by --seeds, such as --seeds 0-2\n"),
        (
            ("--where", "output_relu=1"),
            "--where output_relu: no cell has the value 1. The cells have: ",
        ),
        (("--where", "K=010"), "--where K: no cell has the value 10. The cells have: 8, 16.\n"),
        (
            ("--where", "K=!!bool maybe"),
            "--where K: no cell has the value !!bool maybe. The",
        ),
        (("--set", "steps=1:30"), "--set steps: found '1:30', expected a whole"),
        (("--set", "output_relu=no"), "--set output_relu: found 'no', expected true or false.\n"),
        (("--set", "output_relu=1"), "--set output_relu: found 1, expected true or false.\n"),
        (
            ("--seeds", "0,x"),
            "--seeds 0,x: expected whole numbers or rising ranges, such as 0,1,2 or 0-4,7; a "
            "number has at most 15 digits, a range at most 100000 seeds\n",
        ),
        (("--seeds", "4-0"), "--seeds 4-0: expected whole numbers"),
        (("--seeds", "0-100000"), "--seeds 0-100000: expected whole numbers"),
        (("--seeds", "0-1-2"), "--seeds 0-1-2: expected whole numbers"),
        (("--seeds", "1" * 5000), "--seeds 1111"),
        (
            ("--set", f"K={10**30}"),
            "--set K: the whole number exceeds 9007199254740992, the largest ",
        ),
        (
            ("--set", f"steps={','.join(map(str, range(1, 20_000)))}"),
            "suites/small.yaml: scale 'tiny'",
        ),
        (("--where", "K=" + "[" * 100_000), "--where K: no cell has the value [[["),
        (("--where", "K=0b_"), "--where K: no cell has the value 0b_. The cells have: 8, 16.\n"),
        (
            ("--where", "precision=bf16"),
            "--where precision: no cell has the value bf16. The cells have: null, float32.\n",
        ),
        (("--sclae", "x"), "No such option: --sclae"),
        (
            ("--results", "x"),
            "--results must be given before the verb: `bench --results FOLDER VERB ...`\n",
        ),
        (("--jobs", "two"), "--jobs two: expected a whole number from 1 to 100000\n"),
        (("--jobs", "1.5"), "--jobs 1.5: expected a whole number from 1 to 100000\n"),
        (("--jobs", "0"), "--jobs 0: expected a whole number from 1 to 100000\n"),
        (("--jobs", "99999999"), "--jobs 99999999: expected a whole number from 1 to 100000\n"),
        (("--limit-gpu-hours", "x"), "--limit-gpu-hours x: expected a number, such as 1.5\n"),
    ],
)
def test_mistakes_on_the_command_line(
    workspace: Workspace, words: tuple[str, ...], expected: str
) -> None:
    answer = workspace.call("plan", "small", *words)
    assert answer.status == 2
    assert answer.err.startswith(f"bench: {expected}")
    assert answer.err.count("\n") == 1


def test_an_unknown_verb_names_the_one_that_was_meant_or_where_all_are(
    workspace: Workspace,
) -> None:
    assert workspace.call("sutes").err == "bench: No such command 'sutes'. Did you mean 'suites'?\n"
    assert (
        workspace.call("help").err
        == "bench: No such command 'help'. `bench --help` lists all commands.\n"
    )


@pytest.mark.parametrize("option", ["--suites", "--results", "--data"])
def test_a_file_is_no_folder(workspace: Workspace, option: str) -> None:
    (workspace.root / "file").touch()
    answer = workspace.call(option, "file", "suites")
    assert (answer.status, answer.err) == (2, f"bench: {option} file: this path is not a folder\n")


def test_values_that_are_set_are_no_mistake_of_a_check(workspace: Workspace) -> None:
    """Such cells belong to no suite, and no check judges them."""
    workspace.suite(small({"grid.K": [8], "claims.toy-mi-steady.0": TWO_AT_A_POINT}))
    assert workspace.call("plan", "small").status == 0
    assert workspace.call("plan", "small", "--set", "K=8,16").status == 0


def test_one_process_takes_no_number_of_processes(workspace: Workspace) -> None:
    answer = workspace.call("run", "small", "--executor", "inline", "--jobs", "2")
    why = "--jobs cannot be used with --executor inline, which runs in a single process"
    assert (answer.status, answer.err) == (2, f"bench: {why}\n")


def test_unknown_executor(workspace: Workspace) -> None:
    answer = workspace.call("run", "small", "--executor", "slrum")
    assert (answer.status, answer.err) == (
        2,
        "bench: --executor slrum: there is no such executor. Did you mean 'slurm'? "
        "Allowed here: local, inline, slurm.\n",
    )
