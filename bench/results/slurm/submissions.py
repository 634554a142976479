"""What was given to Slurm: which cells wait in which task of which job array.

`<results>/launches/slurm/0001.json` is one submission, its logs lie in `0001/`. A submission is
written before its jobs are, under the next free number, by a hard link: so its author has seen all
submissions before, and no cell is submitted twice. When none of its jobs is left it is renamed to
`0001.ended.json`. The jobs carry its name, so nothing is lost if the author dies on the way.
"""

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from bench.errors import Damaged
from bench.files.atomic import to_json, write_new, write_whole
from bench.files.messages import warn
from bench.results.owner import Owner
from bench.results.records import SubmissionRecord, read_record
from bench.results.slurm import squeue
from bench.results.slurm.squeue import Task

ENDED = ".ended.json"


@dataclass(frozen=True)
class Submission:
    """Job arrays that Slurm was given together."""

    path: Path
    record: dict[str, Any]

    @property
    def logs(self) -> Path:
        """The folder of its jobs' logs."""
        return self.path.with_suffix("")

    @property
    def name(self) -> str:
        """The beginning of its jobs' names."""
        return str(self.record["name"])

    @property
    def retry_before(self) -> float:
        """Failures older than this are tried again."""
        return float(self.record["retry_before"])

    @property
    def arrays(self) -> dict[str, list[list[str]]]:
        """The cells' ids, by the array's name and the task's place in it."""
        return {f"{self.name}-{k}": tasks for k, tasks in enumerate(self.record["arrays"])}

    def given(self) -> Iterator[tuple[str, int, list[str]]]:
        """Yield array, place in it, and the cells' ids, of every task."""
        for array, tasks in self.arrays.items():
            for index, cells in enumerate(tasks):
                yield array, index, cells

    @property
    def cells(self) -> set[str]:
        """The ids of all cells."""
        return {cell for _, _, cells in self.given() for cell in cells}

    def stopped_file(self, array: str, index: int) -> Path:
        """Return the file that says that somebody ended a task: nothing of it was lost."""
        return self.logs / f"{array}.{index}.stopped"

    @property
    def sweep(self) -> str:
        """The name of the job that looks after the arrays when they have ended."""
        return f"{self.name}-sweep"

    def cells_of(self, task: Task) -> list[str]:
        """Return the ids of a task's cells."""
        arrays = self.arrays.get(task.array, [])
        return arrays[task.place] if task.place < len(arrays) else []

    def in_the_making(self) -> bool:
        """Whether its author is still submitting."""
        return not self.record["submitted"] and Owner.of(self.record["owner"]).is_alive(self.path)

    def log(self, job: str, kind: str = "out") -> Path:
        """Return the file that a job's output goes to; in an array, of `<job>_<place>`."""
        return self.logs / f"{job}_0_log.{kind}"

    def note_submitted(self) -> None:
        """Record that all of its jobs are Slurm's."""
        write_whole(self.path, to_json(self.record | {"submitted": True}))

    def end(self) -> None:
        """Take it out of the queue; the record stays."""
        os.replace(self.path, self.path.with_name(self.path.stem + ENDED))


