"""Bench's objectives in files are those of their papers, and their presets train."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.integrate import trapezoid
from scipy.special import log_expit
from torch import Tensor

from bench.cells.pretrain import Pretrain
from bench.loss_files import SHIPPED
from bench.suites.own_files import shipped_losses, with_own_loss
from bench.suites.presets import filled, paper_presets, shipped_presets
from tests.fakes.cells import SIZES, SMALL, training_of, weights
from tests.fakes.embeddings import raw_views, two_views

LABELS = torch.tensor([0, 1, 0, 2, 1, 0])
N, TAU = len(LABELS), 0.3
SINCE = [name for name in shipped_presets() if name not in paper_presets()]
Array = NDArray[np.float64]


def own(name: str) -> Callable[..., Tensor]:
    names: dict[str, Any] = {}
    exec((SHIPPED / f"{name}.py").read_text(), names)
    found: Callable[..., Tensor] = names[name]
    return found


def learned(**values: float) -> dict[str, Tensor]:
    return {name: torch.tensor(value, dtype=torch.float64) for name, value in values.items()}


def drawn() -> torch.Generator:
    return torch.Generator().manual_seed(3)


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "siglip": ("siglip", learned(log_scale=1.5, bias=-2.0)),
    "debiased": ("debiased", {"tau": TAU, "tau_plus": 0.1}),
    "debiased, at its least": ("debiased", {"tau": TAU, "tau_plus": 0.9}),
    "hcl": ("hcl", {"tau": TAU, "tau_plus": 0.1, "beta": 0.7}),
    "spectral": ("spectral", {"mu": 1.7}),
    "dhel": ("dhel", {"tau": TAU}),
    "fmicl kl": ("fmicl", {"divergence": "kl", "alpha_f": 1.5, "sigma_f": 0.8}),
    "fmicl js": ("fmicl", {"divergence": "js", "alpha_f": 1.5, "sigma_f": 0.8}),
    "fmicl pearson": ("fmicl", {"divergence": "pearson", "alpha_f": 1.5, "sigma_f": 0.8}),
    "supcon": ("supcon", {"labels_N": LABELS, "tau": TAU}),
    "sincere": ("sincere", {"labels_N": LABELS, "tau": TAU}),
    "lejepa": ("lejepa", {"sigreg": 0.2, "slices": 7}),
    "clip": ("clip", learned(log_scale=1.5)),
    "clip, at its largest": ("clip", learned(log_scale=5.0)),
    "scheduled": (
        "scheduled",
        {"epoch": 3.5, "tau_low": 0.2, "tau_high": 0.9, "period_epochs": 10.0},
    ),
}


def test_each_file_has_a_case_and_a_preset() -> None:
    assert {name for name, _ in CASES.values()} == shipped_losses().keys()
    assert {shipped_presets()[name].settings["loss"] for name in SINCE} == shipped_losses().keys()


def compared(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """SimCLR's similarities of one direction: the other view, both views of other images."""
    others = ~torch.eye(len(query), dtype=torch.bool)
    negative = [(query @ view.T)[others].view(len(query), -1) for view in (query, key)]
    return (query * key).sum(dim=1), torch.cat(negative, dim=1)


def value(name: str, given: dict[str, Any], query: Tensor, key: Tensor) -> Tensor:
    pos, neg = compared(query, key)
    known = {"query_ND": query, "key_ND": key, "pos_N": pos, "neg_NK": neg, "generator": drawn()}
    typed = {k: v.to(query) if torch.is_floating_point(v) else v for k, v in given.items()
             if isinstance(v, Tensor)}  # fmt: skip
    arguments = [*shipped_losses()[name].arguments]
    return own(name)(**{k: (known | given | typed)[k] for k in arguments})


def log_softmax_loss(pos: float, neg: list[float]) -> float:
    return float(-np.log(np.exp(pos) / (np.exp(pos) + sum(np.exp(s) for s in neg))))


def ball(x: Array, mu: float) -> Array:
    length = np.linalg.norm(x)
    return x if length**2 <= mu else x / length * np.sqrt(mu)


F: dict[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "kl": (lambda u: float(u * np.log(u)), lambda u: float(np.log(u) + 1)),
    "js": (
        lambda u: float(u * np.log(u) - (u + 1) * np.log((u + 1) / 2)),
        lambda u: float(np.log(u) - np.log((u + 1) / 2)),
    ),
    "pearson": (lambda u: (u - 1) ** 2, lambda u: 2 * (u - 1)),
}


