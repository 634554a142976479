"""Plateau rule for learning rates: detect that a value no longer rises."""

import math
from collections.abc import Mapping


class Plateau:
    """Counter of learning-rate drops: one each time a value has no new best for some epochs.

    For a value that should fall, use its negative.
    """

    def __init__(self, *, patience: int, drops: int) -> None:
        """Begin with no value seen.

        Args:
            patience: epochs without a new best value before a drop, >= 1.
            drops: how many there may be.

        Raises:
            ValueError: patience < 1 or drops < 0.
        """
        if patience < 1 or drops < 0:
            raise ValueError(
                "the schedule 'plateau' needs patience >= 1 and drops >= 0, "
                f"found {patience} and {drops}"
            )
        self._patience, self._drops = patience, drops
        self._best, self._waited, self._dropped = -math.inf, 0, 0

    @property
    def dropped(self) -> int:
        """Number of drops so far."""
        return self._dropped

    def update(self, value: float) -> int:
        """Add an epoch's value and return the new `dropped`; NaN is not an improvement."""
        improved = value > self._best
        self._best = value if improved else self._best
        self._waited = 0 if improved else self._waited + 1
        if self._waited == self._patience and self._dropped < self._drops:
            self._dropped, self._waited = self._dropped + 1, 0
        return self._dropped

    def state(self) -> dict[str, float]:
        """Return the state for `load`; best is -inf before the first value."""
        return {"best": self._best, "waited": self._waited, "dropped": self._dropped}

    def load(self, state: Mapping[str, float]) -> None:
        """Restore the result of `state`."""
        self._best = state["best"]
        self._waited, self._dropped = int(state["waited"]), int(state["dropped"])
