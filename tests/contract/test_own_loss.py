"""An objective in two files beside the suites: trusted by name, and part of a cell's identity."""

import json
import re

import jsonschema
import pytest

from tests.fakes.own_losses import CODE, SUITE, TRUSTED, YAML, write_loss
from tests.fakes.paths import ROOT
from tests.fakes.suites import changed
from tests.fakes.workspace import Workspace

HERE = ("--executor", "inline")
EVIL = "from pathlib import Path\nPath('run').touch()\n"


def ids(workspace: Workspace) -> list[str]:
    return [cell["id"] for cell in workspace.call("plan", "digits", "--json").json["cells"]]


def test_a_suite_alone_runs_no_code(workspace: Workspace) -> None:
    write_loss(workspace, code=EVIL + CODE)
    workspace.suite(SUITE)
    line = (
        "bench: loss 'push-apart' is your own code: bench runs such code only from "
        "folders that you trust; add --trust with the folder of push-apart.py\n"
    )
    answer = workspace.call("run", "digits", *HERE)
    assert (answer.status, answer.err) == (2, line)
    planned = workspace.call("plan", "digits")
    assert (planned.status, planned.err) == (0, line * 2)
    for verb in ("status", "show", "compare", "report", "claims"):
        workspace.call(verb, "digits")
    begun = workspace.call("resume", "digits", *HERE).err
    assert "`bench run digits --scale tiny --trust suites/losses` starts the cells" in begun
    (workspace.root / "other").mkdir()
    other = workspace.call("run", "digits", *HERE, "--trust", "other").err
    assert f"the trusted folder {workspace.root}/other does not hold its file" in other
    missing = workspace.call("run", "digits", *HERE, "--trust", "nowhere").err
    assert missing == "bench: --trust nowhere: this folder does not exist\n"
    assert not (workspace.root / "run").exists()


def test_version_code_and_parameters_are_a_cells_identity(workspace: Workspace) -> None:
    write_loss(workspace)
    workspace.suite(SUITE)
    first = ids(workspace)
    assert len(set(first)) == 2
    write_loss(workspace, YAML.replace("The distance", "The one distance"))
    assert ids(workspace) == first
    write_loss(workspace, code=f"{CODE}\n")
    assert not set(ids(workspace)) & set(first)
    write_loss(workspace, YAML.replace("version: 1", "version: 2"))
    assert not set(ids(workspace)) & set(first)
    write_loss(workspace)
    workspace.suite(changed(SUITE, {"grid.margin": [1.0, 0.25]}))
    assert ids(workspace)[0] == first[1]
    (cell,) = workspace.call("plan", "digits", "--json", "--where", "margin=0.25").json["cells"]
    assert (cell["config"]["loss"], cell["config"]["margin"]) == ("push-apart", 0.25)
    changed_cell = workspace.call("plan", "digits", "--json", "--set", "margin=0.125").json["cells"]
    assert [one["config"]["margin"] for one in changed_cell] == [0.125]


def test_editors_know_its_name_and_parameters(workspace: Workspace) -> None:
    write_loss(workspace)
    schema = jsonschema.Draft202012Validator(workspace.call("schema").json)
    assert schema.is_valid(SUITE)
    for wrong in ({"fixed.loss": "push"}, {"grid.margin": ["wide"]}, {"grid": {"margn": [1]}}):
        assert not schema.is_valid(changed(SUITE, wrong))


@pytest.mark.slow
def test_it_is_trained_shown_and_stale_once_it_is_edited(workspace: Workspace) -> None:
    write_loss(workspace)
    workspace.suite(SUITE)
    answer = workspace.call("run", "digits", *HERE, *TRUSTED, "--json")
    assert (answer.status, answer.json["done"]) == (0, 2), answer.err
    rows = workspace.call("show", "digits", "--json").json
    assert [row["row"] for row in rows] == [
        {"loss": "push-apart", "margin": 0.5}, {"loss": "push-apart", "margin": 1.0},
    ]  # fmt: skip
    assert workspace.call("run", "digits", *HERE).status == 0  # nothing is left that needs code
    assert workspace.call("verify", "digits", "--sample", "1").status == 2
    verified = workspace.call("verify", "digits", "--sample", "1", *TRUSTED, "--json")
    assert (verified.status, verified.json[0]["same"]) == (0, True)
    (kept, *_) = (workspace.root / "results" / "pretrain").glob("*/cell.json")
    assert json.loads(kept.read_text())["loss_file"].startswith("1-")

    assert workspace.call("report", "digits", "--formats", "csv").status == 0
    page = (workspace.root / "reports" / "digits" / "tiny" / "index.md").read_text()
    assert "    bench run digits --scale tiny --trust suites/losses\n    bench report" in page
    assert re.search(r"\| own code \| losses/push-apart \(1-[0-9a-f]{16}\) \|", page)

    assert workspace.call("export", "digits", "--to", "cells.tar").status == 0
    assert workspace.call("export", "digits", "--to", "tables").status == 0
    write_loss(workspace, code=CODE.replace("clamp(min=0)", "clamp(min=0.0)"))
    told = workspace.call("status", "digits", "--json")
    assert (told.json["stale"], told.json["done"]) == (2, 0)
    assert told.err == (
        "bench: loss 'push-apart' was edited: `bench run` repeats 2 cells that the "
        "earlier code computed\n"
    )
    for name in ("push-apart.py", "push-apart.yaml"):
        (workspace.root / "suites" / "losses" / name).unlink()
    added = workspace.call("--results", "elsewhere", "import", "cells.tar", "--json")
    assert (added.status, added.json["added"], added.json["left_out"]) == (0, 2, [])
    write_loss(workspace)
    assert workspace.call("--results", "elsewhere", "status", "digits", "--json").json["done"] == 2
    assert workspace.call("--results", "tables", "status", "digits", "--json").json["done"] == 2


