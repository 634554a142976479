"""`import bench`: tables with documented columns and types, mistakes in the terminal's words."""

import inspect
import pydoc
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import bench
from bench.analysis.frame import OF_HISTORIES, OF_LOAD, OF_PUBLISHED
from tests.fakes.paths import ROOT
from tests.fakes.results import cells_of, finish
from tests.fakes.suites import SUITE
from tests.fakes.workspace import Workspace

REFERENCE = ROOT / "results" / "reference"
SUITES = ROOT / "suites"
NOT_BEFORE_USE = ("torch", "pandas", "numpy", "matplotlib", "pydantic", "typer", "bench.api")
MOST_MODULES = 3  # that `import bench` adds to those of a bare interpreter
PUBLIC = {
    "BenchError", "NothingMeasured", "arrays", "claims", "compare", "histories", "load", "others",
    "load_encoder", "plot", "published", "questions", "run",
}  # fmt: skip


def modules_after(code: str) -> set[str]:
    told = "import sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{told}"], cwd=ROOT, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    return set(done.stdout.split())


def test_import_bench_loads_nothing_before_it_is_used() -> None:
    bare, imported = modules_after("pass"), modules_after("import bench; dir(bench)")
    assert not imported & set(NOT_BEFORE_USE)
    assert len(imported - bare) <= MOST_MODULES


@pytest.mark.slow
def test_a_table_of_results_needs_no_torch() -> None:
    loaded = modules_after(
        "import bench\nbench.load('eqco-table-9', scale='paper', results='results/reference')"
    )
    assert "pandas" in loaded
    assert "torch" not in loaded


def test_help_and_dir_show_what_there_is() -> None:
    assert set(vars(bench)["__all__"]) - {"__version__"} == PUBLIC
    assert set(dir(bench)) >= PUBLIC
    text = pydoc.plain(pydoc.render_doc(bench))
    for name in PUBLIC - {"plot"}:
        assert f"{name}" in text
        assert inspect.getdoc(getattr(bench, name))
    stub = (ROOT / "bench" / "__init__.pyi").read_text()
    assert {line.split()[-1] for line in stub.splitlines() if " as " in line} == PUBLIC
    with pytest.raises(AttributeError, match="module 'bench' has no attribute 'lod'"):
        _ = bench.lod  # type: ignore[attr-defined]


def test_every_function_tells_its_arguments_and_errors() -> None:
    functions = [getattr(bench, name) for name in PUBLIC if name.islower() and name != "plot"]
    functions += [getattr(bench.plot, name) for name in bench.plot.__all__]
    for function in functions:
        text = inspect.getdoc(function) or ""
        assert "Args:" in text, function
        for name in inspect.signature(function).parameters:
            assert name in text, (function, name)


@pytest.fixture
def small(workspace: Workspace) -> Workspace:
    """A suite whose cells are done; alpha is null in half of them."""
    path = workspace.suite(SUITE)
    cells = cells_of(path, "tiny")

    def metrics(cell: Any) -> dict[str, float]:
        return {"mi_lower_bound": cell.mi_true / 2 + cell.seed, "mi_lower_bound_std": 0.5}

    finish(workspace.root / "results", cells, metrics)
    return workspace


def test_a_frame_has_a_row_per_cell_and_metric_and_typed_columns(small: Workspace) -> None:
    frame = bench.load("small")
    cells = cells_of(small.root / "suites" / "small.yaml", "tiny")
    assert tuple(frame.columns[: len(OF_LOAD)]) == OF_LOAD
    assert len(frame) == 2 * len(cells)
    assert not frame.duplicated(["cell", "metric"]).any()
    assert set(frame.columns[len(OF_LOAD) :]) == set(cells[0].settings) - {"seed"}
    kinds = {name: str(frame[name].dtype) for name in frame}
    assert kinds["cell"] == kinds["loss"] == kinds["metric"] == "str"
    assert (kinds["seed"], kinds["K"], kinds["output_relu"]) == ("int64", "int64", "bool")
    assert (kinds["value"], kinds["alpha"], kinds["mi_true"]) == ("float64",) * 3
    assert frame["alpha"].isna().sum() == len(frame) / 2
    one = frame[(frame.loss == "eqco") & (frame.K == 8) & (frame.mi_true == 10) & (frame.seed == 1)]
    assert one.set_index("metric")["value"].to_dict() == {
        "mi_lower_bound": 6.0, "mi_lower_bound_std": 0.5,
    }  # fmt: skip


