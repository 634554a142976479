"""Modules of which some numbers stay on the host: those that decide what a step computes."""

from collections.abc import Callable
from typing import ClassVar, Self

from torch import Tensor, nn


class PartlyOnHost(nn.Module):
    """A module whose buffers named in `on_host` stay on the CPU when the others move to a device.

    The host reads them without waiting for the device. They change in the first steps of a training
    and are constant from then on, so that a step recorded after that may hold their values.
    """

    on_host: ClassVar[tuple[str, ...]] = ()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        kept = {name: self._buffers[name] for name in self.on_host if name in self._buffers}
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._buffers.update(kept)
        return self