class Submissions:
    """All that was given to Slurm for one results folder."""

    def __init__(self, folder: Path, *, remember_s: float = 10.0) -> None:
        """Name the folder; an answer of Slurm's is used again for so many seconds."""
        self.folder, self.remember_s = folder, remember_s
        self._asked: tuple[float, list[str], list[Task] | None] = (-1e9, [], None)

    def open(self) -> list[Submission]:
        """Return the submissions that may have jobs, in order."""
        return _read(p for p in self.folder.glob("*.json") if not p.name.endswith(ENDED))

    def gave(self, cells: Collection[str]) -> bool:
        """Whether any of these cells was ever submitted."""
        return any(not s.cells.isdisjoint(cells) for s in _read(self.folder.glob("*.json")))

    def queued(self) -> dict[str, float]:
        """Return the ids of cells that wait or run in Slurm, and since when failures are retried.

        Where Slurm does not answer, all that was submitted counts.
        """
        retry_before: dict[str, float] = {}
        submissions = self.open()
        alive = self.tasks(submissions)
        for submission in submissions:
            for cell in _held(submission, alive):
                retry_before[cell] = max(retry_before.get(cell, 0.0), submission.retry_before)
        return retry_before

    def tasks(self, submissions: Sequence[Submission]) -> list[Task] | None:
        """Return the tasks of open submissions; None where Slurm does not answer."""
        names = [name for s in submissions for name in (*s.arrays, s.sweep)]
        asked_at, asked, answers = self._asked
        if time.monotonic() - asked_at > self.remember_s or asked != names:
            answers = squeue.tasks(names)
            self._asked = (time.monotonic(), names, answers)
        return answers

    def holding(self, cells: Collection[str]) -> list[tuple[Submission, Task]]:
        """Return the tasks that hold any of these cells."""
        submissions = self.open()
        by_array = {name: s for s in submissions for name in s.arrays}
        return [
            (by_array[task.array], task)
            for task in self.tasks(submissions) or []
            if task.array in by_array
            and not set(by_array[task.array].cells_of(task)).isdisjoint(cells)
        ]

    def workers(self, cells: Collection[str]) -> list[str | None]:
        """Return one entry a job that holds any of these cells and runs: "0" on a GPU, else None.

        Of jobs that all wait yet, one entry; empty where there are none.
        """
        held = [(s.record.get("gpus"), task.state) for s, task in self.holding(cells)]
        running = [gpus for gpus, state in held if state == "RUNNING"]
        return ["0" if gpus else None for gpus in running or [gpus for gpus, _ in held[:1]]]

    def awaited(self, cells: Collection[str]) -> bool:
        """Whether jobs are left that hold any of these cells, or that may submit them again."""
        submissions = [s for s in self.open() if not s.cells.isdisjoint(cells)]
        sweeps = {s.sweep for s in submissions}
        alive = self.tasks(self.open()) or []
        return bool(self.holding(cells)) or any(task.array in sweeps for task in alive)

    def answers(self) -> bool:
        """Whether Slurm answers, or need not be asked."""
        return self.tasks(self.open()) is not None

    def jobs_of(self, cells: Collection[str]) -> list[str]:
        """Return the jobs that hold any of these cells, done or not, and their last jobs."""
        jobs = [task.job for _, task in self.holding(cells)]
        submissions = [s for s in self.open() if not s.cells.isdisjoint(cells)]
        alive = self.tasks(self.open()) or []
        for submission in submissions:
            others = {task.job for task in alive if task.array in submission.arrays} - set(jobs)
            if not others:
                jobs += [task.job for task in alive if task.array == submission.sweep]
        return jobs

    def stop(self, cells: Collection[str]) -> None:
        """Note that tasks which hold any of these cells are not to be submitted again."""
        for submission in self.open():
            for array, index, ids in submission.given():
                if not set(ids).isdisjoint(cells):
                    submission.logs.mkdir(exist_ok=True)  # its author may have died before
                    submission.stopped_file(array, index).touch()

    def forget(self) -> None:
        """Ask Slurm anew at the next question."""
        self._asked = (-1e9, [], None)

    def begin(
        self,
        choose: Callable[[], tuple[list[list[list[str]]], float] | None],
        *,
        gpus: bool = False,
    ) -> Submission | None:
        """Write a new submission.

        Args:
            choose: returns the cells of each task of each array, and before when failures are
                tried again; None if there is nothing to submit. Called again when another process
                submits at the same time, for that changes what is queued.
            gpus: whether the jobs run on them.
        """
        while True:
            names = (path.name.split(".")[0] for path in self.folder.glob("*.json"))
            taken = [int(name) for name in names if name.isdecimal()]
            chosen = choose()
            if chosen is None:
                return None
            arrays, retry_before = chosen
            record = {
                "name": f"bench-{uuid4().hex[:8]}",
                "owner": Owner.me().record(),
                "arrays": arrays,
                "retry_before": retry_before,
                "gpus": gpus,
                "submitted": False,
            }
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / f"{max(taken, default=0) + 1:04d}.json"
            if write_new(path, to_json(record)):
                return Submission(path, record)

    def tidy(self) -> None:
        """Take submissions without a job left out of the queue."""
        self.forget()
        submissions = self.open()
        alive = self.tasks(submissions)
        if alive is None:
            return
        names = {task.array for task in alive}
        for submission in submissions:
            gone = names.isdisjoint({*submission.arrays, submission.sweep})
            if gone and not submission.in_the_making():
                submission.end()


def _read(paths: Iterable[Path]) -> list[Submission]:
    """Return the submissions; those that are damaged are reported and left out."""
    submissions = []
    for path in sorted(paths):
        try:
            record = read_record(path, SubmissionRecord, "a submission")
        except Damaged as fault:
            warn(f"{fault}; the jobs that it submitted are not known")
        else:
            submissions += [] if record is None else [Submission(path, record)]
    return submissions


def _held(submission: Submission, alive: list[Task] | None) -> set[str]:
    if alive is None or submission.in_the_making():
        return submission.cells
    return {cell for task in alive for cell in submission.cells_of(task)}
