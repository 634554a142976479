"""The parts of the mutual-information toys against loops."""

import numpy as np
import pytest
import torch

from bench.cells.toys import Spirals, VinceGaussian
from bench.data.streams import Purpose
from bench.evaluate.regression import logistic_top1
from bench.experiments import spirals, vince_gaussian
from bench.experiments.vince_gaussian import nearest
from bench.networks.stacked import StackedMLP
from tests.fakes.toys import SPIRALS, VINCE


@pytest.mark.parametrize("percent", [100.0, 50.0, 10.0, 1.0])
def test_nearest_is_what_sorting_gives(percent: float) -> None:
    generator = np.random.default_rng(0)
    bank = torch.from_numpy(generator.standard_normal((41, 3)))
    own = torch.tensor([0, 7, 40])
    found = nearest(bank, bank[own], own, percent)
    for row, centre in zip(found.tolist(), own.tolist(), strict=True):
        order = (bank - bank[centre]).norm(dim=1).argsort().tolist()
        order.remove(centre)
        assert sorted(row) == sorted(order[: max(1, round(percent / 100 * 40))])


def test_an_infonce_cell_draws_from_everything_but_itself() -> None:
    own = torch.arange(9)
    rows = nearest(torch.zeros(9, 2), torch.zeros(9, 2), own, 100.0)
    assert [sorted(row) for row in rows.tolist()] == [
        [i for i in range(9) if i != own_row] for own_row in range(9)
    ]


def test_vince_restricts_what_it_is_told_to() -> None:
    """With the nearest 10 % as negatives the loss is larger than with all, on the same encoder."""
    cell = VinceGaussian.model_validate(
        VINCE | {"method": "vince", "valid_percent": 10.0, "seed": 0}
    )
    encoders = vince_gaussian.GaussianEncoders([cell], "cpu")
    rows = torch.arange(cell.dataset_size)[None]
    query, keys = encoders.embed(encoders.train_x, 0), encoders.embed(encoders.train_y, 1)
    loss = [
        encoders.losses(
            keys, keys, rows, keys, Purpose.EVALUATE, 0, restricted=restricted
        ).mean().item()
        for restricted in (True, False)
    ]  # fmt: skip
    assert loss[0] > loss[1]
    assert query.shape == (1, 208, 16)


def test_batch_loss_of_spirals_is_the_loop() -> None:
    """Two views, each the other's positive, the other 2 B - 2 views negatives."""
    cell = Spirals.model_validate(SPIRALS | {"source": "batch", "eta": 0.3, "seed": 0})
    encoders = spirals.SpiralEncoders([cell], "cpu")
    rows = encoders.batch(0)
    batch = encoders.points.gather(1, rows[..., None].expand(-1, -1, 2))
    loss = encoders._batch_loss(batch, rows, 0)
    views = [encoders.embed(encoders.view(batch, 0, which))[0] for which in (0, 1)]
    z = torch.cat(views).detach().double().numpy()
    count = len(z) // 2
    expected = []
    for i in range(2 * count):
        partner = (i + count) % (2 * count)
        logits = z @ z[i] / 0.07
        expected.append(np.log(np.exp(np.delete(logits, i)).sum()) - logits[partner])
    assert loss.item() == pytest.approx(np.mean(expected), rel=1e-5)


def test_bank_of_spirals_moves_by_its_rate() -> None:
    cell = Spirals.model_validate(
        SPIRALS | {"source": "bank", "K": 100, "bank_rate": 0.5, "eta": 0.3, "seed": 0}
    )
    encoders = spirals.SpiralEncoders([cell], "cpu")
    before, rows = encoders.bank.clone(), encoders.batch(0)
    batch = encoders.points.gather(1, rows[..., None].expand(-1, -1, 2))
    query = encoders.embed(encoders.view(batch, 0, 0)).detach()
    encoders.step(0)
    own = rows[0]
    torch.testing.assert_close(encoders.bank[0, own], 0.5 * before[0, own] + 0.5 * query[0])
    others = torch.ones(before.shape[1], dtype=torch.bool)
    others[own] = False
    assert torch.equal(encoders.bank[0, others], before[0, others])


def test_an_epoch_of_spirals_sees_every_point_at_most_once() -> None:
    cell = Spirals.model_validate(SPIRALS | {"source": "batch", "eta": 0.3, "seed": 0})
    encoders = spirals.SpiralEncoders([cell], "cpu")
    per_epoch = encoders.train_count // cell.batch_size
    rows = torch.cat([encoders.batch(step)[0] for step in range(per_epoch)]).tolist()
    assert len(set(rows)) == len(rows) == per_epoch * cell.batch_size


def test_padded_units_are_and_stay_zero() -> None:
    generators = [np.random.default_rng(i) for i in range(2)]
    net = StackedMLP((1, 10, 5), generators, pad=True)
    adam = torch.optim.Adam(net.parameters(), lr=0.1)
    x = torch.randn(2, 8, 1, generator=torch.Generator().manual_seed(0))
    for _ in range(5):
        adam.zero_grad()
        net(x)[..., :5].square().sum().backward()
        adam.step()
    assert net(x).shape == (2, 8, 16)
    assert bool((net(x)[..., 5:] == 0).all())
    assert bool((net.weights[0][:, :, 10:] == 0).all())
    assert bool((net.weights[1][:, 10:] == 0).all())
    assert bool((net.weights[0][:, :, :10] != 0).all())


def test_stacked_encoders_are_what_linear_layers_give() -> None:
    generators = [np.random.default_rng(i) for i in range(3)]
    net = StackedMLP((4, 6, 2), generators, output_relu=True)
    x = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0))
    for e in range(3):
        out = x[e]
        for weight, bias in zip(net.weights, net.biases, strict=True):
            out = torch.nn.functional.linear(out, weight[e].T, bias[e, 0]).relu()
        torch.testing.assert_close(net(x)[e], out)
    limits = [w.abs().max().item() for w in (*net.weights, *net.biases)]
    assert limits == pytest.approx([0.5, 6**-0.5, 0.5, 6**-0.5], rel=0.15)
    assert max(limits[0], limits[2]) <= 0.5


def test_logistic_regression_tells_a_line_from_chance() -> None:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((400, 2))
    line, coin = (x[:, 0] > 0).astype(int), generator.integers(0, 2, 400)
    assert logistic_top1(x[:200], line[:200], x[200:], line[200:]) > 97
    assert 40 < logistic_top1(x[:200], coin[:200], x[200:], coin[200:]) < 60
