"""The parameters of views as named tensors, which may be copied to a device in one piece.

What they say is done to all images and kept for some, so that no shape depends on a draw. Numbers
that no operation of the view set reads are left out.
"""

from collections.abc import Mapping
from dataclasses import fields, replace

from torch import Tensor

from bench.data.views.colour import plan_jitter_all
from bench.data.views.parameters import Affine, ViewParameters

_CHANCES = ("jitter", "grayscale", "blur", "solarize")  # `flip` says how many images there are
_OF = {"blur": "sigma"}  # the numbers of an operation, beside whether it is on
_AFFINE = "affine."


def numbers_of(parameters: ViewParameters) -> dict[str, Tensor]:
    """Return the tensors that the views are made of, by name, shape (V, B, ...) on the CPU."""
    off = {name for name in _CHANCES if name in parameters.never}
    off |= {_OF[name] for name in off if name in _OF} | {"factors", "order", "jitter_steps"}
    tensors = {
        field.name: value
        for field in fields(parameters)
        if field.name not in off and isinstance(value := getattr(parameters, field.name), Tensor)
    }
    if parameters.affine is not None:
        parts = fields(parameters.affine)
        tensors |= {_AFFINE + part.name: getattr(parameters.affine, part.name) for part in parts}
    if "jitter" not in parameters.never:
        plan = plan_jitter_all(parameters.factors.flatten(0, 1), parameters.order.flatten(0, 1))
        tensors["jitter_steps"] = plan.rows().view(*parameters.jitter.shape, -1)
    return tensors


def with_numbers(parameters: ViewParameters, numbers: Mapping[str, Tensor]) -> ViewParameters:
    """Return parameters of the same view set and batch with other numbers, on any device.

    Args:
        parameters: gives what no draw decides.
        numbers: as `numbers_of` names them.
    """
    tensors = {name: value for name, value in numbers.items() if not name.startswith(_AFFINE)}
    affine = parameters.affine
    if affine is not None:
        parts = (field.name for field in fields(Affine))
        affine = Affine(**{name: numbers[_AFFINE + name] for name in parts})
    return replace(parameters, **tensors, affine=affine, masked=True)  # type: ignore[arg-type]
