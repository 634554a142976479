"""Ranks: processes that compute one cell together, with their communication.

Each rank encodes its contiguous share of every batch. The outputs are gathered, so every rank
computes the loss of the whole batch.

Shapes: n rows of this rank's share, W ranks, V blocks of rows.
"""

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.rendezvous import rendezvous

from bench.environment import ProcessPlace
from bench.errors import CellFailure, Interrupted, LaunchError, Preempted, RankLost
from bench.signals import warned

MEET = timedelta(minutes=10)  # for all ranks to begin
WAIT = timedelta(days=2)  # for the first rank, which evaluates while the others wait
GO_ON, STOP, MAKE_WAY, GIVE_UP = range(4)
BUCKET = 2**23  # numbers that are summed over the ranks at once: 32 MB

T = TypeVar("T")


@dataclass(frozen=True)
class Ranks:
    """This process among the ranks of its run; a single rank needs no communication."""

    rank: int = 0
    world_size: int = 1
    tensors: Any = None  # process group of what is on the device
    words: Any = None  # of objects on the CPU, with a timeout that outlasts evaluations

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        """Return itself: networks are copied, the processes are not."""
        return self

    @property
    def many(self) -> bool:
        """Whether there are other ranks."""
        return self.world_size > 1

    @property
    def first(self) -> bool:
        """Whether this rank writes results."""
        return self.rank == 0

    def share(self, rows: int) -> slice:
        """Return which of this many rows belong to this rank.

        Raises:
            ValueError: the number of rows is not divisible by the number of ranks.
        """
        if rows % self.world_size:
            raise ValueError(f"{rows} rows cannot be divided evenly among {self.world_size} ranks")
        size = rows // self.world_size
        return slice(self.rank * size, (self.rank + 1) * size)

    def own(self, x: Tensor) -> Tensor:
        """Return this rank's rows of x."""
        return x[self.share(len(x))] if self.many else x

    def gather(self, x: Tensor, blocks: int = 1) -> Tensor:
        """Gather x of shape (n, ...) from all ranks; return (W n, ...), in order of ranks.

        Every rank must compute the same value from the result. The gradient of x is this rank's
        part of the whole gradient, not summed over ranks.

        Args:
            x: tensor with the same shape on each rank.
            blocks: number V of blocks in x. Each block of the result has the blocks of all ranks.
        """
        if not self.many:
            return x
        gathered: Tensor = _Gather.apply(x, self, blocks)
        return gathered

    @torch.no_grad()
    def whole(self, x: Tensor, blocks: int = 1) -> Tensor:
        """Gather rows like `gather` but without a gradient; return x itself for a single rank."""
        return self._joined(x, blocks) if self.many else x

    def _joined(self, x: Tensor, blocks: int) -> Tensor:
        of_rank = self.every(x)
        n, rest = len(x) // blocks, x.shape[1:]
        joined = torch.stack(of_rank).view(self.world_size, blocks, n, *rest).transpose(0, 1)
        joined = joined.reshape(-1, *rest)
        image = x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last)
        return joined.contiguous(memory_format=torch.channels_last) if image else joined

    def every(self, x: Tensor) -> list[Tensor]:
        """Return the x of each rank; x must have the same shape on all."""
        x = x.detach().contiguous()
        parts = [torch.empty_like(x) for _ in range(self.world_size)]
        with _heard():
            dist.all_gather(parts, x, group=self.tensors)
        return parts

    def sum_(self, x: Tensor) -> Tensor:
        """Sum a contiguous x over the ranks, in place, with bitwise equal results."""
        if self.many:
            with _heard():
                dist.all_reduce(x, group=self.tensors)
        return x

    @torch.no_grad()
    def sum_gradients(self, parameters: Iterable[Tensor], *, whole: Iterable[Tensor] = ()) -> None:
        """Sum the gradients of parameters that saw only this rank's share of the batch.

        Args:
            parameters: all trained parameters.
            whole: parameters that saw the whole batch, so their gradient is complete on each rank.
                They get the first rank's gradient, to stay bitwise equal.
        """
        if not self.many:
            return
        if not self.first:
            for seen in whole:
                if seen.grad is not None:
                    seen.grad.zero_()
        self._sum_all([p.grad for p in parameters if p.grad is not None])

    @torch.no_grad()
    def average_(self, statistics: Sequence[Tensor]) -> None:
        """Replace each tensor by its mean over the ranks."""
        if self.many and statistics:
            self._sum_all(statistics)
            torch._foreach_div_(list(statistics), float(self.world_size))

    def _sum_all(self, tensors: Sequence[Tensor]) -> None:
        """Sum tensors of one type over the ranks, in place, in buckets."""
        for bucket in _buckets(tensors):
            flat = self.sum_(torch.cat([t.reshape(-1) for t in bucket]))
            parts = flat.split([t.numel() for t in bucket])
            for t, part in zip(bucket, parts, strict=True):
                t.copy_(part.view(t.shape))

    def tell(self, value: T) -> T:
        """Return the first rank's value on every rank."""
        if not self.many:
            return value
        held = [value if self.first else None]
        with _heard():
            dist.broadcast_object_list(held, src=0, group=self.words, device=torch.device("cpu"))
        return held[0]  # type: ignore[return-value]

    @torch.no_grad()
    def first_has(self, x: Tensor) -> None:
        """Fill x with the first rank's values."""
        if self.many:
            with _heard():
                dist.broadcast(x, src=0, group=self.tensors)

    def hear_all(self, value: T) -> list[T]:
        """Return the values of all ranks."""
        if not self.many:
            return [value]
        held: list[T | None] = [None] * self.world_size
        with _heard():
            dist.all_gather_object(held, value, group=self.words)
        return held  # type: ignore[return-value]

    def first_does(self, work: Callable[[], T]) -> T:
        """Run a function on the first rank only; return its result, or raise its error, on all.

        Raises:
            Exception: the error raised on the first rank.
        """
        if not self.many:
            return work()
        value, fault = self.tell(_tried(work) if self.first else (None, None))
        if fault is not None:
            raise fault
        return value  # type: ignore[return-value]

    def all_do(self, work: Callable[[], T]) -> T:
        """Run a function on each rank; if it fails on any, all ranks raise the first error.

        Raises:
            Exception: the error of the first rank that failed.
        """
        if not self.many:
            return work()
        value, fault = _tried(work)
        for failure in self.hear_all(fault):
            if failure is not None:
                raise failure
        return value  # type: ignore[return-value]

    def greatest(self, number: int) -> int:
        """Return the maximum over the ranks."""
        if not self.many:
            return number
        held = torch.tensor(number)
        with _heard():
            dist.all_reduce(held, op=dist.ReduceOp.MAX, group=self.words)
        return int(held)