def test_where_and_seeds_choose_cells(small: Workspace) -> None:
    frame = bench.load("small", scale="tiny", where={"K": [8], "loss": "eqco"}, seeds=[1])
    assert (set(frame.K), set(frame.loss), set(frame.seed)) == ({8}, {"eqco"}, {1})
    assert frame.cell.nunique() == 2
    assert len(bench.load("small", results=small.root / "results")) == 32
    again = bench.load(
        "small", where={"K": frame.K.iloc[0], "loss": ["eqco"]}, seeds=frame.seed.unique()
    )
    pd.testing.assert_frame_equal(again, frame)  # numbers of numpy are numbers


def test_an_exported_table_gives_the_same_frame(small: Workspace) -> None:
    assert small.call("export", "small", "--to", "tables").status == 0
    pd.testing.assert_frame_equal(bench.load("small", results="tables"), bench.load("small"))


MISTAKES: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"suite": "smal"}, ("smal",)),
    ({"suite": "small", "scale": "tyni"}, ("small", "--scale", "tyni")),
    ({"suite": "small", "scale": "long"}, ("small", "--scale", "long")),
    ({"suite": "small", "where": {"k": 8}}, ("small", "--where", "k=8")),
    ({"suite": "small", "where": {"K": [9]}}, ("small", "--where", "K=9")),
]


@pytest.mark.parametrize(("given", "words"), MISTAKES)
def test_a_mistake_is_told_as_in_the_terminal(
    small: Workspace, given: dict[str, Any], words: tuple[str, ...]
) -> None:
    with pytest.raises(bench.BenchError) as mistake:
        bench.load(**given)
    answer = small.call("show", *words)
    assert answer.err == f"bench: {mistake.value}\n"
    assert answer.status == (3 if isinstance(mistake.value, bench.NothingMeasured) else 2)


def test_results_or_seeds_that_are_none_are_told(small: Workspace) -> None:
    with pytest.raises(
        bench.NothingMeasured, match=r"^nowhere: this results folder does not exist; "
    ):
        bench.load("small", results="nowhere")
    with pytest.raises(bench.NothingMeasured, match="--where K=8 --seeds 99` computes them"):
        bench.load("small", where={"K": 8}, seeds=[99])
    with pytest.raises(bench.BenchError, match=r"^seeds \['0'\]: expected whole numbers"):
        bench.load("small", seeds="0")  # type: ignore[arg-type]
    with pytest.raises(bench.BenchError, match=r"^seeds \[\]: expected whole numbers"):
        bench.load("small", seeds=[])
    with pytest.raises(bench.BenchError, match=r"^suite 3: expected a suite's name, or the path"):
        bench.load(3)  # type: ignore[arg-type]
    with pytest.raises(bench.BenchError, match=r"^scale 3: expected the name of a scale"):
        bench.load("small", scale=3)  # type: ignore[arg-type]
    with pytest.raises(bench.BenchError, match=r"^results 3: expected the path of a folder"):
        bench.load("small", results=3)  # type: ignore[arg-type]
    with pytest.raises(bench.BenchError, match=r"^cell 3: expected the id of a cell, or the path"):
        bench.load_encoder(3)  # type: ignore[arg-type]
    with pytest.raises(bench.BenchError, match=r"^--jobs 0: expected a whole number of at least 1"):
        bench.run("small", jobs=0)


