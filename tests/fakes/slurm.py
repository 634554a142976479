"""A Slurm that is made up: what it says of jobs is what a test writes down."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.results.slurm.squeue import Task
from bench.results.slurm.submissions import Submission
from bench.results.store import Store


class MadeUpSlurm:
    """Knows the tasks in `alive`; None there stands for a controller that does not answer."""

    def __init__(self) -> None:
        self.alive: list[Task] | None = []
        self.questions = 0

    def tasks(self, names: Iterable[str]) -> list[Task] | None:
        self.questions += 1
        asked = list(names)
        return None if self.alive is None else [t for t in self.alive if t.array in asked]

    def begin(self, array: str, place: int = 0, job: str = "7", state: str = "RUNNING") -> None:
        assert self.alive is not None
        self.alive.append(Task(array, place, f"{job}_{place}", state, "None"))


def submitted(
    root: Path,
    *arrays: Sequence[Sequence[str]],
    retry_before: float = 0.0,
    gpus: bool = False,
) -> Submission:
    """Return a submission of arrays of tasks of cells' ids, all of it given to Slurm."""
    ids = [[list(task) for task in array] for array in arrays]
    found = Store(root).submissions.begin(lambda: (ids, retry_before), gpus=gpus)
    assert found is not None
    found.logs.mkdir()
    found.note_submitted()
    return found