@pytest.mark.slow
def test_the_ten_lines_of_the_manual_are_a_loss(workspace: Workspace) -> None:
    """The page as it stands, but one cell of it, with a narrow network."""
    text = (ROOT / "docs" / "how-to" / "your-loss.md").read_text()
    blocks = re.findall(r"```(?:python|yaml)\n# suites/(\S+)\n(.*?)```", text, re.DOTALL)
    assert [name for name, _ in blocks] == [
        "losses/push-apart.py", "losses/push-apart.yaml", "my-loss.yaml",
        "evaluations/centroid_top1.py", "records/hardest.py", "my-metrics.yaml",
        "records/hardest.yaml",
    ]  # fmt: skip
    for name, block in blocks:
        path = workspace.root / "suites" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block)
    commands = [line.split() for line in re.findall(r"^bench (.*my-loss.*)$", text, re.MULTILINE)]
    assert [words[0] for words in commands] == ["plan", "run", "report"]
    assert workspace.call(*commands[0]).status == 0
    small = ["--set", "width=4", "--where", "margin=0.5", "--executor", "inline", "--json"]
    answer = workspace.call(*commands[1], *small)
    assert (answer.status, answer.json["done"]) == (0, 1), answer.err


PRESETS = """\
apart: {what: x, like: simclr, coordinates: {loss: [push-apart, me], margin: [1.5, me]}}
wide: {what: x, like: apart, coordinates: {margin: [2, me]}}
back: {what: x, like: apart, coordinates: {loss: [dcl, me]}}
"""


def test_a_preset_names_it_and_its_parameters(workspace: Workspace) -> None:
    folder = write_loss(workspace).parent / "methods"
    folder.mkdir()
    (folder / "own.yaml").write_text(PRESETS)
    points = [{"method": ["apart", "wide", "back"]}, {"method": "apart", "loss": "infonce"}]
    bare = {k: v for k, v in SUITE["fixed"].items() if k not in ("method", "loss")}
    workspace.suite(SUITE | {"fixed": bare, "grid": {}, "points": points, "tables": []})
    cells = workspace.call("plan", "digits", "--json").json["cells"]
    assert [(cell["config"]["loss"], cell["config"].get("margin")) for cell in cells] == [
        ("push-apart", 1.5), ("push-apart", 2.0), ("dcl", None), ("infonce", None),
    ]  # fmt: skip
    for written, told in (
        (PRESETS.replace("2, me", "3, me"), "wide.coordinates.margin: found 3, expected a number"),
        (
            PRESETS.replace("margin: [2", "margn: [2"),
            "wide.coordinates.margn: unknown key. Did you",
        ),
        (
            PRESETS.replace("[dcl, me]", "[dcl, me], margin: [1, me]"),
            "back.coordinates.margin: unk",
        ),
        (
            PRESETS.replace("push-apart", "push"),
            "apart.coordinates.loss: found 'push': loss 'push'",
        ),
    ):
        (folder / "own.yaml").write_text(written)
        answer = workspace.call("plan", "digits")
        assert (answer.status, answer.err.count("\n")) == (2, 1)
        assert answer.err.startswith(f"bench: suites/methods/own.yaml: {told}")


def test_bench_has_some_that_need_no_trust_and_a_name_is_taken(workspace: Workspace) -> None:
    workspace.suite(
        changed(SUITE, {"fixed.loss": "siglip", "fixed.train_images": 32, "grid": {}, "tables": []})
    )
    answer = workspace.call("run", "digits", *HERE, "--json")
    assert (answer.status, answer.json["done"]) == (0, 1), answer.err
    write_loss(workspace, name="siglip", code=CODE.replace("push_apart", "siglip"))
    refused = workspace.call("plan", "digits")
    assert (refused.status, refused.err) == (
        2, "bench: suites/losses/siglip.yaml: bench already has a loss "
            "'siglip'; choose a different name\n",
    )  # fmt: skip
