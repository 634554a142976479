"""A Slurm job: it claims missing cells in the store and computes them until none is left.

A job may be warned, requeued or killed at any time. Its claims then expire, and another job, or the
requeued job, continues the cells from their checkpoints.
"""

import pickle
import signal
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import FrameType

from submitit.helpers import DelayedSubmission

from bench.cells.groups import Stack
from bench.environment import place, slots, this_job, visible_gpus
from bench.errors import Interrupted, Preempted
from bench.files.messages import warn
from bench.launch.local import LocalQueue
from bench.launch.progress import Progress
from bench.launch.slurm.jobs import ask
from bench.launch.slurm.profile import Profile
from bench.launch.worker import Assignment
from bench.loss_files import trust
from bench.results.provenance import code, code_text
from bench.results.store import Launch, Store
from bench.signals import stoppable


class PullCells:
    """The work of one job, pickled by submitit; equal for all jobs of a submission."""

    def __init__(
        self,
        stacks: Path,
        results: Path,
        data: Path,
        profile: Profile,
        *,
        trusted: Sequence[Path],
        since: float,
        retry_before: float,
    ) -> None:
        """Describe the work.

        Args:
            stacks: the pickled cells, an absolute path.
            results: the results folder, absolute.
            data: the folder of data sets, absolute.
            profile: what the job was given: GPUs, workers, ranks.
            trusted: folders whose objectives may be run, absolute.
            since: when the jobs were submitted; a cell that killed too many workers since is
                given up.
            retry_before: failures that ended before this time are tried again.
        """
        self.stacks, self.data, self.profile = stacks, data, profile
        self.trusted, self.since, self.retry_before = trusted, since, retry_before
        self.submitted = code_text(code())
        self.store = Store(results, retry_before=retry_before)
        self.queue: LocalQueue | None = None

    def __call__(self) -> None:
        """Compute the cells that nobody has computed or computes; without any, return at once."""
        trust(self.trusted)  # Slurm may hand on no environment
        stacks: list[Stack] = pickle.loads(self.stacks.read_bytes())
        if other := self._other_code():
            warn(
                f"this job was submitted with {other}, but now runs the code of {code_text(code())}"
            )
        if self.profile.ranks > 1:
            self._run_ranks(stacks)
            return
        signal.signal(signal.SIGTERM, _interrupt)  # from scancel and requeues; submitit ignores it
        gpus = visible_gpus() if self.profile.gpus_per_node else []
        workers = self.profile.workers_a_gpu
        places = slots(workers * len(gpus)) if gpus else [None] * workers
        title = f"job {this_job()}"
        with self._announced() as launch, Progress(title, Counter(), len(places)) as report:
            self.queue = LocalQueue(self._assignment(stacks, launch), places)
            self.queue.run(report, patient=False)

    def _run_ranks(self, stacks: list[Stack]) -> None:
        """Compute as one of several ranks; the first one claims, and requeues the job if warned."""
        from bench.launch.distributed import leading  # loads torch, which the launcher does not

        cells = [cell for stack in stacks for cell in stack]
        try:
            with stoppable(), leading(cells, self.store, self.data) as lead:
                if lead is not None:
                    with self._announced() as launch:
                        lead(self._assignment(stacks, launch))
        except Preempted:
            if place().rank == 0:
                ask("scontrol", "requeue", this_job())
            raise

    def _assignment(self, stacks: list[Stack], launch: Launch) -> Assignment:
        return Assignment(stacks, self.store, self.data, launch, self._other_code())

    def _other_code(self) -> str | None:
        """Return the code that was submitted, in words; None if it is the code that runs."""
        return None if self.submitted == code_text(code()) else self.submitted

    def _announced(self) -> AbstractContextManager[Launch]:
        """Announce the job without its cells: they are no more its own than other jobs'."""
        return self.store.announce([], retry_before=self.retry_before, since=self.since)

    def checkpoint(self) -> DelayedSubmission:
        """Stop the workers, which write their checkpoints; submitit calls this on a signal."""
        if self.queue is not None:
            self.queue.stop()
            self.queue = None
        return DelayedSubmission(self)


def _interrupt(number: int, _: FrameType | None) -> None:
    raise Interrupted(f"signal {number}")
