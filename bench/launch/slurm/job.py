"""What a job of Slurm does: it holds a queue over its own slots and computes what is missing.

It may be warned, requeued, killed or doubled at any moment: cells are claimed in the store, and
what a claim's owner leaves behind is a checkpoint.
"""

import signal
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import FrameType

from submitit.helpers import DelayedSubmission

from bench.cells.cell import Cell
from bench.cells.stacks import Stack
from bench.environment import place
from bench.errors import DiskFailure, Interrupted, Preempted, RankLost
from bench.launch.devices import slots, visible_gpus
from bench.launch.local import LocalQueue
from bench.launch.progress import Progress
from bench.launch.slurm.profile import Profile
from bench.launch.worker import Assignment
from bench.results.launches import Launch
from bench.results.slurm.squeue import ask, this_job
from bench.results.store import Store
from bench.signals import stoppable


class Job:
    """One task of an array, as submitit pickles it; what it was at is found in the store."""

    def __init__(
        self,
        stacks: Sequence[Stack],
        results: Path,
        data: Path,
        profile: Profile,
        *,
        retry_before: float,
        stopped: Path,
    ) -> None:
        """Describe what is to be computed.

        Args:
            stacks: the cells.
            results: the results folder, absolute.
            data: the folder of data sets, absolute.
            profile: what the job was given: GPUs, workers, ranks that compute each cell together.
            retry_before: failures that ended before this time are tried again.
            stopped: the file to make when somebody ends the job: its cells are not lost then.
        """
        self.stacks, self.results, self.data = stacks, results, data
        self.profile, self.retry_before, self.stopped = profile, retry_before, stopped
        self.queue: LocalQueue | None = None

    def __call__(self) -> None:
        """Compute what nobody has done or holds."""
        self.stopped.unlink(missing_ok=True)  # of a life before
        if self.profile.ranks > 1:
            self._run_ranks()
            return
        signal.signal(signal.SIGTERM, self._end)  # of scancel and of requeues; submitit ignores it
        gpus = visible_gpus() if self.profile.gpus_per_node else []
        workers = self.profile.workers_a_gpu
        places = slots(workers * len(gpus)) if gpus else [None] * workers
        with (
            self._announced() as launch,
            Progress(f"job {this_job()}", Counter(), len(places)) as report,
        ):
            self.queue = LocalQueue(self._assignment(launch), places)
            try:
                self.queue.run(report, patient=False)
            except DiskFailure:  # its cells are not lost: nobody submits them again by himself
                with suppress(OSError):
                    self.stopped.touch()
                raise

    def _run_ranks(self) -> None:
        """Compute as one of several ranks; the first one claims, and requeues the job if warned."""
        from bench.launch.distributed import leading  # loads torch, which the launcher does not

        try:
            with stoppable(), leading(self._cells, self._store, self.data) as lead:
                if lead is not None:
                    with self._announced() as launch:
                        lead(self._assignment(launch))
        except Preempted:
            if place().rank == 0:
                ask("scontrol", "requeue", this_job())
            raise
        except RankLost:
            raise
        except Interrupted:
            with suppress(OSError):
                self.stopped.touch()
            raise

    @property
    def _store(self) -> Store:
        return Store(self.results, asks_slurm=False)

    @property
    def _cells(self) -> list[Cell]:
        return [cell for stack in self.stacks for cell in stack]

    def _announced(self) -> AbstractContextManager[Launch]:
        return self._store.announce(self._cells, retry_before=self.retry_before)

    def _assignment(self, launch: Launch) -> Assignment:
        return Assignment(self.stacks, self._store, self.data, launch)

    def checkpoint(self) -> DelayedSubmission:
        """Stop the workers, which write their checkpoints; called by submitit's signal handler."""
        if self.queue is not None:
            self.queue.stop()
            self.queue = None
        return DelayedSubmission(self)

    def _end(self, number: int, _: FrameType | None) -> None:
        with suppress(OSError):
            self.stopped.touch()
        raise Interrupted(f"signal {number}")
