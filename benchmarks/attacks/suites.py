"""Suite files that are broken, hostile, or ask for too much."""

import shutil
from collections.abc import Generator
from pathlib import Path
from random import Random
from typing import Any

import yaml

from benchmarks.attacks.attempt import Attempt, judge
from benchmarks.attacks.child import bench, in_child
from benchmarks.attacks.material import TEXTS, below, damaged, mutated
from tests.fakes.paths import ROOT
from tests.fakes.results import cells_of, finish
from tests.fakes.suites import DIGITS, SUITE, SuiteData, changed, to_yaml

VERBS = (("plan",), ("plan", "--json"), ("status",), ("status", "--json"), ("plan", "--seeds", "0"))
LITTLE = changed(SUITE, {"fixed.steps": 2, "grid.K": [8], "seeds": [0, 1]})


def attempts(rng: Random, root: Path) -> Generator[Attempt, None, None]:
    """Yield attempts at `plan`, `status`, `report` and `run` with hostile suites."""
    shipped = {path.stem: path.read_text() for path in sorted((ROOT / "suites").glob("*.yaml"))}
    home = root / "a" / "b" / "c" / "work"  # so that `../../..` is still looked at
    while True:
        shutil.rmtree(root / "a", ignore_errors=True)
        (home / "suites").mkdir(parents=True)
        (kind,) = rng.choices([_mutated, _torn, _too_much, _shown], [8, 4, 2, 3])
        yield kind(rng, root, home, shipped)


def _mutated(rng: Random, root: Path, home: Path, shipped: dict[str, str]) -> Attempt:
    """A shipped suite with a few other values."""
    name = rng.choice(sorted(shipped))
    record = mutated(yaml.safe_load(shipped[name]), rng, rng.choice([1, 1, 2, 5]))
    return _plan(rng, home, name, _to_text(record))


def _to_text(record: Any) -> str:
    try:
        return yaml.safe_dump(record, sort_keys=False, allow_unicode=True)
    except RecursionError:
        return str(record)


def _torn(rng: Random, root: Path, home: Path, shipped: dict[str, str]) -> Attempt:
    """The file of a shipped suite with other bytes."""
    name = rng.choice(sorted(shipped))
    content = shipped[name].encode()
    for _ in range(rng.choice([1, 1, 3])):
        content = damaged(content, rng)
    return _plan(rng, home, name, content)


def _plan(rng: Random, home: Path, name: str, content: str | bytes) -> Attempt:
    verb, *options = rng.choice(VERBS)
    file = home / "suites" / f"{name}.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode(errors="replace"))
    answer = bench(home, verb, name, *options)
    return judge(f"{verb} {name} {_digest(file)}", answer)


def _digest(file: Path) -> str:
    """Return a word by which an attempt can be told from another."""
    return f"({file.stat().st_size} bytes, sum {sum(file.read_bytes()) % 65536})"


def _many(name: str, rng: Random) -> str:
    """Return a suite that asks for more than anybody can wait for."""
    count = rng.choice([1000, 10_000, 100_000])
    axis = list(range(1, count))
    if name == "long axis":
        return to_yaml(changed(SUITE, {"grid.K": axis}))
    if name == "equal values":
        return to_yaml(changed(SUITE, {"grid.K": [8] * count}))
    if name == "many seeds":
        return to_yaml(changed(SUITE, {"seeds": axis}))
    if name == "large grid":
        axes = {f"grid.{axis}": list(range(1, 1000)) for axis in ("d", "steps", "eval_repeats")}
        removed = {f"fixed.{axis.removeprefix('grid.')}": None for axis in axes}
        suite = changed(SUITE, axes | removed)
        suite["fixed"] = {k: v for k, v in suite["fixed"].items() if v is not None}
        return to_yaml(suite | ({"exclude": [{"d": axis}]} if rng.random() < 0.5 else {}))
    if name == "nested":
        left, right = rng.choice(["[]", ("{a: ", "}"), ("- ", "")])
        return f"name: small\ntitle: {left * count}{right * count}\n"
    lines = ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 60))]
    return "\n".join(lines) + "\n" + to_yaml(SUITE)


def _too_much(rng: Random, root: Path, home: Path, shipped: dict[str, str]) -> Attempt:
    """Long axes, large grids, many seeds, deep nesting, exploding aliases."""
    name = rng.choice(
        ["long axis", "equal values", "many seeds", "large grid", "nested", "aliases"]
    )
    (home / "suites" / "small.yaml").write_text(_many(name, rng))
    return judge(f"plan: {name}", bench(home, "plan", "small"))


def _hostile(rng: Random) -> SuiteData:
    """Return a small suite with texts, or anything else, that nobody would write."""
    if rng.random() < 0.4:
        own: SuiteData = mutated(LITTLE, rng, rng.choice([1, 2]))
        return own if isinstance(own, dict) else LITTLE
    suite = changed(LITTLE, {})
    for place in rng.sample(["title", "what", "scale", "figure", "label", "why", "table"], 2):
        text = rng.choice(TEXTS)
        if place == "title":
            suite["title"] = text
        elif place == "what":
            for scale in suite["scales"].values():
                scale["what"] = text
        elif place == "scale":
            suite |= {"scale": text, "scales": {text: {"what": "w", "protocol": "reduced"}}}
        elif place == "figure":
            suite["figures"][0][rng.choice(["title", "name"])] = text
        elif place == "label":
            suite["figures"][0][rng.choice(["x_label", "y_label"])] = text
        elif place == "why":
            suite["assumed"]["tau"]["why"] = text
        else:
            suite["tables"] = [{"title": text, "metric": "mi_lower_bound", "rows": ["K"]}]
    return suite


def _shown(rng: Random, root: Path, home: Path, shipped: dict[str, str]) -> Attempt:
    """A hostile suite with results, through `report`, `run` or another verb that shows it."""
    suite, file = _hostile(rng), home / "suites" / "small.yaml"
    if rng.random() < 0.1:
        suite = changed(DIGITS, {"fixed.epochs": 1, "title": rng.choice(TEXTS), "name": "small"})
    file.write_text(_to_text(suite), errors="replace")

    def prepare() -> None:
        for scale in suite["scales"]:
            finish(home / "results", cells_of(file, scale), lambda c: {"mi_lower_bound": 1.5})

    in_child(prepare, home)  # where it is no suite nothing is finished
    (home / "results").mkdir(exist_ok=True)
    words = rng.choice(
        [("report", "small", "--to", "site"), ("report", "small", "--to", "site"), ("claims",),
         ("run", "small", "--executor", "inline"), ("compare", "small"), ("suites",),
         ("export", "small", "--to", "tables"), ("export", "small", "--to", "cells.tar.gz")]
    )  # fmt: skip
    before = below(root)
    answer = bench(home, *words)
    inside = home.relative_to(root).as_posix()
    allowed = tuple(f"{inside}/{name}" for name in ("site", "results", "tables", "cells.tar.gz"))

    def escaped() -> str | None:
        new = [n for n in below(root) - before if not n.startswith(allowed)]
        return f"wrote {min(new)}" if new else None

    told = f"{' '.join(words)} {_digest(file)} {suite.get('title')!r:.60} {suite.get('scale')!r}"
    return judge(told, answer, escaped=escaped)
