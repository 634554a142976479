"""The command line's contract: statuses, JSON, speed, no torch."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import jsonschema
import pytest

from bench.cli.terminal import console
from bench.cli.workspace import workspace_of
from bench.errors import BenchError, SuiteError
from bench.files.regular import sha256_of
from bench.files.yaml_file import load_yaml
from bench.papers.reader import load_paper
from bench.report.methods import NOT_CHECKED
from bench.results.digests import write_digests
from bench.suites.load import suite_paths
from tests.fakes.costs import alone_s, costs_below
from tests.fakes.paths import SUITES
from tests.fakes.results import alter, cells_of, finish
from tests.fakes.suites import DIGITS, REMOVED, SUITE, changed
from tests.fakes.workspace import Workspace


@pytest.fixture
def done(workspace: Workspace) -> Workspace:
    answer = workspace.call("run", "small", "--executor", "inline")
    assert (answer.status, answer.out.splitlines()[0]) == (0, "cells: 16 done, 0 failed, 0 missing")
    return workspace


def test_suites(done: Workspace) -> None:
    assert done.call("suites", "--json").json == [
        {
            "name": "small",
            "title": "A small grid of gaussian-mi",
            "paper": "eqco",
            "artifacts": ["table-9"],
            "scales": {
                "tiny": {"cells": 16, "done": 16, "baselines_done": 0},
                "long": {"cells": 16, "done": 0, "baselines_done": 0},
            },
        }
    ]
    assert "tiny 16/16, long 0/16" in done.call("suites", "--all").out


@pytest.mark.parametrize(
    "words",
    [
        ("suites",), ("suites", "--scale", "tiny"), ("claims", "--search", "InfoNCE estimate"),
        ("versus", "eqco", "infonce"), ("questions",), ("others", "toy-mi-steady"),
        ("report", "--formats", ""),
    ],
)  # fmt: skip
def test_one_broken_suite_hides_no_other(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    no_pages = SimpleNamespace(pages=[], write=lambda _: "index.html")
    monkeypatch.setattr("bench.cli.report.Site", lambda *_: no_pages)
    path = workspace.root / "suites" / "small.yaml"
    finish(workspace.root / "results", cells_of(path, "tiny"), lambda _: {"mi_lower_bound": 1.0})
    before = workspace.call(*words)
    workspace.suite("name: [", "broken")
    answer = workspace.call(*words)
    assert answer.err.startswith("bench: this suite is left out: suites/broken.yaml: line ")
    assert answer.err.count("left out") == 1
    assert (answer.status, answer.out) == (before.status, before.out)


def test_plan_before_and_after(workspace: Workspace) -> None:
    before = workspace.call("plan", "small", "--jobs", "2", "--json").json
    assert (len(before["cells"]), before["missing"]) == (16, 16)
    assert before["predicted"]["wall_s"] is None
    assert before["cells"][1]["axes"] == {
        "loss": "infonce", "alpha": None, "mi_true": 2.0, "K": 8, "seed": 1
    }  # fmt: skip
    assert before["cells"][1]["config"]["steps"] == 100
    assert not (workspace.root / "results").exists()  # nothing is run or written

    workspace.call("run", "small", "--executor", "inline", "--seeds", "0")
    after = workspace.call("plan", "small", "--jobs", "2", "--json").json
    assert after["missing"] == 8
    predicted = after["predicted"]
    assert all(cell["predicted_s"] > 0 for cell in after["cells"] if cell["state"] != "done")
    assert predicted["wall_s"] <= predicted["core_s"]  # rounded: of fast cells both are 0
    assert predicted["peak_memory_gb"] > 0
    out = " ".join(workspace.call("plan", "small").out.split())
    assert "16 cells, 8 to run. Predicted: " in out
    assert "less than 0.01 core-hours, " in out
    assert "finished cell" in out


def test_status(done: Workspace) -> None:
    assert done.call("status", "small", "--json").json == {
        "suite": "small", "scale": "tiny", "results": "results", "cells": 16, "baselines": 0,
        "done": 16, "running": 0, "queued": 0, "failed": 0, "missing": 0, "stale": 0, "attempts": 0,
        "failures": [], "jobs": [], "slurm_answers": True, "left_core_s": None, "begun": [],
        "words": "small --scale tiny", "added_later": [], "unknown_jobs": {}, "reference": 0,
    }  # fmt: skip
    told = "small at scale tiny: 16 cells: 16 done\n"
    assert done.call("status", "small").out == told
    assert done.call("status", "small", "--watch").out == told
    answer = done.call("status", "small", "--watch", "--json")
    why = "--watch prints for readers, so it cannot be combined with --json"
    assert (answer.status, answer.err) == (2, f"bench: {why}\n")
    nowhere = done.call("--results", "nowhere", "status", "small").out
    assert nowhere.endswith(
        " cells: 16 missing\n  nowhere: this results folder does not exist yet\n"
    )


def test_compare(done: Workspace) -> None:
    answer = done.call("compare", "small", "--json")
    assert (answer.status, len(answer.json)) == (3, 40)
    assert {row["verdict"] for row in answer.json} == {"not measured"}  # other K than printed
    told = done.call("compare", "small").out
    assert "16 of 16 cells done" in told
    assert "No finished cell of this scale" in told
    assert "table-9" not in told  # nor any other table without a measured number


def test_a_setting_without_a_value_is_named_where_results_differ(workspace: Workspace) -> None:
    cells = cells_of(workspace.root / "suites" / "small.yaml", "tiny")
    for name, more in (("a", 0.0), ("b", 5.0)):
        finish(
            workspace.root / name,
            cells,
            lambda c, more=more: {"mi_lower_bound": c.seed / 1e3 + more},  # type: ignore[misc]
        )
    told = workspace.call("compare", "a", "b").out
    assert "alpha null, loss infonce" in told
    assert "alpha 512, loss eqco" in told


def test_compare_says_no_with_status_1(workspace: Workspace) -> None:
    """Cells of the published settings that were trained by a wrong learning rate would differ."""
    published = {
        "grid.K": [64],
        "fixed.steps": 5000,
        "fixed.hidden_units": 256,
        "fixed.eval_repeats": 1000,
        "scales.tiny.protocol": "published",
        "scales.long": REMOVED,
    }
    workspace.suite(changed(SUITE, published))
    for cell in workspace.call("plan", "small", "--json").json["cells"]:
        folder = workspace.root / "results" / "gaussian-mi" / cell["id"]
        folder.mkdir(parents=True)
        value = 1.7 if cell["axes"]["mi_true"] == 2 else 0.0
        (folder / "summary.json").write_text(json.dumps({"metrics": {"mi_lower_bound": value}}))
    answer = workspace.call("compare", "small", "--json")
    assert answer.status == 1
    verdicts = {
        (row["row"]["mi_true"], row["row"]["loss"]): row["verdict"]
        for row in answer.json
        if row["row"]["K"] == 64
    }
    assert verdicts[2.0, "infonce"] == "same"
    assert verdicts[2.0, "eqco"] == "smaller"  # 1.9 printed
    assert verdicts[10.0, "infonce"] == "smaller"
    assert verdicts[4.0, "infonce"] == "not measured"


def test_claims(done: Workspace) -> None:
    answer = done.call("claims", "small", "--json")
    assert (answer.status, answer.json[0]["verdict"], answer.json[0]["n"]) == (0, "holds", 2)
    assert answer.json[0]["claim_text"] == load_paper("eqco").claim("toy-mi-steady").claim
    assert done.call("claims", "small").out.count("holds  eqco/") == 1


def test_a_claim_that_fails_at_a_reduced_scale_is_not_seen(done: Workspace) -> None:
    check = "claims.toy-mi-steady.0"
    never = {f"{check}.check": "equal", f"{check}.value": -100, f"{check}.over": REMOVED}
    done.suite(changed(SUITE, never))
    answer = done.call("claims", "small", "--json")
    assert (answer.status, answer.json[0]["verdict"]) == (0, "not seen at this scale")


@pytest.mark.slow
def test_report_and_export(done: Workspace) -> None:
    answer = done.call("report", "small", "--formats", "png,tex", "--json")
    page = done.root / "reports" / "small" / "tiny" / "index.md"
    assert answer.json["index"] == "reports/index.html"
    assert "reports/small/tiny/index.md" in answer.json["pages"]
    assert all((done.root / page).exists() for page in answer.json["pages"])
    assert "reports/eqco/table-9.html" in answer.json["pages"]
    first = {p.name: p.read_bytes() for p in page.parent.iterdir()}
    assert set(first) == {
        "index.md", "index.html", "compare.csv", "estimates.svg", "estimates.png",
    }  # fmt: skip
    assert done.call("export", "small", "--to", "table", "--json").json["cells"] == 16
    done.call("--results", "table", "report", "--formats", "png,tex", "--to", "again")
    again = done.root / "again" / "small" / "tiny"
    second = {p.name: p.read_bytes() for p in again.iterdir()}
    assert first == second  # also: drawn alike twice


@pytest.mark.parametrize("to", ["some", "some.tar"])
def test_a_part_of_a_suite_is_exported(done: Workspace, to: str) -> None:
    words = ("--where", "K=8", "--seeds", "0")
    assert done.call("export", "small", *words, "--to", to, "--json").json["cells"] == 4
    if to.endswith(".tar"):
        assert done.call("--results", "from", "import", to, "--json").json["added"] == 4
        to = "from"
    told = done.call("--results", to, "status", "small", "--json").json
    assert (told["done"], told["missing"]) == (4, 12)


@pytest.mark.parametrize("verb", ["report", "claims"])
def test_a_scale_that_no_suite_has_is_refused(workspace: Workspace, verb: str) -> None:
    (workspace.root / "results").mkdir()
    answer = workspace.call(verb, "--scale", "tinny")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(
        "bench: --scale tinny: no suite has this scale. Did you mean 'tiny'? "
    )
    assert not (workspace.root / "reports").exists()


def test_report_of_nothing_keeps_the_page_that_is_there(done: Workspace) -> None:
    assert done.call("report", "small", "--formats", "").status == 0
    pages = sorted((done.root / "reports").rglob("index.md"))
    before = [page.read_text() for page in pages]
    (done.root / "empty").mkdir()
    answer = done.call("--results", "empty", "report", "small")
    assert answer.status == 3
    assert "small at scale tiny: none of the 16 cells is finished in empty; `bench" in answer.err
    assert [page.read_text() for page in pages] == before


def test_report_of_all_leaves_out_what_has_no_results(workspace: Workspace) -> None:
    (workspace.root / "results").mkdir()
    answer = workspace.call("report", "--json")
    assert not any("/small/" in page for page in answer.json["pages"])
    page = (workspace.root / "reports" / "eqco" / "table-9.md").read_text()
    assert "`bench run small --scale tiny`" in page


def test_report_refuses_formats_that_are_none(workspace: Workspace) -> None:
    answer = workspace.call("report", "--formats", "png,gif")
    assert (answer.status, answer.err) == (
        2, "bench: --formats png,gif: there is no format 'gif'. Allowed "
            "here: png, pdf, tex, csv.\n",
    )  # fmt: skip
    answer = workspace.call("report", "small", "--all")
    assert (
        answer.err == "bench: --all writes every suite, so it cannot be combined with names of "
        "suites\n"
    )


def test_reading_verbs_need_results(workspace: Workspace) -> None:
    command = "bench --results nowhere run small --scale tiny"
    told = f"bench: nowhere: this results folder does not exist; `{command}` creates it\n"
    for verb in ("show", "compare", "claims"):
        answer = workspace.call("--results", "nowhere", verb, "small")
        assert (answer.status, answer.out, answer.err) == (3, "", told), verb


@pytest.mark.slow
def test_schema_accepts_what_is_shipped_and_refuses_mistakes(workspace: Workspace) -> None:
    schema = workspace.call("schema").json
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    for path in suite_paths(SUITES).values():
        check.validate(load_yaml(path, SuiteError))
    good = load_yaml(SUITES / "eqco-table-9.yaml", SuiteError)
    for wrong in (
        good | {"sede": 1},
        good | {"fixed": good["fixed"] | {"taau": 1}},
        good | {"grid": {"K": [64, "many"]}},
        good | {"experiment": "gausian-mi"},
        good | {"figures": [{"by": "loss"}]},
        {key: value for key, value in good.items() if key != "experiment"},
    ):
        assert not check.is_valid(wrong)


def test_doctor(workspace: Workspace) -> None:
    answer = workspace.call("doctor", "--json")
    assert answer.status == 0
    found = {finding["what"]: finding["detail"] for finding in answer.json}
    assert found["published facts"] == "5 papers, 892 values, 141 claims"
    assert found["suites"] == "1 in suites, all valid"
    assert not (workspace.root / "results").exists()
    workspace.suite("name: [", "broken")
    sick = workspace.call("doctor")
    assert sick.status == 1
    assert "suites/broken.yaml: line" in sick.out


@pytest.mark.slow
def test_doctor_reads_every_finished_cell(workspace: Workspace) -> None:
    assert workspace.call("run", "small", "--executor", "inline").status == 0
    results = workspace.root / "results"

    def told() -> tuple[int, str]:
        answer = workspace.call("doctor", "--json")
        (cells,) = (f["detail"] for f in answer.json if f["what"] == "cells")
        return answer.status, cells

    folders = sorted((results / "gaussian-mi").iterdir())
    again = "; `bench verify` computes cells again and compares the results"
    assert told() == (0, f"{len(folders)} cells and 0 encoders are finished and readable{again}")
    cell, summary = folders[0] / "cell.json", folders[1] / "summary.json"
    other = json.loads(cell.read_text()) | {"version": 99}
    cell.write_text(json.dumps(other))
    write_digests(folders[0], (folders[0] / "summary.json").read_bytes())
    assert told() == (
        0,
        f"{len(folders) - 1} cells and 0 encoders are finished and readable; 1 "
        "folders of experiments that this version of bench does not have "
        f"({cell.relative_to(workspace.root)}: the cell was computed by version 99 "
        f"of gaussian-mi, but this code has version 1){again}",
    )
    cell.unlink()
    summary.write_text('{"metrics": {}}')
    (folders[2] / "provenance.json").write_text("{}")
    other_digest = "the SHA-256 of this file differs from digests.json"
    assert told() == (
        1,
        f"{cell.relative_to(workspace.root)}: this file is missing, but "
        f"digests.json lists it; {summary.relative_to(workspace.root)}: "
        f"{other_digest}; results/gaussian-mi/{folders[2].name}/provenance.json: "
        f"{other_digest}; `bench run` computes damaged cells again, and encoders "
        "that a missing cell needs; other damaged encoders can be deleted",
    )


def test_version_and_help(workspace: Workspace) -> None:
    assert workspace.call("--version").out.startswith("bench 0.")
    help_text = workspace.call("--help").out
    for verb in ("suites", "plan", "run", "resume", "status", "compare", "report", "doctor"):
        assert f" {verb} " in help_text


@pytest.mark.slow
def test_help_costs_little_more_than_the_library_that_prints_it() -> None:
    smallest = (
        "import typer; app = typer.Typer(); app.command()(lambda: None); "
        "sys.argv = ['smallest', '--help']; app()"
    )
    shown = "import bench.cli; sys.argv = ['bench', '--help']; bench.cli.main()"
    assert costs_below(2.5, lambda: alone_s(shown), lambda: alone_s(smallest))


def fault_without_torch(*commands: list[str]) -> str:
    """Return what fails, or imports torch, of commands that one process carries out in turn."""
    code = (
        f"import bench.cli, sys\nfor words in {commands!r}:\n    sys.argv = ['bench', *words]\n"
        "    try:\n        bench.cli.main()\n"
        "    except SystemExit as stop:\n        assert not stop.code, words\n"
        "    assert 'torch' not in sys.modules, words"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    return answer.stderr if answer.returncode else ""


@pytest.mark.slow
def test_reading_never_imports_torch(done: Workspace) -> None:
    status, show, compare = ["status", "small"], ["show", "small"], ["compare", *["results"] * 2]
    report = ["report", "small"]
    commands = ["--help"], status, show, compare, ["claims"], report, ["suites"]
    assert fault_without_torch(*commands) == ""


@pytest.fixture
def unread() -> Iterator[int]:
    """The end for writing of a pipe whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.mark.slow
