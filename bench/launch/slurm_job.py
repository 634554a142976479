"""What a job of Slurm does: it holds a queue over its own slots and computes what is missing.

It may be warned, requeued, killed or doubled at any moment: cells are claimed in the store, and
what a claim's owner leaves behind is a checkpoint.
"""

import signal
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import FrameType

from submitit.helpers import DelayedSubmission

from bench.config.environment import place
from bench.errors import Interrupted, Preempted, RankLost
from bench.launch.local import LocalQueue
from bench.launch.progress import Progress
from bench.launch.slots import slots, visible_gpus
from bench.launch.together import together
from bench.launch.units import Unit
from bench.signals import stoppable
from bench.store.slurm import ask, this_job
from bench.store.store import Launch, Store


class Job:
    """One task of an array, as submitit pickles it; what it was at is found in the store."""

    def __init__(
        self,
        units: Sequence[Unit],
        results: Path,
        *,
        workers: int,
        gpus: bool,
        ranks: int,
        retry_before: float,
        stopped: Path,
    ) -> None:
        """Describe the work.

        Args:
            units: cells in stacks.
            results: the results folder, absolute.
            workers: for each GPU of the job, or in all.
            gpus: whether the job has GPUs.
            ranks: tasks of the job, which compute each cell together.
            retry_before: failures that ended before this time are tried again.
            stopped: the file to make when somebody ends the job: its cells are not lost then.
        """
        self.units, self.results, self.retry_before = units, results, retry_before
        self.workers, self.gpus, self.ranks = workers, gpus, ranks
        self.stopped = stopped
        self.queue: LocalQueue | None = None

    def __call__(self) -> None:
        """Compute what nobody has done or holds."""
        self.stopped.unlink(missing_ok=True)  # of a life before
        if self.ranks > 1:
            self._together()
            return
        signal.signal(signal.SIGTERM, self._end)  # of scancel and of requeues; submitit ignores it
        gpus = visible_gpus() if self.gpus else []
        places = slots(self.workers * len(gpus)) if gpus else [None] * self.workers
        with (
            self._announced() as launch,
            Progress(f"job {this_job()}", Counter(), None, len(places)) as report,
        ):
            self.queue = LocalQueue(self.units, self._store, launch, places)
            self.queue.run(report, patient=False)

    def _together(self) -> None:
        """Compute as one of several ranks; the first one claims, and requeues the job if warned."""
        cells = [cell for unit in self.units for cell in unit]
        try:
            with stoppable(), together(cells, self._store) as drain:
                if drain is not None:
                    with self._announced() as launch:
                        drain(self.units, self._store, launch)
        except Preempted:
            if place().rank == 0:
                ask("scontrol", "requeue", this_job())
            raise
        except RankLost:
            raise
        except Interrupted:
            self.stopped.touch()
            raise

    @property
    def _store(self) -> Store:
        return Store(self.results, asks_slurm=False)

    def _announced(self) -> AbstractContextManager[Launch]:
        cells = [cell for unit in self.units for cell in unit]
        return self._store.announce(cells, retry_before=self.retry_before)

    def checkpoint(self) -> DelayedSubmission:
        """Stop the workers, which write their checkpoints; called by submitit's signal handler."""
        if self.queue is not None:
            self.queue.stop()
            self.queue = None
        return DelayedSubmission(self)

    def _end(self, number: int, _: FrameType | None) -> None:
        self.stopped.touch()
        raise Interrupted(f"signal {number}")
