"""A scale that is `like` a shared one: what it takes, what wins, what a mistake says."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from bench.cells.toys import GaussianMI
from bench.errors import SuiteError, choices
from bench.files.yaml_file import load_yaml
from bench.suites.expand import expand, resolve
from bench.suites.load import load_suite, suite_paths
from bench.suites.reference import suite_schema
from bench.suites.shared import shipped_scales
from bench.suites.suite import Suite
from tests.fakes.paths import ROOT, SUITES
from tests.fakes.suites import REMOVED, SUITE, changed
from tests.fakes.workspace import Workspace

QUICK = {
    "what": "a few steps",
    "protocol": "reduced",
    "fixed": {"steps": 5, "lr": 1.0, "tau": 2.0, "K": 4, "dataset": "digits"},
    "seeds": [7],
}


WHOLE = {"what": "all steps", "protocol": "reduced"}  # takes the settings of the suite


def write(workspace: Workspace, tiny: dict[str, Any], scales: Any = None, **changes: Any) -> Path:
    """Write the suite `small` with its scale `tiny`, and the file of shared scales beside it."""
    folder = workspace.root / "suites" / "scales"
    folder.mkdir(exist_ok=True, parents=True)
    (folder / "own.yaml").write_text(yaml.safe_dump(scales or {"quick": QUICK}))
    return workspace.suite(changed(SUITE, {"scales": {"tiny": tiny, "long": WHOLE}} | changes))


def cells_of(path: Path) -> list[GaussianMI]:
    return expand(load_suite(path), "tiny", path)  # type: ignore[return-value]


def fixed_names(path: Path) -> set[str]:
    (grid,) = resolve(load_suite(path), "tiny", path)
    return set(grid.fixed)


def test_a_scale_takes_all_that_the_shared_one_says(workspace: Workspace) -> None:
    path = write(workspace, {"like": "quick"})
    scale = load_suite(path).scales["tiny"]
    assert (scale.what, scale.protocol, scale.seeds) == ("a few steps", "reduced", [7])
    points = {(cell.steps, cell.lr, cell.seed) for cell in cells_of(path)}
    assert points == {(5, 1.0, 7)}


def test_assumed_settings_are_replaced_and_axes_stay(workspace: Workspace) -> None:
    """`tau` is assumed, `K` an axis of the suite; `dataset` is no setting of its experiment."""
    path = write(workspace, {"like": "quick"})
    cells = cells_of(path)
    assert {cell.tau for cell in cells} == {2.0}
    assert {cell.K for cell in cells} == {8, 16}
    assert fixed_names(path).isdisjoint({"K", "dataset"})


def test_what_the_scale_says_itself_wins(workspace: Workspace) -> None:
    changes = {"what": "mine", "protocol": "published", "fixed": {"steps": 9}, "seeds": [1, 2]}
    path = write(workspace, {"like": "quick"} | changes)
    scale = load_suite(path).scales["tiny"]
    assert (scale.what, scale.protocol) == ("mine", "published")
    points = {(cell.steps, cell.lr, cell.seed) for cell in cells_of(path)}
    assert points == {(9, 1.0, 1), (9, 1.0, 2)}


@pytest.mark.parametrize(
    "axes",
    [{"grid": {"steps": [1, 2]}}, {"points": [{"steps": 1, "eval_repeats": 3}, {"steps": 2}]}],
    ids=["grid", "points"],
)
def test_an_axis_of_the_scale_wins(workspace: Workspace, axes: dict[str, Any]) -> None:
    path = write(workspace, {"like": "quick"} | axes)
    assert {cell.steps for cell in cells_of(path)} == {1, 2}
    assert "steps" not in fixed_names(path)


def test_a_setting_is_passed_over_in_the_grids_alone_that_have_it_as_an_axis(
    workspace: Workspace,
) -> None:
    fixed = {"loss": "infonce", "mi_true": 2}
    grids = [{"fixed": fixed, "grid": {"K": [8, 16]}}, {"fixed": fixed | {"K": 32}}]
    path = write(workspace, {"like": "quick"}, grid=REMOVED, points=REMOVED, grids=grids)
    assert [cell.K for cell in cells_of(path)] == [8, 16, 4]


def test_a_shared_scale_may_change_another(workspace: Workspace) -> None:
    slower = {"like": "quick", "what": "more steps", "fixed": {"steps": 6}}
    path = write(workspace, {"like": "slower"}, {"quick": QUICK, "slower": slower})
    scale = load_suite(path).scales["tiny"]
    assert (scale.what, scale.protocol, scale.seeds) == ("more steps", "reduced", [7])
    assert {(cell.steps, cell.lr) for cell in cells_of(path)} == {(6, 1.0)}


def test_a_scale_that_only_runs_says_so_to_those_that_are_like_it(workspace: Workspace) -> None:
    first_try = QUICK | {"judged": False}
    path = write(workspace, {"like": "quick"}, {"quick": first_try})
    assert not load_suite(path).scales["tiny"].judged
    path = write(workspace, {"like": "quick", "judged": True}, {"quick": first_try})
    assert load_suite(path).scales["tiny"].judged


def test_shipped_scales_that_only_run_judge_no_claim() -> None:
    unjudged = {name for name, scale in shipped_scales().items() if not scale.judged}
    assert unjudged == {name for name in shipped_scales() if "smoke" in name}


def test_a_scale_without_seeds_anywhere_has_the_suites(workspace: Workspace) -> None:
    path = write(workspace, {"like": "quick"}, {"quick": QUICK | {"seeds": None}})
    assert {cell.seed for cell in cells_of(path)} == {0, 1}


SHIPPED = ROOT / "bench" / "suites" / "scales"
MISTAKES: dict[str, tuple[dict[str, Any], Any, str]] = {
    "no such shared scale": (
        {"like": "quik"},
        None,
        "suites/small.yaml: scales.tiny.like: there is no shared scale 'quik'. "
        f"{choices('quik', [*shipped_scales(), 'quick'])}\n",
    ),
    "like, misspelt": (
        {"lik": "quick"},
        None,
        "suites/small.yaml: scales.tiny.lik: unknown key. Did you mean 'like'? Allowed here: "
        "like, what, protocol, fixed, why, seeds, baselines, stand_in, judged, unjudged, grid, "
        "points, notes.\n",
    ),
    "nothing to be like, and not whole": (
        {"fixed": {"steps": 1}},
        None,
        "suites/small.yaml: scales.tiny: the scale lacks what and protocol; a scale needs the "
        "keys `what` and `protocol`, or the name of a shared scale under `like`.\n",
    ),
    "half of it": (
        {"what": "tiny"},
        None,
        "suites/small.yaml: scales.tiny: the scale lacks protocol; a scale needs the keys "
        "`what` and `protocol`, or the name of a shared scale under `like`.\n",
    ),
    "a value that the cells refuse": (
        {"like": "quick"},
        {"quick": QUICK | {"fixed": {"steps": "many"}}},
        "suites/small.yaml: scales.tiny.like: quick: fixed.steps: found 'many', expected a whole "
        "number.\n",
    ),
    "an unknown setting": (
        {"like": "quick"},
        {"quick": QUICK | {"fixed": {"taau": 1}}},
        "suites/scales/own.yaml: quick.fixed.taau: unknown key. Did you mean 'tau'? Allowed here: ",
    ),
    "an unknown setting of baselines": (
        {"like": "quick"},
        {"quick": QUICK | {"baselines": {"loss": "dcl"}}},
        "suites/scales/own.yaml: quick.baselines.loss: unknown key. Allowed here: ",
    ),
    "an unknown metric to judge by": (
        {"like": "quick"},
        {"quick": QUICK | {"stand_in": {"what": "x", "metrics": {"knn_top1": "warped_knn_top"}}}},
        "suites/scales/own.yaml: quick.stand_in.metrics.warped_knn_top: unknown key. Did you "
        "mean 'warped_knn_top",
    ),
    "an unknown key": (
        {"like": "quick"},
        {"quick": QUICK | {"sede": [1]}},
        "suites/scales/own.yaml: quick.sede: unknown key. Did you mean 'seeds'? Allowed here: "
        "like, what, protocol, fixed, why, seeds, baselines, stand_in, judged, unjudged.\n",
    ),
    "an axis": (
        {"like": "quick"},
        {"quick": QUICK | {"grid": {"K": [1]}}},
        "suites/scales/own.yaml: quick.grid: unknown key. Allowed here: like, what, protocol, "
        "fixed, why, seeds, baselines, stand_in, judged, unjudged.\n",
    ),
    "a shared scale like none": (
        {"like": "quick"},
        {"quick": {"like": "digts"}},
        "suites/scales/own.yaml: quick.like: there is no shared scale 'digts'. "
        f"{choices('digts', list(shipped_scales()))}\n",
    ),
    "a shared scale that is not whole": (
        {"like": "quick"},
        {"quick": {"what": "a few steps"}},
        "suites/scales/own.yaml: quick: the scale lacks protocol; a scale needs the keys "
        "`what` and `protocol`, or the name of a shared scale under `like`.\n",
    ),
    "two of a name": (
        {"like": "digits"},
        {"digits": QUICK},
        "suites/scales/own.yaml: digits: a shared scale of this name already exists\n",
    ),
    "no mapping": (
        {"like": "quick"},
        ["quick"],
        "suites/scales/own.yaml: found ['quick'], expected a mapping.\n",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_at_its_place(workspace: Workspace, name: str) -> None:
    tiny, scales, expected = MISTAKES[name]
    write(workspace, tiny, scales)
    answer = workspace.call("plan", "small")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    if expected.endswith("\n"):
        assert answer.err == f"bench: {expected}"
    assert answer.err.startswith(f"bench: {expected}")


def test_a_suite_that_names_none_reads_none(workspace: Workspace) -> None:
    path = write(workspace, {"what": "whole", "protocol": "reduced"}, ["quick"])
    assert load_suite(path).scales["tiny"].shared == {}


@pytest.mark.slow
def test_the_commands_say_what_the_shared_scale_says(workspace: Workspace) -> None:
    write(workspace, {"like": "quick", "fixed": {"steps": 1}, "grid": {"K": [8]}})
    assert workspace.call("run", "small", "--executor", "inline").status == 0
    answer = workspace.call("compare", "small")
    assert "small at scale tiny: a few steps" in answer.out


@pytest.mark.parametrize(
    ("tiny", "is_valid"),
    [
        ({"like": "quick"}, True),
        ({"what": "x", "protocol": "reduced"}, True),
        ({"what": "x"}, False),
        ({"like": 3}, False),
        ({"like": "quick", "lik": "quick"}, False),
    ],
)
def test_the_schema_knows_like(tiny: dict[str, Any], is_valid: bool) -> None:
    check = jsonschema.Draft202012Validator(suite_schema())
    assert check.is_valid(changed(SUITE, {"scales": {"tiny": tiny}})) == is_valid


def test_every_shipped_scale_is_used() -> None:
    suites: list[Suite] = [load_suite(path) for path in suite_paths(SUITES).values()]
    used = {scale.like for suite in suites for scale in suite.scales.values()}
    files = [load_yaml(path, SuiteError) for path in sorted(SHIPPED.glob("*.yaml"))]
    used |= {entry.get("like") for file in files for entry in file.values()}
    assert set(shipped_scales()) <= used


def test_a_reason_is_left_out_where_every_grid_sets_the_value() -> None:
    """The rate of the shared scale comes from search-batch, whose grids have rates of their own."""
    reason = shipped_scales()["cifar"].why["base_lr"]
    search, table = (
        load_suite(SUITES / f"{name}.yaml") for name in ("search-batch", "dcl-table-1")
    )
    assert reason not in search.scales["cifar"].notes
    assert reason in table.scales["cifar"].notes
