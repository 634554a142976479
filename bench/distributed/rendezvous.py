"""How ranks find each other: torchrun's variables, or those of Slurm's and submitit's tasks."""

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from bench.distributed.ranks import Ranks
from bench.environment import Place
from bench.errors import LaunchError

MEET = timedelta(minutes=10)  # for all ranks to begin
WAIT = timedelta(days=2)  # for the first rank, which evaluates while the others wait


@contextmanager
def joined(place: Place, device: str) -> Iterator[Ranks]:
    """Meet the other ranks: gloo on CPUs and for words, nccl between GPUs.

    Args:
        place: which rank this is.
        device: cpu, or cuda for the one CUDA device that this process sees.

    Raises:
        LaunchError: some ranks have a GPU and some have none.
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
        raise LaunchError(f"ranks without a GPU while others have one: {lacking}")
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
