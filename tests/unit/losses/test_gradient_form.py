"""UniGrad's closed gradients against autograd, and the gradient form of Eq. 13 against both."""

import re
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize
from torch.testing import assert_close

from bench.losses import in_batch, infonce
from bench.losses.gradient_form import gradient_form
from bench.losses.siamese import Form, barlow_twins, correlation, directpred, unigrad, vicreg
from tests.fakes.embeddings import (
    gradient,
    matrix,
    random_F,
    raw_views,
    root,
    simclr_similarities,
    unit_views,
    vicreg_terms,
    whitened_views,
)

FORMS = pytest.mark.parametrize("form", ["printed", "released"])
DYNAMIC: dict[str, Any] = {
    "positive_gradient": "predictor",
    "negative_gradient": "online",
    "balance": None,
}


def rows(a: Tensor, b: Tensor) -> dict[str, dict[str, Any]]:
    """The rows of Table 2 that are gradient forms, with small numbers; c is a plain loss."""
    F, own = random_F(a.shape[1]).to(a.dtype), torch.eye(len(a), dtype=torch.bool)
    other = torch.cat([~own, ~own | own], dim=1)  # V_batch without u1
    mean: dict[str, Any] = {"negative_gradient": "target", "balance": 0.5, "gradient_scale": 2.0}
    vicreg_row = {"negative_gradient": "variance", "balance": 0.4, "var_weight": 0.7, "gamma": 1.1}
    both = torch.cat([a, b])
    softmax: dict[str, Any] = {"negative_gradient": "softmax", "balance": 1.0, "samples_MD": both}
    online: dict[str, Any] = {"negative_gradient": "online", "balance": 100.0}
    target = {"positive_gradient": "target"}
    row_d = {**DYNAMIC, "correlation_DD": F, "eps": 0.3, "form": "printed"}
    return {
        "a": {**target, **softmax, "tau": 0.2},
        "b": {**target, **softmax, "tau": 0.01, "allowed_NM": other},
        "d, Eq. 26": {**row_d, "half_power": True},
        "d, Eq. 27": {**row_d, "form": "released", "half_power": False},
        "e": {**target, **online, "correlation_DD": F},
        "f": {**mean, "positive_gradient": "whitened"},
        "g, h": {**target, **mean},
        "i": {**target, **vicreg_row},
        "j": {**target, **online, "correlation_DD": correlation(a)},
    }


NAMES = list(rows(*unit_views()))


@FORMS
def test_directpred_is_eq_22_and_its_gradient_eq_24(form: Form) -> None:
    u1, u2 = unit_views()
    F, W, n = random_F(), matrix(random_F(), 0.3, form), len(u1)
    loss = directpred(u1, u2, correlation_DD=F, eps=0.3, form=form)
    g = gradient(loss.mean(), u1)
    for i, (u, v) in enumerate(zip(u1.detach(), u2.detach(), strict=True)):
        y = W @ u
        assert_close(loss[i].detach(), -(y @ v) / y.norm())
        projection = torch.eye(4, dtype=torch.float64) - torch.outer(y, y) / (y @ y)
        assert_close(g[i], -W.T @ projection @ v / y.norm() / n)
        factor = (u @ W.T @ v) / (u @ W.T @ W @ u)
        assert_close(g[i], (-W.T @ v + factor * W.T @ W @ u) / y.norm() / n)


def test_barlow_twins_gradients_of_its_two_parts() -> None:
    """Eq. 30 of the loss at lambda = 0, Eq. 31 (both lines) of the rest."""
    v1, v2 = whitened_views()
    u1, u2, n = v1.detach(), v2.detach(), len(v1)
    g1 = gradient(barlow_twins(v1, v2, balance=0.0).mean(), v1)
    g2 = gradient(barlow_twins(v1, v2, balance=0.4).mean(), v1) - g1
    W = u1.T @ u2 / n
    own = W.diagonal()
    assert_close(g1, 2 * (own - 1) * u2 / n)
    for k in range(4):
        others = sum(W[k, j] * u2[:, j] for j in range(4) if j != k)
        assert_close(g2[:, k], 2 * 0.4 * others / n)
    assert_close(g2, 2 * 0.4 / n * (-own * u2 + u2 @ u2.T / n @ u1))


