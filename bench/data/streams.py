"""Random streams identified by purpose, so resumed runs get the same numbers."""

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """Purpose of a random stream; streams of different purposes are independent."""

    INIT = 0
    TRAIN = 1
    EVALUATE = 2
    DATA = 3
    ORDER = 4
    NEGATIVES = 5
    VIEWS = 6
    LABELS = 7


def stream(seed: int, purpose: Purpose, *key: int) -> np.random.Generator:
    """Return the generator of a seed, a purpose and a key such as (epoch, step)."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, purpose, *key))))