@pytest.mark.parametrize("words", [["suites"], ["claims", "small"], ["run", "--help"]])
def test_a_broken_pipe_is_no_negative_answer(
    done: Workspace, unread: int, words: list[str]
) -> None:
    """The exit status is the shell's, and nothing is said."""
    command = [sys.executable, "-m", "bench", *words]
    answer = subprocess.run(command, stdout=unread, stderr=subprocess.PIPE, cwd=done.root)
    assert (answer.returncode, answer.stderr) == (141, b"")


def test_nor_is_one_that_the_library_of_tables_meets(
    unread: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with os.fdopen(os.dup(unread), "w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        with pytest.raises(BrokenPipeError):
            console().print("a line")
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())  # takes what is left


@pytest.mark.slow
def test_a_launcher_of_workers_never_imports_torch(workspace: Workspace) -> None:
    assert fault_without_torch(["run", "small", "--seeds", "0", "--jobs", "1"]) == ""
    assert workspace.call("status", "small", "--json").json["done"] == 8


@pytest.mark.slow
def test_status_of_10_000_cells_costs_little_more_than_reading_them(workspace: Workspace) -> None:
    """Of a process's own time, against reading what there is to read."""
    path = workspace.suite(changed(SUITE, {"seeds": list(range(1250))}))
    summary = b'{"metrics": {"mi_lower_bound": 0.5}}'
    for cell in cells_of(path, "tiny"):
        folder = workspace.root / "results" / "gaussian-mi" / cell.id
        folder.mkdir(parents=True)
        small = {
            "cell.json": cell.model_dump_json().encode(),
            "provenance.json": b'{"wall_s": 1.0}',
        }
        files = small | {"summary.json": summary}
        digests = {name: sha256_of(content) for name, content in files.items()}
        files["digests.json"] = json.dumps({"folder": cell.id, "files": digests}).encode()
        for name, content in files.items():
            (folder / name).write_bytes(content)
    plain = (
        "import bench.cli, hashlib, json\n"
        "from pathlib import Path\n"
        "for path in Path('results/gaussian-mi').iterdir():\n"
        "    for file in path.iterdir():\n"
        "        content = file.read_bytes()\n"
        "        hashlib.sha256(content), json.loads(content)\n"
    )
    status = "import bench.cli; sys.argv = ['bench', 'status', 'small']; bench.cli.main()"
    assert workspace.call("status", "small").out == "small at scale tiny: 10000 cells: 10000 done\n"
    assert costs_below(3, lambda: alone_s(status), lambda: alone_s(plain), rounds=6)


@pytest.mark.parametrize(
    ("path", "value", "error"),
    [
        ("claims.toy-mi-steady.0.over", "KK", "found 'KK'. Did you mean 'K'? "),
        (
            "claims.toy-mi-steady.0.metric",
            "mi_lower",
            "found 'mi_lower'. Did you mean 'mi_lower_bound'? Allowed here: mi_lower_bound, "
            "mi_lower_bound_std.\n",
        ),
        ("claims.toy-mi-steady.0.where.lss", "eqco", "found 'lss'. "),
        ("figures.0.y", "mi", "found 'mi'. "),
        ("compare.0.metric", "mi", "found 'mi'. "),
    ],
)
def test_names_in_claims_and_figures_are_checked(
    workspace: Workspace, path: str, value: str, error: str
) -> None:
    workspace.suite(changed(SUITE, {path: value}))
    answer = workspace.call("plan", "small")
    assert answer.status == 2
    assert answer.err.startswith(f"bench: suites/small.yaml: {path}: {error}")


def test_a_fault_of_the_system_is_one_line(done: Workspace) -> None:
    answer = done.call("report", "small", "--to", "suites/small.yaml")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert answer.err.startswith("bench: --to suites/small.yaml: ")


def test_a_bad_environment_is_told_before_anything_starts(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_CHECKPOINT_S", "abc")
    answer = workspace.call("run", "small")
    assert (answer.status, answer.err) == (
        2, "bench: BENCH_CHECKPOINT_S=abc: expected a number of seconds, such as 30\n",
    )  # fmt: skip
    assert workspace.attempts() == []


def test_a_suite_whose_protocol_is_not_what_it_says_is_not_even_planned(
    workspace: Workspace,
) -> None:
    workspace.suite(changed(SUITE, {"scales.tiny.protocol": "published"}))
    answer = workspace.call("plan", "small")
    assert (answer.status, answer.err) == (
        2,
        "bench: small: scales.tiny.protocol: declared 'published', "
        "but hidden_units = 32, published 256\n",
    )


@pytest.mark.parametrize("words", [["plan"], ["run", "--executor", "inline"], ["suites"]])
def test_every_scale_of_the_file_is_held_against_its_protocol(
    workspace: Workspace, words: list[str]
) -> None:
    """As `report` does: else the file is refused only after everything was computed."""
    workspace.suite(changed(SUITE, {"scales.long.protocol": "published"}))
    verb, *options = words
    answer = workspace.call(verb, "small", *options)
    assert (answer.status, answer.out, answer.err) == (
        2,
        "",
        "bench: small: scales.long.protocol: declared 'published', "
        "but hidden_units = 32, published 256\n",
    )
    assert workspace.attempts() == []


def test_suites_of_which_none_can_be_read_are_a_mistake(workspace: Workspace) -> None:
    (workspace.root / "suites" / "small.yaml").write_text("")
    answer = workspace.call("suites")
    assert (answer.status, answer.out, answer.err) == (
        2, "", "bench: suites/small.yaml: the file is empty; a suite is a mapping of keys\n"
    )  # fmt: skip


@pytest.mark.parametrize("words", [["report"], ["export", "small"], ["methods"]])
@pytest.mark.parametrize("to", ["file", "file/below"])
def test_a_file_in_the_place_of_the_folder_to_write_is_told(
    done: Workspace, words: list[str], to: str
) -> None:
    (done.root / "file").write_text("mine")
    answer = done.call(*words, "--to", to)
    told = f"bench: --to {to}: file is a file, but {words[0]} needs a folder to write into\n"
    assert (answer.status, answer.out, answer.err) == (2, "", told)


def test_methods_are_listed_with_their_sources(workspace: Workspace) -> None:
    every = workspace.call("methods", "--json").json
    assert [m["name"] for m in every][:3] == ["simclr", "moco", "moco-v2"]
    assert len(every) == 72
    (ring,) = (m for m in every if m["name"] == "ring")
    assert (ring["like"], ring["family"]) == ("ball", "memory-bank")
    (simo,) = workspace.call("methods", "simo", "--json").json
    momentum = simo["coordinates"]["momentum"]
    assert (momentum["value"], momentum["stated"]) == (0.999, {"paper": 0.999, "code": 0.999})
    assert momentum["source"].startswith("EqCo, App. B.1; ")
    assert "EqCo, App. B.1" in workspace.call("methods", "simo").out
    unread = " ".join(NOT_CHECKED.split())
    assert unread not in " ".join(workspace.call("methods", "ring").out.split())
    assert unread in " ".join(workspace.call("methods", "siglip").out.split())
    assert "moco-v2" in workspace.call("methods").out


def test_a_method_stands_beside_its_paper_and_its_released_code(workspace: Workspace) -> None:
    """UniGrad's F is of the online branch in the paper, of the target's in its code."""
    (unigrad,) = workspace.call("methods", "unigrad", "--json").json
    found = unigrad["coordinates"]["negative_branch"]
    assert (found["value"], found["stated"]) == ("online", {"paper": "online", "code": "target"})
    text = workspace.call("methods", "unigrad").out
    _, head, table = text.partition("setting ")
    heads, *rows = [re.split(r" {2,}", line.strip()) for line in (head + table).splitlines()]
    assert heads == ["setting", "unigrad", "paper", "released code", "source"]
    (row,) = [row for row in rows if row[0] == "negative_branch"]
    assert row[1:4] == ["online", "online", "target"]
    assert row[4] == f"{found['source']}. Why: {found['why']}"


def test_an_unknown_method_is_told(workspace: Workspace) -> None:
    answer = workspace.call("methods", "simmo")
    assert answer.status == 2
    assert answer.err.startswith("bench: there is no method 'simmo'. Did you mean 'simo' or ")
    assert answer.err.endswith("? `bench methods` lists all 72.\n")


def test_data_sets_are_listed_with_the_folders_there(workspace: Workspace) -> None:
    (workspace.root / "sets" / "mine" / "train").mkdir(parents=True)
    found = {d["name"]: d for d in workspace.call("--data", "sets", "datasets", "--json").json}
    assert found["digits"]["present"]
    assert not found["cifar10"]["present"]
    assert found["folder:mine"]["present"]
    assert "folder:mine" in workspace.call("--data", "sets", "datasets").out


def test_data_sets_with_boxes_are_listed(workspace: Workspace) -> None:
    """A folder that lacks a part is not there; neither kind is taken for folders of classes."""
    for name, parts in (("street", ("train", "test")), ("half", ("train",))):
        folder = workspace.root / "sets" / name
        (folder / "annotations").mkdir(parents=True)
        for part in parts:
            (folder / part).mkdir()
            (folder / "annotations" / f"{part}.json").touch()
    found = {d["name"]: d for d in workspace.call("--data", "sets", "datasets", "--json").json}
    there = {name: found[name]["present"] for name in ("shapes", "coco", "street", "half")}
    assert there == {"shapes": True, "coco": False, "street": True, "half": False}
    assert (found["shapes"]["images"], found["coco"]["images"]) == (300, 123_287)
    assert not {"folder:street", "folder:half"} & found.keys()
    shown = workspace.call("--data", "sets", "datasets").out
    assert re.search("^coco +images with boxes", shown, re.MULTILINE)
    assert "sets/coco in COCO format" in shown


def test_recordings_are_listed_and_are_no_images(workspace: Workspace) -> None:
    """A folder of one's own has a table, or a recording in its first class."""
    sets = workspace.root / "sets"
    for file in ("words/train/yes/a.WAV", "table/recordings.csv", "fsdd/recordings/0_a_0.wav"):
        (sets / file).parent.mkdir(parents=True)
        (sets / file).touch()
    (sets / "pictures" / "train" / "cat").mkdir(parents=True)
    (sets / "pictures" / "train" / "cat" / "a.png").touch()
    found = {d["name"]: d for d in workspace.call("--data", "sets", "datasets", "--json").json}
    there = {name for name, one in found.items() if one["present"] and "recordings" in one["what"]}
    assert there == {"tones", "fsdd", "words", "table"}
    assert not found["librispeech"]["present"]
    assert found["fsdd"]["what"] == "3000 recordings"
    assert found["fsdd"]["how"] == "sets/fsdd/recordings/<digit>_<speaker>_<index>.wav"
    assert "folder:pictures" in found
    assert "folder:words" not in found


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("imagenet1k", "imagenet1k: the folder sets/imagenet1k does not exist. Put the images "),
        (
            "coco",
            "coco: sets/coco has no train part. Store this part in the "
            "folder train/ with annotations/train.json ",
        ),
    ],
)
def test_a_data_set_that_must_be_put_there_by_hand_is_told(
    workspace: Workspace, name: str, told: str
) -> None:
    answer = workspace.call("--data", "sets", "datasets", "--get", name)
    assert answer.status == 2
    assert answer.err.startswith(f"bench: {told}")