def test_vicreg_gradients_of_its_three_terms() -> None:
    """Eqs. 36, 37 (all lines) and 38."""
    a, b = raw_views()
    n, d = a.shape
    u, (W, std) = a.detach(), vicreg_terms(a.detach())
    c, own = u - u.mean(dim=0), W.diagonal()
    off = {"cov_weight": 0.0, "var_weight": 0.0, "gamma": 1.1}
    g1 = gradient(vicreg(a, b, **off).mean(), a)
    g2 = gradient(vicreg(a, b, **{**off, "cov_weight": 0.3}).mean(), a) - g1
    g3 = gradient(vicreg(a, b, **{**off, "var_weight": 0.7}).mean(), a) - g1
    assert_close(g1, 2 / n * (u - b.detach()))
    for k in range(d):
        others = sum(W[k, j] * c[:, j] for j in range(d) if j != k)
        assert_close(g2[:, k], 4 * 0.3 / d * others / (n - 1))
    balance = 2 * 0.3 * n**2 / (d * (n - 1) ** 2)
    assert_close(g2, 2 * balance / n * (-(n - 1) / n * own * c + c @ c.T / n @ c))
    assert_close(g3, -0.7 / (d * (n - 1)) * (std < 1.1) * c / std)


def test_unigrad_is_eq_15_and_its_gradient_eq_14_and_row_e() -> None:
    u1, u2 = unit_views()
    samples = unit_views(9, seed=3)[0].detach()
    rho = torch.linspace(0.1, 1, 9, dtype=torch.float64)
    F = torch.stack([r * torch.outer(v, v) for r, v in zip(rho, samples, strict=True)]).sum(dim=0)
    F.requires_grad_()
    loss = unigrad(u1, u2, correlation_DD=F, balance=100.0)
    for i in range(len(u1)):
        squares = sum(r * (u1[i] @ v) ** 2 for r, v in zip(rho, samples, strict=True))
        assert_close(loss[i], -(u1[i] @ u2[i]) + 50 * squares)
    found = torch.autograd.grad(loss.sum(), (u1, u2, F), allow_unused=True)
    assert_close(found[0], (-u2 + 100 * u1 @ F).detach())
    assert list(found[1:]) == [None, None]
    form = gradient_form(u1, u2, **{**rows(u1, u2)["e"], "correlation_DD": F})
    assert_close(gradient(form.sum(), u1), found[0])


def test_row_a_is_infonces_gradient() -> None:
    """Eqs. 2 and 18: the bank holds each query's own positive and the others' (Eq. 17)."""
    u1, u2 = unit_views()
    n, tau = len(u1), 0.2
    bank = torch.cat([u2, unit_views(9, seed=3)[0]]).detach()
    pos, neg = in_batch(u1 @ bank[:n].T)
    loss = infonce(pos, torch.cat([neg, u1 @ bank[n:].T], dim=1), tau=tau).mean()
    form = gradient_form(
        u1,
        u2,
        positive_gradient="target",
        negative_gradient="softmax",
        balance=1.0,
        tau=tau,
        samples_MD=bank,
    )
    found = gradient(form.mean(), u1)
    assert_close(found, gradient(loss, u1))
    for i in range(n):
        e = torch.stack([(u1[i] @ v / tau).exp() for v in bank]).detach()
        mean = sum(s * v for s, v in zip(e / e.sum(), bank, strict=True))
        assert_close(found[i], (-u2[i] + mean).detach() / (tau * n))


def test_row_b_is_simclrs_gradient() -> None:
    """Eq. 21 with a detached target; Eq. 20 has a second bracket, from u1 as the others' key."""
    a, b = unit_views()
    tau, z = 0.2, torch.cat([a, b])
    partners, keys = torch.cat([b, a]).detach(), z.detach()
    own = torch.eye(len(z), dtype=torch.bool)
    form = gradient_form(
        *(z, partners), positive_gradient="target", negative_gradient="softmax", balance=1.0,
        tau=tau, samples_MD=keys, allowed_NM=~own,
    )  # fmt: skip
    first = gradient(form.mean(), z)
    pair = own.roll(len(a), dims=0)
    sim = z @ keys.T
    detached = infonce(sim[pair], sim.masked_fill(pair | own, -torch.inf), tau=tau)
    assert_close(first, gradient(detached.mean(), z))
    t = (keys @ keys.T / tau).masked_fill(own, -torch.inf).softmax(dim=1)  # [v, u1]
    second = (-partners + t.T @ keys) / (tau * len(z))
    full = infonce(*simclr_similarities(a, b), tau=tau).mean()
    assert_close(first + second, torch.cat(torch.autograd.grad(full, (a, b))))


