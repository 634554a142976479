"""What `--json` answers: the keys of each verb's document, written out."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.cli import cancel as cancel_module
from bench.experiments import EXPERIMENTS, Outcome
from bench.results.owner import Owner
from bench.results.store import Store
from tests.fakes.results import alter, cells_of
from tests.fakes.slurm import MadeUpSlurm, submitted
from tests.fakes.suites import SUITE, changed
from tests.fakes.workspace import Workspace

# Mappings whose keys are settings, metrics or names, shown as `*`.
NAMED_BY_DATA = {
    "assumed", "at", "axes", "claims", "column", "config", "coordinates", "metrics", "of",
    "origin", "over", "row", "scales", "settings", "versions", "where",
}  # fmt: skip
CLAIM = """paper claim sentence scale check.check check.metric check.over check.within
    check.where.* check.at check.part check.shown check.may_collapse counts part stand_in_for
    effect low high level covers n groups threshold smallest_effect printed_margin room unlearned[]
    verdict why missing"""
FAILURES = """failures[].id failures[].reason failures[].message failures[].attempts
    failures[].log"""
MERGED = "added same encoders left_out[] conflicts[] busy[]"
KEYS = {
    "suites": "[].name [].title [].paper [].artifacts[] [].scales.*.cells [].scales.*.done",
    "suites NAME": """[].name [].title [].paper [].artifacts[] [].scales.*.cells [].scales.*.done
        [].scales.*.protocol [].scales.*.what [].scales.*.datasets[] [].scales.*.seeds[]
        [].scales.*.axes.*[] [].file [].default_scale [].experiment [].claims.* [].assumed.*.value
        [].assumed.*.why [].tables[] [].figures[] [].notes[]""",
    "methods": """[].name [].what [].family [].like [].coordinates.*.value
        [].coordinates.*.source [].coordinates.*.why [].coordinates.*.stated.paper""",
    "methods --to": "pages[]",
    "datasets": """[].name [].what [].images [].classes [].size_mb [].how [].folder
        [].present""",
    "doctor": "[].what [].state [].detail",
    "plan": """suite scale title protocol what departures[] missing cells[].id cells[].state
        cells[].axes.* cells[].config.*
        cells[].predicted_s cells[].predicted_from predicted.wall_s predicted.core_s
        predicted.gpu_hours predicted.peak_memory_gb predicted.device_peak_gb predicted.slots
        predicted.based_on_cells predicted.by_kind[].kind predicted.by_kind[].cells
        predicted.by_kind[].cell_s predicted.by_kind[].wall_s predicted.by_kind[].core_s
        predicted.by_kind[].gpu_hours predicted.by_kind[].peak_memory_gb
        predicted.by_kind[].device_peak_gb predicted.by_kind[].from
        predicted.by_kind[].message limited.limit_hours limited.of limited.hours limited.cells
        limited.of_cells limited.chosen[] limited.claims[].claim limited.claims[].seeds[]
        limited.claims[].of_seeds""",
    "run": f"done failed missing {FAILURES}",
    "show": """[].table [].metric [].row.* [].column.* [].mean [].low [].high [].n [].room
         [].doubts[]""",
    "status": f"""suite scale results cells done running queued failed missing stale attempts
        {FAILURES} jobs[].job jobs[].state jobs[].reason jobs[].log slurm_answers left_core_s
        words begun[]""",
    "cancel": "jobs[] launchers[] elsewhere[]",
    "compare": """[].artifact [].row.* [].metric [].reading [].published [].published_std
        [].measured [].n [].std [].low [].high [].covers [].room [].tolerance
        [].tolerance_why [].comparable [].differences[] [].doubts[] [].verdict""",
    "compare --effects": """[].artifact [].row [].row.* [].scale [].metric [].stand_in_for [].of.*
        [].over.* [].at.* [].published [].measured [].low [].high [].level [].n [].smallest_effect
        [].replaced[] [].outcome [].why [].cells[]""",
    "compare A B": """same only_here only_there beyond_noise moved[].id moved[].experiment
        moved[].seed moved[].metrics.*[] moved[].history moved[].arrays[] moved[].versions.*
        metrics[].metric metrics[].moved metrics[].largest_difference groups[].experiment
        groups[].settings.* groups[].metric groups[].n_here groups[].n_there groups[].here
        groups[].there groups[].difference groups[].low groups[].high groups[].p_value
        groups[].beyond_noise""",
    "claims": " ".join(f"[].{key}" for key in CLAIM.split()),
    "claims of all": " ".join(
        f"[].{key}" for key in [*CLAIM.split(), "check", "suite", "protocol", "checks", "overall"]
    ),
    "versus": """[].suite [].scale [].protocol [].metric [].difference [].low [].high [].level [].n
        [].groups [].sign [].why""",
    "report": "index pages[] drawn[]",
    "verify": """[].id [].experiment [].seed [].same [].largest_difference [].metrics.*.then
        [].metrics.*.now [].metrics.*.difference [].metrics.* [].history [].arrays[]
        [].versions.* [].only_metrics [].error""",
    "export": "cells encoders file",
    "export of tables": "cells folder",
    "import": MERGED,
    "merge": """added same encoders left_out[].id left_out[].experiment left_out[].why
        conflicts[].id conflicts[].experiment conflicts[].metrics.*[] conflicts[].arrays[]
        conflicts[].origin.* busy[].id busy[].experiment""",
}


def paths(value: Any, at: str = "") -> Iterator[str]:
    """Yield the path of every value: `[]` is an entry of a list, `*` a key that is data."""
    if isinstance(value, dict):
        by_data = at.rpartition(".")[2] in NAMED_BY_DATA
        if by_data and not value:
            yield f"{at}.*"
        for key, below in value.items():
            yield from paths(below, f"{at}.{'*' if by_data else key}".removeprefix("."))
    elif isinstance(value, list):
        if not value:
            yield f"{at}[]"
        records = {tuple(entry) for entry in value if isinstance(entry, dict)}
        assert len(records) < 2, f"{at}: records of different keys"
        for entry in value:
            yield from paths(entry, f"{at}[]")
    else:
        yield at


def refuse(*_: Any) -> list[Outcome]:
    raise RuntimeError("no such luck")


@pytest.fixture
def documents(
    workspace: Workspace, slurm: MadeUpSlurm, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """Return an answer of each verb, with something in every list that a verb can fill."""
    answers: dict[str, Any] = {}

    def ask(name: str, *words: str) -> None:
        answers[name] = workspace.call(*words, "--json").json

    changes = {
        "grid.mi_true": [2],
        "grid.K": [8, 64],
        "fixed.steps": 20,
        "compare.0.baseline": {"loss": "infonce", "alpha": None},
    }
    path = workspace.suite(changed(SUITE, changes))
    results, other = workspace.root / "results", workspace.root / "other"
    assert workspace.call("run", "small", "--seeds", "0", "--executor", "inline").status == 0
    ask("plan", "plan", "small", "--limit-gpu-hours", "1")
    with monkeypatch.context() as patch:
        patch.setitem(EXPERIMENTS, "gaussian-mi", refuse)
        ask("run", "run", "small", "--executor", "inline")
    cells = cells_of(path, "tiny")
    submission = submitted(Path("results"), [[cell.id for cell in cells]])
    slurm.begin(f"{submission.name}-0")
    ask("status", "status", "small")
    monkeypatch.setattr(cancel_module, "ask", lambda *_: "")
    ask("cancel", "cancel", "small")
    slurm.alive = []

    for name, words in {
        "suites": "suites",
        "suites NAME": "suites small",
        "methods": "methods simo",
        "methods --to": "methods --to pages",
        "datasets": "datasets",
        "doctor": "doctor",
        "show": "show small",
        "compare": "compare small",
        "compare --effects": "compare small --effects",
        "claims": "claims small",
        "claims of all": "claims",
        "versus": "versus eqco infonce",
        "report": "report small",
        "export": "export small --to cells.tar",
        "export of tables": "export small --to tables",
        "import": "--results other import cells.tar",
    }.items():
        ask(name, *words.split())

    first, second, third = sorted(p.name for p in (other / "gaussian-mi").iterdir())[:3]
    alter(other / "gaussian-mi" / first / "summary.json", metrics={"mi_lower_bound": 1.0})
    alter(other / "gaussian-mi" / second / "cell.json", version=99)
    ask("compare A B", "compare", "results", "other")
    shutil.rmtree(results / "gaussian-mi" / third)
    (busy,) = (cell for cell in cells if cell.id == third)
    assert Store(results).folder(busy).claim(busy, Owner.me(), "x") is not None
    ask("merge", "merge", "other")
    alter(results / "gaussian-mi" / first / "summary.json", metrics={"mi_lower_bound": 1.0})
    ask("verify", "verify", "small")
    return answers


@pytest.mark.slow
def test_the_keys_of_every_json_document(documents: dict[str, Any]) -> None:
    assert documents.keys() == KEYS.keys()
    other = {
        name: sorted(set(paths(document)) ^ set(KEYS[name].split()))
        for name, document in documents.items()
    }
    assert {name: keys for name, keys in other.items() if keys} == {}