def expected(name: str, given: dict[str, Any], x: Array, y: Array, i: int) -> float:
    """The loss of one query by its equation, number by number."""
    s = {k: v.item() if isinstance(v, Tensor) and not v.dim() else v for k, v in given.items()}
    rest = [j for j in range(N) if j != i]
    pos = x[i] @ y[i]
    both = [x[i] @ view[j] for view in (x, y) for j in rest]
    if name == "siglip":
        signs = [1 if j == i else -1 for j in range(N)]
        scale, bias = np.exp(s["log_scale"]), s["bias"]
        return -float(sum(log_expit(z * (scale * x[i] @ y[j] + bias)) for j, z in enumerate(signs)))
    if name in ("debiased", "hcl"):
        t, share, beta = s["tau"], s["tau_plus"], s.get("beta", 0.0)
        mean_weight = sum(np.exp(beta * b / t) for b in both) / len(both)
        mean = sum(np.exp(beta * b / t) / mean_weight * np.exp(b / t) for b in both) / len(both)
        g = max((mean - share * np.exp(pos / t)) / (1 - share), np.exp(-1 / t))
        return float(-np.log(np.exp(pos / t) / (np.exp(pos / t) + len(both) * g)))
    if name == "spectral":
        a, b = ([ball(row, s["mu"]) for row in view] for view in (x, y))
        squares = [(a[i] @ b[j]) ** 2 for j in rest]
        return float((-2 * a[i] @ b[i] + sum(squares) / len(rest)) / s["mu"])
    if name == "dhel":
        energy = sum(np.exp(x[i] @ x[j] / s["tau"]) for j in rest)
        return float(-np.log(np.exp(pos / s["tau"]) / energy))
    if name == "fmicl":
        f, slope = F[str(s["divergence"])]
        kernel = [np.exp(-((x[i] - z) ** 2).sum() / (2 * s["sigma_f"] ** 2)) for z in (y[i], *x)]
        conjugates = [kernel[1 + j] * slope(kernel[1 + j]) - f(kernel[1 + j]) for j in rest]
        return float(s["alpha_f"] * sum(conjugates) / len(rest) - slope(kernel[0]))
    if name in ("supcon", "sincere"):
        views = [(view[j], LABELS[j]) for view in (y, x) for j in range(N)]
        views.pop(N + i)
        same = [x[i] @ z / s["tau"] for z, label in views if label == LABELS[i]]
        other = [x[i] @ z / s["tau"] for z, label in views if label != LABELS[i]]
        if name == "sincere":
            return float(np.mean([log_softmax_loss(p, other) for p in same]))
        total = sum(np.exp(z) for z in same + other)
        return float(-np.mean([np.log(np.exp(p) / total) for p in same]))
    if name == "clip":
        scale = min(np.exp(s["log_scale"]), 100)
        return log_softmax_loss(scale * pos, [scale * b for b in both])
    assert name == "scheduled"
    tau = 0.2 + (0.9 - 0.2) * (1 + np.cos(2 * np.pi * 3.5 / 10)) / 2
    return log_softmax_loss(pos / tau, [b / tau for b in both])


def lejepa_loss(x: Array, y: Array, i: int) -> float:
    """LeJEPA of a query: each direction by an integral over [-3, 3]."""
    slices = torch.randn(x.shape[1], 7, generator=drawn()).numpy().astype(float)
    t, found = np.linspace(-3, 3, 33), []
    for a in (slices / np.linalg.norm(slices, axis=0)).T:
        empirical = np.exp(1j * t[:, None] * (x @ a)[None]).mean(axis=1)
        far = np.abs(empirical - np.exp(-(t**2) / 2)) ** 2 * np.exp(-(t**2) / 2)
        found.append(len(x) * trapezoid(far, t))
    mean = (x[i] + y[i]) / 2
    return float(0.2 * np.mean(found) + 0.8 * ((x[i] - mean) ** 2).mean())


@pytest.fixture(params=[(torch.float32, 1e-6), (torch.float64, 1e-10)], ids=["float32", "float64"])
def precision(request: pytest.FixtureRequest) -> tuple[torch.dtype, float]:
    dtype, tolerance = request.param
    return dtype, tolerance