@FORMS
def test_row_d_is_directpreds_gradient(form: Form) -> None:
    """Eq. 26 is exact; Eq. 27 is Eq. 26 without F^(1/2); Eq. 28's difference to it is idle."""
    x = raw_views()[0]
    u1, u2 = normalize(x, dim=1), unit_views()[1].detach()
    F, eps, W = random_F(), 0.3, matrix(random_F(), 0.3, form)
    found = [
        gradient_form(u1, u2, **DYNAMIC, correlation_DD=F, eps=eps, form=form, half_power=half)
        for half in (True, False)
    ]
    exact = directpred(u1, u2, correlation_DD=F, eps=eps, form=form)
    assert_close(gradient(found[0].sum(), u1), gradient(exact.sum(), u1))
    largest = torch.linalg.eigvalsh(F)[-1]
    if form == "released":
        F, largest = F / largest, largest / largest
    for value, half in zip(found, (root(F), 0 * F), strict=True):
        G = F + 2 * eps * largest * half + (eps * largest) ** 2 * torch.eye(4)
        factor = (u1 @ W.T * u2).sum(dim=1) / (u1 @ G * u1).sum(dim=1)
        length = (u1 @ W.T).norm(dim=1)[:, None]
        closed = ((-u2 @ W + factor[:, None] * u1 @ G) / length).detach()
        assert_close(gradient(value.sum(), u1), closed)
    eq_28 = ((-u2 @ W + factor[:, None] * u1 @ F) / length).detach()
    parallel = closed - eq_28
    assert_close(parallel, (parallel * u1).sum(dim=1, keepdim=True).detach() * u1.detach())
    assert parallel.abs().max() > 1e-3
    assert_close(gradient((u1 * eq_28).sum(), x), gradient(found[1].sum(), x))


@FORMS
def test_row_d_with_a_constant_factor(form: Form) -> None:
    u1, u2 = unit_views()
    F, W = random_F(), matrix(random_F(), 0.3, form)
    row = {**rows(u1, u2)["d, Eq. 26"], "balance": 7.0, "form": form, "gradient_scale": 3.0}
    value = gradient_form(u1, u2, **row)
    expected = torch.stack([3 * (-W.T @ v + 7 * F @ u) for u, v in zip(u1, u2, strict=True)])
    assert_close(gradient(value.sum(), u1), expected.detach())


def test_an_output_without_a_predicted_direction_has_no_gradient() -> None:
    """Two outputs in the null space of F with eps 0: W_h maps them to 0."""
    F, u2 = torch.diag(torch.tensor([1.0, 0.0])), torch.tensor([[0.6, 0.8], [0.6, 0.8]])
    u1 = torch.tensor([[0.0, 1.0], [0.8, 0.6]], requires_grad=True)
    known: dict[str, Any] = {"correlation_DD": F, "eps": 0.0}
    loss = directpred(u1, u2, **known, form="printed")
    assert_close(loss, torch.tensor([0.0, -0.6]))
    expected = torch.zeros(2, 2)  # the direction of the second output is (1, 0) whatever it is
    assert_close(gradient(loss.sum(), u1), expected)
    for half in (True, False):
        row = gradient_form(u1, u2, **DYNAMIC, **known, form="printed", half_power=half)
        assert_close(gradient(row.sum(), u1), expected)
    released = gradient_form(u1, u2, **DYNAMIC, **known, form="released", half_power=False)
    assert bool(gradient(released.sum(), u1).isfinite().all())


def test_row_f_is_barlow_twins_gradient_and_g_has_no_a() -> None:
    """Eq. 32, whose second term is row g's; rows h and j differ from g in norm and in view."""
    v1, v2 = whitened_views()
    form = {name: gradient_form(v1, v2, **rows(v1, v2)[name]) for name in ("f", "g, h", "j")}
    loss = barlow_twins(v1, v2.detach(), balance=0.5)
    assert_close(gradient(form["f"].mean(), v1), gradient(loss.mean(), v1))
    u1, u2, n = v1.detach(), v2.detach(), len(v1)
    g, j = gradient(form["g, h"].sum(), v1), gradient(form["j"].sum(), v1)
    for i in range(n):
        batch = sum((u2[i] @ u2[m] / n) * u1[m] for m in range(n))
        assert_close(g[i], 2 * (-u2[i] + 0.5 * batch))
        assert_close(j[i], -u2[i] + 100 * sum((u1[i] @ u1[m] / n) * u1[m] for m in range(n)))


def test_row_i_is_vicregs_gradient() -> None:
    """Eqs. 11 and 39, lambda_1 from lambda = 2 lambda_1 N^2 / (D (N - 1)^2)."""
    a, b = raw_views()
    n, d = a.shape
    form = gradient_form(a, b, **rows(a, b)["i"], gradient_scale=2.0)
    loss = vicreg(
        a, b.detach(), cov_weight=0.4 * d * (n - 1) ** 2 / (2 * n**2), var_weight=0.7, gamma=1.1
    )
    assert_close(gradient(form.mean(), a), gradient(loss.mean(), a))


