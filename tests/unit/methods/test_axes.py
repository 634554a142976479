"""The axes put together: banks, towers, sample sets, mixtures."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize
from torch.testing import assert_close

from bench.data.draws import Draw, drawn_by
from bench.data.streams import Purpose
from bench.data.views import CutMix
from bench.losses import correlation, infonce
from bench.methods.bank import Bank, first_entries
from bench.methods.bank_negatives import BankNegatives
from bench.methods.make import make_method
from bench.methods.method import Method, StepInput
from bench.methods.negatives import Anchor, QueueNegatives, ScalarDictionary, Similarities
from bench.methods.online_network import Online
from bench.suites.presets import paper_presets
from tests.fakes.cells import method_of, small_cell, training_of

N, IMAGES = 16, 96


def draw(key: int = 0) -> np.random.Generator:
    return np.random.default_rng(key)


def which(key: int = 0) -> Draw:
    return drawn_by(key, Purpose.NEGATIVES)


def shown(views: int = 2, size: int = 8, **more: Any) -> StepInput:
    values = torch.from_numpy(draw(7).standard_normal((views, N, 3, size, size))).float()
    return StepInput(tuple(values), which(1), torch.arange(N) * 2, **more)


def parts(name: str, **changes: Any) -> tuple[Method, Online]:
    cell = small_cell(name, **changes)
    online = Online(cell)
    return make_method(cell, online, IMAGES), online


def bank_of(method: Method, tower: int = 0) -> Bank:
    assert method.banks is not None
    bank = method.banks[tower]
    assert isinstance(bank, Bank)
    return bank


def test_ring_differs_from_ir_nce_in_how_negatives_are_drawn() -> None:
    ring, ir = paper_presets()["ring"].settings, paper_presets()["ir-nce"].settings
    different = {name for name in ring if ring[name] != ir.get(name)}
    assert different == {"drawn", "ball_share", "inner_share"}


def test_a_query_is_compared_with_its_entry_and_the_entry_remembers_it() -> None:
    method, online = parts("ir-nce", bank_rate=0.0)
    seen, bank = shown(1), bank_of(method)
    before = bank.entries.clone()
    found = method.compare(online, seen)
    (pair,) = found.pairs
    assert torch.equal(pair.key_ND, before[seen.rows_N])
    assert_close(pair.pos_N, (pair.query_ND * before[seen.rows_N]).sum(dim=1))
    assert torch.equal(bank.entries, before)
    method.remember(found, seen)
    assert_close(bank.entries[seen.rows_N], pair.query_ND.detach())  # rate 0: the last view
    others = torch.ones(IMAGES, dtype=torch.bool)
    others[seen.rows_N] = False
    assert torch.equal(bank.entries[others], before[others])


def test_the_towers_have_each_others_banks() -> None:
    method, online = parts("cmc-nce", bank_rate=0.0)
    seen = shown(1)
    first, second = (bank_of(method, i).entries.clone() for i in (0, 1))
    found = method.compare(online, seen)
    assert torch.equal(found.pairs[0].key_ND, second[seen.rows_N])
    assert torch.equal(found.pairs[1].key_ND, first[seen.rows_N])
    method.remember(found, seen)
    for tower, pair in enumerate(found.pairs):
        assert_close(bank_of(method, tower).entries[seen.rows_N], pair.query_ND.detach())
    both = online.backbone(seen.views[0])
    assert_close(both, torch.cat([p.features for p in found.projected], dim=1))


def test_a_tower_sees_its_channels_alone() -> None:
    method, online = parts("cmc-nce")
    seen = shown(1)
    (view,) = seen.views
    changed = view.clone()
    changed[:, 1:] += 1
    before, after = (
        method.compare(online, seen._replace(views=(v,))).projected for v in (view, changed)
    )
    assert torch.equal(before[0].projection_ND, after[0].projection_ND)
    assert not torch.equal(before[1].projection_ND, after[1].projection_ND)


def negatives_of(name: str, epoch: float = 5, **changes: Any) -> tuple[Tensor, Similarities]:
    """Return the ranks of the entries that are drawn, nearest first, and what was found."""
    cell = small_cell(name, K=60, **changes)
    bank = Bank(
        first_entries(IMAGES, cell.feature_dim, draw(3)), rate=0.5, renormalised=True,
        clusters=cell.clusters, clusterings=cell.clusterings or 0,
    )  # fmt: skip
    if cell.clusters:
        bank.fit_clusters(draw(4))
    query = normalize(torch.from_numpy(draw(5).standard_normal((N, cell.feature_dim))), dim=1)
    rows = torch.arange(N)
    anchor = Anchor(
        query.float(), bank.of(rows), None, which(6), bank=bank, rows_N=rows, epoch=epoch
    )
    found = BankNegatives(cell).similarities(anchor)
    sim = query.float() @ bank.entries.T
    own = sim.gather(1, rows[:, None])
    rank = (found.neg_NK[:, :, None] < sim[:, None] - 1e-6).sum(dim=2)
    rank -= (found.neg_NK < own - 1e-6).long()  # among the others
    return rank, found


def test_ball_and_ring_take_ranks_of_their_shares() -> None:
    ball, _ = negatives_of("ball", ball_share=0.3)
    assert ball.max() < round(0.3 * 95)
    assert ball.min() == 0
    ring, _ = negatives_of("ring", ball_share=0.3, inner_share=0.1)
    assert ring.max() < round(0.3 * 95)
    assert ring.min() >= round(0.1 * 95)


def test_annealing_shrinks_the_ball() -> None:
    widest = [
        int(negatives_of("ball-anneal", epoch, ball_share=0.2, anneal_epochs=4)[0].max())
        for epoch in (0, 2, 4)
    ]
    assert widest[0] > widest[1] > widest[2]
    assert widest[2] < round(0.2 * 95)


def test_annealing_moves_at_every_step() -> None:
    """mutual-information, Sec. 4.3: on each gradient step."""
    cell = small_cell("ring-anneal", anneal_epochs=4, inner_from_epoch=1, inner_to_epoch=2)
    shares = [BankNegatives(cell).shares(epoch) for epoch in (0.0, 0.5, 1.0, 1.5)]
    assert [s.outer for s in shares] == pytest.approx([1.0, 0.9375, 0.875, 0.8125])
    assert [s.inner for s in shares] == pytest.approx([0.0, 0.0, 0.0, 0.05])
    once = cell.model_copy(update={"anneal_every": "epoch"})
    assert BankNegatives(once).shares(1.5) == BankNegatives(once).shares(1.0)


def test_the_loop_tells_how_much_of_an_epoch_is_done() -> None:
    training = training_of(small_cell("ball-anneal"))
    seen = []
    similarities = method_of(training).negatives.similarities

    def told(anchor: Anchor) -> Similarities:
        seen.append(anchor.epoch)
        return similarities(anchor)

    method_of(training).negatives.similarities = told  # type: ignore[method-assign]
    for step in range(training.steps_an_epoch + 2):
        training.step(step)
    steps = range(training.steps_an_epoch + 2)
    assert seen == [step / training.steps_an_epoch for step in steps]


@pytest.mark.parametrize("name", ["ball-s-neigh", "la-nce", "cave"])
def test_it_begins_with_uniform_draws_without_neighbours(name: str) -> None:
    rank, found = negatives_of(name, 0, uniform_epochs=1)
    assert rank.max() > 80
    assert found.near_NL is None
    assert negatives_of(name, 1, uniform_epochs=1)[1].near_NL is not None or name == "cave"


@pytest.mark.parametrize(("name", "like"), [("la", "ir"), ("la-nce", "ir-nce")])
def test_la_begins_as_instance_discrimination(name: str, like: str) -> None:
    """mutual-information, App. C.2: 10 epochs of IR first."""
    for epoch, same in ((0, True), (1, False)):
        losses = []
        for one in (name, like):
            method, online = parts(one)
            method.begin_epoch(epoch)
            (pair,) = method.compare(online, shown(1, epoch=epoch)).pairs
            losses.append(method.objective(pair))
        assert torch.equal(*losses) == same


def test_the_loss_of_two_towers_is_a_sum() -> None:
    """mutual-information, Eq. 3: L(x_L, M_ab) + L(x_ab, M_L)."""
    training = training_of(small_cell("cmc-nce", batch_size=96, lr=1e-9, epochs=1))
    training.online.train()
    batch = training.batches.batch(0, 0)
    draw = drawn_by(0, Purpose.NEGATIVES, 0, 0)
    state = {k: v.clone() for k, v in training.online.state_dict().items()}
    pairs = (
        method_of(training).compare(training.online, StepInput(batch.views, draw, batch.rows)).pairs
    )
    total = torch.stack([method_of(training).objective(pair).mean() for pair in pairs]).sum()
    first = next(training.online.parameters())
    of_queries = [pair.query_ND for pair in pairs]
    expected, *gradients = torch.autograd.grad(total, [first, *of_queries])
    training.online.load_state_dict(state)
    training.step(0)
    assert first.grad is not None
    assert_close(first.grad, expected, rtol=1e-4, atol=1e-6)
    norm = 96 * torch.cat(gradients).norm(dim=1).mean()  # of a query's own loss
    assert training.probes.line()["grad_norm_q"] == pytest.approx(float(norm), rel=1e-3)


def test_la_counts_those_of_the_cluster_as_neighbours() -> None:
    cell = small_cell("la-nce", K=20, clusters=6)
    bank = Bank(
        first_entries(IMAGES, cell.feature_dim, draw(3)), rate=0.5, renormalised=True,
        clusters=6, clusterings=3,
    )  # fmt: skip
    bank.fit_clusters(draw(4))
    rows = torch.arange(N)
    query = bank.of(rows).requires_grad_()
    anchor = Anchor(query, bank.of(rows), None, which(6), bank=bank, rows_N=rows, epoch=5)
    found = BankNegatives(cell).similarities(anchor)
    assert found.allowed_NL is not None
    assert found.near_NL is found.neg_NK
    assert 0 < found.allowed_NL.float().mean() < 1
    # Its K negatives are those nearest to the entry, its own left out.
    sim = bank.entries[rows] @ bank.entries.T
    sim[rows, rows] = -2
    assert_close(found.neg_NK.sort(dim=1, descending=True)[0], sim.topk(20, dim=1)[0])


@pytest.mark.parametrize("normaliser", ["constant", "sampled"])
def test_two_uniform_samples_are_drawn_for_la_by_the_word_alone(normaliser: str) -> None:
    method, online = parts("la", normaliser=normaliser, own_entry="always")
    method.begin_epoch(1)
    (pair,) = method.compare(online, shown(1, epoch=1)).pairs
    assert (pair.similarities.globals_2NK is not None) == (normaliser == "sampled")
    assert method.objective(pair).shape == (N,)


def test_la_learns_from_its_own_entry_where_it_is_near_and_la_nce_always() -> None:
    """mutual-information, Sec. 4.3: i in C(i) is the difference."""
    gradients = []
    for name in ("la", "la-nce"):
        method, online = parts(name, K=3, clusters=90, clusterings=1)
        method.begin_epoch(1)
        (pair,) = method.compare(online, shown(1, epoch=1)).pairs
        near = (pair.pos_N >= pair.neg_NK.min(dim=1).values).detach()
        assert int((~near).sum()) > 0
        loss_N = method.objective(pair)
        gradients.append(torch.autograd.grad(loss_N.sum(), pair.query_ND)[0].norm(dim=1)[~near])
    assert gradients[0].count_nonzero() == 0
    assert (gradients[1] > 0).all()


def test_kappa_is_estimated_from_the_first_batches_and_kept() -> None:
    """The mean of e^(s / tau) over the negatives drawn: with these it is what it was before."""
    method, online = parts("ir")
    negatives = method.negatives
    assert isinstance(negatives, BankNegatives)
    assert negatives.normaliser is not None
    means = []
    for i in range(12):
        seen = shown(1)._replace(draw=which(i))
        compared = method.compare(online, seen)
        (pair,) = compared.pairs
        means.append(float((pair.neg_NK.detach().double() / 0.07).exp().mean()))
        assert pair.similarities.kappa == pytest.approx(np.mean(means[:10]))
        method.remember(compared, seen)
    again, _ = parts("ir")
    assert isinstance(again.negatives, BankNegatives)
    again.negatives.load_state_dict(negatives.state_dict())
    (pair,) = again.compare(online, shown(1)).pairs
    assert pair.similarities.kappa == pytest.approx(np.mean(means[:10]))


def test_clusters_are_fitted_once_an_epoch_and_are_the_same_again() -> None:
    method, _ = parts("cave", uniform_epochs=1)
    fresh = bank_of(method).clusters.clone()
    method.begin_epoch(0)
    assert torch.equal(bank_of(method).clusters, fresh)
    method.begin_epoch(1)
    fitted = bank_of(method).clusters.clone()
    assert not torch.equal(fitted, fresh)
    method.begin_epoch(1)
    assert torch.equal(bank_of(method).clusters, fitted)


# objectives over features


def test_unigrads_matrix_is_remembered_after_the_step() -> None:
    """F-update-code: the first batch as it is, then F <- rho F + (1 - rho) mean v v^T."""
    method, online = parts("unigrad", negative_branch="target")
    assert method.previous is not None
    online.train()
    seen, F = shown(), None
    for _ in range(2):
        found = method.compare(online, seen)
        batch = correlation(*found.keys)
        F = batch if F is None else 0.99 * F + 0.01 * batch
        assert found.correlation_DD is not None
        assert_close(found.correlation_DD, F)
        assert all(pair.samples.correlation_DD is found.correlation_DD for pair in found.pairs)
        method.remember(found, seen)
        assert_close(method.previous.matrix, F)


@pytest.mark.parametrize("branch", ["target", "online"])
def test_momentum_for_the_positive_alone(branch: str) -> None:
    """unigrad, Table 3, row 3: positives from the momentum encoder, negatives are online."""
    method, online = parts("simclr-momentum", negative_branch=branch)
    for parameter in online.parameters():
        parameter.data.mul_(1.1).add_(0.01)  # so that the branches differ
    found = method.compare(online, shown())
    outputs = [p.projection_ND.detach() for p in found.projected]
    source = outputs if branch == "online" else found.keys
    for a, pair in enumerate(found.pairs):
        assert_close(pair.pos_N, (pair.query_ND * found.keys[1 - a]).sum(dim=1))
        for i in range(N):
            others = [s[j] for s in (source[1 - a], source[a]) for j in range(N) if j != i]
            assert_close(pair.neg_NK[i], torch.stack(others) @ pair.query_ND[i])


def test_the_gradient_form_of_rows_a_and_b_is_infonces() -> None:
    """unigrad, Eqs. 2 and 4: the same gradient of the outputs by the loss and by its form."""
    for name, extra in (("simclr-momentum", {}), ("moco", {"symmetric": True})):
        common: dict[str, Any] = {"bn": "plain", "bn_groups": 1, "tau": 0.2, **extra}
        gradients = []
        for loss in (
            {"loss": "infonce"},
            {
                "loss": "gradient", "positive_gradient": "target",
                "negative_gradient": "softmax", "balance": 1.0,
            },
        ):  # fmt: skip
            method, online = parts(name, **common, **loss)
            pairs = method.compare(online, shown()).pairs
            torch.cat([method.objective(pair) for pair in pairs]).mean().backward()
            gradients.append([pair.probed_ND.grad for pair in pairs])
        assert_close(*gradients, rtol=1e-4, atol=1e-6)


def test_similarities_of_standardised_outputs_are_those_before() -> None:
    """Centred over the batch, cosines of different images would have no mean to speak of."""
    method, online = parts("barlow-twins")
    online.train()
    found = method.compare(online, shown())
    for a, pair in enumerate(found.pairs):
        one, two = (normalize(found.projected[v].output_ND, dim=1) for v in (a, 1 - a))
        assert_close(pair.pos_N, (one * two).sum(dim=1))
    assert (
        sum(float(p.neg_NK.detach().mean()) for p in found.pairs) > 0.5
    )  # as alike as at the start
    assert abs(float(found.pairs[0].query_ND.detach().mean())) < 1e-6


def test_a_local_view_has_the_mean_of_both_keys() -> None:
    method, online = parts("unigrad", negative_branch="target", views="multi-crop", local_size=8)
    found = method.compare(online, shown(8))
    assert len(found.pairs) == 8
    assert len(found.keys) == 2
    assert_close(found.pairs[0].key_ND, found.keys[1])
    for pair in found.pairs[2:]:
        assert_close(pair.key_ND, (found.keys[0] + found.keys[1]) / 2)


def test_a_mixed_image_has_mixed_keys() -> None:
    """`cutmix-rule`: -(r u2(x_i) + (1 - r) u2(x_perm)), keys and F from unmixed images."""
    method, online = parts("unigrad", negative_branch="target", cutmix=True)
    partner = torch.from_numpy(draw(2).permutation(N))
    box = torch.tensor([[0, 0, 8, 4]]).expand(N, 4)
    mix = CutMix(partner, box, torch.full((N,), 0.5))
    seen = shown(mixes=(mix, mix))
    plain = method.compare(online, shown())
    found = method.compare(online, seen)
    for a, pair in enumerate(found.pairs):
        other = plain.keys[1 - a]
        assert_close(pair.key_ND, 0.5 * other + 0.5 * other[partner])
        assert not torch.equal(pair.query_ND, plain.pairs[a].query_ND)
    assert_close(found.correlation_DD, correlation(*plain.keys))


# two dictionaries


def test_the_scalar_component_has_a_dictionary_of_its_own() -> None:
    """dual-temperature, supplement, Sec. B: the earliest, newest or random of the newest keys."""
    queue = QueueNegatives(4, 3, K=4, start=draw(), scalar=ScalarDictionary(2, 6, "earliest"))
    fed = normalize(torch.from_numpy(draw(1).standard_normal((7, 3))), dim=1).float()
    for part in fed.split(2):
        queue.remember([part], which())
    query = normalize(torch.from_numpy(draw(2).standard_normal((5, 3))), dim=1).float()
    anchor = Anchor(query, query, None, which(3))
    found = queue.similarities(anchor)
    assert_close(found.neg_NK, query @ fed[-4:].T)
    assert found.scalar_NK is not None
    assert_close(found.scalar_NK, query @ fed[1:3].T)  # of the last six, the oldest two
    queue.scalar = ScalarDictionary(2, 6, "newest")
    newest = queue.similarities(anchor).scalar_NK
    assert newest is not None
    assert_close(newest, query @ fed[-2:].T)


def test_equal_dictionaries_give_plain_infonce() -> None:
    """tau_beta = tau and the same keys in both components: w = 1 (mocov2-single-temperature)."""
    method, online = parts(
        "moco-v2", loss="dual-temperature", tau_beta=0.2, K=40, K_scalar=40, scalar_size=40,
        scalar_drawn="newest",
    )  # fmt: skip
    (pair,) = method.compare(online, shown()).pairs
    expected = infonce(pair.pos_N, pair.neg_NK, tau=0.2)
    assert_close(method.objective(pair), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("drawn", ["earliest", "newest"])
def test_the_vectors_keys_by_age(drawn: str) -> None:
    queue = QueueNegatives(6, 3, K=2, start=draw(), drawn=drawn)  # type: ignore[arg-type]
    keys = queue.memory.by_age()
    query = normalize(torch.ones(1, 3), dim=1)
    found = queue.similarities(Anchor(query, query, None, which()))
    assert_close(found.neg_NK, query @ (keys[:2] if drawn == "earliest" else keys[-2:]).T)


# witnesses


@pytest.mark.parametrize("witness", ["bilinear", "mlp-1"])
def test_a_witness_learns_along(witness: str) -> None:
    training = training_of(small_cell("ir-nce", witness=witness))
    before = {k: v.clone() for k, v in training.online.witness.state_dict().items()}
    training.online.train()
    for step in range(2):
        training.step(step)
    assert before
    after = training.online.witness.state_dict()
    assert any(not torch.equal(before[k], after[k]) for k in before)


def test_no_query_learns_through_a_linear_witness() -> None:
    """u.x + w.y + b: the query's part is the same for all keys, and leaves InfoNCE."""
    method, online = parts("ir-nce", witness="linear")
    (pair,) = method.compare(online, shown(1)).pairs
    method.objective(pair).mean().backward()
    assert pair.query_ND.grad is not None
    assert pair.query_ND.grad.abs().max() < 1e-5 * math.sqrt(N)
