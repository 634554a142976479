"""The objectives by name: the function that computes each, and the settings that it takes.

A new objective is a function in `bench.losses`, a line in `LOSSES`, and a test. Its keyword
arguments are settings of the cell of the same names; what else it sees is named in `sees`.
Installed plug-ins bring objectives too (`bench.plugins`); these may have numbers of their own.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field

from bench.errors import SuiteError, choices
from bench.plugins.folders import Plugin
from bench.plugins.objectives import Declaration, Number, declared_objectives

Q_B_BINS = 20  # of the histogram of q_B over [0, 1]
Sees = Literal[
    "margin", "scalar_NK", "globals_2NK", "close_NK", "kappa", "queued_NK",
    "correlation_DD", "samples_MD",
    "allowed_NM",
]  # fmt: skip


class Loss(NamedTuple):
    """An objective: `function(pos_N, neg_NK, ...)`, or `function(online_ND, target_ND, ...)`."""

    function: str  # its module in bench.losses, and its name there; of a plug-in module:name
    over: Literal["similarities", "features"]
    needs: tuple[str, ...] = ()  # settings without which it means nothing
    may: tuple[str, ...] = ()  # settings that it takes too
    sees: tuple[Sees, ...] = ()  # what the method hands it beside, by keyword
    closer: bool = False  # whether close neighbours may share the positive's place
    linear: bool = False  # in the positive, which then may be a mixture (CutMix, multi-crop)
    is_loss: bool = True  # False: only its gradient has a meaning, its value has none
    numbers: Mapping[str, Number] = {}  # of its own, which a cell sets by name
    plugin: Plugin | None = None  # the distribution that brings it; None: bench itself


LOSSES: dict[str, Loss] = {
    "infonce": Loss("contrastive.infonce", "similarities", ("tau",), closer=True),
    "eqco": Loss(
        "contrastive.infonce", "similarities", ("tau", "alpha"), sees=("margin",), closer=True
    ),
    "dcl": Loss("contrastive.dcl", "similarities", ("tau",), closer=True),
    "dclw": Loss(
        "contrastive.dclw", "similarities", ("tau", "weight", "sigma", "through_weight"), ("delta",)
    ),
    "dual-temperature": Loss(
        "contrastive.dual_temperature",
        "similarities",
        ("tau", "tau_beta", "form"),
        ("alpha",),
        sees=("margin", "scalar_NK"),
    ),
    "ir": Loss("instance.ir", "similarities", ("tau", "normaliser"), ("kappa",), sees=("kappa",)),
    "la": Loss(
        "instance.la",
        "similarities",
        ("tau", "normaliser", "own_entry"),
        sees=("globals_2NK", "close_NK", "kappa"),
        closer=True,
    ),
    "align-uniform": Loss(
        "alignment.align_uniform",
        "features",
        ("align_alpha", "uniform_t", "align_weight", "uniform_weight"),
        sees=("queued_NK",),
    ),
    "cosine": Loss("siamese.cosine_distance", "features", linear=True),
    "directpred": Loss(
        "siamese.directpred", "features", ("eps", "form"), sees=("correlation_DD",), linear=True
    ),
    "barlow-twins": Loss("siamese.barlow_twins", "features", ("balance",)),
    "vicreg": Loss("siamese.vicreg", "features", ("cov_weight", "var_weight", "gamma")),
    "unigrad": Loss(
        "siamese.unigrad", "features", ("balance",), sees=("correlation_DD",), linear=True
    ),
    "gradient": Loss(
        "gradient_form.gradient_form",
        "features",
        ("positive_gradient", "negative_gradient", "gradient_scale"),
        ("tau", "balance", "eps", "form", "half_power", "var_weight", "gamma"),
        sees=("correlation_DD", "samples_MD", "allowed_NM"),
        linear=True,
        is_loss=False,
    ),
}
LOSS_OPTIONS: dict[str, dict[str, object]] = {
    "dclw": {"weight": "vmf", "sigma": 0.5, "through_weight": False},  # DCL, Sec. 3
    "dual-temperature": {"form": "released"},
    "ir": {"normaliser": "constant"},  # the code that mutual-information, App. C.3, names
    "la": {"normaliser": "constant", "own_entry": "if-near"},  # the same code
    "gradient": {"gradient_scale": 1.0},
}
"""What a loss takes where neither suite nor preset says it."""
KAPPA = 2876934.2 / 1281167  # mutual-information, eq-1-kappa


def kappa_of(settings: Mapping[str, Any]) -> float | None:
    """Return the kappa of settings that say none; None where there is none, or it is estimated.

    The paper's number is the mean of e^{s / tau} over random directions of 128 dimensions at
    tau = 0.07: it belongs to those alone. In the literal reading it changes no gradient.
    """
    if settings.get("loss") != "ir":
        return None
    fits = settings.get("feature_dim") == 128 and settings.get("tau") == 0.07
    return KAPPA if fits or settings.get("normaliser") == "sampled" else None


def every_loss() -> list[tuple[str, Loss]]:
    """Return every objective with its name: those of bench, then those of installed plug-ins."""
    return [*LOSSES.items(), *_plugin_losses().items()]


def loss_named(name: str) -> Loss:
    """Return the objective of that name.

    Raises:
        ValueError: there is none.
    """
    loss = LOSSES.get(name) or _plugin_losses().get(name)
    if loss is None:
        raise ValueError(f"loss '{name}' is unknown. {choices(name, list(dict(every_loss())))}")
    return loss


def numbers_of(loss: str | None) -> Mapping[str, Number]:
    """Return the numbers that an objective has of its own; none where there is no such one."""
    if loss in LOSSES or loss is None:
        return {}
    plugin_loss = _plugin_losses().get(loss)
    return plugin_loss.numbers if plugin_loss else {}


@cache
def number_names() -> frozenset[str]:
    """Return the names of all numbers that objectives of installed plug-ins have of their own."""
    return frozenset(name for loss in _plugin_losses().values() for name in loss.numbers)


@cache
def _plugin_losses() -> dict[str, Loss]:
    """Return the objectives of installed plug-ins.

    Raises:
        SuiteError: one has the name of an objective of bench, or needs a setting that none has.
    """
    settings = list(dict.fromkeys(n for loss in LOSSES.values() for n in (*loss.needs, *loss.may)))
    losses = {}
    for name, (plugin, where, declared) in declared_objectives().items():
        if name in LOSSES:
            raise SuiteError(f"{where}: {name}: bench has an objective of that name already")
        for key in ("needs", "may"):
            for setting in getattr(declared, key):
                if setting not in settings:
                    allowed = choices(setting, settings)
                    raise SuiteError(
                        f"{where}: {name}.{key}: no objective has '{setting}'. {allowed}"
                    )
        losses[name] = _loss_of(declared, plugin)
    return losses


def _loss_of(declared: Declaration, plugin: Plugin) -> Loss:
    """Return a declared objective; one that takes alpha is handed EqCo's margin in its place."""
    return Loss(
        declared.function,
        declared.over,
        tuple(declared.needs),
        tuple(declared.may),
        sees=("margin",) if "alpha" in (*declared.needs, *declared.may) else (),
        closer=declared.closer,
        linear=declared.linear,
        numbers=declared.numbers,
        plugin=plugin,
    )


def _known(name: str) -> str:
    loss_named(name)
    return name


LossName = Annotated[str, AfterValidator(_known), Field(json_schema_extra={"enum": list(LOSSES)})]


def losses_that(part: Literal["needs", "may"], setting: str) -> list[str]:
    """Return the names of bench's losses that need, or may take, a setting."""
    return [name for name, loss in LOSSES.items() if setting in getattr(loss, part)]
