"""Suites to cells: products, coupled axes, exclusions, scales, identity."""

import subprocess
import sys
from contextlib import suppress
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from bench.cells.toys import GaussianMI
from bench.errors import SuiteError
from bench.files.yaml_file import load_yaml, scalar
from bench.suites.expand import expand
from bench.suites.load import load_suite, suite_paths
from bench.suites.suite import Suite
from tests.fakes.costs import costs_below, here_s
from tests.fakes.paths import SUITES
from tests.fakes.suites import REMOVED, SUITE, SuiteData, changed
from tests.fakes.workspace import Workspace


def cells_of(
    suite: SuiteData, workspace: Workspace, scale: str = "tiny", **choice: Any
) -> list[GaussianMI]:
    path = workspace.suite(suite)
    return expand(load_suite(path), scale, path, **choice)  # type: ignore[return-value]


def points(cells: list[GaussianMI]) -> list[tuple[float, int, str, int]]:
    return [(cell.mi_true, cell.K, cell.loss, cell.seed) for cell in cells]


def test_grid_multiplies_and_coupled_axes_do_not(workspace: Workspace) -> None:
    found = points(cells_of(SUITE, workspace))
    expected = [
        (mi, k, loss, seed)
        for mi in (2, 10)
        for k in (8, 16)
        for loss in ("infonce", "eqco")
        for seed in (0, 1)
    ]
    assert found == expected


def test_exclude_takes_points_out(workspace: Workspace) -> None:
    exclude = [{"K": 8, "loss": "infonce"}, {"mi_true": [2], "K": 16}]
    found = points(cells_of(changed(SUITE, {"exclude": exclude}), workspace))
    assert {(mi, k, loss) for mi, k, loss, _ in found} == {
        (2, 8, "eqco"),
        (10, 8, "eqco"),
        (10, 16, "infonce"),
        (10, 16, "eqco"),
    }


def test_a_scale_replaces_axes_fixed_settings_and_seeds(workspace: Workspace) -> None:
    scale = {
        "scales.tiny.grid": {"K": [4], "steps": [1, 2]},
        "scales.tiny.fixed": {"lr": 1.0},
        "scales.tiny.seeds": [7],
    }
    found = cells_of(changed(SUITE, scale), workspace)
    assert {cell.K for cell in found} == {4}
    assert {cell.steps for cell in found} == {1, 2}
    assert {cell.lr for cell in found} == {1.0}
    assert {cell.seed for cell in found} == {7}


def test_where_and_seeds_choose(workspace: Workspace) -> None:
    found = cells_of(SUITE, workspace, where={"K": [8], "loss": ["eqco"]}, seeds=[5])
    assert points(found) == [(2, 8, "eqco", 5), (10, 8, "eqco", 5)]


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ({"view_strength": [1.0]}, 220),  # the default
        ({"view_strength": [0.3]}, 10),
        ({"view_strength": [None]}, 220),  # the suite does not give it
        ({"projector_layers": [2], "batch_size": [256]}, 80),  # of the preset
    ],
)
def test_where_knows_the_values_of_presets_and_defaults(
    where: dict[str, list[Any]], count: int
) -> None:
    path = SUITES / "map-dcl.yaml"
    where |= {"baseline": [None]}
    assert len(expand(load_suite(path), "cifar", path, where=where)) == count


def test_where_refuses_a_setting_that_no_cell_has() -> None:
    path = SUITES / "map-dcl.yaml"
    with pytest.raises(SuiteError, match="--where momentum: no cell has this setting"):
        expand(load_suite(path), "cifar", path, where={"momentum": [0.9]})


def test_where_lists_the_existing_numbers_in_order() -> None:
    path = SUITES / "map-dcl.yaml"
    with pytest.raises(SuiteError, match=r"1.5. The cells have: 0.03, 0.07, 0.2, 0.5."):
        expand(load_suite(path), "cifar", path, where={"tau": [1.5]})


