"""Gradient caching (arXiv:2101.06983): a large batch in the memory of a small one.

All batches are encoded without gradients and compared as one batch. This gives the loss's gradient
with respect to each output. Then each batch is encoded a second time, and its part of this gradient
is backpropagated to the weights. Batch norm uses the same statistics of each batch both times and
updates its running statistics once.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from bench.methods.method import Encoded, Method, StepInput
from bench.methods.online_network import Online, Projected


def encode_all(method: Method, online: Online, batches: Sequence[StepInput]) -> Encoded:
    """Return the concatenated outputs of the networks for all batches.

    Outputs of the online network are leaf tensors that receive the loss's gradient.
    """
    statistics = [buffer.clone() for buffer in online.buffers()]
    with torch.no_grad():
        parts = [method.encode(online, seen) for seen in batches]
    for buffer, before in zip(online.buffers(), statistics, strict=True):
        buffer.copy_(before)  # they move in `pass_on`
    views = zip(*(part.projected for part in parts), strict=True)
    keys = {v: torch.cat([part.keys[v] for part in parts]) for v in parts[0].keys}
    return Encoded([_joined(of_view) for of_view in views], keys)


def pass_on(method: Method, online: Online, batches: Sequence[StepInput], encoded: Encoded) -> None:
    """Encode each batch again and add its part of the gradient to the weights' gradients."""
    begin = 0
    for seen in batches:
        again = method.project(online, seen)
        end = begin + len(again[0].projection_ND)
        learnt = [
            (output_ND, leaf_ND.grad[begin:end])
            for new, old in zip(again, encoded.projected, strict=True)
            for output_ND, leaf_ND in _compared(new, old)
            if leaf_ND.grad is not None
        ]
        torch.autograd.backward(
            [output_ND for output_ND, _ in learnt], [grad_ND for _, grad_ND in learnt]
        )
        begin = end


def _joined(parts: Sequence[Projected]) -> Projected:
    """Return a view's outputs in all batches as one."""
    features, projection_ND, prediction_ND, output_ND = map(torch.cat, zip(*parts, strict=True))
    if parts[0].prediction_ND is parts[0].projection_ND:
        prediction_ND = projection_ND
    return Projected(
        features, projection_ND.requires_grad_(), prediction_ND.requires_grad_(), output_ND
    )


def _compared(new: Projected, old: Projected) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the outputs that are compared, each once, with the leaves that stood for them."""
    yield new.projection_ND, old.projection_ND
    if old.prediction_ND is not old.projection_ND:
        yield new.prediction_ND, old.prediction_ND
