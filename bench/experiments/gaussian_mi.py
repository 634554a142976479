"""Mutual-information bound of correlated Gaussians, separable critic (EqCo, App. C, Table 9).

Shapes: S stacked cells, E = 2 S encoders (those of X first, then those of Y), K pairs per step, D
dimensions. The backward pass is explicit, so a step consists mostly of matrix products.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bench.cells.toys import GaussianMI
from bench.data.streams import Purpose, stream
from bench.data.toys import correlate, correlation_for, normal_pairs
from bench.experiments.outcome import Outcome, Result
from bench.losses import eqco_margin, in_batch, infonce, infonce_gradient_in_batch, mi_lower_bound
from bench.networks.stacked import StackedMLP
from bench.results.folder import CellFolder
from bench.train.stack import StackState, stacked, train_stack

RECORD_EVERY = 100


def run(cells: Sequence[GaussianMI], folders: Sequence[CellFolder], device: str) -> list[Outcome]:
    """Train the critics, then estimate the bound with frozen weights."""
    critics = Critics(cells, device)
    with torch.no_grad():
        failures = train_stack(critics, folders, steps=cells[0].steps, record_every=RECORD_EVERY)
        estimates = critics.estimates()
    return [
        failure
        or Result({"mi_lower_bound": float(bound.mean()), "mi_lower_bound_std": float(bound.std())})
        for failure, bound in zip(failures, estimates, strict=True)
    ]


class Critics:
    """Critics f(x).g(y)/tau of a stack of cells, and their optimiser."""

    def __init__(self, cells: Sequence[GaussianMI], device: str) -> None:
        """Initialise from the seeds: cells of one seed begin with the same weights."""
        first = cells[0]
        self.cells, self.device = cells, device
        self.K, self.tau = first.K, first.tau
        self.rhos = [correlation_for(cell.mi_true, cell.d) for cell in cells]
        inits = [stream(cell.seed, Purpose.INIT, tower) for tower in (0, 1) for cell in cells]
        widths = (first.d, first.hidden_units, first.embedding_dim)
        self.net = StackedMLP(widths, inits, output_relu=first.output_relu, device=device)
        self.margin = torch.tensor([[_margin(cell)] for cell in cells], device=device)
        self.candidates = torch.tensor([[_candidates(cell)] for cell in cells], device=device)
        for parameter in self.net.parameters():
            parameter.grad = torch.zeros_like(parameter)
        self.adam = torch.optim.Adam(self.net.parameters(), lr=first.lr, fused=True)
        stack, encoders = len(cells), 2 * len(cells)
        self.stack = StackState(self.adam, [(i, i + stack) for i in range(stack)])
        self.hidden = torch.empty(encoders, self.K, first.hidden_units, device=device)
        self.output = torch.empty(encoders, self.K, first.embedding_dim, device=device)
        self.sim = torch.empty(stack, self.K, self.K, device=device)
        self.grad_hidden = torch.empty_like(self.hidden)
        self.grad_output = torch.empty_like(self.output)

    def inputs(self, purpose: Purpose, step: int) -> Tensor:
        """Return the pairs of a step, (E, K, d); cells with equal seeds share X and noise."""
        drawn = {
            seed: normal_pairs(stream(seed, purpose, step), self.K, self.cells[0].d)
            for seed in {cell.seed for cell in self.cells}
        }
        xs = [drawn[cell.seed][0] for cell in self.cells]
        ys = [
            correlate(*drawn[cell.seed], rho)
            for cell, rho in zip(self.cells, self.rhos, strict=True)
        ]
        return stacked(xs + ys, self.device)

    def similarities(self, x_EKD: Tensor) -> Tensor:
        """Return f(x).g(y) for all combinations, shape (S, K, K), and keep the activations."""
        (w1, w2), (b1, b2), stack = self.net.weights, self.net.biases, len(self.cells)
        torch.baddbmm(b1, x_EKD, w1, out=self.hidden)
        self.hidden.relu_()
        torch.baddbmm(b2, self.hidden, w2, out=self.output)
        if self.net.output_relu:
            self.output.relu_()
        return torch.bmm(self.output[:stack], self.output[stack:].mT, out=self.sim)

    def step(self, step: int) -> None:
        """Do one step of Adam on the mean loss of each cell."""
        x_EKD = self.inputs(Purpose.TRAIN, step)
        grad_SKK = infonce_gradient_in_batch(self.similarities(x_EKD), self.margin, tau=self.tau)
        self.backward(x_EKD, grad_SKK)
        self.adam.step()

    def backward(self, x_EKD: Tensor, grad_SKK: Tensor) -> None:
        """Backpropagate the gradient of the similarities to the parameters' `grad`."""
        (w1, w2), (b1, b2), stack = self.net.weights, self.net.biases, len(self.cells)
        torch.bmm(grad_SKK, self.output[stack:], out=self.grad_output[:stack])
        torch.bmm(grad_SKK.mT, self.output[:stack], out=self.grad_output[stack:])
        if self.net.output_relu:
            _mask(self.grad_output, self.output)
        torch.bmm(self.hidden.mT, self.grad_output, out=w2.grad)
        torch.sum(self.grad_output, dim=1, keepdim=True, out=b2.grad)
        torch.bmm(self.grad_output, w2.mT, out=self.grad_hidden)
        _mask(self.grad_hidden, self.hidden)
        torch.bmm(x_EKD.mT, self.grad_hidden, out=w1.grad)
        torch.sum(self.grad_hidden, dim=1, keepdim=True, out=b1.grad)

    def bounds(self, x_EKD: Tensor) -> Tensor:
        """Return the bound of each cell on these pairs, shape (S,), in nats."""
        pos_SK, neg_SKK = in_batch(self.similarities(x_EKD))
        loss_SK = infonce(pos_SK, neg_SKK, tau=self.tau, margin=self.margin)
        return mi_lower_bound(loss_SK, candidates=self.candidates).mean(dim=1)

    def measure(self) -> list[dict[str, float]]:
        """Return the bound on fresh pairs, which are the same after every step."""
        bounds = self.bounds(self.inputs(Purpose.EVALUATE, 0)).tolist()
        return [{"mi_lower_bound": bound} for bound in bounds]

    def estimates(self) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """Return `eval_repeats` bounds per cell, each on fresh pairs, (S, repeats), in nats."""
        repeats = range(self.cells[0].eval_repeats)
        bounds = [self.bounds(self.inputs(Purpose.EVALUATE, i)) for i in repeats]
        return torch.stack(bounds, dim=1).double().cpu().numpy()


def _margin(cell: GaussianMI) -> float:
    if cell.alpha is None:
        return 0.0
    count = cell.K - 1 if cell.margin_count == "negatives" else cell.K
    return eqco_margin(cell.alpha, count, cell.tau)


def _candidates(cell: GaussianMI) -> float:
    """Return 1 + K e^{m/tau}, K here counting negatives: K pairs, or 1 + alpha with the margin."""
    if cell.alpha is None:
        return float(cell.K)
    return cell.alpha + (cell.bound_constant == "one-plus-alpha")


def _mask(grad: Tensor, activation: Tensor) -> None:
    """Zero the gradient where ReLU was off, in place."""
    torch.ops.aten.threshold_backward.grad_input(grad, activation, 0, grad_input=grad)
