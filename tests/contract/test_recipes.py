"""The recipes of the manual do what they say, and its commands and links are sound."""

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from PIL import Image

from bench import experiments
from bench.cells import CELLS, toys
from bench.cells.baseline import without_baselines
from bench.cells.losses import LOSSES, Loss
from bench.cli.app import VERBS, app, command_of
from bench.results.reader import Results
from bench.suites.expand import expand
from bench.suites.load import load_suite
from bench.suites.protocol import check_scale
from bench.suites.validate import check_suite
from tests.fakes.cells import small_cell, training_of
from tests.fakes.paths import ROOT, SUITES
from tests.fakes.workspace import Workspace

HOW_TO, CONTRIBUTING = (ROOT / "docs" / name for name in ("how-to", "contributing"))
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
PAGES = [page for page in PAGES if page.parent.name != "generated"]
TEXTS = {page: page.read_text() for page in PAGES}
COMMANDS = {
    command.partition("#")[0].strip()
    for text in TEXTS.values()
    for command in re.findall(r"^(?:    |   |\$ )?bench (?!:)([-a-z].*)$", text, re.MULTILINE)
}
EXAMPLES = {
    found.group(1): re.sub(r"\A```yaml\n|```\Z", "", found.group(0))
    for text in TEXTS.values()
    for found in re.finditer(
        r"```yaml\n(?:# suites/[^\n]*\n)?name: ([^\n]*)\n.*?```", text, re.DOTALL
    )
}


# my-k-sweep: 2 MI x 2 K x 3 losses x 3 seeds, less 2 K x 3 seeds; my-crossing: 2 x 3 x 3;
# my-captions: 2 losses x 2 temperatures.
@pytest.mark.parametrize(
    ("name", "cells"), [("my-k-sweep", 30), ("my-crossing", 18), ("my-captions", 4)]
)
def test_the_example_suites_are_suites(tmp_path: Path, name: str, cells: int) -> None:
    path = tmp_path / f"{name}.yaml"
    path.write_text(EXAMPLES[name])
    suite = load_suite(path)
    paper = check_suite(suite, path)
    for scale in suite.scales:
        check_scale(suite, scale, expand(suite, scale, path), paper)
    assert len(without_baselines(expand(suite, suite.scale, path))) == cells


def test_the_error_it_shows_is_the_error(workspace: Workspace) -> None:
    shown = re.search(
        r"^    (bench: suites/my-k-sweep.*), \.\.\.$", TEXTS[HOW_TO / "own-suite.md"], re.MULTILINE
    )
    assert shown is not None
    text = EXAMPLES["my-k-sweep"].replace("  K: [64, 128]", "  taau: [1]\n  K: [64, 128]")
    workspace.suite(text, "my-k-sweep")
    assert workspace.call("plan", "my-k-sweep").err.startswith(shown.group(1))


@pytest.mark.parametrize("line", sorted(COMMANDS))
def test_every_command_that_a_page_shows_is_one(line: str) -> None:
    """Its options and arguments are parsed as the program parses them; nothing is run."""
    words = shlex.split(re.sub(r" \[.*\]$", "", line))
    group = typer.main.get_command(app)
    verb = next((k for k, word in enumerate(words) if word in VERBS), len(words))
    folders = group.make_context("bench", [*words[:verb], "suites"])
    assert folders.args == [], "words before the command that are no option of the program"
    if verb < len(words):
        context = command_of(words[verb]).make_context(words[verb], words[verb + 1 :])
        assert context.args == [], "words that no option or argument takes"


@pytest.mark.parametrize("line", sorted(COMMANDS))
def test_every_suite_that_a_command_names_exists(line: str) -> None:
    words = shlex.split(line)
    if words[0] in ("plan", "run", "resume", "status", "cancel", "show", "claims", "verify"):
        name = words[1] if len(words) > 1 and not words[1].startswith("-") else "dcl-table-1"
        assert (SUITES / f"{name}.yaml").exists() or name in {*EXAMPLES, "my-suite"}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        path = page.parent / target
        generated = path.parent.name == "generated"  # when the manual is built
        assert target.startswith("https://") or generated or path.exists(), target


