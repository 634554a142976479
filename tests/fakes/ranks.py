"""Ranks for tests: processes on this machine, started once and then asked again and again."""

import multiprocessing
import os
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from bench.experimental import Ranks


class Crew:
    """Some processes, each a rank by gloo, one thread each."""

    def __init__(self, size: int, folder: Path) -> None:
        """Start them."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.fakes.rank_tasks"])  # imported once for all ranks
        meeting = str(folder / f"meeting-{size}")
        self.size, self.ends = size, []
        self.processes = []
        for rank in range(size):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_serve, args=(rank, size, meeting, theirs), daemon=True
            )
            process.start()
            self.ends.append(ours)
            self.processes.append(process)

    def do(self, work: Callable[..., Any], *args: Any) -> list[Any]:
        """Return what `work(ranks, *args)` gives on each rank."""
        for end in self.ends:
            end.send((work, args))
        answers = [end.recv() for end in self.ends]
        for _, fault in answers:
            assert fault is None, fault
        return [value for value, _ in answers]

    def end(self) -> None:
        """Let them go."""
        for end in self.ends:
            end.send(None)
        for process in self.processes:
            process.join(timeout=20)


def _serve(rank: int, size: int, meeting: str, end: Connection) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=size)
    ranks = Ranks(rank, size, dist.group.WORLD, dist.group.WORLD)
    while (order := end.recv()) is not None:
        work, args = order
        try:
            end.send((work(ranks, *args), None))
        except BaseException:
            end.send((None, traceback.format_exc()))
    os._exit(0)