def test_several_grids_overlap_without_doubled_cells(workspace: Workspace) -> None:
    grids = [
        {"fixed": {"loss": "infonce", "mi_true": 2}, "grid": {"K": [8, 16]}},
        {"fixed": {"loss": "infonce", "K": 8}, "grid": {"mi_true": [2, 4]}},
    ]
    suite = changed(SUITE, {"grid": REMOVED, "points": REMOVED, "grids": grids})
    found = points(cells_of(suite, workspace))
    assert [p for p in found if p[3] == 0] == [
        (2, 8, "infonce", 0),
        (2, 16, "infonce", 0),
        (4, 8, "infonce", 0),
    ]


def test_a_block_takes_the_axes_and_exclusions_of_the_suite_that_it_does_not_give(
    workspace: Workspace,
) -> None:
    exclude = [{"K": 16, "mi_true": 2}]
    shared = {"grid": {"K": [8, 16]}, "points": REMOVED, "exclude": exclude}
    blocks = [{"mi_true": 2}, {"mi_true": 4}]
    grids = [{"fixed": fixed | {"loss": "infonce"}} for fixed in blocks]
    own = {"fixed": {"mi_true": 2, "K": 32}, "grid": {"loss": ["infonce"]}, "exclude": []}
    suite = changed(SUITE, shared | {"grids": [*grids, own], "seeds": [0]})
    found = points(cells_of(suite, workspace))
    assert [(mi, k) for mi, k, *_ in found] == [(2, 8), (4, 8), (4, 16), (2, 32)]


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ({"grid": {"taau": [1]}, "grids": [{"fixed": {}}]}, "grid.taau"),
        ({"grids": [{"grid": {"K": [8]}}, {"grid": {"taau": [1]}}]}, "grids.1.grid.taau"),
        ({"points": [{"taau": 1}], "grids": [{"fixed": {}}]}, "points.taau"),
        ({"exclude": [{"taau": 1}], "grids": [{"fixed": {}}]}, "exclude.taau"),
        ({"grids": [{"exclude": [{"taau": 1}]}]}, "grids.0.exclude.taau"),
    ],
)
def test_a_mistake_in_an_axis_is_told_where_the_axis_stands(
    workspace: Workspace, keys: dict[str, Any], place: str
) -> None:
    with pytest.raises(SuiteError) as error:
        cells_of(changed(SUITE, keys), workspace)
    begin = f"suites/small.yaml: {place}: unknown key. Did you mean 'tau'? Allowed here: "
    assert str(error.value).removeprefix(f"{workspace.root}/").startswith(begin)


def test_the_id_is_of_every_field_and_of_nothing_else() -> None:
    settings = {
        "experiment": "gaussian-mi", "mi_true": 2.0, "d": 20, "K": 64, "loss": "infonce",
        "steps": 5000, "optimizer": "adam", "lr": 5e-4, "eval_repeats": 1000, "hidden_layers": 1,
        "hidden_units": 256, "activation": "relu", "embedding_dim": 256, "output_relu": True,
        "tau": 1.0, "margin_count": "negatives", "bound_constant": "one-plus-alpha", "seed": 0,
    }  # fmt: skip
    cell = GaussianMI.model_validate(settings)
    assert cell.id == "5063b3748802ca72"  # results on disk are found by it: it must not move
    assert GaussianMI.model_validate(settings | {"mi_true": 2}).id == cell.id
    assert GaussianMI.model_validate(dict(reversed(settings.items()))).id == cell.id
    others = {
        GaussianMI.model_validate(settings | change).id
        for change in ({"seed": 1}, {"K": 65}, {"tau": 0.5}, {"output_relu": False})
    }
    assert len(others | {cell.id}) == 5


@pytest.mark.slow
def test_the_id_is_the_same_in_another_process(workspace: Workspace) -> None:
    path = workspace.suite(SUITE)
    code = (
        "from pathlib import Path; from bench.suites.load import load_suite;"
        "from bench.suites.expand import expand; p = Path('suites/small.yaml');"
        "print(expand(load_suite(p), 'tiny', p)[0].id)"
    )
    command = [sys.executable, "-c", code]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == expand(load_suite(path), "tiny", path)[0].id


