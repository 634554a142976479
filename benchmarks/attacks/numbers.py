"""Settings at and beyond the ends of what makes sense: what is computed must be right or told."""

import json
import math
import shutil
from collections.abc import Generator
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.attacks.attempt import SHOWN, Attempt, Outcome, judge
from benchmarks.attacks.child import bench
from benchmarks.attacks.workbench import cell_bytes, failures
from tests.fakes.cells import SMALL
from tests.fakes.suites import SECONDS, SuiteData, to_yaml
from tests.fakes.toys import SPIRALS, TOY, VINCE

SIZES: list[Any] = [0, 1, 2, 3, 7, 19, 64, 95, 96, 97, 128, 1000, 10**4, 10**6, 10**9, 10**30, -1]
FACTORS: list[Any] = [
    0.0, -1.0, 1e-300, 1e-30, 1e-9, 1e-3, 0.5, 1.0, 2.0, 100.0, 1e4, 1e9, 1e10, 1e30, 1e300,
    0.999999, 50.0, 1 + 1e-12,
]  # fmt: skip
NORM = {"experiment": "gradient-norm", "loss": "eqco", "alpha": 64.0, "K": 16, "tau": 0.5, "d": 8,
        "positive_cosine": 0.3, "draws": 3, "seed": 0}  # fmt: skip
BOUND = {"experiment": "optimal-bound", "loss": "eqco", "alpha": 64.0, "K": 16, "mi_true": 4.0,
         "d": 8, "samples": 64, "seed": 0}  # fmt: skip
SPIRAL = SPIRALS | {"iterations": 30, "eta": 0.3, "seed": 0}
LITTLE = {"epochs": 1, "train_images": 96}
QUEUE = SMALL | LITTLE | {"method": "moco-v2", "K": 40, "bn_groups": 2, "projector_hidden_dim": 16}
BANK = SMALL | LITTLE | {"method": "ir", "K": 40}
KINDS: tuple[dict[str, Any], ...] = (
    TOY | {"steps": 20, "loss": "eqco", "alpha": 64.0}, TOY | {"steps": 20}, NORM, NORM, BOUND,
    VINCE | {"epochs": 2, "method": "vince", "valid_percent": 50.0, "seed": 0},
    SPIRAL | {"source": "bank", "K": 100, "bank_rate": 0.5}, SPIRAL | {"source": "batch"},
    SMALL | LITTLE | {"method": "simclr"}, SMALL | LITTLE | {"method": "byol"},
    SMALL | LITTLE | {"method": "vicreg"}, QUEUE, QUEUE | {"loss": "eqco", "alpha": 64.0}, BANK,
)  # fmt: skip
LENGTHS = ("steps", "epochs", "iterations", "draws", "samples", "eval_repeats", "points")
"""Settings that say how long to compute: a larger one is no fault."""
MOST_EPOCHS = 19  # one takes half a second of a core, and what takes 30 counts as a hang
WIDTHS = (
    "hidden_units", "embedding_dim", "feature_dim", "width", "image_size", "d", "layers",
    "projector_hidden_dim", "train_images", "dataset_size",
)  # fmt: skip
"""Settings that say how large networks and data are: more memory for a larger one is no fault."""
PERCENT = ("top1",)
ABSENT = ("experiment", "seed")


def attempts(rng: Random, root: Path) -> Generator[Attempt, None, None]:
    """Yield attempts to compute one cell whose settings are extreme, some of them twice."""
    while True:
        shutil.rmtree(root / "home", ignore_errors=True)
        settings, told = _extreme(rng)
        (root / "home" / "suites").mkdir(parents=True)
        (root / "home" / "suites" / "small.yaml").write_text(to_yaml(_suite_of(settings)))
        yield _computed(root / "home", told, twice=rng.random() < 0.25)


def _extreme(rng: Random) -> tuple[dict[str, Any], str]:
    settings = dict(rng.choice(KINDS))
    numbers = [
        name
        for name, value in settings.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and name != "seed"
    ]
    optional = ["tau", "alpha", "weight_decay", "momentum", "warmup_epochs", "knn_tau"]
    names = rng.sample(sorted({*numbers, *optional}), rng.choice([1, 1, 2]))
    for name in names:
        whole = isinstance(settings.get(name, 0.0), int)
        settings[name] = rng.choice(SIZES if whole else FACTORS)
        pairs = name == "K" and settings["experiment"] == "gaussian-mi"  # K x K similarities
        most = MOST_EPOCHS if name == "epochs" else 128
        if (name in LENGTHS or name in WIDTHS or pairs) and most < settings[name] < 10**30:
            settings[name] = rng.choice([1, 2, 3])
    told = ", ".join(f"{name} {settings[name]}" for name in names)
    method = settings.get("method", settings.get("loss", settings.get("source", "")))
    return settings, f"{settings['experiment']} {method}: {told}"


def _suite_of(settings: dict[str, Any]) -> SuiteData:
    return {
        "name": "small", "title": "One cell", "experiment": settings["experiment"],
        "scale": "tiny", "scales": {"tiny": SECONDS}, "seeds": [settings["seed"]],
        "fixed": {k: v for k, v in settings.items() if k not in ABSENT},
    }  # fmt: skip


def _computed(home: Path, told: str, *, twice: bool) -> Attempt:
    words = ("run", "small", "--executor", "inline")
    attempt = judge(told, bench(home, *words), lambda: _wrong_numbers(home))
    if attempt.is_finding:
        return attempt
    faults = [message for reason, message in failures(home) if reason == "code"]
    if faults:
        return Attempt(told, Outcome.TRACEBACK, f"a fault of the code: {faults[0]}"[:SHOWN])
    if twice and attempt.outcome == Outcome.ANSWERED:
        first = cell_bytes(home)
        shutil.rmtree(home / "results")
        return judge(
            f"{told}, twice",
            bench(home, *words),
            lambda: None if cell_bytes(home) == first else "other bytes the second time",
        )
    return attempt


def _wrong_numbers(home: Path) -> str | None:
    """Return which metric of a finished cell cannot be."""
    for path in home.glob("results/*/*/summary.json"):
        for name, value in json.loads(path.read_text())["metrics"].items():
            if not math.isfinite(value):
                return f"{name} is {value}"
            if name.endswith(PERCENT) and not 0 <= value <= 100:
                return f"{name} is {value} %"
    return None