NO_SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"where": "K=8"}, "where 'K=8': expected a mapping of settings, such as {'K': [64, 128]}"),
    ({"where": {1: 2}}, "where {1: 2}: expected a mapping of settings, "),
    ({"where": {"K": object}}, "where K: found <class 'object'>, expected a value or a list of "),
    ({"where": {"K": {"a": 1}}}, "where K: found {'a': 1}, expected a value or a list of values"),
    ({"where": {"K": "8"}}, "--where K: no cell has the value '8'. The cells have: 8, 16."),
    ({"seeds": 3}, "seeds 3: expected whole numbers, such as [0, 1, 2]"),
]


@pytest.mark.parametrize(("given", "told"), NO_SETTINGS)
def test_values_of_a_wrong_kind_are_told(
    small: Workspace, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(bench.BenchError) as mistake:
        bench.load("small", **given)
    assert str(mistake.value).startswith(told)


def test_reference_results_are_read_with_histories_and_verdicts() -> None:
    words: dict[str, Any] = {"scale": "paper", "results": REFERENCE, "suites": SUITES}
    frame = bench.histories("eqco-table-9", **words, where={"K": 64, "mi_true": 10})
    assert tuple(frame.columns[: len(OF_HISTORIES)]) == OF_HISTORIES
    assert set(frame.metric) == {"mi_lower_bound"}
    assert not frame.duplicated(["cell", "step", "metric"]).any()
    assert set(frame.loss) == {"infonce", "eqco"}
    with pytest.raises(
        bench.NothingMeasured,
        match=r"^dcl-table-1 at scale cifar: .* holds no training history of a finished cell",
    ):
        bench.histories("dcl-table-1", **words | {"scale": "cifar"})
    compared = bench.compare("eqco-table-9", **words)
    assert (compared.verdict == "same").sum() == 40
    assert {"K", "loss", "mi_true", "published", "measured"} <= set(compared.columns)
    assert (compared.measured - compared.published).abs().max() < 0.1
    judged = bench.claims("eqco-table-9", **words)
    assert set(judged.verdict) == {"holds"}


@pytest.mark.slow
def test_all_claims_of_a_paper_are_a_table() -> None:
    words: dict[str, Any] = {"results": REFERENCE, "suites": SUITES}
    frame = bench.claims(paper="eqco", **words)
    assert set(frame.paper) == {"eqco"}
    steady = frame[frame.claim == "toy-mi-steady"]
    assert "holds" in set(steady.verdict)
    assert steady.overall.nunique() == 1
    with pytest.raises(bench.BenchError, match="no paper 'ecqo'"):
        bench.claims(paper="ecqo", **words)
    with pytest.raises(
        bench.BenchError, match=r"^the argument `paper` selects claims of all suites"
    ):
        bench.claims("eqco-table-9", paper="eqco", **words)


def test_published_values_have_their_settings() -> None:
    frame = bench.published("dcl", "table-1-cifar10")
    assert tuple(frame.columns[: len(OF_PUBLISHED)]) == OF_PUBLISHED
    assert {"batch_size", "loss"} <= set(frame.columns)
    assert len(bench.published()) > len(bench.published("eqco")) > 40
    with pytest.raises(bench.BenchError, match="no paper 'dlc'"):
        bench.published("dlc")
    with pytest.raises(
        bench.BenchError,
        match=r"^artifact table-1: give the argument `paper` too, because artifacts are "
        "named within a paper$",
    ):
        bench.published(artifact="table-1")


def axes() -> Any:
    return Figure().subplots()


def xy(bars: Any) -> list[list[float]]:
    """Return the points of a line with bars."""
    return list(bars.lines[0].get_xydata().tolist())


def test_lines_are_means_over_seeds_on_my_axes(small: Workspace) -> None:
    frame, ax = bench.load("small", where={"mi_true": 10}), axes()
    found = bench.plot.lines(frame, x="K", metric="mi_lower_bound", by="loss", ax=ax)
    assert found is ax
    drawn = {c.get_label(): xy(c) for c in ax.containers}
    assert drawn == {name: [[8, 5.5], [16, 5.5]] for name in ("infonce", "eqco")}
    names = bench.plot.lines(frame, x="K", metric="mi_lower_bound", by=["loss", "alpha"], ax=axes())
    assert [c.get_label() for c in names.containers] == ["eqco, alpha = 512", "infonce"]


def test_the_other_kinds_of_figures(small: Workspace) -> None:
    frame = bench.load("small")
    ax = bench.plot.points(frame, x="mi_lower_bound", y="mi_lower_bound_std", by="loss", ax=axes())
    bars = ax.containers[0]
    assert sorted(xy(bars)) == [[1.5, 0.5]] * 2 + [[5.5, 0.5]] * 2
    words: dict[str, Any] = {"scale": "paper", "results": REFERENCE, "suites": SUITES}
    histories = bench.histories("eqco-table-9", **words, where={"K": 64, "mi_true": 10})
    ax = bench.plot.history(histories, metric="mi_lower_bound", x="step", by="loss", ax=axes())
    steps = histories.step.nunique()
    assert [len(np.asarray(line.get_xydata())) for line in ax.lines] == [steps, steps]
    printed = bench.published("eqco", "table-9")
    ax = bench.plot.printed(printed[printed.mi_true == 10], x="K", by="loss", ax=axes())
    assert [len(np.asarray(line.get_xydata())) for line in ax.lines] == [4, 4]
    ax = bench.plot.distribution({"a": [np.array([0.25, 0.75])]}, ax=axes())
    assert ax.patches
    ax = bench.plot.scatter(np.zeros((2, 2)), np.array([0, 1]), ax=axes())
    assert len(ax.lines) == 2


def test_without_axes_the_current_ones_are_taken(small: Workspace) -> None:
    from matplotlib import pyplot

    mpl.use("agg")
    ax = bench.plot.lines(bench.load("small"), x="K", metric="mi_lower_bound")
    assert ax is pyplot.gca()
    pyplot.close("all")


def test_a_figure_of_what_is_not_there_is_told(small: Workspace) -> None:
    frame = bench.load("small")
    with pytest.raises(bench.BenchError, match=r"no column 'mi_tru'. Did you mean 'mi_true'\?"):
        bench.plot.lines(frame, x="mi_tru", metric="mi_lower_bound")
    with pytest.raises(bench.BenchError, match=r"no metric 'mi_bound'. Did you mean"):
        bench.plot.lines(frame, x="K", metric="mi_bound")
    with pytest.raises(bench.BenchError, match="'loss' is not a number in every row"):
        bench.plot.lines(frame, x="loss", metric="mi_lower_bound")


def test_run_computes_what_is_missing(workspace: Workspace) -> None:
    workspace.suite(SUITE)
    given: dict[str, Any] = {"where": {"K": 8, "mi_true": 2, "loss": "eqco"}, "seeds": [0]}
    counts = bench.run("small", **given, executor="inline")
    assert counts == {"done": 1, "failed": 0, "missing": 0, "failures": []}
    first = bench.load("small", **given)
    bench.run("small", **given, changes={"steps": 20}, executor="inline", results="other")
    with pytest.raises(bench.NothingMeasured):  # of no suite
        bench.load("small", **given, results="other")
    assert first.metric.tolist() == ["mi_lower_bound", "mi_lower_bound_std"]
    with pytest.raises(bench.BenchError, match=r"^--executor slurn: there is no such executor"):
        bench.run("small", **given, executor="slurn")


def test_a_file_in_the_place_of_results_is_one_line(small: Workspace) -> None:
    Path("file").write_text("")
    with pytest.raises(bench.BenchError, match=r"^file: this path is not a folder$"):
        bench.load("small", results="file")