def test_cells_of_a_large_grid_cost_little_more_than_checking_their_values() -> None:
    suite = load_suite(SUITES / "eqco-table-9.yaml").model_copy(
        update={
            "grid": {"mi_true": [i / 10 for i in range(1, 51)], "K": list(range(2, 12))},
            "seeds": list(range(5)),
        }
    )
    cells = expand(suite, "paper", Path("x.yaml"))
    assert len(cells) == 5_000
    values, adapter = [cell.model_dump() for cell in cells], TypeAdapter(list[GaussianMI])
    assert costs_below(
        3,
        lambda: here_s(lambda: expand(suite, "paper", Path("x.yaml"))),
        lambda: here_s(lambda: adapter.validate_python(values)),
    )


def test_a_long_axis_costs_in_proportion() -> None:
    """Twice as many values, seeds and excluded values take about twice as long, not four times."""

    def seconds(count: int) -> float:
        suite = Suite.model_validate(
            load_suite(SUITES / "eqco-table-9.yaml").model_dump()
            | {
                "grid": {"mi_true": [1 + i for i in range(count)], "K": [8]},
                "points": [{"loss": "infonce"}],
                "exclude": [{"mi_true": [1 + i for i in range(count)]}],
            }
        )
        with pytest.raises(SuiteError, match="no cell remains after --where and exclude"):
            expand(suite, "paper", Path("x.yaml"), seeds=range(3))

        def whole() -> None:
            Suite.model_validate(suite.model_dump() | {"seeds": list(range(count))})
            with suppress(SuiteError):
                expand(suite, "paper", Path("x.yaml"), seeds=range(3))

        return here_s(whole)

    # of squares 16 times
    assert costs_below(8, lambda: seconds(16_000), lambda: seconds(4_000))


@pytest.mark.parametrize(
    ("text", "value"),
    [("5e-4", 5e-4), ("1e3", 1e3), ("64", 64), ("0.1", 0.1), ("bank", "bank"), ("null", None),
     ("2020-01-01", "2020-01-01"), ("true", True), ("[1]", "[1]"), ("[", "["), ("010", 10),
     ("08", 8), ("0o10", 8), ("0x1F", 31), ("-0.0", 0.0), ("1.5e3", 1500.0), ("-.5", -0.5),
     ("1:30", "1:30"), ("1_000", "1_000"), ("0b11", "0b11"), ("!!float 010", 10.0),
     ("yes", "yes"), ("Off", "Off"), ("on", "on"), ("n", "n"), ("TRUE", True), ("tRUE", "tRUE"),
     ("!!bool no", "!!bool no"), ("!!bool maybe", "!!bool maybe"),
     ("!!timestamp abc", "!!timestamp abc")],
)  # fmt: skip
def test_scalars(text: str, value: Any) -> None:
    assert repr(scalar(text)) == repr(value)


def test_numbers_in_a_file_are_those_of_yaml_1_2(workspace: Workspace) -> None:
    path = workspace.suite("a: 5e-4\nb: [1E+3, -2e2, 032, 1:30, 1.0e-3]\nc: [-.inf, .NaN]\n")
    expected = {"a": 5e-4, "b": [1e3, -2e2, 32, "1:30", 1e-3], "c": [-inf, nan]}
    assert repr(load_yaml(path, SuiteError)) == repr(expected)


@pytest.mark.parametrize(
    "text", ["!!bool maybe", "!!int ''", "!!int 1:30", "!!float ''", "!!timestamp abc", "!!set {a}"]
)
def test_a_tag_without_its_value_is_an_error_with_its_line(workspace: Workspace, text: str) -> None:
    path = workspace.suite(f"a: 1\nb: {text}\n")
    with pytest.raises(SuiteError, match=r"small\.yaml: line 2, column 4: "):
        load_yaml(path, SuiteError)


@pytest.mark.slow
@pytest.mark.parametrize("path", suite_paths(SUITES).values(), ids=str)
def test_shipped_suites_expand_at_every_scale(path: Path) -> None:
    suite: Suite = load_suite(path)
    assert "smoke" in suite.scales
    for scale in suite.scales:
        cells = expand(suite, scale, path)
        assert len({cell.id for cell in cells}) == len(cells)