@pytest.mark.slow
def test_the_shipped_suites_are_listed(workspace: Workspace) -> None:
    """Those without a paper too."""
    answer = workspace.call("--suites", str(SUITES), "suites")
    assert answer.status == 0
    assert "crossings" in answer.out
    assert "dcl-table-1" in answer.out


def test_an_unknown_method_of_a_suite_is_told(workspace: Workspace) -> None:
    workspace.suite(changed(DIGITS, {"fixed.method": "simcrl"}), "wrong")
    told = "method: method 'simcrl' is unknown. Did you mean 'simclr' or "
    for words, place in {
        (): f"suites/wrong.yaml: fixed.{told}",
        ("--set", "method=simcrl"): f"--set {told}",
    }.items():
        answer = workspace.call("plan", "wrong", *words)
        assert answer.status == 2
        assert answer.err.startswith(f"bench: {place}")
        assert answer.err.count("\n") == 1


@pytest.mark.slow
def test_cells_travel(done: Workspace) -> None:
    told = done.call("export", "small", "--to", "x.tar.gz", "--json").json
    assert told == {"cells": 16, "encoders": 0, "diverged": [], "file": "x.tar.gz"}
    answer = done.call("--results", "other", "import", "x.tar.gz")
    assert answer.status == 0
    assert answer.out == "16 cells added; cells skipped: 0 identical, 0 in conflict, 0 busy\n"
    assert done.summaries("other") == done.summaries()
    assert done.call("--results", "other", "status", "small", "--json").json["done"] == 16
    again = done.call("--results", "other", "run", "small", "--executor", "inline")
    assert again.out.startswith("cells: 16 done, 0 failed, 0 missing\n")
    assert all(attempt["launch"] == "import" for attempt in done.attempts("other"))

    file = next((done.root / "other").rglob("summary.json"))
    alter(file, metrics=json.loads(file.read_text())["metrics"] | {"mi_lower_bound": 0.25})
    merged = done.call("merge", "other")
    assert merged.status == 1
    told = "0 cells added; cells skipped: 15 identical, 1 in conflict, 0 busy\nconflict: "
    assert merged.out.startswith(told)
    assert ", but 0.25 in the folder to merge\n" in merged.out
    assert done.call("merge", "other", "--json").json["conflicts"][0]["id"] == file.parent.name
    assert done.call("--results", "other", "import", "x.tar.gz").status == 1
    (done.root / "a.tar").mkdir()
    answer = done.call("export", "small", "--to", "a.tar")
    assert (answer.status, answer.err.split(": ")[2]) == (
        2,
        "this name belongs to a folder; choose a different name for the archive\n",
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("import", "a"), "a: this archive does not exist; `bench export SUITE --to "
            "FILE.tar` writes an archive"),
        (
            ("import", "bad.tar"),
            "bad.tar: this file cannot be unpacked (the file is not a tar "
            "archive, or it is damaged); archives are written by `bench "
            "export SUITE --to FILE.tar`",
        ),
        (
            ("export", "small"),
            "Missing option '--to': folder for CSV tables, or a .tar or .tar.gz file for one "
            "archive; for example `bench export dcl-table-1 --to tables`",
        ),
        (("import", "empty"), "empty: this is a folder, not an archive; `bench merge` adds "
            "the cells of a results folder"),
        (("merge", "none"), "none: this results folder does not exist"),
        (("merge", "bad.tar"), "bad.tar: this path is not a folder"),
        (
            ("export", "small", "--to", "x.parquet"),
            "--to x.parquet: the name must be a folder, for CSV tables, "
            "or end in .tar or .tar.gz, for an archive",
        ),
        (
            ("export", "small", "--to", "out", "--encoders"),
            "--encoders: CSV tables cannot hold encoders; `--to out.tar` writes an archive "
            "with encoders, `--as safetensors` writes encoders for other programs",
        ),
        (("merge", "empty"), "empty: this folder holds no finished cell"),
        (
            ("merge", "tables"),
            "tables: this folder holds no finished cell, only exported tables, which "
            "can be read by `--results tables`",
        ),
    ],
)  # fmt: skip
def test_mistakes_about_archives(workspace: Workspace, words: tuple[str, ...], told: str) -> None:
    (workspace.root / "bad.tar").write_bytes(b"x")
    for name in ("empty", "tables"):
        (workspace.root / name).mkdir()
    (workspace.root / "tables" / "gaussian-mi.small.tiny.csv").touch()
    answer = workspace.call(*words)
    assert (answer.status, answer.out, answer.err) == (2, "", f"bench: {told}\n")
    assert not (workspace.root / "results").exists()