ADDED = "nearest-negative"
RECORD_FILE, CELLS_FILE, RUN_FILE = (
    "bench/cells/toys.py", "bench/cells/__init__.py", "bench/experiments/nearest_negative.py",
)  # fmt: skip
CUTTABLE = '    cuttable: ClassVar[tuple[str, ...]] = ("draws",)\n'
SHOWN = dict(
    re.findall(
        r"```python\n# (\S+)\n(.*?)```", TEXTS[CONTRIBUTING / "own-experiment.md"], re.DOTALL
    )
)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose files are files of `bench/experiments` too, until the test ends."""
    folder = tmp_path / "added"
    folder.mkdir()
    monkeypatch.setattr(experiments, "__path__", [*experiments.__path__, str(folder)])
    yield folder
    module = sys.modules.pop("bench.experiments.nearest_negative", None)
    experiments.EXPERIMENTS.pop(ADDED, None)
    assert module is not None
    assert module.__file__ == str(folder / "nearest_negative.py")
    del experiments.nearest_negative  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("cuttable", [CUTTABLE, ""], ids=["a probe cuts it", "as little as can be"])
def test_an_experiment_is_a_record_a_line_a_file_and_a_suite(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, package: Path, cuttable: str
) -> None:
    assert list(SHOWN) == [RECORD_FILE, CELLS_FILE, RUN_FILE]
    names = dict(vars(toys))
    assert CUTTABLE in SHOWN[RECORD_FILE]
    exec(SHOWN[RECORD_FILE].replace(CUTTABLE, cuttable), names)
    monkeypatch.setattr(toys, "NearestNegative", names["NearestNegative"], raising=False)
    (line,) = eval(f"{{{SHOWN[CELLS_FILE]}}}", names).items()
    monkeypatch.setitem(CELLS, *line)
    (package / "nearest_negative.py").write_text(SHOWN[RUN_FILE])
    path = workspace.suite(EXAMPLES[ADDED], ADDED)

    probed = workspace.call("plan", ADDED, "--probe", "--json")
    kinds = [f"{ADDED} K={count} d=64" for count in (16, 64, 256)]
    assert (probed.status, probed.err) == (
        0,
        "".join(f"bench: timing a few steps of {k}\n" for k in kinds),
    )
    by_kind = probed.json["predicted"]["by_kind"]
    assert {kind["kind"]: kind["cells"] for kind in by_kind} == dict.fromkeys(kinds, 3)
    assert {kind["message"] for kind in by_kind} == {"probe"}
    assert all(kind["core_s"] is not None for kind in by_kind)
    assert not (workspace.root / "results" / ADDED).exists()
    counts = workspace.call("run", ADDED, "--executor", "inline", "--json").json
    assert (counts["done"], counts["failed"]) == (9, 0)
    assert workspace.call("--results", "other", "merge", "results").status == 0
    done = Results(workspace.root / "other").finished(expand(load_suite(path), "short", path))
    cosines = [finished.metrics["nearest_cosine"] for _, finished in done]  # by K, then by seed
    assert len(cosines) == 9
    assert max(cosines[:3]) < min(cosines[3:6]) < max(cosines[3:6]) < min(cosines[6:])
    assert workspace.call("report", ADDED).status == 0
    page = (workspace.root / "reports" / ADDED / "short" / "index.md").read_text()
    assert "| 256 |" in page


@pytest.mark.slow
def test_images_of_ones_own_are_trained_on(workspace: Workspace) -> None:
    text = TEXTS[HOW_TO / "own-images.md"]
    classes = sorted(set(re.findall(r"datasets/flowers/train/(\w+)/", text)))
    assert len(classes) == 2
    for number, name in enumerate(classes):
        for part, count in (("train", 40), ("test", 6)):
            folder = workspace.root / "datasets" / "flowers" / part / name
            folder.mkdir(parents=True)
            for k in range(count):
                colour = (60 * number + k, 6 * k, 200 - 5 * k)
                Image.new("RGB", (20, 18), colour).save(folder / f"{k}.jpg")
    workspace.suite(EXAMPLES["flowers"], "flowers")
    counts = workspace.call("run", "flowers", "--executor", "inline", "--json")
    assert counts.status == 0, counts.err
    assert counts.json["done"] == 2
    rows = workspace.call("show", "flowers", "--json").json
    assert {row["row"]["loss"] for row in rows} == {"dcl", "infonce"}
    assert workspace.call("plan", "flowers", "--scale", "gpu").status == 0


@pytest.mark.slow
def test_a_method_is_added_without_python(workspace: Workspace) -> None:
    text = TEXTS[HOW_TO / "your-method.md"]
    blocks = re.findall(r"```yaml\n# suites/(\S+)\n(.*?)```", text, re.DOTALL)
    blocks = [(name, block) for name, block in blocks if name.endswith("mine.yaml")]
    assert [name for name, _ in blocks] == ["methods/mine.yaml", "mine.yaml"]
    for name, block in blocks:
        path = workspace.root / "suites" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(block)
    (told,) = workspace.call("methods", "ring-dcl", "--json").json
    assert told["coordinates"]["loss"]["value"] == "dcl"
    answer = workspace.call("run", "mine", "--executor", "inline", "--json")
    assert (answer.status, answer.json["done"]) == (0, 2), answer.err


def test_an_objective_is_a_function_a_line_and_a_test(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = TEXTS[CONTRIBUTING / "own-objective.md"]
    blocks = re.findall(r"```python\n# (\S+)\n(.*?)```", text, re.DOTALL)
    assert [name for name, _ in blocks] == [
        "bench/losses/hinge.py", "bench/cells/losses.py", "tests/unit/losses/test_hinge.py",
    ]  # fmt: skip
    module = ModuleType("bench.losses.hinge")
    exec(blocks[0][1], module.__dict__)
    monkeypatch.setitem(sys.modules, "bench.losses.hinge", module)
    (line,) = eval(f"{{{blocks[1][1]}}}", {"Loss": Loss}).items()
    monkeypatch.setitem(LOSSES, *line)
    training = training_of(small_cell("simclr", loss="hinge", tau=0.5, epochs=1))
    training.online.train()
    training.step(0)
    path = tmp_path / "my-hinge.yaml"
    path.write_text(EXAMPLES["my-hinge"])
    losses = [cell.settings["loss"] for cell in expand(load_suite(path), "smoke", path)]
    assert losses == ["infonce", "hinge"]
    tests: dict[str, Any] = {}
    exec(blocks[2][1], tests)
    (name,) = (name for name in tests if name.startswith("test_"))
    tests[name]()