@pytest.mark.parametrize("name", NAMES)
def test_weight_sharing_equals_stop_gradient(name: str) -> None:
    """Sec. 4.2: nothing but u1 has a gradient, so that both targets give the same update."""
    x1, x2 = (x.detach() for x in raw_views())
    weight = torch.linspace(-1, 1, 16, dtype=torch.float64).reshape(4, 4).sin().requires_grad_()
    updates = []
    for sharing in (True, False):
        z1, z2 = (normalize(x @ weight, dim=1) for x in (x1, x2))
        t1, t2 = (z1, z2) if sharing else (z1.detach(), z2.detach())
        both = gradient_form(z1, t2, **rows(t1, t2)[name]) + gradient_form(
            z2, t1, **rows(t2, t1)[name]
        )
        updates.append(gradient(both.mean(), weight))
    assert_close(*updates, rtol=0, atol=0)
    assert updates[0].abs().max() > 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_narrow_inputs_are_computed_wide(name: str) -> None:
    """bf16 outputs and autocast; row b stands at tau = 0.01."""
    a, b = (x.detach().bfloat16().requires_grad_() for x in unit_views(8))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = gradient_form(a, b, **rows(a.float(), b.float())[name])
    assert value.dtype == torch.float32
    wide = (a.detach().double(), b.detach().double())
    assert_close(value.double(), gradient_form(*wide, **rows(*wide)[name]), rtol=1e-3, atol=1e-4)
    assert bool(gradient(value.mean(), a).isfinite().all())


def test_a_channel_without_deviation_has_no_gradient_from_it() -> None:
    a = torch.tensor([[1.0, 2.0], [1.0, 3.0]], dtype=torch.float64, requires_grad=True)
    assert bool(gradient(gradient_form(a, a, **rows(a, a)["i"]).sum(), a).isfinite().all())


def lacking(row: str, **changes: Any) -> dict[str, Any]:
    return {**rows(*unit_views(3))[row], **changes}


MISTAKES = {
    "positive_gradient must be one of target, predictor, whitened, found w":
        lacking("e", positive_gradient="w"),
    "negative_gradient must be one of softmax, online, target, variance, found w":
        lacking("e", negative_gradient="w"),
    "balance may be None only with positive_gradient 'predictor' and negative_gradient "
            "'online', found 'target' and 'online'":
        lacking("e", balance=None),
    "balance may be None only with positive_gradient 'predictor' and negative_gradient "
            "'online', found 'predictor' and 'target'":
        lacking("d, Eq. 26", negative_gradient="target"),
    "predictor needs correlation_DD": lacking("d, Eq. 26", correlation_DD=None),
    "predictor needs eps": lacking("d, Eq. 26", eps=None),
    "predictor needs form": lacking("d, Eq. 26", form=None, balance=1.0),
    "balance None needs half_power": lacking("d, Eq. 26", half_power=None),
    "online needs correlation_DD": lacking("e", correlation_DD=None),
    "softmax needs tau": lacking("a", tau=None),
    "softmax needs samples_MD": lacking("a", samples_MD=None),
    "variance needs var_weight": lacking("i", var_weight=None),
    "variance needs gamma": lacking("i", gamma=None),
    "tau must be above 0, found 0.0": lacking("a", tau=0.0),
    "negative_gradient 'variance' needs balance > 0, found 0.0": lacking("i", balance=0.0),
    "the correlation matrix F must have shape (4, 4), found (3, 3)":
        lacking("e", correlation_DD=torch.eye(3)),
    "the samples must have shape (M, 4) with M >= 1, found (0, 4)": lacking(
        "a", samples_MD=torch.zeros(0, 4, dtype=torch.float64)
    ),
    "F must have type torch.float64, like the outputs, found torch.float32": lacking(
        "e", correlation_DD=torch.eye(4)
    ),
    "samples must have type torch.float64, like the outputs, found torch.float32": lacking(
        "a", samples_MD=torch.zeros(6, 4)
    ),
    "the argument `allowed` must have shape (3, 6) and type "
            "torch.bool, found (3, 5) and torch.bool":
        lacking("b", allowed_NM=torch.ones(3, 5, dtype=torch.bool)),
    "the argument `allowed` must have shape (3, 6) and type "
            "torch.bool, found (3, 6) and torch.float32":
        lacking("b", allowed_NM=torch.ones(3, 6)),
}  # fmt: skip


@pytest.mark.parametrize("message", MISTAKES)
def test_choices_that_lack_something(message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        gradient_form(*unit_views(3), **MISTAKES[message])


def test_variance_needs_two_images() -> None:
    message = "both outputs must have the same shape (N, D) with N >= 2, found (1, 4) and (1, 4)"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        gradient_form(*unit_views(1), **lacking("i"))
