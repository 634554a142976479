"""A Slurm that is made up: what it says of jobs is what a test writes down."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.files.atomic import to_json, write_whole
from bench.launch.slurm.jobs import RECORD, STACKS, slurm_folder
from bench.launch.slurm.profile import Profile


class MadeUpSlurm:
    """Knows the jobs in `alive`; None there stands for a controller that does not answer."""

    def __init__(self) -> None:
        self.alive: list[tuple[str, ...]] | None = []
        self.asked: list[tuple[str, ...]] = []
        self.config: str | None = "MaxArraySize            = 1001\n"

    def ask(self, *command: str) -> str | None:
        self.asked.append(command)
        if self.alive is None or command[0] != "squeue":
            return self.config if command[0] == "scontrol" else None if self.alive is None else ""
        (names,) = [w.removeprefix("--name=").split(",") for w in command if w.startswith("--name")]
        return "".join("|".join(job) + "\n" for job in self.alive if job[0] in names)

    def begin(
        self, folder: Path, job: str = "7_0", state: str = "RUNNING", why: str = "None"
    ) -> None:
        assert self.alive is not None
        node, elapsed = ("n1", "1:05") if state == "RUNNING" else ("", "0:00")
        self.alive.append((folder.name, job, state, why, node, elapsed))


def submitted(results: Path, cells: Iterable[str], name: str = "bench-1", **profile: Any) -> Path:
    """Write a submission for cells, by their ids; return its folder."""
    folder = slurm_folder(results) / name
    folder.mkdir(parents=True)
    settings = Profile.model_validate(profile).model_dump()
    write_whole(folder / RECORD, to_json({"cells": list(cells), "profile": settings}))
    (folder / STACKS).touch()
    return folder


def grow_old(folder: Path) -> None:
    """Date a submission back by a day."""
    path = folder / RECORD
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 86400))
