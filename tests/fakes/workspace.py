"""A folder with suites in it, and the command line run there."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fakes.forked import Forked
from tests.fakes.suites import SuiteData, to_yaml


@dataclass
class Answer:
    """What a command gave back."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Workspace:
    """A folder with suites, and `bench` run in it."""

    root: Path
    call: Callable[..., Answer]

    def suite(self, suite: SuiteData | str, name: str | None = None) -> Path:
        """Write a suite into the file of its name, or of another, which is its name then.

        The text of a file, where a test is about text, is written as it is: `small.yaml`.
        """
        if isinstance(suite, str):
            name, text = name or "small", suite
        else:
            name = name or str(suite["name"])
            text = to_yaml(suite | {"name": name})
        path = self.root / "suites" / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def start(self, *words: str, **environment: str) -> "subprocess.Popen[str]":
        """Start `bench` as a process of its own, in a process group of its own."""
        return Forked(
            [sys.executable, "-m", "bench", *words],
            cwd=self.root,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # Where the tests run in the background SIGINT is ignored, and so it would be here.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def summaries(self, results: str = "results") -> dict[str, bytes]:
        """Return what a finished run leaves that may not depend on how it was run."""
        return {
            str(path.relative_to(self.root / results)): path.read_bytes()
            for path in sorted((self.root / results).rglob("*"))
            if path.name in ("summary.json", "history.jsonl", "cell.json", "arrays.npz")
        }

    def attempts(self, results: str = "results") -> list[Any]:
        found = sorted((self.root / results).rglob("attempts/*.json"))
        return [json.loads(path.read_text()) for path in found]
