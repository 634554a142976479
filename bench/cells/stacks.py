"""Stacks: cells that one worker computes together, as one batch where they train alike."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from bench.cells.cell import Cell

Stack = list[Cell]


def make_stacks(cells: Sequence[Cell], slots: int) -> list[Stack]:
    """Return the cells in stacks, the longest first so that slots end together.

    A stack holds at most the kind's `stack_limit`; where there are fewer stacks than slots, they
    are cut smaller, unless their cells share a training.
    """
    groups: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.stack_key].append(cell)
    stacks = []
    for group in groups.values():
        wanted = -(-len(group) // group[0].stack_limit)
        if group[0].training_id is None:
            wanted = max(wanted, -(-slots // len(groups)))
        stacks += _split(group, min(wanted, len(group)))
    return sorted(stacks, key=_work, reverse=True)


def _split(group: list[Cell], parts: int) -> list[Stack]:
    """Return the group in so many parts of (nearly) one size."""
    bounds = [round(i * len(group) / parts) for i in range(parts + 1)]
    return [group[low:high] for low, high in pairwise(bounds)]


def _work(stack: Stack) -> float:
    return stack[0].training_work + sum(cell.work for cell in stack)
