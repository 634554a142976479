"""A training as if it were on a GPU, and what watches that its step never makes the host wait.

No GPU is needed: tensors of the device are those of torch's device `meta`, which have a shape and
no values, so that nothing can be read from them. (Fake CUDA tensors would do the same, but torch's
autograd asks a driver for a context where it is built for CUDA.)
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import is_dataclass
from types import FunctionType
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from bench.data.views import ViewParameters, lab
from bench.methods.on_host import PartlyOnHost
from bench.methods.targets import interleaved
from bench.train.feeding import Feeding
from bench.train.static_step import StaticTraining

READS = {
    "_local_scalar_dense", "equal", "is_nonzero", "masked_select", "nonzero", "unique_dim",
    "_unique2", "bincount", "repeat_interleave", "_linalg_eigh", "_linalg_svd",
}  # fmt: skip
"""What the host waits for: values, shapes that depend on values, errors of decompositions."""


class HostWaits(AssertionError):
    """A step does what a CUDA graph cannot hold."""


def is_fused(name: str) -> bool:
    """Return whether an operation is an optimiser's kernel, which has no version without values."""
    return name.startswith("_fused_")


class WithoutKernels(TorchDispatchMode):
    """Passes over the optimisers' kernels on a device without values: they change values alone."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        fused = is_fused(func.overloadpacket.__name__)
        return None if fused else func(*args, **(kwargs or {}))


class Watch(TorchDispatchMode):
    """Raises HostWaits at a host read, a shape that values decide, and a copy to or from the host.

    What has tensors of the host alone stays there and is let alone.
    """

    operations = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        kwargs = kwargs or {}
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        devices = {tensor.device.type for tensor in given}
        name = func.overloadpacket.__name__
        if len(devices) > 1:
            raise HostWaits(f"{name} takes a tensor of the host")
        if devices == {"meta"} and (name in READS or by_a_mask(name, args)):
            raise HostWaits(f"{name} is waited for by the host")
        if devices == {"meta"} and "cpu" in str(kwargs.get("device")):
            raise HostWaits(f"{name} copies from the device to the host")
        found = None if is_fused(name) else func(*args, **kwargs)
        made = {leaf.device.type for leaf in tree_leaves(found) if isinstance(leaf, Tensor)}
        if "meta" in made and (devices == {"cpu"} or name.startswith("lift_fresh")):
            raise HostWaits(f"{name} copies from the host to the device")
        self.operations += "meta" in devices | made
        return found


def by_a_mask(name: str, args: tuple[Any, ...]) -> bool:
    """Return whether an operation takes or puts entries where a mask says."""
    if not name.startswith(("index", "_index_put")) or len(args) < 2:
        return False
    return any(isinstance(i, Tensor) and i.dtype == torch.bool for i in tree_leaves(args[1]))


class Mover:
    """Puts tensors without values in the place of real ones, in all that an object holds."""

    def __init__(self) -> None:
        self.moved: dict[int, Any] = {}
        self.kept: list[Any] = []  # so that no id is given twice

    def of(self, value: Any) -> Any:  # noqa: C901  # one branch per kind of thing
        """Return the value with its tensors moved; what can be changed is changed in place."""
        if id(value) in self.moved:
            return self.moved[id(value)]
        self.kept.append(value)
        if isinstance(value, Tensor):
            moved = torch.empty_strided(
                value.shape, value.stride(), dtype=value.dtype, device="meta"
            )
            if isinstance(value, nn.Parameter):
                moved = nn.Parameter(moved, requires_grad=value.requires_grad)
            self.moved[id(value)] = moved
            return moved
        self.moved[id(value)] = value
        if isinstance(value, list):
            value[:] = [self.of(part) for part in value]
        elif isinstance(value, dict):
            pairs = [(self.of(key), self.of(part)) for key, part in value.items()]
            value.clear()
            value.update(pairs)
        elif isinstance(value, tuple):
            parts = [self.of(part) for part in value]
            value = type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
            self.moved[id(self.kept[-1])] = value
        elif isinstance(value, FunctionType):
            for cell in value.__closure__ or ():
                if isinstance(cell.cell_contents, Tensor):
                    cell.cell_contents = self.of(cell.cell_contents)
        elif not isinstance(value, ViewParameters):
            self._inside(value)
        return value

    def _inside(self, value: Any) -> None:
        if isinstance(value, Feeding):
            value._row = self.of(value._row)
            return
        ours = type(value).__module__.startswith("bench.") and not isinstance(value, type)
        if not (ours or isinstance(value, nn.Module | torch.optim.Optimizer)):
            return
        host = value.on_host if isinstance(value, PartlyOnHost) else ()
        kept = {name: value._buffers[name] for name in host if name in value._buffers}
        names = value.__dict__ if hasattr(value, "__dict__") else getattr(value, "__slots__", ())
        for name in list(names):
            part = self.of(getattr(value, name) if is_dataclass(value) else value.__dict__[name])
            object.__setattr__(value, name, part)
        if kept:
            value._buffers.update(kept)


@contextmanager
def without_values(training: StaticTraining) -> Iterator[None]:
    """Have a training, whose device is the CPU, compute on a device that has no values."""
    autocast = torch.autocast

    def known_to_meta(device_type: str, *given: Any, **named: Any) -> Any:
        """Stand in for autocast, which knows no device `meta`: types stay as they are."""
        return nullcontext() if device_type == "meta" else autocast(device_type, *given, **named)

    Mover().of(training)
    with patch("torch.autocast", known_to_meta):
        try:
            yield
        finally:
            for cached in (lab._columns, interleaved):
                cached.cache_clear()


def warm_up(training: StaticTraining, done: float) -> None:
    """Do a step that nothing watches: constants are copied to the device once, in the first one."""
    with WithoutKernels():  # type: ignore[no-untyped-call]
        training.static_step(done)


def watched(training: StaticTraining, done: float) -> int:
    """Do a step under the watch; return how many operations it has on the device.

    Raises:
        HostWaits: the host would wait for it, or a graph could not hold it.
    """
    with Watch() as watch:  # type: ignore[no-untyped-call]
        training.static_step(done)
    return int(watch.operations)