@pytest.mark.parametrize(("tables", "other"), [("results", "own-results"), ("tables", "results")])
def test_nothing_is_computed_in_a_folder_of_exported_tables(
    workspace: Workspace, tables: str, other: str
) -> None:
    (workspace.root / tables).mkdir()
    (workspace.root / tables / "gaussian-mi.other.tiny.csv").write_text("cell\n")
    words = ("small", "--where", "K=8", "--where", "mi_true=2", "--seeds", "0")
    answer = workspace.call("--results", tables, "run", *words, "--executor", "inline")
    folder = f" --results {other}" if tables == "results" else ""
    assert (answer.status, answer.err) == (
        2,
        f"bench: {tables}: this folder holds exported tables, and `run` never "
        f"writes into such a folder. Use `bench{folder} run small --scale tiny --where "
        f"K=8 --where mi_true=2 --seeds 0 --have {tables}`, which counts the cells of the "
        f"tables as done and computes the other cells in {other}\n",
    )
    assert len(list((workspace.root / tables).iterdir())) == 1
    (command,) = re.findall("`bench (.*?)`", answer.err)
    assert workspace.call(*command.split(), "--executor", "inline").status == 0
    assert (workspace.root / other / "gaussian-mi").is_dir()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["--results", "", "run", "small"], "--results"),
        (["--results=", "status", "small"], "--results"),
        (["--suites", "", "suites"], "--suites"),
        (["--data", "", "run", "small"], "--data"),
        (["export", "small", "--to", ""], "--to"),
        (["report", "small", "--to="], "--to"),
        (["plan", "small", "--have", ""], "--have"),
        (["import", ""], "import"),
        (["init", ""], "init"),
        ([""], "`bench`"),
    ],
)
def test_an_empty_word_is_not_the_current_folder(
    workspace: Workspace, words: list[str], name: str
) -> None:
    before = sorted(workspace.root.rglob("*"))
    answer = workspace.call(*words)
    told = (
        f"bench: {name} is followed by an empty argument; check whether a shell variable is unset\n"
    )
    assert (answer.status, answer.out, answer.err) == (2, "", told)
    assert sorted(workspace.root.rglob("*")) == before


def test_an_empty_folder_in_python_is_a_mistake_too() -> None:
    with pytest.raises(BenchError, match="results '': the path of a folder is missing"):
        workspace_of(results="")


@pytest.mark.parametrize("option", ["--results", "--suites", "--data", "--to"])
def test_a_folder_that_is_a_link_to_nothing_is_one_line(workspace: Workspace, option: str) -> None:
    (workspace.root / "link").symlink_to("gone")
    words = ["report", "small", "--to", "link"]
    if option != "--to":
        words = [option, "link", "status", "small"]
    answer = workspace.call(*words)
    told = f"bench: {option} link: this is a link to gone, which does not exist\n"
    assert (answer.status, answer.out, answer.err) == (2, "", told)