def _tried(work: Callable[[], T]) -> tuple[T | None, Exception | None]:
    """Return what the work gives, or what it raises."""
    try:
        return work(), None
    except Exception as error:
        return None, error


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, ranks: Ranks, blocks: int) -> Tensor:
        ctx.ranks, ctx.blocks = ranks, blocks
        return ranks._joined(x, blocks)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (whole,) = grads
        rest = whole.shape[1:]
        by_rank = whole.reshape(ctx.blocks, ctx.ranks.world_size, -1, *rest)
        return by_rank[:, ctx.ranks.rank].reshape(-1, *rest), None, None


def _buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    bucket: list[Tensor] = []
    for t in tensors:
        if bucket and sum(map(Tensor.numel, bucket)) + t.numel() > BUCKET:
            yield bucket
            bucket = []
        bucket.append(t)
    if bucket:
        yield bucket


@contextmanager
def _heard() -> Iterator[None]:
    """Turn a broken exchange into RankLost."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        raise RankLost(str(error).splitlines()[0]) from error


ALONE = Ranks()


@contextmanager
def joined(place: ProcessPlace, device: str) -> Iterator[Ranks]:
    """Connect to the other ranks: gloo for CPUs and objects, nccl between GPUs.

    Args:
        place: position of this rank.
        device: `cpu`, or `cuda` for the only CUDA device visible to this process.

    Raises:
        LaunchError: only some ranks have a GPU.
    """
    if not place.meets:
        _meet()
    store, rank, world_size = next(rendezvous("env://", place.rank, place.world_size, timeout=MEET))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world_size, timeout=WAIT)
    words = dist.group.WORLD
    alone = Ranks(place.rank, place.world_size, words, words)
    kinds = alone.hear_all(device)
    if len(set(kinds)) > 1:
        lacking = ", ".join(str(i) for i, kind in enumerate(kinds) if kind == "cpu")
        raise LaunchError(f"some ranks have a GPU, but these ranks have none: {lacking}")
    if device == "cpu":
        yield alone
    else:
        torch.cuda.set_device(0)
        yield Ranks(
            place.rank, place.world_size, dist.new_group(backend="nccl", timeout=WAIT), words
        )
    dist.destroy_process_group()  # not after an error: the others may not be there to take leave


def _meet() -> None:
    """Say where the tasks of a job meet: on the host of the first, at a port of the job's own."""
    import submitit
    from submitit.slurm.slurm import SlurmJobEnvironment

    submitted = "SUBMITIT_EXECUTOR" in os.environ
    job = submitit.JobEnvironment() if submitted else SlurmJobEnvironment()
    step = f"{job.job_id}.{os.environ.get('SLURM_STEP_ID', '')}"
    os.environ["MASTER_ADDR"] = job.hostnames[0] if job.num_nodes > 1 else "127.0.0.1"
    os.environ.setdefault("MASTER_PORT", str(20000 + zlib.crc32(step.encode()) % 40000))


def agreed(
    heartbeat: Callable[[], None], asked: Callable[[], bool], ranks: Ranks
) -> Callable[[], None]:
    """Return a heartbeat that stops all ranks after the same step.

    Args:
        heartbeat: this rank's heartbeat, which may raise a CellFailure.
        asked: function that returns whether this rank should stop.
        ranks: the ranks, all of which call the heartbeat after every step.
    """

    def of_all_ranks() -> None:
        fault: CellFailure | None = None
        try:
            heartbeat()
        except CellFailure as failure:
            fault = failure
        request = (MAKE_WAY if warned() else STOP) if asked() else GO_ON
        strongest = ranks.greatest(GIVE_UP if fault else request)
        if strongest == GIVE_UP:
            raise fault or CellFailure("a different rank has given up the training")
        if strongest == MAKE_WAY:
            raise Preempted("the job scheduler warned a rank that the job's time ends soon")
        if strongest == STOP:
            raise Interrupted("a rank was asked to stop")

    return of_all_ranks
