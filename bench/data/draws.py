"""Random numbers computed on demand, identical on CPU and GPU, using integers only.

A draw has a key and no state. Each number is a hash of key, row and column, so it does not depend
on earlier calls or on block sizes. Shapes: N rows, M columns, K of them.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from bench.data.streams import Purpose

_GOLDEN = 0x9E3779B97F4A7C15  # splitmix64: Steele, Lea and Flood, OOPSLA 2014, Fig. 17
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
# Multipliers of a 32-bit mixer found by search: C. Wellons, "Prospecting for hash functions", 2018.
_MIX_A, _MIX_B = 0x7FEB352D, 0x846CA68B
_LOW = 0xFFFFFFFF
_BLOCK_CPU, _BLOCK_GPU = 2**16, 2**26  # keys held at once; the former fit in a core's cache


@dataclass(frozen=True, slots=True)
class Draw:
    """Key of random numbers, created by `drawn_by`."""

    key: int  # 64 bits
    row: int = 0  # the number of the first row

    def of(self, part: int) -> "Draw":
        """Return the independent draw of a part, such as a direction of a batch."""
        return replace(self, key=_mixed_int(self.key ^ _mixed_int(part + 1)))

    def from_row(self, row: int) -> "Draw":
        """Return the same draw, starting at this row."""
        return replace(self, row=self.row + row)

    def subsets(self, N: int, M: int, K: int, device: torch.device) -> Tensor:
        """Return K of M columns for each of N rows, without replacement, sorted, int64 (N, K).

        Each column gets a 32-bit number that is unique in its row, because the hash of a row is a
        permutation of 32-bit numbers. The K columns with the smallest numbers are returned.

        Args:
            N: rows.
            M: columns to choose from.
            K: columns to choose per row, 1 to M.
            device: device of the result.

        Raises:
            ValueError: K is not between 1 and M.
        """
        if not 1 <= K <= M:
            raise ValueError(f"K must be 1 to {M} (the number of columns), found {K}")
        a_N, b_N = (part.to(torch.int32) for part in _halves(self._row_keys(N, device)))
        columns_M = torch.arange(M, dtype=torch.int32, device=device)
        block = max(1, (_BLOCK_CPU if device.type == "cpu" else _BLOCK_GPU) // M)
        least = _least_cpu if device.type == "cpu" else _least
        chosen_NK = torch.empty(N, K, dtype=torch.int64, device=device)
        for part_NK, a, b in zip(
            chosen_NK.split(block), a_N.split(block), b_N.split(block), strict=True
        ):
            part_NK.copy_(least(_permuted(columns_M, a, b), K))
        return chosen_NK

    def places(self, count_N: Tensor, K: int) -> Tensor:
        """Return K indices below each row's count, i.i.d. and uniform, int64 (N, K).

        Each index is the count times a 64-bit fraction, rounded down. Counts are 1 to 2^31 - 1.
        """
        keys_N1 = self._row_keys(len(count_N), count_N.device)[:, None]
        column_K = torch.arange(K, device=count_N.device)
        high_NK, low_NK = _halves(_mixed(keys_N1 + column_K * _signed(_GOLDEN)))
        count_N1 = count_N.long()[:, None]
        return ((low_NK * count_N1) >> 32).add_(high_NK * count_N1) >> 32

    def _row_keys(self, N: int, device: torch.device) -> Tensor:
        """Return 64 bits for each row, int64 (N,)."""
        row_N = torch.arange(self.row + 1, self.row + N + 1, device=device)
        return _mixed(_mixed(row_N * _signed(_GOLDEN)) ^ _signed(self.key))


def drawn_by(seed: int, purpose: Purpose, *key: int) -> Draw:
    """Return the draw of a seed, a purpose and a key such as (epoch, step); see `stream`."""
    (word,) = np.random.SeedSequence((seed, purpose, *key)).generate_state(1, np.uint64)
    return Draw(int(word))


def _permuted(columns_M: Tensor, a_N: Tensor, b_N: Tensor) -> Tensor:
    """Return an int32 for each column of each row, (N, M), different within a row."""
    x = columns_M ^ a_N[:, None]
    shifted = torch.empty_like(x)
    _fold(x, 16, shifted)
    x.mul_(_signed_32(_MIX_A))
    _fold(x, 15, shifted)
    x.add_(b_N[:, None]).mul_(_signed_32(_MIX_B))
    return _fold(x, 16, shifted)


def _fold(x: Tensor, by: int, shifted: Tensor) -> Tensor:
    """Replace int32 x by x ^ (x >>> by), the shift bringing in zeros."""
    torch.bitwise_right_shift(x, by, out=shifted)
    return x.bitwise_xor_(shifted.bitwise_and_((1 << (32 - by)) - 1))


def _least(keys_NM: Tensor, K: int) -> Tensor:
    """Return the columns of the K least keys of each row, in order."""
    return keys_NM.topk(K, dim=1, largest=False, sorted=False).indices.sort(dim=1).values


def _least_cpu(keys_NM: Tensor, K: int) -> Tensor:
    """Return what `_least` does, by numpy's partition, which is several times as fast."""
    keys = keys_NM.numpy()
    bound = np.partition(keys, K - 1, axis=1)[:, K - 1 : K]
    places = np.flatnonzero(keys <= bound).reshape(len(keys), K)
    return torch.from_numpy(places - np.arange(len(keys))[:, None] * keys.shape[1])


def _mixed(x: Tensor) -> Tensor:
    """Return splitmix64's mix of int64, which wraps as unsigned numbers do."""
    x = (x ^ ((x >> 30) & 0x3FFFFFFFF)) * _signed(_FIRST)
    x = (x ^ ((x >> 27) & 0x1FFFFFFFFF)) * _signed(_SECOND)
    return x ^ ((x >> 31) & 0x1FFFFFFFF)


def _mixed_int(x: int) -> int:
    whole = 2**64 - 1
    x = (x + _GOLDEN) & whole
    x = ((x ^ (x >> 30)) * _FIRST) & whole
    x = ((x ^ (x >> 27)) * _SECOND) & whole
    return x ^ (x >> 31)


def _halves(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the upper and the lower 32 bits of int64, 0 to 2^32 - 1."""
    return (x >> 32) & _LOW, x & _LOW


def _signed(word: int) -> int:
    return word - 2**64 if word >= 2**63 else word


def _signed_32(word: int) -> int:
    return word - 2**32 if word >= 2**31 else word
