"""Methods as wholes: presets against independent implementations, on given embeddings."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize
from torch.testing import assert_close

from bench.data.draws import Draw, drawn_by
from bench.data.streams import Purpose
from bench.losses import infonce
from bench.methods.make import make_method
from bench.methods.method import ComparedBatch, Method, StepInput
from bench.methods.online_network import Online, Projected
from bench.methods.targets import Momentum
from bench.methods.witness import Dot
from tests.fakes.cells import METHODS, each, small_cell, training_of
from tests.fakes.peers import lightly_loss

N, D = 16, 8


def draw(key: int = 0) -> np.random.Generator:
    return np.random.default_rng(key)


def which(key: int = 0) -> Draw:
    return drawn_by(key, Purpose.NEGATIVES)


class Given(nn.Module):
    """An online network whose views are embeddings already."""

    witness = Dot()

    def forward(self, views: Tensor, blocks: int = 1) -> Projected:  # noqa: ARG002
        unit = normalize(views, dim=1)
        return Projected(views, unit, unit, views)


def embeddings() -> tuple[Tensor, Tensor]:
    values = torch.from_numpy(draw(5).standard_normal((2, N, D)))
    return values[0].requires_grad_(), values[1].requires_grad_()


def method_of(name: str, **changes: Any) -> Method:
    cell = small_cell(name, **changes)
    return make_method(cell, Online(cell), 96)


def compared(method: Method, a: Tensor, b: Tensor) -> ComparedBatch:
    given: Any = Given()
    return method.compare(given, StepInput((a, b), which()))


def loss_of(method: Method, a: Tensor, b: Tensor) -> Tensor:
    return torch.cat([method.objective(pair) for pair in compared(method, a, b).pairs]).mean()


@pytest.mark.filterwarnings("ignore:To copy construct from a tensor:UserWarning")
@pytest.mark.parametrize(
    ("loss", "theirs"),
    [
        ("infonce", "NTXentLoss"),
        ("dcl", "DCLLoss"),
        ("dclw", "DCLWLoss"),
    ],
)
def test_simclr_and_its_losses_are_lightlys(loss: str, theirs: str) -> None:
    a, b = embeddings()
    ours = loss_of(method_of("simclr", loss=loss, tau=0.2), a, b)
    other = lightly_loss(theirs, temperature=0.2)(a, b)
    assert_close(ours, other, rtol=0, atol=1e-6)
    mine, yours = (torch.autograd.grad(x, (a, b)) for x in (ours, other))
    assert_close(mine, yours, rtol=0, atol=1e-6)


def test_mocos_queue_is_lightlys() -> None:
    """Two batches: the first one's keys are negatives of the second, its own keys are not."""
    method = method_of("moco", target="stop-gradient", K=N, tau=0.2, bn="plain", bn_groups=1)
    theirs = lightly_loss("NTXentLoss", temperature=0.2, memory_bank_size=(N, D))
    method.negatives.double()  # type: ignore[attr-defined]
    a, b = embeddings()
    method.remember(compared(method, b, a), StepInput((b, a), which()))  # keys of a
    theirs.memory_bank.bank = normalize(a.detach(), dim=1)
    ours = loss_of(method, a, b)
    assert_close(ours, theirs(a, b.detach()), rtol=0, atol=1e-6)


def test_keys_enter_the_queue_after_both_directions() -> None:
    """A queue that filled itself while it answered would hand b its own positives."""
    method = method_of(
        "moco", target="stop-gradient", K=2 * N, symmetric=True, bn="plain", bn_groups=1
    )
    before = method.negatives.memory.content().clone()  # type: ignore[attr-defined]
    a, b = (view.detach().float() for view in embeddings())
    found = compared(method, a, b)
    for query, pair in zip((a, b), found.pairs, strict=True):
        assert_close(pair.neg_NK, normalize(query, dim=1) @ before.T)
    method.remember(found, StepInput((a, b), which()))
    after = method.negatives.memory.content()  # type: ignore[attr-defined]
    assert_close(after, torch.cat([normalize(a, dim=1), normalize(b, dim=1)]))


