"""The losses against lightly, pytorch-metric-learning and UniGrad's gradients, in float64.

Positives and negatives are built from embeddings by `simclr_similarities`, a loop written from
DCL's Eqs. 1-2. Both libraries normalise the embeddings and return the mean over 2N anchors where
DCL's Eqs. 1 and 6 sum; so do the tests.
"""

from typing import Any

import pytest
import torch
from pytorch_metric_learning import losses as metric_learning
from torch import Tensor
from torch.nn.functional import normalize
from torch.testing import assert_close

from bench.losses import dcl, dclw, infonce
from tests.fakes.embeddings import simclr_similarities, two_views
from tests.fakes.peers import lightly_loss

TAUS = pytest.mark.parametrize("tau", [0.05, 0.5])
# lightly wraps the weights of DCLW, a tensor already, in torch.tensor.
COPIES = pytest.mark.filterwarnings("ignore:To copy construct from a tensor:UserWarning")


def raw_views() -> tuple[Tensor, Tensor]:
    """Embeddings of length 3, so that normalising them has something to do."""
    a, b = two_views(8)
    return (3 * a.detach()).requires_grad_(), (3 * b.detach()).requires_grad_()


def similarities(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    return simclr_similarities(normalize(a, dim=1), normalize(b, dim=1))


def gradients(loss: Tensor, *leaves: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(loss, leaves, retain_graph=True)


def assert_agree(ours: Tensor, theirs: Tensor, *leaves: Tensor) -> None:
    assert_close(ours, theirs, rtol=0, atol=1e-6)
    assert_close(gradients(ours, *leaves), gradients(theirs, *leaves), rtol=0, atol=1e-6)


@TAUS
def test_infonce_is_lightlys_ntxent(tau: float) -> None:
    a, b = raw_views()
    theirs = lightly_loss("NTXentLoss", temperature=tau)(a, b)
    assert_agree(infonce(*similarities(a, b), tau=tau).mean(), theirs, a, b)


def metric_learnings_ntxent(a: Tensor, b: Tensor, tau: float) -> Tensor:
    """The two views of an image share a label, so each anchor has one positive."""
    loss = metric_learning.NTXentLoss(temperature=tau)
    found: Tensor = loss(torch.cat([a, b]), torch.arange(len(a)).repeat(2))
    return found


@TAUS
def test_infonce_is_metric_learnings_ntxent(tau: float) -> None:
    a, b = raw_views()
    ours = infonce(*similarities(a, b), tau=tau).mean()
    assert_agree(ours, metric_learnings_ntxent(a, b, tau), a, b)


def test_metric_learnings_ntxent_stops_at_the_smallest_number() -> None:
    """It adds the smallest float32 to the probability, so 87.3 nats are its most; ours has 200."""
    a = torch.eye(2)
    assert metric_learnings_ntxent(a, a.flip(0), 0.005).item() == pytest.approx(87.34, abs=0.01)
    ours = infonce(*similarities(a, a.flip(0)), tau=0.005).mean()
    assert ours.item() == pytest.approx(200, rel=1e-6)


@TAUS
def test_dcl_is_lightlys(tau: float) -> None:
    a, b = raw_views()
    theirs = lightly_loss("DCLLoss", temperature=tau)(a, b)
    assert_agree(dcl(*similarities(a, b), tau=tau).mean(), theirs, a, b)


@COPIES
@TAUS
@pytest.mark.parametrize("sigma", [0.2, 0.5])
def test_dclw_is_lightlys(tau: float, sigma: float) -> None:
    """lightly's weights have mean 1 over each view, ours over all anchors given: the same numbers.

    lightly detaches them, which the paper leaves open: with a gradient through them the value is
    the same, the gradient is not.
    """
    a, b = raw_views()
    kind: dict[str, Any] = {"tau": tau, "weight": "vmf", "sigma": sigma}
    theirs = lightly_loss("DCLWLoss", temperature=tau, sigma=sigma)(a, b)
    assert_agree(dclw(*similarities(a, b), **kind, through_weight=False).mean(), theirs, a, b)
    through = dclw(*similarities(a, b), **kind, through_weight=True).mean()
    assert_close(through, theirs, rtol=0, atol=1e-6)
    assert not torch.allclose(gradients(through, a)[0], gradients(theirs, a)[0], rtol=0.01)


@TAUS
def test_infonce_on_a_queue_is_lightlys_memory_bank(tau: float) -> None:
    """lightly draws the bank at random in float32: it is given the queue's keys. One direction."""
    a, b = raw_views()
    queue = two_views(20, seed=5)[0].detach()
    theirs = lightly_loss("NTXentLoss", temperature=tau, memory_bank_size=(20, 6))
    theirs.memory_bank.bank = queue.clone()
    x, y = normalize(a, dim=1), normalize(b, dim=1)
    pos = torch.stack([x[i] @ y[i] for i in range(8)])
    neg = torch.stack([torch.stack([x[i] @ key for key in queue]) for i in range(8)])
    assert_agree(infonce(pos, neg, tau=tau).mean(), theirs(a, b), a, b)


@TAUS
def test_gradient_of_moco(tau: float) -> None:
    """UniGrad, Eq. 2: keys are constants and the bank holds the positive."""
    queries, keys = two_views(5)
    bank = torch.cat([keys.detach(), two_views(7, seed=5)[0].detach()])
    sim = queries @ bank.T
    own = torch.eye(5, len(bank), dtype=torch.bool)
    infonce(sim[own], sim.masked_fill(own, -torch.inf), tau=tau).mean().backward()
    s = torch.softmax(queries.detach() @ bank.T / tau, dim=1)
    assert queries.grad is not None
    assert_close(queries.grad, (-keys.detach() + s @ bank) / (tau * 5))


@TAUS
@pytest.mark.parametrize("detached", [False, True])
def test_gradient_of_simclr(tau: float, detached: bool) -> None:
    """UniGrad, Eq. 3, with N counting both views' anchors; its second bracket is the keys' part.

    With detached keys (Eq. 21) the first bracket is left.
    """
    a, b = two_views(4)
    u = torch.cat([a, b]).detach()
    online = u.clone().requires_grad_()
    target = u if detached else online
    sim, n = online @ target.T, len(u)
    partner = torch.arange(n).roll(n // 2)
    own = torch.eye(n, dtype=torch.bool)
    pair = own[partner]
    infonce(sim[pair], sim.masked_fill(own | pair, -torch.inf), tau=tau).mean().backward()
    s = torch.softmax((u @ u.T / tau).masked_fill(own, -torch.inf), dim=1)
    expected = (-u[partner] + s @ u) / (tau * n)
    if not detached:
        expected = expected + (-u[partner] + s.T @ u) / (tau * n)  # t_v of u1 is s of v at u1
    assert online.grad is not None
    assert_close(online.grad, expected)