@pytest.mark.parametrize(("name", "given"), CASES.values(), ids=CASES)
def test_it_is_its_equation(
    name: str, given: dict[str, Any], precision: tuple[torch.dtype, float]
) -> None:
    dtype, tolerance = precision
    make = raw_views if name in ("spectral", "lejepa") else two_views
    query, key = (view.detach().to(dtype) for view in make(N, 4))
    x, y = query.double().numpy(), key.double().numpy()
    found = value(name, given, query, key)
    assert found.dtype == dtype
    one = lejepa_loss if name == "lejepa" else lambda x, y, i: expected(name, given, x, y, i)
    theirs = [one(x, y, i) for i in range(N)]
    np.testing.assert_allclose(found.numpy(), theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("name", "given"), CASES.values(), ids=CASES)
def test_its_gradient_is_that_of_finite_differences(name: str, given: dict[str, Any]) -> None:
    query, key = (raw_views if name in ("spectral", "lejepa") else two_views)(N, 3)
    taught = [k for k in ("log_scale", "bias") if k in given]
    start = [given[k].clone().requires_grad_() for k in taught]

    def loss(query: Tensor, key: Tensor, *values: Tensor) -> Tensor:
        return value(name, given | dict(zip(taught, values, strict=True)), query, key)

    if "log_scale" not in given or given["log_scale"] < np.log(100):
        assert torch.autograd.gradcheck(loss, (query, key, *start))
    else:  # beyond its largest the factor stays, and its gradient leads back
        loss(query, key, *start).sum().backward()
        assert start[0].grad is not None
        assert start[0].grad.abs() > 0


def test_supcon_is_that_of_pytorch_metric_learning(precision: tuple[torch.dtype, float]) -> None:
    from pytorch_metric_learning.losses import SupConLoss

    dtype, tolerance = precision
    query, key = (view.detach().to(dtype) for view in two_views(N, 4))
    loss = own("supcon")
    both = torch.cat([loss(query, key, LABELS, TAU), loss(key, query, LABELS, TAU)])
    theirs = SupConLoss(temperature=TAU)(torch.cat([query, key]), LABELS.repeat(2))
    assert both.mean().item() == pytest.approx(theirs.item(), rel=tolerance)


def test_sigreg_is_that_of_lightly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its statistic of a view, with our projections in the place of its own, in float32."""
    from lightly.loss.lejepa_loss import SIGReg

    query, key = (view.detach().float() for view in raw_views(N, 4))
    slices = torch.randn(4, 7, generator=drawn())
    theirs = SIGReg(num_vectors=7)
    monkeypatch.setattr(theirs, "_generate_unit_vectors", lambda *_: slices / slices.norm(dim=0))
    found = value("lejepa", {"sigreg": 0.5, "slices": 7}, query, key)
    near = 0.5 * ((query - key) / 2).square().mean(dim=1)
    np.testing.assert_allclose(2 * (found - near), theirs(query).expand(N), rtol=1e-6)


def test_a_batch_of_one_class_has_no_sincere_negative() -> None:
    query, key = two_views(N, 4)
    loss = value("sincere", {"labels_N": torch.zeros(N), "tau": TAU}, query, key)
    loss.sum().backward()
    assert query.grad is not None
    assert loss.abs().max() == query.grad.abs().max() == 0


def cell_of(method: str, **changes: Any) -> Pretrain:
    preset = shipped_presets()[method].settings
    sizes = {"projector_hidden_dim": SIZES["projector_hidden_dim"], "projector_bn": "hidden"}
    settings = filled(SMALL | {"method": method} | sizes | changes, shipped_presets())
    assert settings["loss"] == preset["loss"]
    return Pretrain.model_validate(with_own_loss(settings, shipped_losses(), {}))


@pytest.mark.parametrize("method", SINCE)
def test_its_preset_takes_a_step_without_trust(method: str) -> None:
    training = training_of(cell_of(method, train_images=32))
    first = weights(training)
    training.step(0)
    last = weights(training)
    assert all(value.isfinite().all() for value in last.values())
    assert not torch.equal(last["online.projector.0.weight"], first["online.projector.0.weight"])


def test_a_temperature_follows_the_epoch() -> None:
    periods = (1.0, 4.0)
    trainings = [
        training_of(cell_of("scheduled", train_images=32, epochs=3, period_epochs=period))
        for period in periods
    ]
    alike = []
    for step in (0, 3):  # epochs 0 and 1.5
        lines = []
        for training in trainings:
            training.step(step)
            lines.append(weights(training)["online.projector.0.weight"])
        alike.append(torch.equal(*lines))
    assert alike == [True, False]