def test_nnclr_compares_neighbours_with_predictions() -> None:
    """NNCLR, Eq. 3: -log( exp(nn(z_i) . p_i / tau) / sum_k exp(nn(z_i) . p_k / tau) )."""
    method = method_of("nnclr", tau=0.1)
    assert method.support is not None
    a, b = (view.detach().float() for view in embeddings())
    bank, losses = method.support.content(), []
    for one, two in ((a, b), (b, a)):
        p = normalize(two, dim=1)
        for z_i, i in zip(normalize(one, dim=1), range(N), strict=True):
            neighbour = bank[max(range(len(bank)), key=lambda m: float(z_i @ bank[m]))]
            logits = torch.stack([neighbour @ p_k / 0.1 for p_k in p])
            losses.append(logits.logsumexp(dim=0) - logits[i])
    assert_close(loss_of(method, a, b), torch.stack(losses).mean(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("over", ["views-together", "each-view"])
def test_queries_of_a_shared_encoder_keep_their_own_gradient(over: str) -> None:
    """The probed gradient is that of a query alone; the embedding's adds what came through keys."""
    a, b = embeddings()
    found = compared(method_of("simclr", symmetric=False, tau=0.5, bn_over=over), a, b)
    (pair,) = found.pairs
    loss_N = infonce(pair.pos_N, pair.neg_NK, tau=0.5)
    loss_N.mean().backward()
    query = normalize(a.detach(), dim=1).requires_grad_()
    keys = [normalize(x.detach(), dim=1) for x in (b, a)]
    sim = [query @ k.T for k in keys]
    own = torch.eye(N, dtype=torch.bool)
    neg = torch.cat([s.masked_fill(own, -torch.inf) for s in sim], dim=1)
    infonce(sim[0].diagonal(), neg, tau=0.5).mean().backward()
    assert_close(pair.probed_ND.grad, query.grad)


@pytest.mark.slow
@pytest.mark.parametrize("method", each(METHODS))
def test_gradients_reach_the_online_network_alone(method: str) -> None:
    cell = small_cell(method, zero_init_residual=False)
    training = training_of(cell)
    training.step(0)
    online = dict(training.online.named_parameters())
    if cell.norm != "l2":  # what is compared has no mean, so the last bias learns nothing
        del online[[name for name in online if name.endswith("bias")][-1]]
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in online.values())
    target = training.method.modules["target"]
    assert not any(p.requires_grad for p in target.parameters())


def test_a_momentum_target_follows() -> None:
    """MoCo, Eq. 2, and keys of a target that has not moved are those of the copy at the start."""
    training = training_of(small_cell("moco", momentum=0.75))
    network = nn.Sequential(training.online.backbone, training.online.projector)
    before = [p.detach().clone() for p in training.method.modules["target"].parameters()]
    assert all(map(torch.equal, before, [p.detach() for p in network.parameters()]))
    training.step(0)
    after = list(training.method.modules["target"].parameters())
    for old, new, online in zip(before, after, network.parameters(), strict=True):
        assert_close(new, 0.75 * old + 0.25 * online)


def test_momentum_0_copies_the_online_network() -> None:
    training = training_of(small_cell("simo", momentum=0.0))
    training.step(0)
    network = nn.Sequential(training.online.backbone, training.online.projector)
    target = training.method.modules["target"]
    assert all(map(torch.equal, target.parameters(), network.parameters()))


def momentum_of(bn: str, groups: int) -> Momentum:
    target = method_of("moco", bn=bn, bn_groups=groups).target
    assert isinstance(target, Momentum)
    return target


def test_shuffled_keys_come_back_in_order() -> None:
    """Without batch norm over parts, shuffling changes nothing."""
    plain, shuffled = momentum_of("plain", 1), momentum_of("shuffling", 2)
    views = torch.from_numpy(draw(1).random((N, 3, 8, 8), dtype=np.float32))
    for target in (plain, shuffled):
        target.network.eval()
    assert_close(shuffled.keys(views), plain.keys(views), rtol=1e-5, atol=1e-5)


def test_shuffling_gives_keys_other_company() -> None:
    """In training, parts of the batch normalise apart: shuffled keys see other images."""
    split, shuffled = momentum_of("plain", 2), momentum_of("shuffling", 2)
    views = torch.from_numpy(draw(1).random((N, 3, 8, 8), dtype=np.float32))
    assert (shuffled.keys(views) - split.keys(views)).abs().max() > 1e-3


def test_stop_gradient_keys_are_constants() -> None:
    a, b = embeddings()
    pair = compared(method_of("simclr", target="stop-gradient"), a, b).pairs[0]
    assert pair.query_ND.requires_grad
    assert not pair.key_ND.requires_grad
